//! What dead collections have left: how much it is, and how it goes, a slice at a time.
//!
//! ```text
//!   a collection dies ─┬────────────────────► list ─┬─► the thread: the first of it, slice by slice            `sweep`
//!                      └─ kept for its views ──┘     └─► who asks for room beside it: some slices of the last one
//!
//!   a slice: some members or, when they have gone, some runs of the order
//! ```
//!
//! How much is left is known about, from what each member weighs, so that no keys are evicted for what is on its way out; and each asker for room removes as much as the
//! limit is passed by, so that it holds however late the thread comes. What is kept for views is not on its way out before the last of them ends.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use skein_index::ComputeAction;
use skein_sync::locks::lock;

use super::members::weight;
use super::{ID, MemberIndex, ScoreIndex};
use crate::memory::NODE_SHARE;
use crate::{Result, ScanDirection};

/// Members that are removed at a time, and bytes of their order that are given back at a time, at least.
const SLICE: usize = 256;
const SLICE_BYTES: usize = 16 << 10;

/// Bytes that a member takes in nodes, at most, as far as that is guessed.
const SHARE_MAX: usize = 256;

/// What is left of a dead collection.
#[derive(Debug)]
pub(super) struct DeadCollection {
    id: u64,
    order: ScoreIndex,
    /// Bytes that its members take: what they weigh, and of nodes, about, for each of them `share`.
    left: usize,
    share: usize,
}

/// What is left of all of them.
#[derive(Debug, Default)]
pub(super) struct SweepQueue {
    /// By their ids, which are never used again.
    pub(super) dead: BTreeMap<u64, DeadCollection>,
    pub(super) stop: bool,
}

/// Which dead collection is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SweepEnd {
    /// For the thread.
    First,
    /// For askers, so that they do not meet the thread where there are several.
    Last,
}

impl DeadCollection {
    /// What `count` members that weigh `bytes` leave, and their order.
    pub(super) fn new(
        members: &MemberIndex,
        id: u64,
        order: ScoreIndex,
        (count, bytes): (u64, usize),
    ) -> Self {
        let share = members.node_share();
        let nodes = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(share);
        Self { id, order, left: bytes.saturating_add(nodes), share }
    }

    /// The order that it had.
    pub(super) fn order(&self) -> &ScoreIndex {
        &self.order
    }

    /// Bytes that are left, about.
    pub(super) fn bytes(&self) -> usize {
        self.left.saturating_add(self.order.memory())
    }
}

impl SweepQueue {
    fn next(&self, next: SweepEnd) -> Option<u64> {
        let entry =
            if next == SweepEnd::First { self.dead.first_key_value() } else { self.dead.last_key_value() };
        entry.map(|(id, _)| *id)
    }
}

impl MemberIndex {
    /// Bytes that a member takes in nodes, about. It is looked at only where memory has a limit.
    fn node_share(&self) -> usize {
        if !self.rows.ages().counts_left() {
            return NODE_SHARE;
        }
        (self.index.memory().nodes / self.index.len().max(1)).min(SHARE_MAX)
    }

