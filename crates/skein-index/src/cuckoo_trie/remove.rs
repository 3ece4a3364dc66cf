//! Removal: marks the key's leaf dead, then removes the leaf.
//!
//! ```text
//!   1. dead       one transaction on the leaf's bucket: from here on the key is absent
//!   2. removed    the leaf is removed. A branch with one child left is replaced:
//!                   by the child, if that is a leaf, which also replaces the jumps above
//!                   else by a jump of one symbol, joined with the jumps around it if they fit
//! ```
//!
//! Dead leaves are the paper's dirty leaves (section 5). A reader treats a dead leaf as an absent
//! key. An insert of the key revives the leaf with a new record; then step 2 has nothing to do. The
//! paper's implementation has no removal. Its text collapses tails into a leaf (section 4.5) and
//! does not mention jumps.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::entry::{CuckooEntry, CuckooNodeBody, CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::hints::HintTrail;
use super::prefixes::KeyPrefixes;
use super::search::NamedNode;
use super::table::ROOT;
use super::transaction::{CuckooAbort, CuckooTransaction};
use super::variant::CuckooSettings;
use crate::engine::ComputeClosure;
use crate::index;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Removes a key, which must not be too long. Returns its value.
    pub(super) fn take_out<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        let mut backoff = Backoff::new();
        loop {
            match self.try_take_out(key, guard) {
                Ok(removed) => return removed,
                Err(_) => backoff.wait(),
            }
        }
    }

    fn try_take_out<'g, G: Guard>(
        &'g self,
        key: &[u8],
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, CuckooAbort> {
        let stop = self.search(key, &mut HintTrail::new(false))?;
        if stop.at.node.entry.kind() != CuckooNodeKind::Leaf {
            return Ok(None);
        }
        // SAFETY: a leaf, read under the guard.
        let record = unsafe { stop.at.node.entry.record() }.ok_or(CuckooAbort::Changed)?;
        if record.key() != key {
            return Ok(None);
        }
        let mut remove = ComputeClosure::new(|_: Option<S::Ref<'_>>| index::ComputeAction::Remove);
        let removed = self.on_leaf(key, &stop.at, record, &mut remove, guard)?;
        Ok(removed.before)
    }

    /// Removes the dead leaf of a record, unless the key was inserted again, and retires the
    /// record.
    pub(super) fn remove_dead_leaf(&self, key: &[u8], record: KeyRecord, guard: &impl Guard) {
        let mut backoff = Backoff::new();
        while self.try_remove_dead_leaf(key, record, guard).is_err() {
            backoff.wait();
        }
        // SAFETY: no leaf holds the record. The leaf was removed, or an insert has set another
        // record.
        unsafe { record.retire::<true>(guard) };
        self.shrink();
    }

    fn try_remove_dead_leaf(
        &self,
        key: &[u8],
        record: KeyRecord,
        guard: &impl Guard,
    ) -> Result<(), CuckooAbort> {
        let mut parent = None;
        let stop =
            self.descend(&mut KeyPrefixes::of(&self.engine.table, key), |named| parent = Some(*named))?;
        let leaf = stop.at.node;
        if leaf.entry.kind() != CuckooNodeKind::Dead || leaf.entry.record_word() != record.word() {
            return Ok(());
        }
        let parent = parent.ok_or(CuckooAbort::Changed)?;
        if parent.node.entry.kind() == CuckooNodeKind::Jump {
            // An insert is moving this leaf down, to separate it from a key with a long shared
            // prefix. Joining moves it back up.
            self.join_along(key, guard);
            return Err(CuckooAbort::Changed);
        }
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let (above, dead) = (transaction.take_node(&parent.node)?, transaction.take_node(&leaf)?);
        let rest = parent.node.entry.bitmap() & !(1 << leaf.entry.symbol());
        let stays = parent.node.bucket == ROOT || rest.count_ones() > 1;
        if stays {
            transaction.set_body(above, CuckooNodeBody::branch(rest, parent.depth));
        } else {
            let symbol = rest.trailing_zeros() as u8;
            let child = self.below_branch(&parent, symbol)?.node;
            let below = transaction.take_node(&child)?;
            if matches!(child.entry.kind(), CuckooNodeKind::Leaf | CuckooNodeKind::Dead) {
                transaction.set_body(above, child.entry.body());
                transaction.clear(below);
            } else {
                transaction
                    .set_body(above, CuckooNodeBody::jump(std::iter::once(symbol), child.entry.color()));
                transaction.set(below, child.entry.with_parent(UNDER_JUMP));
            }
        }
        transaction.clear(dead);
        transaction.buckets.lock()?;
        self.count(transaction.apply(), 0, guard);
        if !stays {
            self.join_along(key, guard);
        }
        Ok(())
    }

    /// Joins nodes along a key: a leaf with the jumps above it, and jumps with each other.
    pub(super) fn join_along(&self, key: &[u8], guard: &impl Guard) {
        let mut backoff = Backoff::new();
        loop {
            match self.try_join_along(key, guard) {
                Ok(false) => return,
                Ok(true) => {}
                Err(_) => backoff.wait(),
            }
        }
    }

    /// Joins some nodes along a key. Returns false if no nodes can be joined.
    fn try_join_along(&self, key: &[u8], guard: &impl Guard) -> Result<bool, CuckooAbort> {
        let mut chain = JumpChain::default();
        let stop = self.descend(&mut KeyPrefixes::of(&self.engine.table, key), |named| chain.meet(named))?;
        chain.meet(&stop.at);
        if stop.at.node.entry.kind() == CuckooNodeKind::Jump {
            chain.meet(&self.below_jump(&stop.at)?);
        }
        if let Some((above, below)) = chain.joint {
            self.join(&above, &below, guard)?;
            return Ok(true);
        }
        let Some(mut leaf) = chain.leaf else { return Ok(false) };
        for jump in chain.jumps.iter().rev() {
            self.join(jump, &leaf, guard)?;
            let entry = jump.node.entry;
            leaf = self.again(jump.hash, entry.symbol(), entry.color(), jump.depth)?;
        }
        Ok(!chain.jumps.is_empty())
    }

    /// Replaces a jump and the node below it by one node, in the jump's place.
    pub(super) fn join(
        &self,
        above: &NamedNode,
        below: &NamedNode,
        guard: &impl Guard,
    ) -> Result<(), CuckooAbort> {
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let (upper, lower) = (transaction.take_node(&above.node)?, transaction.take_node(&below.node)?);
        let (jump, entry) = (above.node.entry, below.node.entry);
        let joined = match entry.kind() {
            CuckooNodeKind::Leaf | CuckooNodeKind::Dead => entry.body(),
            CuckooNodeKind::Jump if fit(&jump, &entry) => {
                let symbols =
                    jump.jump_symbols(0, jump.length()).chain(entry.jump_symbols(0, entry.length()));
                CuckooNodeBody::jump(symbols, entry.link())
            }
            // The lower node was read after the upper one. An insert may have put it there in
            // between.
            CuckooNodeKind::Jump | CuckooNodeKind::Branch => return Err(CuckooAbort::Changed),
        };
        transaction.set_body(upper, joined);
        transaction.clear(lower);
        transaction.buckets.lock()?;
        self.count(transaction.apply(), 0, guard);
        Ok(())
    }
}

fn fit(above: &CuckooEntry, below: &CuckooEntry) -> bool {
    above.length() + below.length() <= JUMP_MAX
}

/// The last jumps on the path of a key, and the nodes that can be joined there.
#[derive(Debug, Default)]
struct JumpChain {
    jumps: Vec<NamedNode>,
    /// The first two adjacent jumps that fit into one.
    joint: Option<(NamedNode, NamedNode)>,
    leaf: Option<NamedNode>,
}

impl JumpChain {
    fn meet(&mut self, named: &NamedNode) {
        let entry = named.node.entry;
        match entry.kind() {
            CuckooNodeKind::Branch => self.jumps.clear(),
            CuckooNodeKind::Leaf | CuckooNodeKind::Dead => self.leaf = Some(*named),
            CuckooNodeKind::Jump => {
                if let Some(above) = self.jumps.last()
                    && self.joint.is_none()
                    && fit(&above.node.entry, &entry)
                {
                    self.joint = Some((*above, *named));
                }
                self.jumps.push(*named);
            }
        }
    }
}
