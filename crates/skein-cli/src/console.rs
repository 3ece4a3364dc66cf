//! Output for people, on standard output and standard error.
//!
//! The printing macros of the standard library panic if the stream cannot be written, for example
//! because it leads to a file on a full disk. So this crate denies them and prints through this
//! module.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use skein_server::LogControl;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, reload};

use crate::exit::Failure;

/// Prints a command's answer.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of writing an answer. A reader that closes early, as `head` does, is not a
/// failure.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::during("cannot write the output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a note on standard error, beside the answer. A failure is ignored: there is nobody left
/// to tell.
pub fn note(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The format of the log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// JSON for programs, one object per line.
    Json,
}

/// The handle that changes the level of the log.
#[derive(Debug)]
struct LogLevelHandle(reload::Handle<LevelFilter, Registry>);

impl LogControl for LogLevelHandle {
    fn set_level(&self, level: LevelFilter) {
        // It fails if the log has ended. Then there is no level to set.
        let _ = self.0.reload(level);
    }
}

/// Logs to standard error from now on. Lines that cannot be written are lost. Returns the control
/// that changes the level.
pub fn log(level: impl Into<LevelFilter>, format: LogFormat) -> Arc<dyn LogControl> {
    use std::io::IsTerminal;

    let (filter, handle) = reload::Layer::new(level.into());
    // By default the layer reports a failed write with `eprintln`, which panics.
    let lines = fmt::layer().with_writer(io::stderr).with_target(false).log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Arc::new(LogLevelHandle(handle))
}
