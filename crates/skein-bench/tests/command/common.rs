//! Shared by the tests of the program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub use crate::outcome::{assert_refused, stdout_of};

/// The tested program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_skein-bench");

/// Returns the program `skein`, which runs the measured servers.
///
/// # Panics
/// If it has not been built: cargo builds the programs of this package alone for its tests.
pub fn built_skein() -> PathBuf {
    let skein = Path::new(PROGRAM).with_file_name("skein");
    assert!(skein.exists(), "{} is missing: `cargo build -p skein-cli` builds it", skein.display());
    skein
}

/// Returns the program with these arguments.
pub fn skein<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the program until it ends.
pub fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    skein(args).output().expect("skein-bench runs")
}
