//! What a crash left: the durable records, ready to be replayed.

use std::path::PathBuf;

use crate::Result;

/// A torn tail that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// The segment file.
    pub path: PathBuf,
    /// Where it was cut.
    pub offset: u64,
    /// Bytes of records, whole or torn, that lay beyond.
    pub bytes: u64,
}

/// What opening found and did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Everything up to this epoch is kept.
    pub durable_epoch: u64,
    /// Segment files found.
    pub segments: usize,
    /// Records kept (from the checkpoint's begin epoch on).
    pub records: u64,
    /// Bytes of the logs kept.
    pub bytes: u64,
    /// Torn tails that were cut off.
    pub torn_tails: Vec<TornTail>,
    /// Epochs that were begun on disk but not durable, and were durably voided.
    pub voided_epochs: Vec<u64>,
}

/// What a replay did.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Records handed over.
    pub records: u64,
    /// Their payload bytes.
    pub bytes: u64,
}

/// A record during replay.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// The epoch it was written in.
    pub epoch: u64,
    /// What the caller appended.
    pub payload: &'a [u8],
}

/// The durable records of the logs that were opened.
#[derive(Debug)]
pub struct Recovered {}

impl Recovered {
    /// What opening found and did.
    pub fn report(&self) -> &RecoveryReport {
        todo!()
    }

    /// Hands every durable record of the epochs from `from_epoch` on to `apply`, on `threads` threads; the
    /// first argument is the thread's number, counted from 0.
    ///
    /// Records come in no particular order, not even those of one log: the caller's versions decide. What
    /// `apply` refuses is reported as damage at that record's place.
    ///
    /// # Errors
    /// A failed read, or a record that `apply` refused.
    pub fn replay(
        &self,
        threads: usize,
        from_epoch: u64,
        apply: impl Fn(usize, RecordRef<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<ReplayReport> {
        let _ = (threads, from_epoch, apply);
        todo!()
    }
}
