//! Counts the loaded and the rejected records over several threads, and names the first rejections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::progress::ProgressPrinter;

/// The counts of a load. Clones share the counts.
#[derive(Debug, Clone)]
pub struct LoadReport {
    counts: Arc<LoadCounts>,
    printer: ProgressPrinter,
    show: u64,
    unit: &'static str,
}

#[derive(Debug, Default)]
struct LoadCounts {
    loaded: AtomicU64,
    refused: AtomicU64,
}

// Relaxed throughout: the counts are read after the counting threads were joined.
impl LoadReport {
    /// Returns a report that names the first `show` rejections on standard error.
    pub fn new(printer: ProgressPrinter, show: u64) -> Self {
        Self { counts: Arc::default(), printer, show, unit: "line" }
    }

    /// Returns the report with another name for the number of a record.
    pub fn by(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Returns the name for the number of a record.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// Counts `count` more loaded records.
    pub fn load(&self, count: u64) {
        self.counts.loaded.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts the rejected record with this number, which is its line in a text.
    pub fn refuse(&self, number: u64, why: &str) {
        if self.counts.refused.fetch_add(1, Ordering::Relaxed) < self.show {
            self.printer.line(format_args!("{} {number}: {why}", self.unit));
        }
    }

    /// Prints how many rejections were not named.
    pub fn summarize_refusals(&self) {
        let more = self.refused().saturating_sub(self.show);
        if more > 0 && self.show > 0 {
            self.printer.line(format_args!("and {more} more; --show-refused N names more of them"));
        }
    }

    /// Returns the number of loaded records.
    pub fn loaded(&self) -> u64 {
        self.counts.loaded.load(Ordering::Relaxed)
    }

    /// Returns the number of rejected records.
    pub fn refused(&self) -> u64 {
        self.counts.refused.load(Ordering::Relaxed)
    }
}
