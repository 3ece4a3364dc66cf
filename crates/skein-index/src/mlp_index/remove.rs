//! Removal: a leaf goes, and what it leaves behind is put together again.
//!
//! ```text
//!   its parent has more than two children    it loses one; the least key is that of its first child from now on
//!   it has two                               the other child takes its place, and its name
//!   there is no parent                       no key begins with these three symbols any more
//! ```
//!
//! So an inner node has two children at least, and a trie looks the same whatever was in it before. But a removal asks for no room: where the other
//! child needs more slots than its parent, and others would have to leave the table for it, the parent stays, with a single child. A later removal
//! below finds it, and tries again; one slot has room in place of any node, so a single child is no leaf. The paper leaves removal out.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::claims::KeyClaim;
use super::key::ShortKey;
use super::node::{MlpNode, MlpNodeBody};
use super::search::{FoundRawNode, MlpPath};
use super::top_bitmap::start_of;
use super::transaction::{MlpAbort, MlpTransaction};
use crate::slot::{Slot, retire_value};

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Removes a key, once nobody else has claimed it.
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
                        self.claims.wait(key);
                    }
                }
            }
        };
        // SAFETY: the word is out of the index, which owned it; it is retired under this guard.
        let before = unsafe {
            retire_value::<S>(word, guard);
            S::borrow(word)
        };
        self.shrink();
        Some(before)
    }

    /// Tries once. Unless it `joins` nodes, all that stay do so in their slots, and it is never crowded.
    fn try_take_out(
        &self,
        key: ShortKey,
        claim: Option<&KeyClaim<'_>>,
        joins: bool,
    ) -> Result<Option<u64>, MlpAbort> {
        let mut path = MlpPath::default();
        self.descend(key, &mut path)?;
        let Some(leaf) = &path.stop else { return Ok(None) };
        let node = leaf.node(&self.table.seeds);
        let MlpNodeBody::Leaf { value, .. } = node.body else { return Ok(None) };
        if node.key() != key {
            return Ok(None);
        }
        let mut plan = MlpTransaction::new(&self.table);
        self.plan_removal(&mut plan, key, (&path, leaf), joins)?;
        plan.lock()?;
        if claim.is_none() {
            self.claims.check(key)?;
        }
        plan.apply_with(|| {
            if path.above.is_empty() {
                self.top.clear(start_of(key.bits));
            }
        });
        self.base.len.add(key.bits as usize, -1);
        Ok(Some(value))
    }

    fn plan_removal(
        &self,
        plan: &mut MlpTransaction<'_, V>,
        key: ShortKey,
        (path, leaf): (&MlpPath, &FoundRawNode),
        joins: bool,
    ) -> Result<(), MlpAbort> {
        let Some((parent, above)) = path.above.split_last() else { return plan.remove(leaf) };
        let seeds = &self.table.seeds;
        let before = parent.node(seeds);
        let MlpNodeBody::Inner { depth, mut children } = before.body else { return Err(MlpAbort::Changed) };
        children.remove(key.symbol(depth));
        let first = self.child(&before, children.first().ok_or(MlpAbort::Changed)?)?;
        let sibling = first.node(seeds);
        let least = if before.bits == key.bits { sibling.bits } else { before.bits };
        // Those above with a single child have the same least key, and are joined with it.
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
