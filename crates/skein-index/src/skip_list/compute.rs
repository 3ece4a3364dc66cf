//! Claims: how `compute` keeps a key unchanged while its closure decides.
//!
//! ```text
//!   key has a node:      claim its state                        before ──► [ key ] ──► after
//!   key has no node:     claim the link across its place        before ══════════════► after
//! ```
//!
//! The closure is called once. Between the value that it gets and the decision that it returns, no
//! other write changes the key. Other writers wait for the claim: writers of the same key and, if
//! the key has no node, also threads that insert a key at the same place or remove a node next to
//! it. Readers never wait. A key that stays absent occupies no memory. Design:
//! `docs/design/compute-asks-once.md`.
//!
//! # Why a claimed link keeps a key absent
//! A node of the key would have to be linked on the bottom level behind the last node before it.
//! That node's link is claimed. The link does not change, so no other node can be inserted between.
//! The node gets no mark, so it is not unlinked, and it stays the last node before the key.

use skein_sync::reclaim::Guard;

use super::SkipListVariant;
use super::link::TowerLink;
use super::node::{Node, SearchKey};
use super::node_state::SkipNodeState;
use super::variant::SkipListSettings;
use crate::index::{ComputeAction, Computed};
use crate::slot::Slot;

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Calls `change` once with the value of `key` and carries out its decision, before any other
    /// write to the key. REQUIRES: the key is not too long.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        let (target, height) = (SearchKey::of(key), self.engine.heights.of(key));
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
                    let linked = self.link(node, &path, claim.keep_claimed(), guard);
                    assert!(linked, "only the claimer changes a claimed link");
                    self.build(node, path, guard);
                    return Computed { before: None, changed: true };
                }
                return Computed { before: None, changed: false };
            }
            last.wait_for_claim();
        }
    }

    /// Does the same for a node after its state was claimed.
    fn decide_at<'g>(
        &'g self,
        claim: StateClaim<V>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g impl Guard,
    ) -> Computed<'g, S> {
        let before = claim.state.value(claim.node);
        // SAFETY: the word is in the list of versions. If it is retired, then under this guard or a
        // later one.
        let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
        let value = match change(seen) {
            ComputeAction::Put(value) => Some(value.into_word()),
            ComputeAction::Remove if before.is_some() => None,
            ComputeAction::Keep | ComputeAction::Remove => return Computed { before: seen, changed: false },
        };
        let node = claim.node;
        let done = self.supersede(node, claim.keep_claimed(), value, guard, None);
        assert!(done.is_ok(), "only the claimer changes a claimed state");
        Computed { before: seen, changed: true }
    }
}

/// A claimed state. Dropping it, also during a panic, restores the state as it was.
struct StateClaim<V: SkipListSettings> {
    node: Node<V>,
    /// With the claim bit set.
    state: SkipNodeState,
}

impl<V: SkipListSettings> StateClaim<V> {
    /// Claims the state of a node. Returns `None` if another thread is faster or the node is being
    /// removed.
    fn of(node: Node<V>) -> Option<Self> {
        let state = node.unclaimed_state();
        if state == SkipNodeState::GONE {
            // The next search unlinks it.
            node.mark();
            return None;
        }
        node.exchange(state, state.claimed()).then(|| Self { node, state: state.claimed() })
    }

    /// Returns the state, which stays claimed.
    fn keep_claimed(self) -> SkipNodeState {
        std::mem::ManuallyDrop::new(self).state
    }
}

impl<V: SkipListSettings> Drop for StateClaim<V> {
    fn drop(&mut self) {
        let given_back = self.node.exchange(self.state, self.state.unclaimed());
        assert!(given_back, "only the claimer changes a claimed state");
    }
}

/// A claimed link on the bottom level. Dropping it, also during a panic, restores the link as it
/// was.
struct LinkClaim<V: SkipListSettings> {
    node: Node<V>,
    /// With the claim bit set.
    link: TowerLink<V>,
}

impl<V: SkipListSettings> LinkClaim<V> {
    /// Claims the link of a node. Returns `None` if the link is no longer `link`.
    fn of(node: Node<V>, link: TowerLink<V>) -> Option<Self> {
        node.replace_link(0, link, link.claimed()).then(|| Self { node, link: link.claimed() })
    }

    /// Returns the link, which stays claimed.
    fn keep_claimed(self) -> TowerLink<V> {
        std::mem::ManuallyDrop::new(self).link
    }
}

impl<V: SkipListSettings> Drop for LinkClaim<V> {
    fn drop(&mut self) {
        let given_back = self.node.replace_link(0, self.link, self.link.unclaimed());
        assert!(given_back, "only the claimer changes a claimed link");
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

    /// Once, `compute` on an absent key linked a node as its claim, and unlinked it if the key was
    /// to stay absent. Consequence: a thread that called `compute` on many absent keys filled the
    /// memory with nodes waiting for reclamation. Fix: the claim is the link between the
    /// neighbours, and a node is made only when there is a value to put.
    #[test]
    fn keys_that_stay_absent_take_no_memory() {
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

    /// Every write of another thread to an absent key or its neighbours is done before the closure
    /// is called or after its decision is carried out.
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
