//! How far the opening of a store has come, told to other threads; and their wish that it ends.
//!
//! The opening thread announces what it has to read, and counts what it has read, from as many
//! threads as it likes. Whoever has a clone of the [`Arc`](std::sync::Arc) may look, and may
//! [cancel](OpenProgress::cancel): the opening then answers an error, and the folder is as after a
//! crash of the process, so that the next opening finds all of it.

use std::fmt;

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What [`OpenProgress::watched`] calls.
type ProgressWatch = Box<dyn Fn(&OpenProgress) + Send + Sync>;

/// How far an opening has come.
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

/// What [`OpenProgress::seen`] saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenProgressSeen {
    /// Bytes of checkpoints and logs that have to be read; 0 before that is known. Logs are read
    /// twice: once to find what is durable, once to replay it.
    pub bytes_total: u64,
    /// Bytes of them that were read.
    pub bytes: u64,
    /// Rows and records that were in them.
    pub records: u64,
}

impl OpenProgressSeen {
    /// The part that is done, of a hundred.
    pub fn percent(&self) -> u64 {
        let percent = u128::from(self.bytes) * 100 / u128::from(self.bytes_total.max(1));
        (percent as u64).min(100)
    }
}

// Relaxed throughout: statistics, and a wish that is seen soon; neither orders anything.
impl OpenProgress {
    /// Calls `watch` each time that something was read, on the thread that read it.
    #[must_use]
    pub fn watched(watch: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Box::new(watch)), ..Self::default() }
    }

    /// So many bytes more have to be read.
    pub fn expect(&self, bytes: u64) {
        self.bytes_total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many of the bytes that were expected do not have to be read.
    pub fn forgo(&self, bytes: u64) {
        self.bytes_total.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// So many bytes were read, and so many rows or records in them. False if the opening is to
    /// end.
    #[must_use]
    pub fn advance(&self, bytes: u64, records: u64) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        if let Some(watch) = &self.watch {
            watch(self);
        }
        !self.is_cancelled()
    }

    /// All that was to be read was read, and what of it was not counted was passed over.
    pub fn complete(&self) {
        self.bytes.store(self.bytes_total.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What was read so far.
    pub fn seen(&self) -> OpenProgressSeen {
        OpenProgressSeen {
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            records: self.records.load(Ordering::Relaxed),
        }
    }

    /// Has the opening end with an error, soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether somebody wished so.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
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
    fn a_part_of_nothing_is_a_number() {
        let seen = |bytes, bytes_total| OpenProgressSeen { bytes, bytes_total, records: 0 }.percent();
        assert_eq!((seen(0, 0), seen(5, 0), seen(5, 4), seen(u64::MAX - 1, u64::MAX)), (0, 100, 100, 99));
    }
}
