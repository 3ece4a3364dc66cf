//! What a write is given, to be acknowledged by.

/// When a write will be durable: once [`Log::durable_epoch`](crate::Log::durable_epoch) is at or past `epoch`. Zero, durable from the
/// start, if nothing was written or the level is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket {
    /// The last epoch that any of the writes belongs to.
    pub epoch: u64,
}
