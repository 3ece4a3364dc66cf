//! Writes: the value of a key that is there, and keys that come.
//!
//! ```text
//!   no key begins so          a leaf of level 3
//!   a leaf, or an inner node  ┌ inner node, as deep as both share ┐      a node is split: what was there goes down a level, under another name
//!   that the key parts from   │ what was there      a new leaf    │
//!   no such child             the node gets another symbol, and a new leaf
//! ```
//!
//! Where the new key is the least of all below a node, the nodes above it get another least key, as far up as that is so (section 4.2, insert).

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::change::{Change, Obstacle, Spot};
use super::children::Children;
use super::claims::Claim;
use super::key::Key;
use super::name::LEVEL_MIN;
use super::node::{Body, Node};
use super::search::{Path, Seen, Unsure};
use super::top::start_of;
use crate::engine::Asked;
use crate::index::{self, Computed, Refused};
use crate::slot::{Slot, retire_value};

impl From<Unsure> for Obstacle {
    fn from(_: Unsure) -> Self {
        Self::Changed
    }
}

/// What came of a try to write.
enum Tried<'g, S: Slot> {
    Done(Computed<'g, S>),
    /// The key is to be removed, and nobody else changes it meanwhile.
    Claimed(Claim<'g>),
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Does what `change` decides about a key.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: Key,
        change: impl FnOnce(Option<S::Ref<'_>>) -> index::Change<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, Refused> {
        let mut change = Asked::new(change);
        let mut backoff = Backoff::new();
        loop {
            match self.try_write(key, &mut change, guard) {
                Ok(Tried::Done(computed)) => return Ok(computed),
                Ok(Tried::Claimed(claim)) => {
                    let before = self.take_out(key, Some(&claim), guard);
                    assert!(before.is_some(), "a claimed key stays until its claimer removes it");
                    return Ok(Computed { before, changed: true });
                }
                Err(Obstacle::Crowded) => self.grow()?,
                Err(Obstacle::Changed) => {
                    backoff.wait();
                    self.claims.wait(key);
                }
            }
        }
    }

    fn try_write<'g, G: Guard>(
        &'g self,
        key: Key,
        change: &mut Asked<impl FnOnce(Option<S::Ref<'_>>) -> index::Change<S>>,
        guard: &'g G,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let mut path = Path::default();
        self.descend(key, &mut path)?;
        let Some(seen) = &path.stop else { return self.add(key, &path, None, change) };
        let node = seen.node(&self.table.seeds);
        match node.body {
            Body::Leaf { value, .. } if node.key() == key => self.update(key, (seen, value), change, guard),
            _ => self.add(key, &path, Some((seen, node)), change),
        }
    }

    /// Changes the value of a key that is there.
    fn update<'g, G: Guard>(
        &'g self,
        key: Key,
        (seen, old): (&Seen, u64),
        change: &mut Asked<impl FnOnce(Option<S::Ref<'_>>) -> index::Change<S>>,
        guard: &'g G,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let mut plan = Change::new(&self.table);
        let spot = plan.take_seen(seen)?;
        plan.lock()?;
        self.claims.check(key)?;
        // SAFETY: the word is in the index, and is retired, if at all, under this guard or a later one.
        let before = unsafe { S::borrow(old) };
        match change.ask(Some(before)) {
            index::Change::Keep => Ok(Tried::Done(Computed { before: Some(before), changed: false })),
            index::Change::Remove => Ok(Tried::Claimed(self.claims.claim(key))),
            index::Change::Put(value) => {
                plan.set_value(spot, value.into_word());
                plan.apply_with(|| ());
                // SAFETY: the old word is out of the index, which owned it.
                unsafe { retire_value::<S>(old, guard) };
                Ok(Tried::Done(Computed { before: Some(before), changed: true }))
            }
        }
    }

    /// Adds a key that is not there.
    fn add<'g>(
        &'g self,
        key: Key,
        path: &Path,
        stop: Option<(&Seen, Node)>,
        change: &mut Asked<impl FnOnce(Option<S::Ref<'_>>) -> index::Change<S>>,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let mut plan = Change::new(&self.table);
        let (level, spot) = plan_leaf(&mut plan, key, path, stop)?;
        plan.lock()?;
        let changed = match change.ask(None) {
            index::Change::Put(value) => {
                plan.set_value(spot, value.into_word());
                let crowded = plan.crowded;
                plan.apply_with(|| {
                    if level == LEVEL_MIN {
                        self.top.set(start_of(key.bits));
                    }
                });
                self.base.len.add(key.bits as usize, 1);
                self.grow_after_insert(crowded);
                true
            }
            index::Change::Keep | index::Change::Remove => false,
        };
        Ok(Tried::Done(Computed { before: None, changed }))
    }
}

/// Plans a leaf for a key where its path ends, at a node if there is one; returns its level, and where it is.
fn plan_leaf<const V: usize>(
    plan: &mut Change<'_, V>,
    key: Key,
    path: &Path,
    stop: Option<(&Seen, Node)>,
) -> Result<(u32, Spot), Obstacle> {
    let Some((seen, node)) = stop else {
        return Ok((LEVEL_MIN, plan.place(&Node::leaf(key, LEVEL_MIN, 0))?));
    };
    let (here, depth, below) = part(&node, key);
    let leaf = Node::leaf(key, depth + 1, 0);
    plan.ask(&leaf);
    if let Some(below) = &below {
        plan.ask(below);
    }
    if key.bits < node.bits {
        plan.set_leasts(&path.above, |least| key.bits < least, key.bits)?;
    }
    plan.replace(seen, &here)?;
    if let Some(below) = below {
        plan.place(&below)?;
    }
    // It comes last, so nobody moves it afterwards.
    Ok((depth + 1, plan.place(&leaf)?))
}

/// What a node becomes when a key is added below it that it has no child for: an inner node with the key's symbol, how deep it is, and what goes down
/// a level, if anything does.
fn part(node: &Node, key: Key) -> (Node, u32, Option<Node>) {
    let least = node.bits.min(key.bits);
    let shared = key.shared_bytes(node.bits);
    match node.body {
        Body::Inner { depth, mut children } if shared >= depth => {
            children.insert(key.symbol(depth));
            (Node { bits: least, body: Body::Inner { depth, children }, ..*node }, depth, None)
        }
        _ => {
            let children = Children::of([node.key().symbol(shared), key.symbol(shared)]);
            let here = Node { bits: least, body: Body::Inner { depth: shared, children }, ..*node };
            (here, shared, Some(Node { level: shared + 1, ..*node }))
        }
    }
}
