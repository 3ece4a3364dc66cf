//! Reads and writes of the key spaces that are ordered sets of keys: of the store, of a snapshot,
//! and within a transaction.

use super::log_record::LoggedWrite;
use super::{DiskSnapshot, DiskStore, DiskTransaction};
use crate::counted::CountedSet;
use crate::record::{PageReader, WalkResult};
use crate::trie::WalkDirection;
use crate::{KeySpace, Result};

/// Returns up to `most` keys of a set from a position on.
pub(super) fn keys_from(
    set: CountedSet,
    pages: &mut impl PageReader,
    position: u64,
    direction: WalkDirection,
    most: usize,
) -> WalkResult<Vec<Vec<u8>>> {
    use std::ops::ControlFlow::{Break, Continue};

    let mut keys = Vec::new();
    if most > 0 {
        set.walk(pages, position, direction, |key| {
            keys.push(key.to_vec());
            if keys.len() < most { Continue(()) } else { Break(()) }
        })?;
    }
    Ok(keys)
}

impl DiskStore {
    /// Returns the number of keys of a set.
    ///
    /// # Errors
    /// [`DiskError::NoSuchSpace`](crate::DiskError::NoSuchSpace),
    /// [`DiskError::OtherSpaceKind`](crate::DiskError::OtherSpaceKind); a page cannot be read or is
    /// damaged.
    pub fn key_count(&self, space: KeySpace) -> Result<u64> {
        let set = self.shared.spaces.set(space)?;
        self.shared.buffer.read_pages(|pages| set.len(pages))
    }

    /// Returns the number of keys of a set for which a predicate is true; see
    /// [`DiskTransaction::key_rank_by`].
    ///
    /// # Errors
    /// As [`key_count`](Self::key_count).
    pub fn key_rank_by(&self, space: KeySpace, mut is_before: impl FnMut(&[u8]) -> bool) -> Result<u64> {
        let set = self.shared.spaces.set(space)?;
        self.shared.buffer.read_pages(|pages| set.rank_by(pages, &mut is_before))
    }

    /// Returns up to `most` keys of a set from a position on; see [`DiskTransaction::keys_from`].
    ///
    /// # Errors
    /// As [`key_count`](Self::key_count).
    pub fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let set = self.shared.spaces.set(space)?;
        self.shared.buffer.read_pages(|pages| keys_from(set, pages, position, direction, most))
    }
}

impl DiskSnapshot {
    /// Returns the number of keys of a set for which a predicate was true; see
    /// [`DiskTransaction::key_rank_by`].
    ///
    /// # Errors
    /// As [`DiskStore::key_count`]; the store is closed.
    pub fn key_rank_by(&self, space: KeySpace, mut is_before: impl FnMut(&[u8]) -> bool) -> Result<u64> {
        let set = self.shared.spaces.set(space)?;
        self.shared.buffer.read_at(self.key, |pages| set.rank_by(pages, &mut is_before))
    }

    /// Returns up to `most` keys that a set had from a position on; see
    /// [`DiskTransaction::keys_from`].
    ///
    /// # Errors
    /// As [`key_rank_by`](Self::key_rank_by).
    pub fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let set = self.shared.spaces.set(space)?;
        self.shared.buffer.read_at(self.key, |pages| keys_from(set, pages, position, direction, most))
    }
}

impl DiskTransaction<'_> {
    /// Inserts a key into a set, if it is not there.
    ///
    /// # Errors
    /// As [`set_in`](Self::set_in), and
    /// [`DiskError::OtherSpaceKind`](crate::DiskError::OtherSpaceKind).
    ///
    /// ```
    /// use skein_disk::{DiskError, DiskOptions, DiskStore, KeySpace, Values, WalkDirection};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    /// let store = DiskStore::open(folder.path(), options)?;
    /// store.write::<_, DiskError>(|transaction| {
    ///     transaction.insert_key(KeySpace::Scores, b"1 bean goose")?;
    ///     transaction.insert_key(KeySpace::Scores, b"2 grey goose")
    /// })?;
    /// assert_eq!(store.key_rank_by(KeySpace::Scores, |key| key < &b"2"[..])?, 1);
    /// let last = store.keys_from(KeySpace::Scores, 2, WalkDirection::Backward, 1)?;
    /// assert_eq!(last, [b"2 grey goose"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_key(&mut self, space: KeySpace, key: &[u8]) -> Result<()> {
        self.shared.spaces.set(space)?;
        self.do_write(&LoggedWrite { space, key, value: Some(b"") })
    }

    /// Removes a key from a set, if it is there.
    ///
    /// # Errors
    /// As [`insert_key`](Self::insert_key).
    pub fn remove_key(&mut self, space: KeySpace, key: &[u8]) -> Result<()> {
        self.shared.spaces.set(space)?;
        self.do_write(&LoggedWrite { space, key, value: None })
    }

    /// Returns the number of keys of a set for which a predicate is true. It must be true for the
    /// first keys and false for all others. It is also called with the first bytes of keys, and
    /// must be as if each was a key. Takes O(log n).
    ///
    /// # Errors
    /// As [`DiskStore::key_count`].
    pub fn key_rank_by(&mut self, space: KeySpace, is_before: impl FnMut(&[u8]) -> bool) -> Result<u64> {
        let set = self.begin_set_read(space)?;
        set.rank_by(&mut self.writer, is_before).map_err(|stop| self.writer.fault(stop))
    }

    /// Returns up to `most` keys of a set: forward those behind the first `position` keys, backward
    /// those among the first `position` keys, the last one first. Takes O(log n) and the keys.
    ///
    /// # Errors
    /// As [`DiskStore::key_count`].
    pub fn keys_from(
        &mut self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let set = self.begin_set_read(space)?;
        keys_from(set, &mut self.writer, position, direction, most).map_err(|stop| self.writer.fault(stop))
    }

    fn begin_set_read(&mut self, space: KeySpace) -> Result<CountedSet> {
        self.check()?;
        let set = self.shared.spaces.set(space)?;
        self.writer.release_many_reads();
        Ok(set)
    }
}
