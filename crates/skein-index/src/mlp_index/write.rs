//! Writes: set the value of a present key, or insert a key.
//!
//! ```text
//!   the path ends at                   the transaction
//!   no node                            adds a leaf of level 3
//!   an inner node without that child   adds the symbol to the node, and a leaf below it
//!   a leaf, or an inner node           puts a new inner node, as deep as both share, in its place;
//!   where the key diverges             its children are a new leaf and the old node, which moves
//!                                      down and gets another name
//! ```
//!
//! If the new key is the least one below a node, the node gets it as its least key, and so do the
//! nodes above as far as that holds (section 4.2, insert).

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndexVariant;
use super::children::ChildSet;
use super::claims::KeyClaim;
use super::key::ShortKey;
use super::name::LEVEL_MIN;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, Inconclusive, MlpPath};
use super::top_bitmap::start_of;
use super::transaction::{MlpAbort, MlpSlot, MlpTransaction};
use super::variant::MlpSettings;
use crate::engine::ComputeClosure;
use crate::index::{self, Computed, IndexError};
use crate::slot::{Slot, retire_value};

impl From<Inconclusive> for MlpAbort {
    fn from(_: Inconclusive) -> Self {
        Self::Changed
    }
}

enum WriteAttempt<'g, S: Slot> {
    Done(Computed<'g, S>),
    /// The key is to be removed. No other writer changes it until the claim is dropped.
    Claimed(KeyClaim<'g>),
}

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Applies the decision of `change` to a key.
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
                    assert!(before.is_some(), "a claimed key must stay until its claimer removes it");
                    return Ok(Computed { before, changed: true });
                }
                Err(MlpAbort::Crowded) => self.grow()?,
                Err(MlpAbort::Changed) => {
                    backoff.wait();
                    self.engine.claims.wait(key);
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
        let node = seen.node(&self.engine.table.seeds);
        match node.body {
            MlpNodeBody::Leaf { value, .. } if node.key() == key => {
                self.update(key, seen, value, change, guard)
            }
            _ => self.add(key, &path, Some((seen, node)), change),
        }
    }

    /// Applies the decision of `change` to a present key.
    fn update<'g, G: Guard>(
        &'g self,
        key: ShortKey,
        seen: &FoundRawNode,
        old: u64,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<WriteAttempt<'g, S>, MlpAbort> {
        let mut plan = MlpTransaction::new(&self.engine.table);
        let spot = plan.take_found(seen)?;
        plan.buckets.lock()?;
        self.engine.claims.check(key)?;
        // SAFETY: the word is in the index. It is retired under this guard or a later one, if at
        // all.
        let before = unsafe { S::borrow(old) };
        match change.call(Some(before)) {
            index::ComputeAction::Keep => {
                Ok(WriteAttempt::Done(Computed { before: Some(before), changed: false }))
            }
            index::ComputeAction::Remove => Ok(WriteAttempt::Claimed(self.engine.claims.claim(key))),
            index::ComputeAction::Put(value) => {
                plan.set_value(spot, value.into_word());
                plan.apply_with(|| ());
                // SAFETY: the old word is no longer in the index, which owned it.
                unsafe { retire_value::<S>(old, guard) };
                Ok(WriteAttempt::Done(Computed { before: Some(before), changed: true }))
            }
        }
    }

    /// Adds an absent key, if `change` says so.
    fn add<'g>(
        &'g self,
        key: ShortKey,
        path: &MlpPath,
        stop: Option<(&FoundRawNode, MlpNode)>,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
    ) -> Result<WriteAttempt<'g, S>, MlpAbort> {
        let mut plan = MlpTransaction::new(&self.engine.table);
        let (level, spot) = plan_leaf(&mut plan, key, path, stop)?;
        plan.buckets.lock()?;
        let changed = match change.call(None) {
            index::ComputeAction::Put(value) => {
                plan.set_value(spot, value.into_word());
                let crowded = plan.buckets.crowded;
                plan.apply_with(|| {
                    if level == LEVEL_MIN {
                        self.engine.top.set(start_of(key.bits));
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

/// Plans a leaf for a key at the end of its path, where there may be a node. Returns the leaf's
/// level and slot.
fn plan_leaf<V: MlpSettings>(
    plan: &mut MlpTransaction<'_, V>,
    key: ShortKey,
    path: &MlpPath,
    stop: Option<(&FoundRawNode, MlpNode)>,
) -> Result<(u32, MlpSlot), MlpAbort> {
    let Some((seen, node)) = stop else {
        return Ok((LEVEL_MIN, plan.place(&MlpNode::leaf(key, LEVEL_MIN, 0))?));
    };
    let (here, depth, below) = split_node(&node, key);
    let leaf = MlpNode::leaf(key, depth + 1, 0);
    plan.prefetch_node(&leaf);
    if let Some(below) = &below {
        plan.prefetch_node(below);
    }
    if key.bits < node.bits {
        plan.set_leasts(&path.above, |least| key.bits < least, key.bits)?;
    }
    plan.replace(seen, &here)?;
    if let Some(below) = below {
        plan.place(&below)?;
    }
    // The leaf is placed last, so that no later step of the plan moves it.
    Ok((depth + 1, plan.place(&leaf)?))
}

/// Plans how a node changes when a key is added below it. Returns the inner node with the key's
/// symbol, its depth, and the old node one level deeper, unless the old node only gets another
/// child.
fn split_node(node: &MlpNode, key: ShortKey) -> (MlpNode, u32, Option<MlpNode>) {
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
