//! Keys that expire: what time it is, which rows are over, in what order they will be, and who removes them.
//!
//! ```text
//!   reader   row ── expires, and its time is past? ──► not there          `clock`: every way to a row looks
//!   writer   row swapped in the index ──► order brought up to date        `order`: time ‖ key, for rows that expire
//!   thread   order, first keys ── overdue? ──► removed, as by a client    `cycle`: some at a tick
//! ```
//!
//! The row alone says when its key expires; log and checkpoint hold it with the row, as milliseconds since 1970. The order is derived, lies in
//! memory and is built again on recovery. So nothing that is expired is shown, whatever the order and the thread are at.

mod clock;
mod expiry_index;
pub(crate) mod expiry_thread;

pub use clock::ExpiryClock;
pub(crate) use clock::OperationTime;
pub(crate) use expiry_index::{ExpiryIndex, KEY_BYTES_MAX};

#[cfg(all(test, not(skein_loom)))]
mod tests;
