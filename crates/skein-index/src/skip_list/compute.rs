//! Claims: how `compute` keeps a key as it is while its closure decides.
//!
//! ```text
//!   key has a node:   its state is claimed            before ──► [ key ] ──► after
//!   key has none:     the link past its place is      before ══════════════► after
//! ```
//!
//! The closure is called once, and nothing happens to the key between what it is shown and what it decides. Other writers wait for the claim: those of
//! the key, and where that has no node, those who would add a key at the same place, or take away a node next to it. No reader waits. A key that
//! is to stay absent takes no memory.
//!
//! # Why a claimed link keeps a key absent
//! A node of the key would have to be linked on the bottom level after the last node before it. That is the node whose link is claimed, and stays it:
//! its link does not change, so no other node comes between, and it gets no mark, so it is not unlinked.

use skein_sync::reclaim::Guard;

use super::SkipList;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::node_state::SkipNodeState;
use crate::index::{ComputeAction, Computed};
use crate::slot::Slot;

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Does what `change` decides about `key`, which is not too long; `change` is called once, and its decision is done before any other
    /// write to the key.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        let (target, height) = (SearchKey::of(key), self.heights.of(key));
        loop {
            let path = self.find(&target, height);
            if let Some(node) = path.found(&target) {
                if let Some(claim) = StateClaim::of(node) {
                    return self.decide_at(claim, change, guard);
                }
                continue;
            }
            let (last, next) = path.at(0);
            if let Some(claim) = LinkClaim::of(last, next) {
                if let ComputeAction::Put(value) = change(None) {
                    let node =
                        Node::new(&self.base.arena, height, key, SkipNodeState::GONE, value.into_word());
                    let linked = self.link(node, &path, claim.let_go(), guard);
                    assert!(linked, "a claimed link is its claimer's");
                    self.build(node, path, guard);
                    return Computed { before: None, changed: true };
                }
                return Computed { before: None, changed: false };
            }
            last.wait_for_claim();
        }
    }

    /// The same for a node whose state is claimed.
    fn decide_at<'g>(
        &'g self,
        claim: StateClaim<V>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g impl Guard,
    ) -> Computed<'g, S> {
        let before = claim.state.value(claim.node);
        // SAFETY: the word is in the list of versions, and is retired, if at all, under this guard or a later one.
        let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
        let value = match change(seen) {
            ComputeAction::Put(value) => Some(value.into_word()),
            ComputeAction::Remove if before.is_some() => None,
            ComputeAction::Keep | ComputeAction::Remove => return Computed { before: seen, changed: false },
        };
        let node = claim.node;
        let done = self.supersede(node, claim.let_go(), value, guard, None);
        assert!(done.is_ok(), "a claimed state is its claimer's");
        Computed { before: seen, changed: true }
    }
}

/// A claimed state; given back as it was when dropped, after a panic too.
struct StateClaim<const V: usize> {
    node: Node<V>,
    /// With the claim.
    state: SkipNodeState,
}

impl<const V: usize> StateClaim<V> {
    /// Claims the state of a node, unless another thread is quicker, or the node goes.
    fn of(node: Node<V>) -> Option<Self> {
        let state = node.unclaimed_state();
        if state == SkipNodeState::GONE {
            // The next search unlinks it.
            node.mark();
            return None;
        }
        node.exchange(state, state.claimed()).then(|| Self { node, state: state.claimed() })
    }

    /// The state, which stays claimed.
    fn let_go(self) -> SkipNodeState {
        std::mem::ManuallyDrop::new(self).state
    }
}

impl<const V: usize> Drop for StateClaim<V> {
    fn drop(&mut self) {
        let given_back = self.node.exchange(self.state, self.state.unclaimed());
        assert!(given_back, "a claimed state is its claimer's");
    }
}

/// A claimed link on the bottom level; given back as it was when dropped, after a panic too.
struct LinkClaim<const V: usize> {
    node: Node<V>,
    /// With the claim.
    link: TowerLink<V>,
}

impl<const V: usize> LinkClaim<V> {
    /// Claims the link of a node if it is as it was seen.
    fn of(node: Node<V>, link: TowerLink<V>) -> Option<Self> {
        node.replace_link(0, link, link.claimed()).then(|| Self { node, link: link.claimed() })
    }

    /// The link, which stays claimed.
    fn let_go(self) -> TowerLink<V> {
        std::mem::ManuallyDrop::new(self).link
    }
}

impl<const V: usize> Drop for LinkClaim<V> {
    fn drop(&mut self) {
        let given_back = self.node.replace_link(0, self.link, self.link.unclaimed());
        assert!(given_back, "a claimed link is its claimer's");
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::super::SkipList;
    use crate::index::{ComputeAction, OrderedIndex};
    use crate::slot::Inline;

    fn list() -> SkipList<Inline<u64>> {
        let list = SkipList::new().with_seed(5);
        let guard = list.collector().enter();
        for key in [b"bee", b"eel"] {
            list.insert(key, Inline(1), &guard).unwrap();
        }
        drop(guard);
        list
    }

    /// Incident: `compute` on an absent key linked a node for its claim, and unlinked it when the key was to stay absent. Consequence: who
    /// looked for keys that are not there, to change them if they were, filled the memory with nodes to be reclaimed. Fix: the claim is the
    /// place between the neighbours, and a node is made once there is something to put.
    #[test]
    fn what_stays_absent_takes_no_memory() {
        let mut list = list();
        let guard = list.collector().enter();
        let before = list.memory();
        for decided in [|| ComputeAction::Keep, || ComputeAction::Remove].into_iter().cycle().take(100) {
            let decide = |seen| {
                assert_eq!((seen, list.memory()), (None, before));
                decided()
            };
            assert!(!list.compute(b"cat", decide, &guard).unwrap().changed);
        }
        assert_eq!(list.memory(), before);
        drop(guard);
        assert_eq!(list.check().unwrap().nodes, 2);
    }

    /// Whatever other threads do to an absent key, or to its neighbours, is done before the closure is called or after its decision is.
    #[test]
    fn nothing_happens_to_a_key_while_a_closure_decides() {
        for puts in [false, true] {
            let mut list = list();
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let (shared, done) = (&list, &done);
                let decide = |seen| {
                    assert_eq!(seen, None);
                    scope.spawn(move || {
                        let before = shared.insert(b"cat", Inline(3), &shared.collector().enter());
                        done.store(true, Ordering::Relaxed);
                        assert_eq!(before, Ok(puts.then_some(2)));
                    });
                    for key in [b"bee", b"eel"] {
                        scope.spawn(move || shared.remove(key, &shared.collector().enter()));
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    assert!(!done.load(Ordering::Relaxed));
                    if puts { ComputeAction::Put(Inline(2)) } else { ComputeAction::Keep }
                };
                let guard = list.collector().enter();
                let computed = list.compute(b"cat", decide, &guard).unwrap();
                assert_eq!((computed.before, computed.changed), (None, puts));
            });
            let shape = list.check().unwrap();
            assert_eq!((shape.keys, shape.nodes), (1, 1));
            assert_eq!(list.get(b"cat", &list.collector().enter()), Some(3));
        }
    }

    #[test]
    fn a_closure_that_panics_leaves_an_absent_key_to_others() {
        let mut list = list();
        let guard = list.collector().enter();
        let compute = || list.compute(b"cat", |_| panic!("planned"), &guard).map(|computed| computed.changed);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(compute)).is_err());
        assert_eq!(list.insert(b"cat", Inline(3), &guard), Ok(None));
        drop(guard);
        assert_eq!(list.check().unwrap().nodes, 3);
    }
}
