//! What became of the records: counted by several threads, the first refusals named.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::progress::ProgressPrinter;

/// Counts of a load. Clones count together.
#[derive(Debug, Clone)]
pub struct LoadReport {
    counts: Arc<LoadCounts>,
    printer: ProgressPrinter,
    show: u64,
}

#[derive(Debug, Default)]
struct LoadCounts {
    loaded: AtomicU64,
    refused: AtomicU64,
}

// Relaxed throughout: the counts are read after the counting threads were joined.
impl LoadReport {
    /// A report that names the first `show` refusals on standard error.
    pub fn new(printer: ProgressPrinter, show: u64) -> Self {
        Self { counts: Arc::default(), printer, show }
    }

    /// `count` more records are in.
    pub fn load(&self, count: u64) {
        self.counts.loaded.fetch_add(count, Ordering::Relaxed);
    }

    /// The record that begins on `line` was refused.
    pub fn refuse(&self, line: u64, why: &str) {
        if self.counts.refused.fetch_add(1, Ordering::Relaxed) < self.show {
            self.printer.line(format_args!("line {line}: {why}"));
        }
    }

    /// Says how many refusals were not named.
    pub fn summarize_refusals(&self) {
        let more = self.refused().saturating_sub(self.show);
        if more > 0 && self.show > 0 {
            self.printer.line(format_args!("and {more} more; --show-refused N names more of them"));
        }
    }

    /// How many records are in.
    pub fn loaded(&self) -> u64 {
        self.counts.loaded.load(Ordering::Relaxed)
    }

    /// How many records were refused.
    pub fn refused(&self) -> u64 {
        self.counts.refused.load(Ordering::Relaxed)
    }
}
