//! Reads and writes of a transaction in any key space. Those that name no space are on the main
//! one (`transaction.rs`).

use super::DiskTransaction;
use super::log_record::LoggedWrite;
use crate::trie::{DiskTrie, ScanEntries, ScanRequest};
use crate::{DiskError, KeySpace, Result};

impl<'s> DiskTransaction<'s> {
    /// Replaces the contents of `value` by the value of a key, and returns the version.
    ///
    /// # Errors
    /// As [`get`](Self::get), and [`DiskError::NoSuchSpace`] if the store does not have the space.
    #[inline]
    pub fn get_in(&mut self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        value.clear();
        let trie = self.begin_read(space)?;
        trie.get_into(&mut self.writer, key, value).map_err(|stop| self.writer.fault(stop))
    }

    /// Sets the value of a key. Returns its version.
    ///
    /// # Errors
    /// As [`set`](Self::set), and [`DiskError::NoSuchSpace`] if the store does not have the space.
    #[inline]
    pub fn set_in(&mut self, space: KeySpace, key: &[u8], value: &[u8]) -> Result<u64> {
        self.do_write(&LoggedWrite { space, key, value: Some(value) })?;
        Ok(self.version_of_last())
    }

    /// Removes a key. Returns false if it has no value.
    ///
    /// # Errors
    /// As [`set_in`](Self::set_in).
    pub fn remove_in(&mut self, space: KeySpace, key: &[u8]) -> Result<bool> {
        let is_there = match self.version_in(space, key) {
            Err(DiskError::Interrupted { .. }) => true,
            found => found?.is_some(),
        };
        if is_there {
            self.do_write(&LoggedWrite { space, key, value: None })?;
        }
        Ok(is_there)
    }

    /// Returns the keys of a range in order, including the transaction's own writes.
    ///
    /// # Errors
    /// As [`range`](Self::range), and [`DiskError::NoSuchSpace`] if the store does not have the
    /// space.
    pub fn range_in(&mut self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let trie = self.begin_read(space)?;
        trie.collect(&mut self.writer, request).map_err(|stop| self.writer.fault(stop))
    }

    /// Returns keys in the trie's own order, including the transaction's own writes; see
    /// [`DiskStore::walk`](crate::DiskStore::walk).
    ///
    /// # Errors
    /// As [`walk`](Self::walk), and [`DiskError::NoSuchSpace`] if the store does not have the
    /// space.
    pub fn walk_in(&mut self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        let trie = self.begin_read(space)?;
        trie.walk(&mut self.writer, request).map_err(|stop| self.writer.fault(stop))
    }

    pub(super) fn version_in(&mut self, space: KeySpace, key: &[u8]) -> Result<Option<u64>> {
        self.check()?;
        let trie = self.shared.spaces.get(space)?;
        trie.version(&mut self.writer, key).map_err(|stop| self.writer.fault(stop))
    }

    /// Returns the trie to read from, if the transaction is not broken.
    #[inline]
    fn begin_read(&mut self, space: KeySpace) -> Result<&'s DiskTrie> {
        self.check()?;
        let trie = self.shared.spaces.get(space)?;
        self.writer.release_many_reads();
        Ok(trie)
    }
}
