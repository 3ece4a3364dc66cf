//! Expiry: the clock, the rows that have expired, the index of keys by time, and the thread that
//! removes them.
//!
//! ```text
//!   reader   finds a row ── it expires, and its time is past? ──► absent       `operation_time`
//!   writer   swaps the row in the index ──► updates the expiry index           `expiry_index`
//!   thread   first keys of the expiry index ── overdue? ──► removes them       `store/expiry_thread.rs`
//! ```
//!
//! Only the row says when its key expires. Log and checkpoint store the time with the row, in
//! milliseconds since 1970. The expiry index is derived from the rows, exists only in memory, and
//! is rebuilt by recovery. So no reader sees an expired row, even if the index or the thread is
//! behind.
//!
//! Read `operation_time` first (the clock is `clock.rs`), then `expiry_index`, then the thread.
//!
//! Design: `docs/design/time.md`.

mod expiry_index;
mod operation_time;

pub(crate) use expiry_index::{ExpiryIndex, parts};
pub(crate) use operation_time::OperationTime;

#[cfg(all(test, not(skein_loom)))]
mod tests;
