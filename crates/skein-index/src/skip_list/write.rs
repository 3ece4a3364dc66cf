//! Writes.
//!
//! ```text
//!   key has a node:   find ──► read the state ──► exchange it, inside the gate ──► keep or retire what it superseded
//!   key has none:     find ──► link the node on level 0, inside the gate ──► link it on the levels above
//!   nothing is left:  state absent ──► mark from the top ──► unlink from the top ──► retire
//! ```
//!
//! `insert` and `remove` go on by single exchanges: whoever loses one starts over, and somebody has won. `compute` claims first (`compute.rs`).

use skein_sync::reclaim::Guard;

use super::SkipList;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::node_state::SkipNodeState;
use super::retained_versions::RetainedVersion;
use super::search::TowerPath;
use super::snapshot_gate::{GatePass, LiveSnapshot};
use super::variant::{BARE, has};
use crate::memory::MemoryPart;
use crate::slot::{Slot, retire_value};

/// A node of which nothing is left: it can be unlinked, and holds its key no more.
#[derive(Debug)]
struct EmptyNode;

/// Another thread has changed the state first.
#[derive(Debug)]
pub(super) struct LostRace;

/// What an exchange of a state has done.
#[derive(Debug)]
struct SupersededState {
    /// The stamp of the new version.
    stamp: u64,
    /// Who needs what was there, if somebody does.
    holder: Option<LiveSnapshot>,
    /// Whether nothing is left.
    gone: bool,
}

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Sets `key`, which is not too long; returns the word that it had.
    pub(super) fn put<G: Guard>(&self, key: &[u8], value: S, guard: &G) -> Option<u64> {
        let (target, height) = (SearchKey::of(key), self.heights.of(key));
        let word = value.into_word();
        // Before the search: what is written here comes from memory while that waits for memory, too.
        let node = Node::new(&self.base.arena, height, key, SkipNodeState::GONE, word);
        loop {
            let path = self.find(&target, height);
            if let Some(there) = path.found(&target) {
                if let Ok(before) = self.put_into(there, word, guard) {
                    // SAFETY: made above, and not linked.
                    unsafe { node.free(MemoryPart::Nodes) };
                    return before;
                }
                // It goes; the next search unlinks it.
                there.mark();
                continue;
            }
            let (last, next) = path.at(0);
            if self.link(node, &path, next, guard) {
                self.build(node, path, guard);
                return None;
            }
            last.wait_for_claim();
        }
    }

    /// Sets the value of a node's key; returns the word that it had.
    fn put_into(&self, node: Node<V>, word: u64, guard: &impl Guard) -> Result<Option<u64>, EmptyNode> {
        loop {
            let state = node.unclaimed_state();
            if state == SkipNodeState::GONE {
                return Err(EmptyNode);
            }
            if let Ok(before) = self.supersede(node, state, Some(word), guard, None) {
                return Ok(before);
            }
        }
    }

    /// Removes `key`, which is not too long; returns the word that it had.
    pub(super) fn take<G: Guard>(&self, key: &[u8], guard: &G) -> Option<u64> {
        let (target, height) = (SearchKey::of(key), self.heights.of(key));
        let path = self.find(&target, height);
        let node = path.found(&target)?;
        loop {
            let state = node.unclaimed_state();
            state.value(node)?;
            if let Ok(before) = self.supersede(node, state, None, guard, Some(&path)) {
                return before;
            }
        }
    }

    /// Runs `publish` at one moment of the gate; a bare list, which nobody sees as it was, has none.
    #[inline(always)]
    fn publish<R>(&self, thread: usize, publish: impl FnOnce(GatePass) -> R) -> R {
        if has(V, BARE) { publish(GatePass::ALONE) } else { self.gate.pass(thread, publish) }
    }

    /// Puts a version with this value, or a tombstone, on top of what a node has, unless that has changed; keeps the count of keys. Returns the
    /// word that was superseded, if there was one.
    pub(super) fn supersede(
        &self,
        node: Node<V>,
        seen: SkipNodeState,
        value: Option<u64>,
        guard: &impl Guard,
        path: Option<&TowerPath<V>>,
    ) -> Result<Option<u64>, LostRace> {
        if has(V, BARE) {
            return self.overwrite(node, seen, value, guard, path).map(Some);
        }
        let (arena, thread) = (&self.base.arena, guard.thread_id());
        let done = self.gate.pass(thread, |inside| {
            let holder = inside.holder(seen.stamp());
            let older = if holder.is_some() { seen.unclaimed() } else { seen.older() };
            let state = match value {
                None if older == SkipNodeState::GONE => SkipNodeState::GONE,
                _ => SkipNodeState::stacked(arena, value, inside.stamp, older),
            };
            if node.exchange(seen, state) {
                return Some(SupersededState {
                    stamp: inside.stamp,
                    holder,
                    gone: state == SkipNodeState::GONE,
                });
            }
            // SAFETY: made above, and seen by nobody.
            unsafe { state.free(MemoryPart::Nodes) };
            None
        });
        let (done, before) = (done.ok_or(LostRace)?, seen.value(node));
        let delta = i64::from(value.is_some()) - i64::from(before.is_some());
        if delta != 0 {
            self.base.len.add(thread, delta);
        }
        self.let_go(node, seen, &done, guard, path);
        Ok(before)
    }

    /// The same for a node without versions: its value is replaced under a claim, or its key is absent from now on. Returns the word that goes.
    fn overwrite(
        &self,
        node: Node<V>,
        seen: SkipNodeState,
        value: Option<u64>,
        guard: &impl Guard,
        path: Option<&TowerPath<V>>,
    ) -> Result<u64, LostRace> {
        let before = if let Some(word) = value {
            let claim = seen.claimed();
            if !seen.is_claimed() && !node.exchange(seen, claim) {
                return Err(LostRace);
            }
            let before = node.overwrite(word);
            let done = node.exchange(claim, claim.unclaimed());
            assert!(done, "a claimed state is its claimer's");
            before
        } else {
            if !node.exchange(seen, SkipNodeState::GONE) {
                return Err(LostRace);
            }
            // Who would write the value claims a state that is no more.
            self.base.len.add(guard.thread_id(), -1);
            node.value()
        };
        // SAFETY: out of the list, which owned it: nobody who takes a guard from now on finds it.
        unsafe { retire_value::<S>(before, guard) };
        if value.is_none() {
            self.remove_node(node, path, guard);
        }
        Ok(before)
    }

    /// Keeps what was superseded for who needs it, or retires it, and the node if nothing is left.
    fn let_go(
        &self,
        node: Node<V>,
        seen: SkipNodeState,
        done: &SupersededState,
        guard: &impl Guard,
        path: Option<&TowerPath<V>>,
    ) {
        if let Some(holder) = done.holder {
            let kept = RetainedVersion { node, stamp: seen.stamp(), until: done.stamp };
            if !self.snapshots.slot(holder).leave(&self.base.arena, kept) {
                self.pass_on(kept, guard);
            }
            return;
        }
        // SAFETY: out of the list of versions: nobody who takes a guard from now on finds them.
        unsafe {
            if let Some(word) = seen.value(node) {
                retire_value::<S>(word, guard);
            }
            seen.retire(guard);
        }
        if done.gone {
            self.remove_node(node, path, guard);
        }
    }

    /// Links a node with its own value on level 0 where its path says; false if the link there is not `seen` any more.
    pub(super) fn link(
        &self,
        node: Node<V>,
        path: &TowerPath<V>,
        seen: TowerLink<V>,
        guard: &impl Guard,
    ) -> bool {
        for level in 0..node.height() {
            node.init_link(level, path.at(level).1);
        }
        let linked = self.publish(guard.thread_id(), |inside| {
            node.init_state(SkipNodeState::inline(inside.stamp));
            path.at(0).0.replace_link(0, seen, TowerLink::to(node))
        });
        if linked {
            self.base.len.add(guard.thread_id(), 1);
        }
        linked
    }

    /// Links a node on the levels above, unless it goes meanwhile.
    pub(super) fn build(&self, node: Node<V>, mut path: TowerPath<V>, guard: &impl Guard) {
        let height = node.height();
        if height == 1 {
            return;
        }
        self.raise_top(height);
        let target = SearchKey::of(node.key());
        'levels: for level in 1..height {
            loop {
                let (last, next) = path.at(level);
                let own = node.next(level);
                if own.is_marked() || own != next && !node.replace_link(level, own, next) {
                    break 'levels;
                }
                if last.replace_link(level, next, TowerLink::to(node)) {
                    break;
                }
                path = self.find(&target, height);
                if path.found(&target) != Some(node) {
                    break 'levels;
                }
            }
        }
        if node.set_built() {
            self.unlink(node, None, guard);
        }
    }

    /// Takes a node out of the list whose state says that nothing is left of it. Only who made it so calls this. `path` leads to the node,
    /// or did, if it is known.
    #[inline(never)]
    pub(super) fn remove_node(&self, node: Node<V>, path: Option<&TowerPath<V>>, guard: &impl Guard) {
        node.mark();
        if node.set_removed() {
            self.unlink(node, path, guard);
        }
    }

    /// Unlinks a marked node from all levels, and retires it. Only who has to retire it calls this (`node.rs`, invariant 5).
    fn unlink(&self, node: Node<V>, path: Option<&TowerPath<V>>, guard: &impl Guard) {
        let by_path = path.is_some_and(|path| {
            (0..node.height()).rev().all(|level| {
                let (last, link) = path.at(level);
                link == TowerLink::to(node) && last.replace_link(level, link, node.next(level).unmarked())
            })
        });
        if !by_path {
            // A search for its key unlinks it wherever it is.
            self.find(&SearchKey::of(node.key()), node.height());
        }
        // SAFETY: it is in no list, and nobody will link it.
        unsafe { node.retire(guard) };
    }
}
