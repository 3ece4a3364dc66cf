//! How pages are read.

/// How pages are read. They are written by calls either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadMode {
    /// By calls, into memory of the cache's own. What cannot be read is an error.
    #[default]
    Calls,
    /// From the file mapped into memory; [`Reading::mapping`] makes it.
    Mapping(SoleWriter),
}

/// The promise of [`Reading::mapping`]. Only that makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoleWriter(());

impl ReadMode {
    /// From the file mapped into memory, as in the paper (section 2.1). The cache holds pages that have changed, and keeps
    /// the books of the others. A page that cannot be read ends the process by a signal.
    ///
    /// A store that reads so keeps its folder locked until it is dropped, also after `close`: until then a read that is
    /// under way may look at the file.
    ///
    /// ```
    /// use skein_disk::{DiskOptions, DiskStore, Reading};
    ///
    /// let folder = tempfile::tempdir()?;
    /// // SAFETY: nobody else knows of the folder.
    /// let reading = unsafe { Reading::mapping() };
    /// let store = DiskStore::open(folder.path(), DiskOptions { reading, ..DiskOptions::default() })?;
    /// store.set(b"goose", b"honks")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The mapped bytes are plain memory to the compiler, so whoever else changes them makes safe code undefined. That is
    /// why it takes a promise:
    ///
    /// ```compile_fail,E0133
    /// let reading = skein_disk::Reading::mapping();
    /// ```
    ///
    /// ```compile_fail,E0423
    /// let reading = skein_disk::Reading::Mapping(skein_disk::SoleWriter(()));
    /// ```
    ///
    /// # Safety
    /// Until a store that was opened with it is dropped, nobody but the store writes to its file or cuts it off: no other
    /// code of the process, and no other process. Those that take the folder's lock first do not. If the store is on a
    /// storage of the caller's own, [`descriptor`](skein_log::storage::StorageFile::descriptor) gives the very file that
    /// the storage reads and writes.
    pub const unsafe fn mapping() -> Self {
        Self::Mapping(SoleWriter(()))
    }
}
