//! The common parts of SkeinDB's commands, so that `skein` and `skein-bench` answer alike.
//!
//! - [`exit`]: exit codes, and the error type of commands,
//! - [`console`]: text on standard output and standard error,
//! - [`log`]: the log on standard error, and its options,
//! - [`progress`]: progress bars on a terminal, and counts in words,
//! - [`units`]: sizes, durations and permissions on the command line,
//! - [`help`]: a check of help texts, for tests.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic on a full disk; see `console`")]

pub mod console;
pub mod exit;
pub mod help;
pub mod log;
pub mod progress;
pub mod units;
