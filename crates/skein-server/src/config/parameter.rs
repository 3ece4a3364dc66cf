//! A row of the table of options: every fact of an option, or of a parameter of CONFIG, or of both.
//!
//! ```text
//!               ┌─► the command line, the file, --help, docs/operations.md   (skein-cli)
//!   Parameter ──┼─► the checks of ServerOptions                              (check)
//!               └─► CONFIG GET, SET, REWRITE                                 (commands/configuration)
//! ```
//!
//! A row is built by a function for its kind of value and by the methods behind it, as a constant.

use std::fmt;

use super::serve_options::{EngineKind, ServeOptions};
use super::value::{FieldValue, OptionField, Word};
use crate::ServerOptions;
use crate::commands::configuration::{ApplyChange, KeptKind, TlsFile};
use crate::config::settings::{LiveNumber, LiveSettings, LiveSwitch, LiveTime};
use crate::shared::ServerShared;

/// A group of options: a heading of `--help` and a table of `docs/operations.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Addresses, users, folders.
    General,
    /// The engine, and the options of one engine.
    Engine,
    /// Logs and checkpoints.
    Storage,
    /// Limits on everything that clients can make grow.
    Limits,
    /// Limits on connections.
    Clients,
    /// The TLS port.
    Tls,
    /// Slow log, latency, metrics, notifications.
    Monitoring,
}

impl Section {
    /// All sections, in the order of `--help`.
    pub const ALL: [Self; 7] = [
        Self::General,
        Self::Engine,
        Self::Storage,
        Self::Limits,
        Self::Clients,
        Self::Tls,
        Self::Monitoring,
    ];

    /// Returns the heading of `--help`.
    pub fn heading(self) -> &'static str {
        match self {
            Self::General => "General",
            Self::Engine => "Engine",
            Self::Storage => "Logs and checkpoints",
            Self::Limits => "Limits",
            Self::Clients => "Clients",
            Self::Tls => "TLS",
            Self::Monitoring => "Monitoring",
        }
    }
}

/// The values that an option takes on the command line and in a file.
#[derive(Clone, Copy)]
pub enum ValueKind {
    /// A number.
    Number,
    /// One of these numbers; the other is the default.
    OneOf(&'static [u16], u16),
    /// A number that is checked as soon as it is parsed.
    NumberBetween(u16, u16),
    /// A size in bytes, with a unit.
    Size,
    /// A time, with a unit.
    Time,
    /// A time, or `never`.
    TimeOrNever,
    /// Permissions of a file, in octal.
    Mode,
    /// `true`, or given at all.
    Switch,
    /// As `Switch`, for a field that is true without it.
    SwitchOff,
    /// A text.
    Text,
    /// A path that is not empty.
    Path,
    /// A path; an empty one means none.
    PathOrEmpty,
    /// Paths: the option may be given several times.
    Paths,
    /// A size, or a part of the memory limit in percent.
    ClientMemory,
    /// One of some names, which `--help` lists.
    Words(fn() -> Vec<Word>),
    /// One of some names, which stand in the option's help; the check has the error for others.
    Names(fn() -> Vec<Word>, fn(&str) -> Result<(), String>),
}

impl ValueKind {
    /// Returns the names, for an option that takes one of them.
    pub fn words(self) -> Vec<Word> {
        match self {
            Self::Words(words) | Self::Names(words, _) => words(),
            _ => Vec::new(),
        }
    }
}

/// The field that an option sets.
#[derive(Clone, Copy)]
pub(super) enum FieldAccess {
    /// None: the parameter is no option, or another part of the program has its value.
    Nowhere,
    Server(fn(&mut ServerOptions) -> &mut dyn OptionField),
    Serve(fn(&mut ServeOptions) -> &mut dyn OptionField),
}

/// The unit of a time in CONFIG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Seconds,
    Millis,
    Micros,
}

impl TimeUnit {
    /// Returns the microseconds of one unit, and its name on the command line.
    pub(crate) fn facts(self) -> (u64, &'static str) {
        match self {
            Self::Seconds => (1_000_000, "s"),
            Self::Millis => (1_000, "ms"),
            Self::Micros => (1, "us"),
        }
    }
}

