//! Rows that stand for a collection (`collection`): such a row owns a reference to it.

use std::sync::Arc;

use skein_sync::locks::shared;

use super::{BODY, LEN_MASK, Row, RowAllocator, RowKind, RowRef};
use crate::collection::{Collection, CollectionKind, ColumnsReader, SortedSet};

/// The codes of the kinds of collections.
const SORTED_SET: u32 = 1;
const HASH: u32 = 2;

fn is_collection(code: u32) -> bool {
    matches!(code, SORTED_SET | HASH)
}

/// Returns the bytes of the body of rows of kind `other`, by their code.
pub(super) fn body_len(code: u32) -> usize {
    if is_collection(code) { size_of::<*const Collection>() } else { 0 }
}

impl Row {
    /// Makes a row that stands for a collection.
    pub(crate) fn of_collection(
        rows: &RowAllocator,
        collection: Arc<Collection>,
        expires: Option<u64>,
    ) -> Self {
        let code = match collection.kind() {
            CollectionKind::SortedSet => SORTED_SET,
            CollectionKind::Hash => HASH,
        };
        let row = Self::with_body(rows, RowKind::Other, code as usize, expires);
        // SAFETY: the body of these codes has room for a pointer, at any alignment; the row owns
        // the reference (invariant 6).
        unsafe { row.start.add(BODY).cast::<*const Collection>().write_unaligned(Arc::into_raw(collection)) };
        row
    }

    /// Releases the reference to a collection, if the row has one. REQUIRES: the row is being
    /// dropped.
    pub(super) fn drop_collection(&mut self) {
        if let Some(pointer) = self.as_ref().pointer() {
            // SAFETY: the pointer owns a reference (invariant 6), which is given up here, once.
            drop(unsafe { Arc::from_raw(pointer) });
        }
    }
}

impl<'g> RowRef<'g> {
    /// Returns the collection to which the row owns a reference.
    fn pointer(self) -> Option<*const Collection> {
        let is_set = self.kind() == RowKind::Other && is_collection(self.tag() & LEN_MASK);
        // SAFETY: the body of these codes is a pointer (invariant 6), and the row lives for `'g`
        // (invariant 5).
        is_set.then(|| unsafe { self.start.add(BODY).cast::<*const Collection>().read_unaligned() })
    }

    /// Returns the collection of the row.
    #[inline]
    pub(crate) fn collection(self) -> Option<&'g Collection> {
        // SAFETY: the row owns a reference to it (invariant 6) and lives for `'g` (invariant 5).
        self.pointer().map(|pointer| unsafe { &*pointer })
    }

    /// Returns a new reference to the collection of the row.
    pub(crate) fn shared_collection(self) -> Option<Arc<Collection>> {
        self.pointer().map(|pointer| {
            // SAFETY: the row owns a reference to it (invariant 6) and lives for `'g` (invariant
            // 5), so the count is not 0; the added reference belongs to the new owner.
            unsafe {
                Arc::increment_strong_count(pointer);
                Arc::from_raw(pointer)
            }
        })
    }

    /// Returns the sorted set of the key, or `None` if the key holds something else.
    pub fn sorted_set(self) -> Option<SortedSet<'g>> {
        let set = self.collection().filter(|collection| collection.kind() == CollectionKind::SortedSet)?;
        Some(SortedSet::new(set, self))
    }

    /// Returns whether the key holds spread columns.
    pub(crate) fn is_hash(self) -> bool {
        self.collection().is_some_and(|collection| collection.kind() == CollectionKind::Hash)
    }

    /// Returns the columns of the key, in the row or spread, or `None` if the key holds something
    /// else.
    ///
    /// Spread columns do not change while the reader lives, because it holds their lock and writers
    /// wait. So keep it for one command only, and do not write or read other columns meanwhile.
    #[inline]
    pub fn read_columns(self) -> Option<ColumnsReader<'g>> {
        if self.has_columns() {
            return Some(ColumnsReader::of_row(self));
        }
        let hash = self.collection().filter(|collection| collection.kind() == CollectionKind::Hash)?;
        Some(ColumnsReader::of_hash(hash, self))
    }

    /// Returns how many commands have changed the sorted set or the spread columns of the row since
    /// they were loaded into memory; `None` for other rows. Compare the numbers only for the same
    /// row of the same key.
    pub fn changes(self) -> Option<u64> {
        self.collection().map(|collection| shared(collection.state()).changes)
    }
}
