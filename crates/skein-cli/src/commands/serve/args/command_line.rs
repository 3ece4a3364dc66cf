//! The command line of `skein serve`, made of the rows of the options.

use std::collections::BTreeSet;
use std::num::ParseIntError;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, RangedI64ValueParser, StringValueParser,
    TypedValueParser as _, ValueParser,
};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use skein_server::config::{FieldValue, OPTIONS, Parameter, Section, ValueKind};
use skein_server::{ClientMemoryLimit, ServeOptions};

use super::{EXAMPLES, ServeArgs};
use crate::target;
use crate::units::{parse_duration, parse_mode, parse_size};

/// The options that are built here, with their defaults: clap keeps references to them.
static ARGUMENTS: LazyLock<Vec<(&Parameter, Option<String>)>> = LazyLock::new(|| {
    let own = OPTIONS.iter().filter(|option| !option.is_global);
    own.map(|option| (option, option.default_value())).collect()
});

impl clap::Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        let command = command.about("Serve a data folder to Redis clients").after_help(EXAMPLES);
        command.args(ARGUMENTS.iter().map(|(option, default)| argument(option, default.as_deref())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (mut options, mut given) = (ServeOptions::default(), BTreeSet::new());
        for (option, _) in ARGUMENTS.iter() {
            if let Some(value) = value_of(matches, option) {
                option.set(&mut options, value).map_err(|why| wrong(option, &why))?;
                given.insert(option.name);
            }
        }
        for (option, _) in ARGUMENTS.iter().filter(|(option, _)| !given.contains(option.name)) {
            option.fit_default(&mut options).map_err(|why| wrong(option, &why))?;
        }
        Ok(Self { options, given, ..Self::default() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn wrong(option: &Parameter, why: &str) -> clap::Error {
    let (name, value) = (option.name, option.value_name);
    clap::Error::raw(ErrorKind::ValueValidation, format!("invalid value for '--{name} <{value}>': {why}\n"))
}

/// Returns the value that the command line or the file gave.
fn value_of(matches: &ArgMatches, option: &Parameter) -> Option<FieldValue> {
    if matches.value_source(option.name) != Some(ValueSource::CommandLine) {
        return None;
    }
    match option.kind {
        ValueKind::Switch => Some(FieldValue::Switch(true)),
        ValueKind::SwitchOff => Some(FieldValue::Switch(false)),
        ValueKind::Paths => {
            let paths = matches.get_many::<PathBuf>(option.name)?;
            Some(FieldValue::Paths(paths.cloned().collect()))
        }
        _ => matches.get_one::<FieldValue>(option.name).cloned(),
    }
}

/// Returns the argument of an option.
fn argument(option: &Parameter, default: Option<&'static str>) -> Arg {
    let arg = Arg::new(option.name)
        .long(option.name)
        .help(option.help_text())
        .hide(option.is_hidden)
        .conflicts_with_all(option.excludes)
        .requires_all(option.requires);
    let arg = match option.section {
        Section::General => arg,
        section => arg.help_heading(section.heading()),
    };
    let action = match option.kind {
        ValueKind::Switch | ValueKind::SwitchOff => return arg.action(ArgAction::SetTrue),
        ValueKind::Paths => ArgAction::Append,
        _ => ArgAction::Set,
    };
    let arg = arg.action(action).value_name(option.value_name).value_parser(parser(option));
    match default {
        Some(default) => arg.hide_default_value(default.is_empty()).default_value(default),
        None => arg,
    }
}

/// Returns the parser of an option's value.
fn parser(option: &Parameter) -> ValueParser {
    let row = *option;
    match option.kind {
        ValueKind::Number | ValueKind::OneOf(..) => ValueParser::new(move |text: &str| {
            let number: u64 = text.parse().map_err(|error: ParseIntError| error.to_string())?;
            let value = FieldValue::Number(number);
            row.set(&mut ServeOptions::default(), value.clone()).map(|()| value)
        }),
        ValueKind::NumberBetween(min, max) => RangedI64ValueParser::<u16>::new()
            .range(i64::from(min)..=i64::from(max))
            .map(|number| FieldValue::Number(number.into()))
            .into(),
        ValueKind::Size => by(|text| parse_size(text).map(FieldValue::Number)),
        ValueKind::Time => by(|text| parse_duration(text).map(FieldValue::Time)),
        ValueKind::TimeOrNever => by(|text| parse_or_never(text).map(FieldValue::Time)),
        ValueKind::Mode => by(|text| parse_mode(text).map(|mode| FieldValue::Number(mode.into()))),
        ValueKind::ClientMemory => by(|text| parse_client_memory(text).map(FieldValue::ClientMemory)),
        ValueKind::Path => PathBufValueParser::new().map(FieldValue::Path).into(),
        ValueKind::PathOrEmpty => OsStringValueParser::new().map(|path| FieldValue::Path(path.into())).into(),
        ValueKind::Paths => PathBufValueParser::new().into(),
        ValueKind::Words(words) => {
            let values = words().into_iter().map(target::possible);
            PossibleValuesParser::new(values).map(FieldValue::Text).into()
        }
        ValueKind::Names(_, check) => {
            ValueParser::new(move |text: &str| check(text).map(|()| FieldValue::Text(text.to_owned())))
        }
        ValueKind::Text | ValueKind::Switch | ValueKind::SwitchOff => {
            StringValueParser::new().map(FieldValue::Text).into()
        }
    }
}

fn by(parse: fn(&str) -> Result<FieldValue, String>) -> ValueParser {
    ValueParser::new(parse)
}

/// Parses a time, or `never`: a time that no request reaches.
fn parse_or_never(text: &str) -> Result<Duration, String> {
    if text == "never" {
        return Ok(Duration::MAX);
    }
    parse_duration(text).map_err(|why| format!("{why}, or never"))
}

/// Parses a size, or a number of percent.
fn parse_client_memory(text: &str) -> Result<ClientMemoryLimit, String> {
    let Some(percent) = text.strip_suffix('%') else {
        let size = parse_size(text)?;
        let limit = ClientMemoryLimit::Bytes(super::saturate(size));
        return Ok(if size == 0 { ClientMemoryLimit::Unlimited } else { limit });
    };
    match percent.parse::<u8>() {
        Ok(0) => Ok(ClientMemoryLimit::Unlimited),
        Ok(percent @ ..=100) => Ok(ClientMemoryLimit::Percent(percent)),
        _ => Err(format!("{text:?} is not a part of --max-memory; write 1% to 100%, or a size, as in 64m")),
    }
}