/// How CONFIG reads and changes a value.
#[derive(Clone, Copy)]
pub(crate) enum ConfigKind {
    /// CONFIG does not know it.
    Unknown,
    /// Cannot change while the server runs.
    Fixed(fn(&ServerShared) -> String),
    /// Has this value always, and this error for any other one.
    Refused { value: &'static str, why: &'static str },
    /// Is kept without effect.
    Kept { default: &'static str, kind: KeptKind },
    /// A number that can change.
    Number(fn(&LiveSettings) -> &LiveNumber),
    /// A time that can change.
    Time(fn(&LiveSettings) -> &LiveTime, TimeUnit),
    /// `yes` or `no`, which can change.
    Switch(fn(&LiveSettings) -> &LiveSwitch),
    /// A number in the value of another parameter. REWRITE writes it if that one was set.
    Part { of: &'static str, value: fn(&LiveSettings) -> u64 },
    /// Any other value that can change.
    Other { value: fn(&ServerShared) -> String, change: fn(&[u8]) -> Result<ApplyChange, String> },
    /// A TLS file. It can change if the server has a TLS port.
    TlsFile(TlsFile),
    /// A value of the engine. Some engines reject a change, and no engine changes its durability.
    Engine {
        value: fn(&ServerShared) -> String,
        change: fn(&ServerShared, &[u8]) -> Result<ApplyChange, String>,
    },
}

/// A row: an option of `skein serve`, a parameter of CONFIG, or both.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// The option's long name, which is also its key in a file; empty if it is no option.
    pub name: &'static str,
    /// Where it is documented.
    pub section: Section,
    /// The values that it takes.
    pub kind: ValueKind,
    /// The placeholder for its value in texts.
    pub value_name: &'static str,
    /// Its meaning, for `--help` and the printed file; with spaces as in a comment.
    pub help: &'static str,
    /// The text of the table in `docs/operations.md` in place of the help; may be empty.
    pub docs: &'static str,
    /// Describes the default, if it is no plain value.
    pub default_text: Option<&'static str>,
    /// The smallest and the largest number, size or seconds.
    pub bounds: Option<(u64, u64)>,
    /// A further limit on a number: another option.
    pub(super) at_most: fn(&ServerOptions) -> u64,
    /// Describes the values, if they are more than the bounds or the names.
    pub bounds_text: Option<&'static str>,
    /// The options that cannot be given beside it.
    pub excludes: &'static [&'static str],
    /// The options that must be given beside it.
    pub requires: &'static [&'static str],
    /// The one engine that has it.
    pub engine: Option<EngineKind>,
    /// Whether `--help` and documents leave it out: it is for tests.
    pub is_hidden: bool,
    /// Whether every subcommand has it, so that it is not built from this row.
    pub is_global: bool,
    /// The name of the field in errors of the library.
    pub field: &'static str,
    pub(super) access: FieldAccess,
    /// The names in CONFIG: Redis's, if Redis has one, and further ones for the same value.
    pub(crate) config_names: &'static [&'static str],
    pub(crate) config: ConfigKind,
    /// An additional check of a new number.
    pub(crate) check: fn(&ServerShared, u64) -> Result<(), String>,
    /// Runs after a change.
    pub(crate) then: fn(&ServerShared),
    /// The parameter that must have been set for this one to be written by CONFIG REWRITE.
    pub(crate) written_with: Option<&'static str>,
    /// Returns the option's value for CONFIG's, if they differ.
    pub(crate) to_option: Option<fn(&str) -> &'static str>,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Parameter");
        shown.field("name", &self.name).field("config", &self.config_names).finish_non_exhaustive()
    }
}

/// Begins a row of an option.
pub(super) const fn option(name: &'static str, kind: ValueKind, value_name: &'static str) -> Parameter {
    Parameter {
        name,
        section: Section::General,
        kind,
        value_name,
        help: "",
        docs: "",
        default_text: None,
        bounds: None,
        at_most: |_| u64::MAX,
        bounds_text: None,
        excludes: &[],
        requires: &[],
        engine: None,
        is_hidden: false,
        is_global: false,
        field: "",
        access: FieldAccess::Nowhere,
        config_names: &[],
        config: ConfigKind::Unknown,
        check: |_, _| Ok(()),
        then: |_| {},
        written_with: None,
        to_option: None,
    }
}

/// Begins a row of a number.
pub(super) const fn number(name: &'static str, min: u64, max: u64) -> Parameter {
    option(name, ValueKind::Number, "N").between(min, max)
}

/// Begins a row of a size.
pub(super) const fn size(name: &'static str) -> Parameter {
    option(name, ValueKind::Size, "SIZE")
}

/// Begins a row of a time.
pub(super) const fn time(name: &'static str) -> Parameter {
    option(name, ValueKind::Time, "TIME")
}

/// Begins a row of a parameter of CONFIG that is no option.
pub(crate) const fn parameter(names: &'static [&'static str], config: ConfigKind) -> Parameter {
    Parameter { config_names: names, config, ..option("", ValueKind::Text, "") }
}

impl Parameter {
    /// Sets the help, if it is not the documentation of the field.
    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Sets the text of the documents.
    pub(super) const fn docs(self, docs: &'static str) -> Self {
        Self { docs, ..self }
    }