    /// Shows `each` the members of a collection, until it breaks.
    fn scan_first(&self, id: u64, each: impl FnMut(&[u8], crate::RowRef<'_>) -> ControlFlow<()>) {
        let start = id.to_be_bytes();
        let end = skein_index::successor(&start);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.index.scan((Bound::Included(&start[..]), end), ScanDirection::Forward, each);
    }

    /// Leaves the members of a collection that nobody knows, so many of such a weight, to the thread that removes them.
    pub(super) fn discard_members(&self, id: u64, left: (u64, usize)) {
        self.discard(DeadCollection::new(self, id, ScoreIndex::default(), left));
    }

    /// Leaves what a dead collection had to the thread that removes it.
    pub(super) fn discard(&self, dead: DeadCollection) {
        self.account_dying(0, dead.bytes());
        let twice = lock(&self.garbage).dead.insert(dead.id, dead);
        debug_assert!(twice.is_none(), "a collection dies once");
        self.wake.notify_one();
    }

    /// Removes what dead collections have left, about as much as `bytes` or all, beside the thread that does; how many bytes that was.
    pub(crate) fn sweep_some(&self, bytes: usize) -> usize {
        let mut swept = 0;
        while swept < bytes {
            let Ok(Some(more)) = self.sweep_slice(SweepEnd::Last) else { break };
            swept += more;
        }
        swept
    }

    /// Removes a slice of a dead collection; about how many bytes that took, `None` if there is none.
    pub(super) fn sweep_slice(&self, next: SweepEnd) -> Result<Option<usize>> {
        let Some(id) = lock(&self.garbage).next(next) else { return Ok(None) };
        Ok(Some(match self.remove_some(id)? {
            Some(bytes) => bytes,
            None => self.shed(id),
        }))
    }

    /// Gives back some of the order of a dead collection whose members have gone, and the collection with the last of it; how many bytes that was, nothing if
    /// another thread was faster.
    fn shed(&self, id: u64) -> usize {
        let mut garbage = lock(&self.garbage);
        let Some(dead) = garbage.dead.get_mut(&id) else { return 0 };
        let (order, mut bytes) = (&mut dead.order, 0);
        while bytes < SLICE_BYTES && order.memory() > 0 {
            bytes += order.shed();
        }
        let is_empty = order.memory() == 0;
        self.account(bytes, 0);
        self.account_dying(bytes, 0);
        if is_empty {
            self.forget(&mut garbage, id);
        }
        bytes
    }

    /// A dead collection is done with.
    fn forget(&self, garbage: &mut SweepQueue, id: u64) {
        if let Some(dead) = garbage.dead.remove(&id) {
            self.account_dying(dead.bytes(), 0);
        }
    }

    /// The first dead collection stays as it is until the next start.
    pub(super) fn leave_first(&self) {
        let mut garbage = lock(&self.garbage);
        if let Some(id) = garbage.next(SweepEnd::First) {
            self.forget(&mut garbage, id);
        }
    }

    /// Removes the first members of a dead collection; how many bytes they took, about, but those that another thread was faster with. `None` if there are none left.
    fn remove_some(&self, id: u64) -> Result<Option<usize>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        self.scan_first(id, |key, _| {
            keys.push(key.to_vec());
            if keys.len() < SLICE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if keys.is_empty() {
            return Ok(None);
        }
        let guard = self.enter();
        let (mut count, mut weighed) = (0, 0);
        for key in &keys {
            let removed = self.index.compute(
                key,
                |row| row.map_or(ComputeAction::Keep, |_| ComputeAction::Remove),
                &guard,
            )?;
            // Where another thread was faster, it accounts for it.
            if let Some(row) = removed.before.filter(|_| removed.changed) {
                weighed += weight(key.get(ID..).unwrap_or_default(), row);
                count += 1;
                _ = self.rows.left(Some(row), &guard);
            }
        }
        Ok(Some(self.removed(id, count, weighed)))
    }

    /// So many members of a dead collection are gone, of such a weight; about how many bytes they took.
    fn removed(&self, id: u64, count: usize, weighed: usize) -> usize {
        let mut garbage = lock(&self.garbage);
        let Some(dead) = garbage.dead.get_mut(&id) else { return 0 };
        let bytes = dead.left.min(weighed + count * dead.share);
        dead.left -= bytes;
        self.account_dying(bytes, 0);
        bytes
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use crate::{Eviction, RowWriter as _, Store, StoreOptions};

    /// Once, what a dead hash had left was told from its first members: with some large ones before many small ones it was hundreds of times what it was, and as long as it
    /// was not swept, no limit held.
    #[test]
    fn remaining_bytes_of_a_dead_hash_match_its_members() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let members = &store.inner().members;
        members.end_sweeps();
        store.set_memory_limit(Some(1 << 30), Eviction::Lru);
        let held = || {
            let memory = store.inner().memory();
            memory.total() - memory.unreclaimed - memory.buffers
        };
        let (large, small) = (vec![7; 60_000], b"7");
        let mut session = store.session();
        session.spread_columns(true);
        let mut put = |name: &str, value: &[u8]| {
            session
                .write(|writer| writer.put_columns(b"flock", &[(name.as_bytes(), value)]))
                .unwrap()
                .0
                .unwrap();
        };
        // Half of the large ones become small.
        (0..32).for_each(|at| put(&format!("a{at:02}"), &large));
        (0..10_000).for_each(|at| put(&format!("b{at}"), small));
        (16..32).for_each(|at| put(&format!("a{at:02}"), small));
        let before = held();
        store.remove(b"flock").unwrap();
        let dying = members.dying();
        assert_eq!((members.sweep_some(0), members.dying()), (0, dying), "no more goes than is asked for");
        assert!(members.sweep_some(usize::MAX) > 0);
        let gone = before - held();
        assert!(gone > 1 << 20 && dying.abs_diff(gone) < gone / 5, "{dying} bytes were dying, {gone} went");
        assert_eq!(members.dying(), 0);
    }

    #[test]
    fn members_weigh_the_same_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let usage = |store: &Store, key: &[u8]| store.session().get_with(key, |row| row.unwrap().usage(key));
        let before = {
            let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
            let mut session = store.session();
            session.spread_columns(true);
            let names: Vec<String> = (0..2_000).map(|at| format!("column:{at}")).collect();
            let columns: Vec<(&[u8], &[u8])> =
                names.iter().map(|name| (name.as_bytes(), name.as_bytes())).collect();
            session.write(|writer| writer.put_columns(b"flock", &columns)).unwrap().0.unwrap();
            session
                .write(|writer| writer.put_columns(b"flock", &[(b"column:7", &[7; 5_000])]))
                .unwrap()
                .0
                .unwrap();
            store.flush().unwrap();
            usage(&store, b"flock")
        };
        assert!(before > 2_000 * 60 + 5_000, "{before}");
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        assert_eq!(usage(&store, b"flock"), before);
    }
}
