//! Collections that an engine keeps outside of memory, as readers see them.

use std::sync::Arc;

use skein_model::{CollectionHead, Members};

use crate::Result;

/// Opens the collection of the row of one key.
pub(crate) trait CollectionSource {
    /// Opens the collection with this head, as of the row's moment or a later one. If the key has
    /// another collection by then, the reader shows no members.
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>>;
}

/// Members that can be kept.
pub(crate) type KeptMembers = Arc<dyn StoredMembers + Send + Sync>;

/// The members of a collection outside of memory, at one moment.
pub(crate) trait StoredMembers: Members {
    /// Returns members of the same moment that can be kept, or `None` if these are with the writes
    /// of an open transaction.
    fn keep(&self) -> Option<KeptMembers>;
}
