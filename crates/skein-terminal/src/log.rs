//! The log on standard error, and the options of a command for it.

use std::io;

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, reload};

/// The options of a command for its log.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct LogArgs {
    /// How much to log to standard error.
    #[arg(long, global = true, value_enum, default_value = "warn", display_order = 900)]
    log_level: LogLevel,
    /// How a line of the log is written.
    #[arg(long, global = true, value_enum, default_value = "text", display_order = 901)]
    log_format: LogFormat,
}

/// The least important lines that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Off => Self::OFF,
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

/// The format of the log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Text for people.
    Text,
    /// JSON for programs, one object per line.
    Json,
}

/// The handle that changes the level of the log.
#[derive(Debug)]
pub struct LogLevelHandle(reload::Handle<LevelFilter, Registry>);

impl LogLevelHandle {
    /// Sets the level.
    pub fn set_level(&self, level: LevelFilter) {
        // It fails if the log has ended. Then there is no level to set.
        let _ = self.0.reload(level);
    }
}

impl LogArgs {
    /// Logs to standard error from now on. Lines that cannot be written are lost. Returns the
    /// handle that changes the level.
    pub fn start(self) -> LogLevelHandle {
        use std::io::IsTerminal;

        let (filter, handle) = reload::Layer::new(self.log_level.into());
        // By default the layer reports a failed write with `eprintln`, which panics.
        let lines = fmt::layer().with_writer(io::stderr).with_target(false).log_internal_errors(false);
        let lines = match self.log_format {
            LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry().with(filter).with(lines).init();
        LogLevelHandle(handle)
    }
}
