//! The receipt of a write: it tells when the write is durable.

/// The epoch of a write's durability: the write is durable when
/// [`Log::durable_epoch`](crate::Log::durable_epoch) is at or past `epoch`. Zero means durable from
/// the start: nothing was written, or the level is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket {
    /// The last epoch of the writes.
    pub epoch: u64,
}
