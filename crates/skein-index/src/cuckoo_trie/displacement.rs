//! Room for an entry whose two buckets are full, and so are the other buckets of all entries there: entries move along a path.
//!
//! ```text
//!   bucket of the new entry, full ─► an entry's other bucket, full ─► an entry's other bucket, with a free slot
//!                                 3. ◄── moved ──          2. ◄── moved ──          1.
//! ```
//!
//! The shortest such path is looked for first, in breadth, without a lock; then each move is a change of its own, the last one first, so
//! that every entry is in one of its buckets at every moment. The paper leaves the search for a path open.

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::lanes::SLOTS;
use super::table::CuckooTable;
use super::transaction::{CuckooAbort, CuckooSlot, CuckooTransaction, NODES_MAX};
use crate::index::IndexError;
use crate::slot::Slot;

/// Buckets looked at before the search for a path is given up.
const LOOKED_AT_MAX: usize = 160;

/// Buckets that are asked for before they are looked at, or a few more.
const ASKED_FOR: usize = 6;

/// Times that one write asks for room before the table grows, whatever its load is.
const TRIES: usize = 8;

/// Times after which a write is refused if the table cannot grow.
const TRIES_AT_MOST: usize = 64;

/// What one write has asked room for.
#[derive(Debug, Default)]
pub(super) struct RoomRequests {
    /// The hashes of the nodes that had no place.
    hashes: ArrayVec<u32, NODES_MAX>,
    tries: usize,
}

/// A bucket on a path: the entry in this slot of an earlier one could move there.
#[derive(Clone, Copy, Debug)]
struct PathBucket {
    bucket: u32,
    from: usize,
    slot: usize,
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Makes room in one of the buckets of a hash, by moving entries or by growing; or lets another thread do so.
    #[cold]
    pub(super) fn make_room(&self, hash: u32, crowded: &mut RoomRequests) -> Result<(), IndexError> {
        let grown = if self.is_tight() || crowded.tries > TRIES { self.grow() } else { Ok(()) };
        let pair = self.table.pair(hash);
        // What was made free for another node of the same write is to stay so.
        let others =
            crowded.hashes.iter().filter(|&&other| other != hash).map(|&other| self.table.pair(other));
        let kept: ArrayVec<u32, { 2 * NODES_MAX }> =
            others.flat_map(|pair| [pair.primary, pair.secondary]).collect();
        let again = crowded.hashes.contains(&hash);
        if !again && !crowded.hashes.is_full() {
            crowded.hashes.push(hash);
        }
        crowded.tries += 1;
        match self.free_a_slot(&[pair.primary, pair.secondary], &kept, again) {
            // At its greatest size the table ends no to and fro by growing: then it is as good as full.
            _ if crowded.tries > TRIES_AT_MOST => grown,
            Ok(true) | Err(_) => Ok(()),
            Ok(false) => grown.and_then(|()| self.grow()),
        }
    }

    /// Frees a slot in one of these buckets, without a move into those that are `kept`; false if there is no way to. If there is a free slot
    /// already, that is enough, unless `another` is wanted.
    pub(super) fn free_a_slot(
        &self,
        buckets: &[u32],
        kept: &[u32],
        another: bool,
    ) -> Result<bool, CuckooAbort> {
        let mut reached: ArrayVec<PathBucket, LOOKED_AT_MAX> = ArrayVec::new();
        reached.extend(buckets.iter().map(|&bucket| PathBucket { bucket, from: usize::MAX, slot: 0 }));
        // Buckets are looked at in order; those that the entries of the first ones could move to are asked for before that, and not many at once.
        let (mut looked_at, mut followed) = (0, 0);
        while let Some(&PathBucket { bucket, from, .. }) = reached.get(looked_at) {
            if self.table.bucket(bucket).lanes().has_room() && !(another && from == usize::MAX) {
                self.shift(&reached, looked_at)?;
                return Ok(true);
            }
            looked_at += 1;
            while followed < looked_at && reached.len() < looked_at + ASKED_FOR {
                self.follow(&mut reached, followed, kept);
                followed += 1;
            }
        }
        Ok(false)
    }

    /// Adds the other buckets of the entries in one of the buckets reached.
    fn follow(&self, reached: &mut ArrayVec<PathBucket, LOOKED_AT_MAX>, from: usize, kept: &[u32]) {
        let (bucket, size) = (reached[from].bucket, self.table.places());
        let lanes = self.table.bucket(bucket).lanes();
        for slot in 0..SLOTS {
            let other = CuckooTable::<V>::other_at(lanes.get(slot), bucket, size);
            if !reached.is_full() && lanes.get(slot) != 0 && other != bucket && !kept.contains(&other) {
                self.table.prefetch_bucket(other);
                reached.push(PathBucket { bucket: other, from, slot });
            }
        }
    }

    /// Moves the entries of a path, from its end on.
    fn shift(&self, reached: &[PathBucket], mut end: usize) -> Result<(), CuckooAbort> {
        while let PathBucket { bucket, from, slot } = reached[end]
            && from != usize::MAX
        {
            let mut change = CuckooTransaction::new(&self.table);
            let held = change.take(reached[from].bucket);
            change.move_to(CuckooSlot { held, slot }, bucket)?;
            change.lock()?;
            change.apply();
            end = from;
        }
        Ok(())
    }
}