    /// Sets the smallest and the largest value, both included.
    pub(super) const fn between(self, min: u64, max: u64) -> Self {
        Self { bounds: Some((min, max)), ..self }
    }

    /// Sets another option as a limit. Without a value of its own, this one is lowered to it.
    pub(super) const fn at_most(self, limit: fn(&ServerOptions) -> u64) -> Self {
        Self { at_most: limit, ..self }
    }

    pub(super) const fn bounds_text(self, text: &'static str) -> Self {
        Self { bounds_text: Some(text), ..self }
    }

    pub(super) const fn default_text(self, text: &'static str) -> Self {
        Self { default_text: Some(text), ..self }
    }

    pub(super) const fn excludes(self, names: &'static [&'static str]) -> Self {
        Self { excludes: names, ..self }
    }

    pub(super) const fn requires(self, names: &'static [&'static str]) -> Self {
        Self { requires: names, ..self }
    }

    pub(super) const fn only(self, engine: EngineKind) -> Self {
        Self { engine: Some(engine), ..self }
    }

    pub(super) const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    pub(super) const fn global(self) -> Self {
        Self { is_global: true, ..self }
    }

    /// Sets the name of the field in errors, if it is not that of the option's own field.
    pub(super) const fn field(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    pub(super) const fn server(self, access: fn(&mut ServerOptions) -> &mut dyn OptionField) -> Self {
        Self { access: FieldAccess::Server(access), ..self }
    }

    /// Sets how CONFIG reads and changes it, and its names there.
    pub(super) const fn config(self, names: &'static [&'static str], config: ConfigKind) -> Self {
        Self { config_names: names, config, ..self }
    }

    pub(super) const fn fixed(
        self,
        names: &'static [&'static str],
        value: fn(&ServerShared) -> String,
    ) -> Self {
        self.config(names, ConfigKind::Fixed(value))
    }

    /// Makes it a number that CONFIG SET changes.
    pub(super) const fn live(
        self,
        names: &'static [&'static str],
        setting: fn(&LiveSettings) -> &LiveNumber,
    ) -> Self {
        self.config(names, ConfigKind::Number(setting))
    }

    /// Makes it a time that CONFIG SET changes.
    pub(super) const fn live_time(
        self,
        names: &'static [&'static str],
        unit: TimeUnit,
        setting: fn(&LiveSettings) -> &LiveTime,
    ) -> Self {
        self.config(names, ConfigKind::Time(setting, unit))
    }

    pub(super) const fn check(self, check: fn(&ServerShared, u64) -> Result<(), String>) -> Self {
        Self { check, ..self }
    }

    pub(super) const fn then(self, then: fn(&ServerShared)) -> Self {
        Self { then, ..self }
    }

    pub(super) const fn written_with(self, parameter: &'static str) -> Self {
        Self { written_with: Some(parameter), ..self }
    }

    pub(super) const fn to_option(self, convert: fn(&str) -> &'static str) -> Self {
        Self { to_option: Some(convert), ..self }
    }

    /// Returns whether it is an option of `skein serve`.
    pub fn is_option(&self) -> bool {
        !self.name.is_empty()
    }

    fn in_field<R>(
        &self,
        options: &mut ServeOptions,
        then: impl FnOnce(&mut dyn OptionField) -> R,
    ) -> Option<R> {
        match self.access {
            FieldAccess::Nowhere => None,
            FieldAccess::Server(access) => Some(then(access(&mut options.server))),
            FieldAccess::Serve(access) => Some(then(access(options))),
        }
    }

    /// Sets the option's field.
    ///
    /// # Errors
    /// The reason, if the field cannot hold the value.
    pub fn set(&self, options: &mut ServeOptions, value: FieldValue) -> Result<(), String> {
        self.in_field(options, |field| field.set(value)).unwrap_or(Ok(()))
    }

    /// Returns the value of the option's field.
    pub fn value_in(&self, options: &mut ServeOptions) -> FieldValue {
        self.in_field(options, |field| field.value()).unwrap_or(FieldValue::Absent)
    }

    /// Lowers the default of an option that was not given to the option that limits it.
    ///
    /// # Errors
    /// Never: the field holds numbers.
    pub fn fit_default(&self, options: &mut ServeOptions) -> Result<(), String> {
        let limit = (self.at_most)(&options.server);
        match self.value_in(options) {
            FieldValue::Number(number) if number > limit => self.set(options, FieldValue::Number(limit)),
            _ => Ok(()),
        }
    }

    /// Returns whether CONFIG counts its time in seconds.
    pub(super) fn is_in_seconds(&self) -> bool {
        matches!(self.config, ConfigKind::Time(_, TimeUnit::Seconds))
    }
}
