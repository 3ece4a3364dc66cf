//! Readers of the collection of a row, if its members are in memory or in the row.

use skein_model::{CollectionKind, RowRef};

use super::{Collection, ColumnsReader, SortedSet};

/// Reads the collection that a row of a [`Store`](crate::Store) holds. The members of a row of
/// another engine are found only if they are in the row itself.
pub trait CollectionReads<'g>: Sized {
    /// Returns the set of this kind, sorted or not, or the list, if the key holds it; `None` for
    /// other rows. Without stored scores, all members have the score
    /// [`SET_SCORE`](crate::SET_SCORE).
    fn set_of(self, kind: CollectionKind) -> Option<SortedSet<'g>>;

    /// Returns the sorted set of the key; `None` for other rows.
    fn sorted_set(self) -> Option<SortedSet<'g>> {
        self.set_of(CollectionKind::SortedSet)
    }

    /// Returns the columns of the key, in the row or spread in memory; `None` for other rows.
    ///
    /// Spread columns do not change while the reader lives, because it holds their lock and writers
    /// wait. So keep it for one command only, and do not write or read other columns meanwhile.
    fn read_columns(self) -> Option<ColumnsReader<'g>>;
}

impl<'g> CollectionReads<'g> for RowRef<'g> {
    fn set_of(self, kind: CollectionKind) -> Option<SortedSet<'g>> {
        if let Some(packed) = self.packed().filter(|packed| packed.kind() == kind) {
            return Some(SortedSet::packed(packed));
        }
        let set = self.collection().filter(|set: &&Collection| set.kind == kind && kind.has_ranks())?;
        Some(SortedSet::new(set, self))
    }

    #[inline]
    fn read_columns(self) -> Option<ColumnsReader<'g>> {
        if self.has_columns() {
            return Some(ColumnsReader::of_row(self));
        }
        let hash = self.collection().filter(|hash: &&Collection| hash.kind == CollectionKind::Hash)?;
        Some(ColumnsReader::of_hash(hash, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skein_model::{CollectionHead, RowAllocator};

    #[test]
    fn a_collection_outside_of_memory_has_no_readers() {
        for kind in CollectionKind::ALL {
            let row = RowAllocator::new().stored_collection(CollectionHead { kind, id: 1, len: 7 }, None);
            let row = row.as_ref();
            assert!(row.set_of(kind).is_none() && row.sorted_set().is_none() && row.read_columns().is_none());
        }
    }
}
