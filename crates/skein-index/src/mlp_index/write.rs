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
use super::change::{Change, Obstacle};
use super::children::Children;
use super::key::Key;
use super::name::LEVEL_MIN;
use super::node::{Body, Node};
use super::search::{Path, Seen, Unsure};
use super::top::start_of;
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
    /// The key is to be removed if it still has this word.
    Remove(u64),
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Does what `change` decides about a key.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: Key,
        mut change: impl FnMut(Option<S::Ref<'_>>) -> index::Change<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, Refused> {
        let mut backoff = Backoff::new();
        loop {
            match self.try_write(key, &mut change, guard) {
                Ok(Tried::Done(computed)) => return Ok(computed),
                Ok(Tried::Remove(word)) => {
                    // What the closure was shown is still there, or it is to be asked again.
                    if let Some(before) = self.take_out(key, Some(word), guard) {
                        return Ok(Computed { before: Some(before), changed: true });
                    }
                }
                Err(Obstacle::Crowded) => self.grow()?,
                Err(Obstacle::Changed) => backoff.wait(),
            }
        }
    }

    fn try_write<'g, G: Guard>(
        &'g self,
        key: Key,
        change: &mut impl FnMut(Option<S::Ref<'_>>) -> index::Change<S>,
        guard: &'g G,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let path = self.descend(key)?;
        match path.stop {
            Some(seen) if matches!(seen.what.body, Body::Leaf { .. }) && seen.what.key() == key => {
                self.update(&seen, change, guard)
            }
            _ => self.add(key, &path, change),
        }
    }

    /// Changes the value of a key that is there.
    fn update<'g, G: Guard>(
        &'g self,
        seen: &Seen,
        change: &mut impl FnMut(Option<S::Ref<'_>>) -> index::Change<S>,
        guard: &'g G,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let Body::Leaf { value: old, .. } = seen.what.body else { return Err(Obstacle::Changed) };
        let mut plan = Change::new(&self.table);
        plan.take_seen(seen)?;
        plan.lock()?;
        // SAFETY: the word is in the index, and is retired, if at all, under this guard or a later one.
        let before = unsafe { S::borrow(old) };
        match change(Some(before)) {
            index::Change::Keep => Ok(Tried::Done(Computed { before: Some(before), changed: false })),
            index::Change::Remove => Ok(Tried::Remove(old)),
            index::Change::Put(value) => {
                plan.set_value(&seen.what, value.into_word())?;
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
        change: &mut impl FnMut(Option<S::Ref<'_>>) -> index::Change<S>,
    ) -> Result<Tried<'g, S>, Obstacle> {
        let mut plan = Change::new(&self.table);
        let level = plan_leaf(&mut plan, key, path)?;
        plan.lock()?;
        let changed = match change(None) {
            index::Change::Put(value) => {
                let leaf = Node::leaf(key, level, 0);
                plan.set_value(&leaf, value.into_word())?;
                let crowded = plan.crowded;
                plan.apply_with(|| {
                    if level == LEVEL_MIN {
                        self.top.set(start_of(key.bits));
                    }
                });
                self.base.len.add(key.bits as usize, 1);
                if crowded {
                    self.grow_if_loaded();
                }
                true
            }
            index::Change::Keep | index::Change::Remove => false,
        };
        Ok(Tried::Done(Computed { before: None, changed }))
    }
}

/// Plans a leaf for a key where its path ends; returns the leaf's level.
fn plan_leaf<const V: usize>(plan: &mut Change<'_, V>, key: Key, path: &Path) -> Result<u32, Obstacle> {
    let Some(seen) = &path.stop else {
        plan.place(&Node::leaf(key, LEVEL_MIN, 0))?;
        return Ok(LEVEL_MIN);
    };
    if key.bits < seen.what.bits {
        for above in path.above.iter().rev().take_while(|above| key.bits < above.what.bits) {
            plan.set_least(above, key.bits)?;
        }
    }
    let (here, below) = part(&seen.what, key);
    plan.replace(seen, &here)?;
    if let Some(below) = below {
        plan.place(&below)?;
    }
    let Body::Inner { depth, .. } = here.body else { return Err(Obstacle::Changed) };
    plan.place(&Node::leaf(key, depth + 1, 0))?;
    Ok(depth + 1)
}

/// What a node becomes when a key is added below it that it has no child for: an inner node with the key's symbol, and what goes down a level, if
/// anything does.
fn part(node: &Node, key: Key) -> (Node, Option<Node>) {
    let least = node.bits.min(key.bits);
    let shared = key.shared_bytes(node.bits);
    match node.body {
        Body::Inner { depth, mut children } if shared >= depth => {
            children.insert(key.symbol(depth));
            (Node { bits: least, body: Body::Inner { depth, children }, ..*node }, None)
        }
        _ => {
            let children = Children::of([node.key().symbol(shared), key.symbol(shared)]);
            let here = Node { bits: least, body: Body::Inner { depth: shared, children }, ..*node };
            (here, Some(Node { level: shared + 1, ..*node }))
        }
    }
}
