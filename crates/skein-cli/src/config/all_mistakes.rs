//! All mistakes of a file in one run: `skein config --check FILE`.
//!
//! A server stops at the first mistake. Here each one is noted, its entry is left out, and the rest
//! is checked again, until nothing is wrong or no entry is to blame.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

use super::file::{self, ConfigEntry};
use super::{OptionOrigins, SERVE, as_arguments, is_about, option_of, with_entries};
use crate::exit::Failure;

/// A mistake, and its line if it has one.
type Mistake = (usize, String);

/// Returns the failure that names all mistakes of a file, each with its line; `Ok` if there is
/// none. `check` checks the options that the arguments and the entries produce together.
///
/// # Errors
/// There is a mistake.
pub fn check(
    command: &Command,
    file: &Path,
    text: &str,
    check: impl Fn(clap::ArgMatches, OptionOrigins) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (entries, problems) = file::parse_all(text);
    let mut mistakes: Vec<Mistake> = problems
        .into_iter()
        .map(|problem| (problem.line, located(file, problem.line, &problem.what)))
        .collect();
    let mut built = command.clone();
    built.build();
    let serve = built.find_subcommand(SERVE).cloned().unwrap_or_default();
    let mut entries: Vec<ConfigEntry> = entries
        .into_iter()
        .filter(|entry| match option_of(&serve, entry).and_then(|option| as_arguments(entry, option)) {
            Ok(_) => true,
            Err(what) => {
                mistakes.push((entry.line, located(file, entry.line, &what)));
                false
            }
        })
        .collect();
    let args: Vec<OsString> = vec!["skein".into(), SERVE.into()];
    let given =
        command.clone().try_get_matches_from(&args).map_err(|error| Failure::usage(error.to_string()))?;
    let Some((_, given)) = given.subcommand() else { return Ok(()) };
    let failure_of = |entries: &[ConfigEntry]| {
        let parsed = with_entries(command.clone(), args.clone(), given, file, entries.to_vec());
        parsed.and_then(|(matches, origins)| check(matches, origins)).err()
    };
    let mut left_out: Vec<String> = Vec::new();
    while let Some(failure) = failure_of(&entries) {
        let named = entries.iter().position(|entry| is_about(&failure, &entry.key));
        let blamed = named.or_else(|| cause(&entries, &failure, failure_of));
        // An option that needs one that was left out is no mistake of its own.
        let is_consequence = left_out.iter().any(|key| is_about(&failure, key));
        let line = blamed.map_or(0, |at| entries[at].line);
        if !is_consequence {
            let unnamed = named.is_none() && blamed.is_some();
            let place = if unnamed { format!(" ({}:{line})", file.display()) } else { String::new() };
            mistakes.push((line, failure.message + &place));
        }
        match blamed {
            Some(at) => left_out.push(entries.remove(at).key),
            None => break,
        }
    }
    together(file, mistakes)
}

/// Returns the entry without which a failure that names no entry goes away: an entry that needs an
/// option that the file lacks.
fn cause(
    entries: &[ConfigEntry],
    failure: &Failure,
    failure_of: impl Fn(&[ConfigEntry]) -> Option<Failure>,
) -> Option<usize> {
    (0..entries.len()).find(|at| {
        let others = [&entries[..*at], &entries[at + 1..]].concat();
        failure_of(&others).is_none_or(|other| other.message != failure.message)
    })
}

fn located(file: &Path, line: usize, what: &str) -> String {
    format!("{}:{line}: {what}", file.display())
}

fn together(file: &Path, mut mistakes: Vec<Mistake>) -> Result<(), Failure> {
    mistakes.sort_by_key(|(line, _)| *line);
    let texts: Vec<String> = mistakes.into_iter().map(|(_, what)| what).collect();
    match &texts[..] {
        [] => Ok(()),
        [one] => Err(Failure::usage(one.clone())),
        all => {
            let all_texts = all.join("\n  ");
            Err(Failure::usage(format!("{} mistakes in {}:\n  {all_texts}", all.len(), file.display())))
        }
    }
}
