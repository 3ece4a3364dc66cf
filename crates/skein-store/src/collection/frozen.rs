//! Frozen collections: a collection as it was at the moment of a snapshot.
//!
//! A frozen collection has the id of the present one, and reads its members at the moment, without
//! the lock of the present one. Its own state is marked dead, so it has no writers, and readers
//! leave their usual path at the flag that they look at anyway. The score index of a set, and the
//! number of columns of a hash, are made when it is first read.
//!
//! Design: `docs/design/store.md`.

use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex, Once, RwLockReadGuard};

use skein_index::LocalGuard;
use skein_model::RowRef;
use skein_sync::locks::{lock, shared};

use super::recover::GatheredMembers;
use super::{Collection, CollectionState, ID, SharedCollection, member_key};
use crate::ScanDirection;
use crate::snapshot::{IndexAtMoment, KeptRow};

/// The moment of a frozen collection.
#[derive(Debug)]
pub(super) struct FrozenMoment {
    moment: u64,
    loaded: Once,
    /// Kept rows that were looked up. They stay as long as the collection, because their values are
    /// borrowed.
    looked_up: Mutex<Vec<Arc<KeptRow>>>,
}

impl Collection {
    /// Returns this collection as it was at the moment of a snapshot.
    pub(crate) fn frozen(&self, moment: u64) -> Arc<SharedCollection> {
        let frozen = FrozenMoment { moment, loaded: Once::new(), looked_up: Mutex::default() };
        self.members.collection_of(self.kind, self.id, Some(Box::new(frozen)))
    }

    /// Locks the state for reading.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, CollectionState> {
        let state = shared(self.state());
        if !state.dead {
            return state;
        }
        drop(state);
        self.load_frozen();
        shared(self.state())
    }

    /// Makes the score index, or the count, of a frozen collection, once.
    #[cold]
    fn load_frozen(&self) {
        if let Some(frozen) = &self.frozen {
            frozen.loaded.call_once(|| {
                let mut gathered = GatheredMembers::of(self);
                self.walk_frozen(None, |member, row| {
                    gathered.add(row, member);
                    ControlFlow::Continue(())
                });
                gathered.finish(&self.members);
            });
        }
    }

    /// Returns a member of a frozen collection; `None` if the collection is dead.
    #[cold]
    pub(super) fn frozen_member<'g>(&'g self, name: &[u8], guard: &'g LocalGuard<'g>) -> Option<RowRef<'g>> {
        let frozen = self.frozen.as_ref()?;
        let mut key = Vec::new();
        let key = member_key(&mut key, self.id, name);
        let present = self.members.index.get(key, guard);
        let Some(kept) = IndexAtMoment::members(&self.members, frozen.moment).kept(key) else {
            return present;
        };
        let row = kept.row().map(RowRef::pin);
        lock(&frozen.looked_up).push(kept);
        // SAFETY: the kept row owns this row and never changes. The list above holds it, and only
        // grows, until the collection is dropped, which is borrowed for `'g`.
        row.map(|row| unsafe { row.row() })
    }

    /// Calls `each` with the members of a frozen collection in the order of their bytes until it
    /// breaks; only those after `after`, if given. Does nothing for another collection.
    #[cold]
    pub(super) fn walk_frozen(
        &self,
        after: Option<&[u8]>,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        let Some(frozen) = &self.frozen else { return };
        let mut key = Vec::new();
        let key = member_key(&mut key, self.id, after.unwrap_or_default());
        let lower = if after.is_some() { Bound::Excluded(key) } else { Bound::Included(key) };
        let end = skein_index::successor(&self.id.to_be_bytes());
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        IndexAtMoment::members(&self.members, frozen.moment).scan(
            (lower, upper),
            ScanDirection::Forward,
            |key, row| each(&key[ID..], row),
        );
    }
}
