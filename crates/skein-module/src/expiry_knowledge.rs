//! The module's knowledge about the key of a name.

/// Says whether the server notifies the module in time when the key ends, or whether the module
/// must look up the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryKnowledge {
    /// As far as the server reported, the key has no expiry time. It exists until the server
    /// reports its removal.
    Lasting,
    /// The key may have an expiry time. The server reports an expired key only when it removes the
    /// key, which is later than its expiry.
    Unsure,
}
