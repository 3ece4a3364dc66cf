//! How pages are read from the file.

/// How pages are read from the file. Writes use calls in either mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadMode {
    /// By calls, into memory of the cache. A page that cannot be read returns an error.
    #[default]
    Calls,
    /// From the file mapped into memory. Made by [`ReadMode::mapping`].
    Mapping(SoleWriter),
}

/// The promise of [`ReadMode::mapping`], which alone makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoleWriter(());

impl ReadMode {
    /// Returns the mode that reads pages from the file mapped into memory, as in the paper (section
    /// 2.1). The cache then holds the changed pages, and only bookkeeping for the others. A page
    /// that cannot be read ends the process by a signal.
    ///
    /// Such a store keeps its folder locked until it is dropped, even after `close`, because a read
    /// in progress may use the file until then.
    ///
    /// ```
    /// use skein_disk::{DiskOptions, DiskStore, ReadMode};
    ///
    /// let folder = tempfile::tempdir()?;
    /// // SAFETY: nobody else knows of the folder.
    /// let reading = unsafe { ReadMode::mapping() };
    /// let options = DiskOptions { reading, ..DiskOptions::default() };
    /// let store = DiskStore::open(folder.path(), options)?;
    /// store.set(b"goose", b"honks")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The compiler treats the mapped bytes as plain memory, so another writer would make safe code
    /// undefined. Therefore the mode needs a promise:
    ///
    /// ```compile_fail,E0133
    /// let reading = skein_disk::ReadMode::mapping();
    /// ```
    ///
    /// ```compile_fail,E0423
    /// let reading = skein_disk::ReadMode::Mapping(skein_disk::SoleWriter(()));
    /// ```
    ///
    /// # Safety
    /// Until a store that was opened with it is dropped, only the store writes to its file or cuts
    /// it off: no other code of the process, and no other process. Programs that first take the
    /// folder's lock keep to this. If the store runs on a storage of the caller's own,
    /// [`descriptor`](skein_log::storage::StorageFile::descriptor) must return the file that the
    /// storage reads and writes.
    pub const unsafe fn mapping() -> Self {
        Self::Mapping(SoleWriter(()))
    }
}
