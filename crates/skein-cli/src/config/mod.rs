//! Options from a file: `skein serve --config FILE`.
//!
//! ```text
//!   FILE ─ file::parse ─► entries ─► --key=value ┐
//!   command line ───────────────────────────────►┴─► clap ─► ServeArgs
//! ```
//!
//! The rows of `skein_server::config` define the options, and clap's arguments follow from them.
//! Keys are the options' long names, and values are written as on the command line. The command
//! line wins: an entry is left out if the command line has its option, or one that excludes it.
//!
//! `rewrite` changes a file for CONFIG REWRITE, `template` makes one, `all_mistakes` names what is
//! wrong with one, `redis_options` knows options of Redis. `documented` tests the tables of the
//! documents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use skein_server::OptionsFile;
use skein_server::config::FieldValue;

use crate::exit::Failure;

pub mod all_mistakes;
pub mod file;
pub mod redis_options;
pub mod rewrite;
pub mod template;

use file::{ConfigEntry, ConfigValue};

/// The subcommand that reads a file.
const SERVE: &str = "serve";

/// Options that a file cannot have.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "version"];

/// The options that a file gave, for messages about them.
#[derive(Debug, Clone, Default)]
pub struct OptionOrigins {
    file: PathBuf,
    /// The whole command line, with the file's name.
    command_line: Vec<OsString>,
    /// Options and their lines.
    lines: Vec<(String, usize)>,
}

impl OptionOrigins {
    /// Returns the file for CONFIG REWRITE, or `None` without one.
    pub fn options_file(&self) -> Option<Arc<dyn OptionsFile>> {
        if self.file.as_os_str().is_empty() {
            return None;
        }
        let file = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        Some(Arc::new(rewrite::ConfigFile { file, command_line: self.command_line.clone() }))
    }

    /// If an option's value is from the file, adds its line to the message.
    pub fn explain(&self, mut failure: Failure) -> Failure {
        if let Some((_, line)) = self.lines.iter().find(|(key, _)| is_about(&failure, key)) {
            failure.message = format!("{} ({}:{line})", failure.message, self.file.display());
        }
        failure
    }
}

/// Returns whether a failure names an option.
fn is_about(failure: &Failure, key: &str) -> bool {
    let words = failure.message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter_map(|word| word.strip_prefix("--")).any(|option| option == key)
}

/// Returns the options of `skein serve` that a file can have.
pub fn options(serve: &Command) -> impl Iterator<Item = &Arg> {
    serve
        .get_arguments()
        .filter(|arg| arg.get_long().is_some_and(|long| !NOT_IN_FILES.contains(&long)) && !arg.is_hide_set())
}

/// Parses the arguments, together with the file that they name. Also returns which options the file
/// gave. Like clap, it ends the process for wrong arguments and for `--help`.
///
/// # Errors
/// Errors if the file cannot be read, or gives an option a value that it does not accept.
pub fn matches(command: Command, args: Vec<OsString>) -> Result<(ArgMatches, OptionOrigins), Failure> {
    let matches = match command.clone().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(error) => {
            let serves = args.get(1).is_some_and(|word| word == SERVE);
            let hint = serves.then(|| of_redis(&error)).flatten();
            return Err(hint.unwrap_or_else(|| error.exit()));
        }
    };
    let Some((SERVE, given)) = matches.subcommand() else { return Ok((matches, OptionOrigins::default())) };
    let Some(FieldValue::Path(file)) = given.get_one::<FieldValue>("config").cloned() else {
        return Ok((matches, OptionOrigins::default()));
    };
    let text = file::read(&file)
        .map_err(|error| Failure::usage(format!("cannot read --config {}: {error}", file.display())))?;
    with_file(command, args, given, &file, &text)
}

/// Returns the failure for an option of Redis, which names what a server has instead.
fn of_redis(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let hint = redis_options::hint(option)?;
    Some(Failure::usage(format!("{option} is an option of Redis, and not of skein: {hint}")))
}

/// Parses the arguments, which are `given` to `skein serve`, together with a file of this text.
///
/// # Errors
/// Errors if the text gives an option a value that it does not accept.
pub fn with_file(
    command: Command,
    args: Vec<OsString>,
    given: &ArgMatches,
    file: &Path,
    text: &str,
) -> Result<(ArgMatches, OptionOrigins), Failure> {
    let entries = file::parse(text).map_err(|problem| wrong(file, problem.line, &problem.what))?;
    with_entries(command, args, given, file, entries)
}

/// Parses the arguments together with the entries of a file.
fn with_entries(
    mut command: Command,
    mut args: Vec<OsString>,
    given: &ArgMatches,
    file: &Path,
    entries: Vec<ConfigEntry>,
) -> Result<(ArgMatches, OptionOrigins), Failure> {
    let command_line = args.clone();
    command.build();
    let serve = command.find_subcommand(SERVE).map_or_else(Command::default, Clone::clone);
    let mut more = Vec::new();
    for entry in &entries {
        let option = option_of(&serve, entry).map_err(|what| wrong(file, entry.line, &what))?;
        if !is_overridden(&serve, option, given) {
            more.extend(as_arguments(entry, option).map_err(|what| wrong(file, entry.line, &what))?);
        }
    }
    // Only options of `skein` itself may precede it, and none of them accepts this word as a value.
    let at = args.iter().position(|arg| arg == SERVE).map_or(args.len(), |at| at + 1);
    args.splice(at..at, more);
    let lines = entries.into_iter().map(|entry| (entry.key, entry.line)).collect();
    let origins = OptionOrigins { file: file.to_owned(), command_line, lines };
    match command.try_get_matches_from(args) {
        Ok(matches) => Ok((matches, origins)),
        Err(error) => Err(origins.explain(Failure::usage(in_one_line(&error)))),
    }
}

/// Returns the option that an entry sets.
fn option_of<'s>(serve: &'s Command, entry: &ConfigEntry) -> Result<&'s Arg, String> {
    let key = &entry.key;
    options(serve).find(|arg| arg.get_long() == Some(key)).ok_or_else(|| match redis_options::hint(key) {
        Some(hint) => format!("{key} is an option of Redis, and not of skein: {hint}"),
        None => format!("there is no option {key}; `skein config` prints all"),
    })
}

fn wrong(file: &Path, line: usize, what: &str) -> Failure {
    Failure::usage(format!("{}:{line}: {what}", file.display()))
}

/// Returns whether the command line has this option, or one that excludes it.
fn is_overridden(serve: &Command, option: &Arg, given: &ArgMatches) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        serve.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    serve.get_arguments().any(|other| {
        given.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine)
            && (other.get_id() == option.get_id() || excludes(option, other) || excludes(other, option))
    })
}

/// Returns an entry in the form of the command line.
fn as_arguments(entry: &ConfigEntry, option: &Arg) -> Result<Vec<OsString>, String> {
    let ConfigEntry { key, value, .. } = entry;
    let with = |text: &String| OsString::from(format!("--{key}={text}"));
    match (option.get_action(), value) {
        (ArgAction::SetTrue, ConfigValue::Switch(on)) => {
            Ok(if *on { vec![format!("--{key}").into()] } else { Vec::new() })
        }
        (ArgAction::SetTrue, _) => Err(format!("{key} is {value}; write true or false")),
        (_, ConfigValue::One(text)) => Ok(vec![with(text)]),
        (ArgAction::Append, ConfigValue::Many(texts)) => Ok(texts.iter().map(with).collect()),
        _ => Err(format!("{key} is {value}; write one text or one number")),
    }
}

/// Returns clap's message, without its advice.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let what = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = what.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
