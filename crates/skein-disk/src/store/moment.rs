//! Reads of several keys, in any key spaces, at one moment.

use super::spaces::SpaceTries;
use super::{DiskShared, DiskStore};
use crate::buffer::{PageView, WalkStop};
use crate::trie::{ScanEntries, ScanRequest};
use crate::{DiskError, KeySpace, Result};

/// All key spaces at one moment; [`DiskStore::read`] passes it to its closure.
#[derive(Debug)]
pub struct MomentReader<'w> {
    view: &'w PageView<'w>,
    spaces: &'w SpaceTries,
}

/// The reason why a read stopped: it failed, or it must run again with more pages in memory. A
/// closure of [`DiskStore::read`] returns it with `?`.
#[derive(Debug)]
pub struct ReadStop(WalkStop);

impl From<DiskError> for ReadStop {
    fn from(error: DiskError) -> Self {
        Self(WalkStop::Failed(error))
    }
}

impl DiskStore {
    /// Calls `body` with all key spaces as they are at one moment, and returns its result. So `body`
    /// sees all writes of a transaction or none, whichever spaces they are in.
    ///
    /// `body` runs again if a page that it reads is not in memory, or if a transaction was committed
    /// meanwhile. So it must have no effects, except that it may overwrite its own buffers. Keep it
    /// short: after several attempts it blocks commits.
    ///
    /// ```
    /// use skein_disk::{DiskOptions, DiskStore, KeySpace, Values};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    /// let store = DiskStore::open(folder.path(), options)?;
    /// store.set(b"flock", b"grey goose")?;
    /// // The value names a member; both are read at one moment.
    /// let version = store.read(|moment| {
    ///     let (mut name, mut member) = (Vec::new(), Vec::new());
    ///     moment.get_in(KeySpace::Main, b"flock", &mut name)?;
    ///     moment.get_in(KeySpace::Members, &name, &mut member)
    /// })?;
    /// assert_eq!(version, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `body`.
    pub fn read<T>(
        &self,
        mut body: impl FnMut(&MomentReader<'_>) -> std::result::Result<T, ReadStop>,
    ) -> Result<T> {
        let DiskShared { buffer, spaces, .. } = &*self.shared;
        buffer.read_with(|view| body(&MomentReader { view, spaces }).map_err(|stop| stop.0))
    }
}

impl MomentReader<'_> {
    /// Replaces the contents of `value` by the value of a key, and returns the version.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, the last write to the key was interrupted, or the store
    /// does not have the space ([`DiskError::NoSuchSpace`]).
    pub fn get_in(
        &self,
        space: KeySpace,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> std::result::Result<Option<u64>, ReadStop> {
        value.clear();
        let trie = self.spaces.get(space)?;
        trie.get_into(&mut &*self.view, key, value).map_err(ReadStop)
    }

    /// Returns the keys of a range in order, with their values and versions.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie; otherwise as [`get_in`](Self::get_in).
    pub fn range_in(
        &self,
        space: KeySpace,
        request: &ScanRequest<'_>,
    ) -> std::result::Result<ScanEntries, ReadStop> {
        let trie = self.spaces.get(space)?;
        trie.collect(&mut &*self.view, request).map_err(ReadStop)
    }
}
