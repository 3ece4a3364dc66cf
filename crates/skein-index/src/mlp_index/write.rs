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
use super::children::ChildSet;
use super::claims::KeyClaim;
use super::key::ShortKey;
use super::name::LEVEL_MIN;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, Inconclusive, MlpPath};
use super::top_bitmap::start_of;
use super::transaction::{MlpAbort, MlpSlot, MlpTransaction};
use crate::engine::ComputeClosure;
use crate::index::{self, Computed, IndexError};
use crate::slot::{Slot, retire_value};

impl From<Inconclusive> for MlpAbort {
    fn from(_: Inconclusive) -> Self {
        Self::Changed
    }
}

/// What came of a try to write.
enum WriteAttempt<'g, S: Slot> {
    Done(Computed<'g, S>),
    /// The key is to be removed, and nobody else changes it meanwhile.
    Claimed(KeyClaim<'g>),
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Does what `change` decides about a key.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: ShortKey,
        change: impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        let mut change = ComputeClosure::new(change);
        let mut backoff = Backoff::new();
        loop {
            match self.try_write(key, &mut change, guard) {
                Ok(WriteAttempt::Done(computed)) => return Ok(computed),
                Ok(WriteAttempt::Claimed(claim)) => {
                    let before = self.take_out(key, Some(&claim), guard);
                    assert!(before.is_some(), "a claimed key stays until its claimer removes it");
                    return Ok(Computed { before, changed: true });
                }
                Err(MlpAbort::Crowded) => self.grow()?,
                Err(MlpAbort::Changed) => {
                    backoff.wait();
                    self.claims.wait(key);
                }
            }
        }
    }

    fn try_write<'g, G: Guard>(
        &'g self,
        key: ShortKey,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<WriteAttempt<'g, S>, MlpAbort> {
        let mut path = MlpPath::default();
        self.descend(key, &mut path)?;
        let Some(seen) = &path.stop else { return self.add(key, &path, None, change) };
        let node = seen.node(&self.table.seeds);
        match node.body {
            MlpNodeBody::Leaf { value, .. } if node.key() == key => {
                self.update(key, (seen, value), change, guard)
            }
            _ => self.add(key, &path, Some((seen, node)), change),
        }
    }

    /// Changes the value of a key that is there.
    fn update<'g, G: Guard>(
        &'g self,
        key: ShortKey,
        (seen, old): (&FoundRawNode, u64),
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<WriteAttempt<'g, S>, MlpAbort> {
        let mut plan = MlpTransaction::new(&self.table);
        let spot = plan.take_found(seen)?;
        plan.lock()?;
        self.claims.check(key)?;
        // SAFETY: the word is in the index, and is retired, if at all, under this guard or a later one.
        let before = unsafe { S::borrow(old) };
        match change.call(Some(before)) {
            index::ComputeAction::Keep => {
                Ok(WriteAttempt::Done(Computed { before: Some(before), changed: false }))
            }
            index::ComputeAction::Remove => Ok(WriteAttempt::Claimed(self.claims.claim(key))),
            index::ComputeAction::Put(value) => {
                plan.set_value(spot, value.into_word());
                plan.apply_with(|| ());
                // SAFETY: the old word is out of the index, which owned it.
                unsafe { retire_value::<S>(old, guard) };
                Ok(WriteAttempt::Done(Computed { before: Some(before), changed: true }))
            }
        }
    }

    /// Adds a key that is not there.
    fn add<'g>(
        &'g self,
        key: ShortKey,
        path: &MlpPath,
        stop: Option<(&FoundRawNode, MlpNode)>,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
    ) -> Result<WriteAttempt<'g, S>, MlpAbort> {
        let mut plan = MlpTransaction::new(&self.table);
        let (level, spot) = plan_leaf(&mut plan, key, path, stop)?;
        plan.lock()?;
        let changed = match change.call(None) {
            index::ComputeAction::Put(value) => {
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
            index::ComputeAction::Keep | index::ComputeAction::Remove => false,
        };
        Ok(WriteAttempt::Done(Computed { before: None, changed }))
    }
}

/// Plans a leaf for a key where its path ends, at a node if there is one; returns its level, and where it is.
fn plan_leaf<const V: usize>(
    plan: &mut MlpTransaction<'_, V>,
    key: ShortKey,
    path: &MlpPath,
    stop: Option<(&FoundRawNode, MlpNode)>,
) -> Result<(u32, MlpSlot), MlpAbort> {
    let Some((seen, node)) = stop else {
        return Ok((LEVEL_MIN, plan.place(&MlpNode::leaf(key, LEVEL_MIN, 0))?));
    };
    let (here, depth, below) = part(&node, key);
    let leaf = MlpNode::leaf(key, depth + 1, 0);
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
fn part(node: &MlpNode, key: ShortKey) -> (MlpNode, u32, Option<MlpNode>) {
    let least = node.bits.min(key.bits);
    let shared = key.shared_bytes(node.bits);
    match node.body {
        MlpNodeBody::Inner { depth, mut children } if shared >= depth => {
            children.insert(key.symbol(depth));
            (MlpNode { bits: least, body: MlpNodeBody::Inner { depth, children }, ..*node }, depth, None)
        }
        _ => {
            let children = ChildSet::of([node.key().symbol(shared), key.symbol(shared)]);
            let here = MlpNode { bits: least, body: MlpNodeBody::Inner { depth: shared, children }, ..*node };
            (here, shared, Some(MlpNode { level: shared + 1, ..*node }))
        }
    }
}
