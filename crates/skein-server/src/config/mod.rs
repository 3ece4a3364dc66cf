//! The options of a server, and of `skein serve`: a limit on everything that a client can make
//! grow.
//!
//! Every option is one row ([`Parameter`]). `parameter` has the type of a row, `value` the types of
//! values. The rows stand beside the fields that they set, in `server_options` and in `serve_options`;
//! those of CONFIG alone are in `config_only` and `redis_parameters`. `options_struct` makes struct,
//! defaults and rows of one list; `check` checks the bounds; `texts` has help and documents.
//! `settings` has the values that can change while the server runs.

use std::sync::LazyLock;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

mod check;
mod config_only;
mod options_struct;
mod parameter;
mod redis_parameters;
mod serve_options;
mod server_options;
pub(crate) mod settings;
mod texts;
mod value;

pub(crate) use parameter::{ConfigKind, TimeUnit};
pub use parameter::{Parameter, Section, ValueKind};
pub use serve_options::{EngineKind, PageReading, ServeOptions, TrieName};
pub(crate) use server_options::LiveOptions;
pub use server_options::ServerOptions;
pub use value::{FieldValue, Named, OptionField, Word};

/// The address where a server listens by default.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:6380";

/// The longest time that is counted in seconds, as in Redis.
pub(crate) const SECONDS_MAX: u64 = i32::MAX as u64;

/// The longest wait of a stop: a day. Waiting longer makes no sense, and a much longer time would
/// overflow the clock.
pub(crate) const STOP_SECONDS_MAX: u64 = 24 * 60 * 60;

/// Sets the log level of the program, for CONFIG SET loglevel.
pub trait LogControl: std::fmt::Debug + Send + Sync {
    /// Logs only events of this level and more severe ones from now on.
    fn set_level(&self, level: LevelFilter);
}

/// The file of options that the program was started with, for CONFIG REWRITE.
pub trait OptionsFile: std::fmt::Debug + Send + Sync {
    /// Writes these options into the file and leaves the rest of it unchanged. Waits for the disk.
    /// Names and values are those of `skein serve`; an option without a value is removed.
    ///
    /// # Errors
    /// The reason as a text for the client, if the file cannot be written. The file is then
    /// unchanged.
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String>;
}

/// The new value of an option in an [`OptionsFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text, or a number with a unit.
    Text(String),
    /// A plain number.
    Number(u64),
    /// Whether the option is given at all.
    Switch(bool),
    /// The file must not have the option.
    Absent,
}

/// When a client that does not read its replies is disconnected: a class of Redis's
/// `client-output-buffer-limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimit {
    /// Bytes of waiting replies above which a client is disconnected immediately; 0 for never.
    pub hard_bytes: usize,
    /// Bytes of waiting replies above which a client is disconnected after `soft_time` without a
    /// pause; 0 for never.
    pub soft_bytes: usize,
    /// See `soft_bytes`. Must be whole seconds.
    pub soft_time: Duration,
}

impl OutputLimit {
    /// The default for clients with subscriptions, as in Redis.
    pub const SUBSCRIBER: Self =
        Self { hard_bytes: 32 << 20, soft_bytes: 8 << 20, soft_time: Duration::from_secs(60) };
}

/// All options of `skein serve`, in the order of `--help`.
pub static OPTIONS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let rows = || serve_options::SERVE_ROWS.iter().chain(server_options::SERVER_ROWS);
    let all: Vec<Parameter> = rows().flat_map(options_struct::FieldRows::parameters).collect();
    let of = |section| all.iter().filter(move |row| row.section == section && row.is_option()).copied();
    Section::ALL.into_iter().flat_map(of).collect()
});

/// All names of CONFIG with their parameters, sorted by name.
pub(crate) static CONFIG_PARAMETERS: LazyLock<Vec<(&'static str, Parameter)>> = LazyLock::new(|| {
    let rows = serve_options::SERVE_ROWS.iter().chain(server_options::SERVER_ROWS);
    let rows = rows.flat_map(options_struct::FieldRows::parameters);
    let others = [config_only::ROWS, redis_parameters::KEPT, redis_parameters::REFUSED].concat();
    let names = |row: Parameter| row.config_names.iter().map(move |name| (*name, row));
    let mut all: Vec<_> = rows.chain(others).flat_map(names).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all
});

/// Returns the option with this name of a field in an error of a library, as on the command line.
pub fn option_of_field(field: &str) -> Option<&'static Parameter> {
    OPTIONS.iter().find(|option| option.field == field)
}

#[cfg(test)]
mod tests;
