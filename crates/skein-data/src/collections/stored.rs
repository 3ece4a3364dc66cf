//! Collections that an engine keeps outside of memory, as readers see them.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use skein_store::{CollectionHead, EachNamed, Member, ScanDirection};

use crate::{Error, Result};

/// Opens the collection of the row of one key.
pub(crate) trait CollectionSource {
    /// Opens the collection with this head, as of the row's moment or a later one. If the key has
    /// another collection by then, the reader shows no members.
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredReader + '_>>;
}

/// The members of a collection outside of memory, at one moment.
pub(crate) trait StoredReader {
    /// Returns the number of members.
    fn len(&self) -> u64;

    /// Returns the value of a member.
    fn value(&self, name: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `each` with the members and their values after the one named `after`, in the order of
    /// names, until it breaks.
    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()>;

    /// Returns the number of members for which `before` is true, in the order of scores.
    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64>;

    /// Calls `each` with the members from rank `rank` on, in the order of scores, until it breaks.
    fn walk_scores(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: &mut dyn FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Returns a reader of the same moment that can be kept, or `None` if this reader sees the
    /// writes of an open transaction.
    fn keep(&self) -> Option<Arc<dyn StoredReader + Send + Sync>>;
}

/// A reader that keeps its first error. After it, the reader shows nothing.
pub struct OpenedReader<'r> {
    reader: Box<dyn StoredReader + 'r>,
    failed: RefCell<Option<Error>>,
}

impl<'r> OpenedReader<'r> {
    pub(super) fn new(reader: Box<dyn StoredReader + 'r>) -> Self {
        Self { reader, failed: RefCell::new(None) }
    }

    pub(super) fn reader(&self) -> &dyn StoredReader {
        &*self.reader
    }

    /// Reads, unless an earlier read has failed.
    pub(super) fn read<R: Default>(&self, read: impl FnOnce(&dyn StoredReader) -> Result<R>) -> R {
        if self.failed.borrow().is_some() {
            return R::default();
        }
        read(&*self.reader).unwrap_or_else(|error| {
            *self.failed.borrow_mut() = Some(error);
            R::default()
        })
    }

    /// Returns the first error.
    pub(super) fn check(&self) -> Result<()> {
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }
}

impl std::fmt::Debug for OpenedReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenedReader").field("len", &self.reader.len()).finish_non_exhaustive()
    }
}
