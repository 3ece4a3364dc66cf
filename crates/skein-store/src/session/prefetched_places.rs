//! The places in the index of keys that were looked up together because they are about to be
//! written.
//!
//! ```text
//!   prefetch     k0 k1 k2 ... ─► one batch of lookups ─► places p0 p1 p2 ...
//!   write k0     the next key ─► p0: lock that node at once
//!   write k2     a later key  ─► p2
//!   write k7     unknown      ─► search from the root
//! ```
//!
//! Design: `docs/design/store.md`.
//!
//! # Invariants
//! 1. A place is valid under the guard under which it was found, until the guard is refreshed. The
//!    writer holds one guard, and discards all places ([`PrefetchedPlaces::clear`]) whenever it
//!    refreshes the guard.
//! 2. A place belongs to the main index, and is returned only for an equal key: the bytes are
//!    compared, not the addresses, because a caller may reuse a buffer.

use std::cell::Cell;

use crate::index::IndexPlace;

/// The longest key with a place; longer keys are looked up again.
const KEY_BYTES_MAX: usize = 48;

/// The largest number of places, and the capacity that a thread keeps for its next writes.
const KEYS_MAX: usize = 256;

#[derive(Debug)]
struct PrefetchedPlace {
    key: [u8; KEY_BYTES_MAX],
    len: usize,
    place: IndexPlace,
}

/// The places of keys, in the expected order of their writes.
#[derive(Debug, Default)]
pub(super) struct PrefetchedPlaces {
    entries: Vec<Option<PrefetchedPlace>>,
    /// The first place that no write has used or passed.
    next: usize,
}

thread_local! {
    /// One per thread, taken by each writer, so that a prefetch allocates nothing.
    static KEPT: Cell<Option<PrefetchedPlaces>> = const { Cell::new(None) };
}

impl PrefetchedPlaces {
    /// Takes the calling thread's places, empty.
    pub(super) fn take() -> Self {
        KEPT.take().unwrap_or_default()
    }

    /// Gives the memory back to the calling thread.
    pub(super) fn keep(mut self) {
        self.clear();
        KEPT.set(Some(self));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.next = 0;
    }

    /// Begins a batch of this many keys and discards the places of the previous batch.
    pub(super) fn begin(&mut self, keys: usize) {
        self.clear();
        self.entries.resize_with(keys.min(KEYS_MAX), || None);
    }

    /// Notes the place of the key at this position of the batch.
    #[inline]
    pub(super) fn note(&mut self, position: usize, key: &[u8], place: IndexPlace) {
        let len = key.len();
        if len <= KEY_BYTES_MAX
            && let Some(entry) = self.entries.get_mut(position)
        {
            let mut bytes = [0; KEY_BYTES_MAX];
            bytes[..len].copy_from_slice(key);
            *entry = Some(PrefetchedPlace { key: bytes, len, place });
        }
    }

    /// Returns the place of a key that is about to be written, if it is known. Discards the places
    /// of earlier keys of the batch.
    #[inline]
    pub(super) fn place_of(&mut self, key: &[u8]) -> Option<IndexPlace> {
        let rest = self.entries.get(self.next..)?;
        let at = rest
            .iter()
            .position(|entry| entry.as_ref().is_some_and(|entry| entry.key.get(..entry.len) == Some(key)))?;
        self.next += at + 1;
        self.entries[self.next - 1].as_ref().map(|entry| entry.place)
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::index::{IndexKind, StoreIndex};

    #[test]
    fn writes_find_their_places_in_the_order_of_the_batch() {
        let index = StoreIndex::new(IndexKind::Masstree);
        let guard = index.collector().enter();
        let long = [b'x'; KEY_BYTES_MAX + 1];
        let keys: [&[u8]; 6] = [b"a", b"b", b"a", &long, b"", b"c"];
        let mut places = PrefetchedPlaces::default();
        places.begin(keys.len());
        index.locate_many(&keys, &guard, |at, _, place| places.note(at, keys[at], place.expect("a place")));
        let found = |places: &mut PrefetchedPlaces, key: &[u8]| places.place_of(key).is_some();
        assert!(found(&mut places, b"a"));
        assert!(!found(&mut places, b"aa"), "a longer key is different");
        // A request that wrote nothing leaves its key behind.
        assert!(found(&mut places, b"a"));
        assert!(!found(&mut places, b"b"), "later writes have passed it");
        assert!(!found(&mut places, &long), "too long for a place");
        assert!(found(&mut places, b""));
        assert!(found(&mut places, b"c"));
        assert!(!found(&mut places, b"c"));

        places.begin(1);
        assert!(!found(&mut places, b"c"), "the previous batch is discarded");
        places.begin(KEYS_MAX + 1);
        index.locate_many(&keys[..1], &guard, |_, _, place| {
            places.note(KEYS_MAX, b"a", place.expect("a place"));
        });
        assert!(!found(&mut places, b"a"), "more keys than places");
    }
}
