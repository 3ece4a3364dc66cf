//! Writes: `insert`, `remove`, and the steps that `compute` shares with them.
//!
//! ```text
//!   key has a node:      find ──► read the state ──► exchange it inside the gate
//!                             ──► keep or retire the superseded version
//!   key has no node:     find ──► link the node on level 0 inside the gate
//!                             ──► link it on the levels above
//!   no version is left:  state absent ──► mark from the top ──► unlink from the top ──► retire
//! ```
//!
//! `insert` and `remove` use single exchanges: if a thread's exchange fails, another thread's has
//! succeeded, and the loser starts over. `compute` claims first (`compute.rs`).

use skein_sync::reclaim::Guard;

use super::SkipListVariant;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::node_state::SkipNodeState;
use super::retained_versions::RetainedVersion;
use super::search::TowerPath;
use super::snapshot_gate::{GatePass, LiveSnapshot};
use super::variant::SkipListSettings;
use crate::memory::MemoryPart;
use crate::slot::{Slot, retire_value};

/// The node has no version left. It may be unlinked and no longer holds its key.
#[derive(Debug)]
struct EmptyNode;

/// Another thread has changed the state first.
#[derive(Debug)]
pub(super) struct LostRace;

/// The result of a successful exchange of a state.
#[derive(Debug)]
struct SupersededState {
    /// The stamp of the new version.
    stamp: u64,
    /// The newest snapshot that sees the superseded version, if there is one.
    holder: Option<LiveSnapshot>,
    /// Whether no version is left.
    is_empty: bool,
}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Sets the value of `key` and returns the word that it had. REQUIRES: the key is not too long.
    pub(super) fn put<G: Guard>(&self, key: &[u8], value: S, guard: &G) -> Option<u64> {
        let (target, height) = (SearchKey::of(key), self.engine.heights.of(key));
        let word = value.into_word();
        // The node is made before the search, so that the memory accesses of both overlap.
        let node = Node::new(&self.base.arena, height, key, SkipNodeState::GONE, word);
        loop {
            let path = self.find(&target, height);
            if let Some(there) = path.found(&target) {
                if let Ok(before) = self.put_into(there, word, guard) {
                    // SAFETY: made above, and not linked.
                    unsafe { node.free(MemoryPart::Nodes) };
                    return before;
                }
                // It is being removed; the next search unlinks it.
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

    /// Sets the value of a node's key and returns the word that it had. Errors if the node is being
    /// removed.
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

    /// Removes `key` and returns the word that it had. REQUIRES: the key is not too long.
    pub(super) fn take<G: Guard>(&self, key: &[u8], guard: &G) -> Option<u64> {
        let (target, height) = (SearchKey::of(key), self.engine.heights.of(key));
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

    /// Runs `publish` at one moment of the gate. A bare list has no snapshots and therefore no
    /// gate.
    #[inline(always)]
    fn publish<R>(&self, thread: usize, publish: impl FnOnce(GatePass) -> R) -> R {
        if V::VERSIONS { self.engine.gate.pass(thread, publish) } else { publish(GatePass::ALONE) }
    }

    /// Puts a version with this value, or a tombstone, in front of a node's list, and updates the
    /// count of keys. Returns the superseded word, if there was one. Errors if the state is no
    /// longer `seen`.
    pub(super) fn supersede(
        &self,
        node: Node<V>,
        seen: SkipNodeState,
        value: Option<u64>,
        guard: &impl Guard,
        path: Option<&TowerPath<V>>,
    ) -> Result<Option<u64>, LostRace> {
        if !V::VERSIONS {
            return self.overwrite(node, seen, value, guard, path).map(Some);
        }
        let (arena, thread) = (&self.base.arena, guard.thread_id());
        let done = self.engine.gate.pass(thread, |inside| {
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
                    is_empty: state == SkipNodeState::GONE,
                });
            }
            // SAFETY: made above, and never shared.
            unsafe { state.free(MemoryPart::Nodes) };
            None
        });
        let (done, before) = (done.ok_or(LostRace)?, seen.value(node));
        let delta = i64::from(value.is_some()) - i64::from(before.is_some());
        if delta != 0 {
            self.base.len.add(thread, delta);
        }
        self.retain_or_retire(node, seen, &done, guard, path);
        Ok(before)
    }

    /// Does the same for a node of a bare list: replaces its value under a claim, or makes its key
    /// absent. Returns the superseded word.
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
            // Another writer of the value would have to claim a state that exists no longer.
            self.base.len.add(guard.thread_id(), -1);
            node.value()
        };
        // SAFETY: the list owned the word and no longer holds it: a guard that is taken from now on
        // cannot reach it.
        unsafe { retire_value::<S>(before, guard) };
        if value.is_none() {
            self.remove_node(node, path, guard);
        }
        Ok(before)
    }

    /// Leaves a note for the superseded version if a snapshot needs it. Otherwise retires the
    /// version, and also the node if no version is left.
    fn retain_or_retire(
        &self,
        node: Node<V>,
        seen: SkipNodeState,
        done: &SupersededState,
        guard: &impl Guard,
        path: Option<&TowerPath<V>>,
    ) {
        if let Some(holder) = done.holder {
            let kept = RetainedVersion { node, stamp: seen.stamp(), until: done.stamp };
            if !self.engine.snapshots.slot(holder).push(&self.base.arena, kept) {
                self.pass_on(kept, guard);
            }
            return;
        }
        // SAFETY: the versions are out of their list: a guard that is taken from now on cannot
        // reach them.
        unsafe {
            if let Some(word) = seen.value(node) {
                retire_value::<S>(word, guard);
            }
            seen.retire(guard);
        }
        if done.is_empty {
            self.remove_node(node, path, guard);
        }
    }

    /// Links a node with its own value on level 0, at the position of its path. Returns false if
    /// the link there is no longer `seen`.
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

    /// Links a node on the levels above, unless it is removed meanwhile.
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

    /// Removes a node whose state says that no version is left. Only the thread that set this state
    /// may call it. `path` is the path to the node, possibly outdated, if the caller knows one.
    #[inline(never)]
    pub(super) fn remove_node(&self, node: Node<V>, path: Option<&TowerPath<V>>, guard: &impl Guard) {
        node.mark();
        if node.set_removed() {
            self.unlink(node, path, guard);
        }
    }

    /// Unlinks a marked node from all levels and retires it. Only the thread that must retire the
    /// node may call it (`node.rs`, invariant 5).
    fn unlink(&self, node: Node<V>, path: Option<&TowerPath<V>>, guard: &impl Guard) {
        let by_path = path.is_some_and(|path| {
            (0..node.height()).rev().all(|level| {
                let (last, link) = path.at(level);
                link == TowerLink::to(node) && last.replace_link(level, link, node.next(level).unmarked())
            })
        });
        if !by_path {
            // A search for its key unlinks it on every level.
            self.find(&SearchKey::of(node.key()), node.height());
        }
        // SAFETY: it is in no list, and no thread will link it.
        unsafe { node.retire(guard) };
    }
}
