//! What every store under test can do.

use std::ops::Range;
use std::path::Path;

use super::rows::Rows;

/// How durable a commit is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Nothing waits for the disk: a crash of the machine may lose the last moments.
    Relaxed,
    /// A commit returns when it would survive a power cut.
    Sync,
}

/// An embedded store under test.
pub trait Contender: Sized {
    /// Its name in the report.
    const NAME: &'static str;

    /// Opens or makes the store.
    fn open(folder: &Path, level: Level) -> Result<Self, String>;

    /// Puts rows, all or nothing.
    fn put_batch(&mut self, rows: &Rows, numbers: Range<usize>) -> Result<(), String>;

    /// Puts one row.
    fn put(&mut self, rows: &Rows, n: usize) -> Result<(), String>;

    /// Forces everything to disk.
    fn force(&mut self) -> Result<(), String>;

    /// Reads the rows, one after the other, and shows each to `found`.
    fn get_each(&mut self, numbers: &[usize], found: impl FnMut(usize, Option<&[u8]>)) -> Result<(), String>;
}

/// An error of a store, as text.
#[allow(clippy::needless_pass_by_value)] // the shape that `map_err` wants
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
