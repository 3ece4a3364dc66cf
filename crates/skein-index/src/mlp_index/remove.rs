//! Removal: removes a leaf and merges the nodes around it.
//!
//! ```text
//!   the leaf's parent has        the transaction
//!   more than two children       removes the child; the least key is now that of the first child
//!   two children                 puts the other child in the parent's place, under its name
//!   (the leaf has no parent)     clears the bit of the three symbols
//! ```
//!
//! So an inner node has at least two children, and the shape of a trie depends only on its keys.
//! But a removal must not need room. If the remaining child needs more slots than its parent and
//! there is no room, the parent stays, with a single child. A later removal below it tries again.
//! One slot fits in place of any node, so a single child is never a leaf. The paper has no removal.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndexVariant;
use super::claims::KeyClaim;
use super::key::ShortKey;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, MlpPath};
use super::top_bitmap::start_of;
use super::transaction::{MlpAbort, MlpTransaction};
use super::variant::MlpSettings;
use crate::slot::{Slot, retire_value};

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Removes a key, once no other writer claims it. Returns its value.
    pub(super) fn take_out<'g, G: Guard>(
        &'g self,
        key: ShortKey,
        claim: Option<&KeyClaim<'_>>,
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        let mut backoff = Backoff::new();
        let mut joins = true;
        let word = loop {
            match self.try_take_out(key, claim, joins) {
                Ok(removed) => break removed?,
                Err(MlpAbort::Crowded) => joins = false,
                Err(MlpAbort::Changed) => {
                    backoff.wait();
                    if claim.is_none() {
                        self.engine.claims.wait(key);
                    }
                }
            }
        };
        // SAFETY: the word is no longer in the index, which owned it. It is retired under this
        // guard.
        let before = unsafe {
            retire_value::<S>(word, guard);
            S::borrow(word)
        };
        self.shrink();
        Some(before)
    }

    /// Makes one attempt. If not `joins`, all remaining nodes keep their slots, so the attempt
    /// needs no room.
    fn try_take_out(
        &self,
        key: ShortKey,
        claim: Option<&KeyClaim<'_>>,
        joins: bool,
    ) -> Result<Option<u64>, MlpAbort> {
        let mut path = MlpPath::default();
        self.descend(key, &mut path)?;
        let Some(leaf) = &path.stop else { return Ok(None) };
        let node = leaf.node(&self.engine.table.seeds);
        let MlpNodeBody::Leaf { value, .. } = node.body else { return Ok(None) };
        if node.key() != key {
            return Ok(None);
        }
        let mut plan = MlpTransaction::new(&self.engine.table);
        self.plan_removal(&mut plan, key, &path, leaf, joins)?;
        plan.buckets.lock()?;
        if claim.is_none() {
            self.engine.claims.check(key)?;
        }
        plan.apply_with(|| {
            if path.above.is_empty() {
                self.engine.top.clear(start_of(key.bits));
            }
        });
        self.base.len.add(key.bits as usize, -1);
        Ok(Some(value))
    }

    fn plan_removal(
        &self,
        plan: &mut MlpTransaction<'_, V>,
        key: ShortKey,
        path: &MlpPath,
        leaf: &FoundRawNode,
        joins: bool,
    ) -> Result<(), MlpAbort> {
        let Some((parent, above)) = path.above.split_last() else { return plan.remove(leaf) };
        let seeds = &self.engine.table.seeds;
        let before = parent.node(seeds);
        let MlpNodeBody::Inner { depth, mut children } = before.body else { return Err(MlpAbort::Changed) };
        children.remove(key.symbol(depth));
        let first = self.child(&before, children.first().ok_or(MlpAbort::Changed)?)?;
        let sibling = first.node(seeds);
        let least = if before.bits == key.bits { sibling.bits } else { before.bits };
        // Nodes above with a single child have the same least key, and are merged too.
        let count = above.iter().rev().take_while(|above| joins && above.node(seeds).is_single()).count();
        let (above, singles) = above.split_at(above.len() - count);
        if least != before.bits {
            plan.take_found(&first)?;
            plan.set_leasts(above, |own| own == key.bits, least)?;
        }
        plan.remove(leaf)?;
        let stays = if joins && children.len() == 1 {
            plan.remove(&first)?;
            sibling
        } else {
            MlpNode { bits: least, body: MlpNodeBody::Inner { depth, children }, ..before }
        };
        let mut place = parent;
        for single in singles.iter().rev() {
            plan.remove(place)?;
            place = single;
        }
        plan.replace(place, &MlpNode { level: place.node(seeds).level, ..stays })
    }
}
