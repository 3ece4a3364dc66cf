//! What is said to people, on standard output and standard error.
//!
//! The standard library's printing macros panic when a stream cannot be written, and one that leads to a file on a full
//! disk cannot. So this crate denies them, and all that is printed goes through here.

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

/// How writing an answer went: a reader that has enough, as `head` has, is no failure.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::during("cannot write the output", &error))
        }
        _ => Ok(()),
    }
}

/// Says something beside the answer, on standard error. If that cannot be written there is nobody left to tell.
pub fn note(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: an object a line.
    Json,
}

/// What sets the level of the log.
#[derive(Debug)]
struct LogLevelHandle(reload::Handle<LevelFilter, Registry>);

impl LogControl for LogLevelHandle {
    fn set_level(&self, level: LevelFilter) {
        // It fails if the log is gone, and then there is nothing to set.
        let _ = self.0.reload(level);
    }
}

/// Logs to standard error from now on; what cannot be written there is lost. Answers what changes the level.
pub fn log(level: impl Into<LevelFilter>, format: LogFormat) -> Arc<dyn LogControl> {
    use std::io::IsTerminal;

    let (filter, handle) = reload::Layer::new(level.into());
    // It would report a failed write by `eprintln`, which panics.
    let lines = fmt::layer().with_writer(io::stderr).with_target(false).log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Arc::new(LogLevelHandle(handle))
}
