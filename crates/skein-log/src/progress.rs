//! The progress of a store's opening, shared with other threads, which may also cancel it.
//!
//! The opening thread announces the bytes that it must read. Any number of threads count the bytes
//! that they have read. A thread with a clone of the [`Arc`](std::sync::Arc) may read the progress
//! and may [cancel](OpenProgress::cancel) the opening. The opening then returns an error. The
//! folder is as after a crash of the process, so the next opening finds everything.

use std::fmt;

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::record::RECORD_HEADER;

/// The callback of [`OpenProgress::watched`].
type ProgressWatch = Box<dyn Fn(&OpenProgress) + Send + Sync>;

/// The progress of an opening.
///
/// ```
/// use skein_log::OpenProgress;
///
/// let progress = OpenProgress::default();
/// progress.expect(200);
/// progress.advance(50, 3);
/// let seen = progress.seen();
/// assert_eq!((seen.bytes, seen.bytes_total, seen.records, seen.percent()), (50, 200, 3, 25));
/// ```
#[derive(Default)]
pub struct OpenProgress {
    bytes_total: AtomicU64,
    bytes: AtomicU64,
    records: AtomicU64,
    cancelled: AtomicBool,
    watch: Option<ProgressWatch>,
}

/// The figures that [`OpenProgress::seen`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenProgressSeen {
    /// Bytes of checkpoints and logs that must be read; 0 until this is known. Logs are read twice:
    /// once to find the last durable epoch, once to replay.
    pub bytes_total: u64,
    /// Bytes of them that were read.
    pub bytes: u64,
    /// Rows and records in these bytes.
    pub records: u64,
}

impl OpenProgressSeen {
    /// Returns the finished part in percent.
    pub fn percent(&self) -> u64 {
        let percent = u128::from(self.bytes) * 100 / u128::from(self.bytes_total.max(1));
        (percent as u64).min(100)
    }
}

// Relaxed throughout: these are statistics and a request to stop soon; neither orders anything.
impl OpenProgress {
    /// Creates a progress that calls `watch` after every read, on the thread that read.
    #[must_use]
    pub fn watched(watch: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Box::new(watch)), ..Self::default() }
    }

    /// Adds bytes that must be read.
    pub fn expect(&self, bytes: u64) {
        self.bytes_total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts announced bytes that need not be read.
    pub fn forgo(&self, bytes: u64) {
        self.bytes_total.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that were read, and the rows or records in them. Returns false if the opening
    /// should end.
    #[must_use]
    pub fn advance(&self, bytes: u64, records: u64) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        if let Some(watch) = &self.watch {
            watch(self);
        }
        !self.is_cancelled()
    }

    /// Sets the progress to 100 percent: everything was read or skipped.
    pub fn complete(&self) {
        self.bytes.store(self.bytes_total.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns the figures so far.
    pub fn seen(&self) -> OpenProgressSeen {
        OpenProgressSeen {
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            records: self.records.load(Ordering::Relaxed),
        }
    }

    /// Makes the opening end with an error soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether a thread has cancelled the opening.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The bytes after which a [`RecordProgress`] reports.
const REPORTED_TOGETHER: u64 = 256 << 10;

/// Counts the records of a replay that only checks them, and reports them to a progress together.
#[derive(Debug)]
pub struct RecordProgress<'p> {
    all: &'p OpenProgress,
    bytes: AtomicU64,
    records: AtomicU64,
}

impl<'p> RecordProgress<'p> {
    /// Creates a count of zero records.
    pub fn new(all: &'p OpenProgress) -> Self {
        Self { all, bytes: AtomicU64::new(0), records: AtomicU64::new(0) }
    }

    /// Counts a record. Returns an error if the progress was cancelled; the caller knows from
    /// [`OpenProgress::is_cancelled`] that this is no damage.
    ///
    /// # Errors
    /// The progress was cancelled.
    pub fn count(&self, payload: &[u8]) -> Result<(), String> {
        let len = (RECORD_HEADER + payload.len()) as u64;
        self.records.fetch_add(1, Ordering::Relaxed);
        if self.bytes.fetch_add(len, Ordering::Relaxed) + len < REPORTED_TOGETHER {
            return Ok(());
        }
        let (bytes, records) =
            (self.bytes.swap(0, Ordering::Relaxed), self.records.swap(0, Ordering::Relaxed));
        if self.all.advance(bytes, records) { Ok(()) } else { Err("the check was cancelled".to_owned()) }
    }
}

impl fmt::Debug for OpenProgress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seen().fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_of_zero_bytes_is_a_number() {
        let seen = |bytes, bytes_total| OpenProgressSeen { bytes, bytes_total, records: 0 }.percent();
        assert_eq!((seen(0, 0), seen(5, 0), seen(5, 4), seen(u64::MAX - 1, u64::MAX)), (0, 100, 100, 99));
    }
}
