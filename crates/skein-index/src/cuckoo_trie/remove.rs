//! Removal: a key dies at once, its leaf goes afterwards.
//!
//! ```text
//!   dead       the leaf is marked, under its lock: from here on the key is not there
//!   buried     the leaf goes. A branch that is left with one child is no branch any more:
//!                the child is a leaf:  it takes the branch's place, and that of the jumps above it
//!                or not:               the branch becomes a jump of one symbol, joined with the jumps above and below it if they fit
//! ```
//!
//! Dead leaves are the paper's dirty leaves (section 5). Whoever meets one takes it for a key that is absent; who inserts the key again
//! makes it alive, with a record of its own, and then there is nothing to bury. The paper's implementation omits removal; its text has tails
//! collapse into a leaf (section 4.5), and says nothing of jumps.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::{CuckooEntry, CuckooNodeBody, CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::hints::HintTrail;
use super::prefixes::KeyPrefixes;
use super::search::NamedNode;
use super::table::ROOT;
use super::transaction::{CuckooAbort, CuckooTransaction};
use crate::engine::ComputeClosure;
use crate::index;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Removes a key, which is not too long.
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

    /// Takes the dead leaf of a record out of the trie, unless the key is alive again, and gives the record up.
    pub(super) fn remove_dead_leaf(&self, key: &[u8], record: KeyRecord, guard: &impl Guard) {
        let mut backoff = Backoff::new();
        while self.try_remove_dead_leaf(key, record, guard).is_err() {
            backoff.wait();
        }
        // SAFETY: no leaf holds the record: it was taken out, or a later insert put its own there.
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
        let stop = self.descend(&mut KeyPrefixes::of(&self.table, key), |named| parent = Some(*named))?;
        let leaf = stop.at.node;
        if leaf.entry.kind() != CuckooNodeKind::Dead || leaf.entry.record_word() != record.word() {
            return Ok(());
        }
        let parent = parent.ok_or(CuckooAbort::Changed)?;
        if parent.node.entry.kind() == CuckooNodeKind::Jump {
            // Keys that share much are being parted, and the leaf is on its way down: it goes with the jumps above it.
            self.join_along(key, guard);
            return Err(CuckooAbort::Changed);
        }
        let mut change = CuckooTransaction::new(&self.table);
        let (above, dead) = (change.take_node(&parent.node)?, change.take_node(&leaf)?);
        let rest = parent.node.entry.bitmap() & !(1 << leaf.entry.symbol());
        let stays = parent.node.bucket == ROOT || rest.count_ones() > 1;
        if stays {
            change.set_body(above, CuckooNodeBody::branch(rest, parent.depth));
        } else {
            let symbol = rest.trailing_zeros() as u8;
            let child = self.below_branch(&parent, symbol)?.node;
            let below = change.take_node(&child)?;
            if matches!(child.entry.kind(), CuckooNodeKind::Leaf | CuckooNodeKind::Dead) {
                change.set_body(above, child.entry.body());
                change.clear(below);
            } else {
                change.set_body(above, CuckooNodeBody::jump(std::iter::once(symbol), child.entry.color()));
                change.set(below, child.entry.with_parent(UNDER_JUMP));
            }
        }
        change.clear(dead);
        change.lock()?;
        self.count(change.apply(), 0, guard);
        if !stays {
            self.join_along(key, guard);
        }
        Ok(())
    }

    /// Joins what can be joined along a key: a leaf with the jumps above it, and jumps with each other.
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

    /// Joins some nodes along a key; false if there are none to be joined.
    fn try_join_along(&self, key: &[u8], guard: &impl Guard) -> Result<bool, CuckooAbort> {
        let mut chain = JumpChain::default();
        let stop = self.descend(&mut KeyPrefixes::of(&self.table, key), |named| chain.meet(named))?;
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

    /// Makes a jump and what is below it one node, in the jump's place.
    pub(super) fn join(
        &self,
        above: &NamedNode,
        below: &NamedNode,
        guard: &impl Guard,
    ) -> Result<(), CuckooAbort> {
        let mut change = CuckooTransaction::new(&self.table);
        let (upper, lower) = (change.take_node(&above.node)?, change.take_node(&below.node)?);
        let (jump, entry) = (above.node.entry, below.node.entry);
        let joined = match entry.kind() {
            CuckooNodeKind::Leaf | CuckooNodeKind::Dead => entry.body(),
            CuckooNodeKind::Jump if fit(&jump, &entry) => {
                let symbols =
                    jump.jump_symbols(0, jump.length()).chain(entry.jump_symbols(0, entry.length()));
                CuckooNodeBody::jump(symbols, entry.link())
            }
            // What is below was read after what is above: an insert may have put this there in between.
            CuckooNodeKind::Jump | CuckooNodeKind::Branch => return Err(CuckooAbort::Changed),
        };
        change.set_body(upper, joined);
        change.clear(lower);
        change.lock()?;
        self.count(change.apply(), 0, guard);
        Ok(())
    }
}

/// Whether two jumps can be one.
fn fit(above: &CuckooEntry, below: &CuckooEntry) -> bool {
    above.length() + below.length() <= JUMP_MAX
}

/// The jumps that a key leads through last, and what can be joined there.
#[derive(Debug, Default)]
struct JumpChain {
    jumps: Vec<NamedNode>,
    /// The first two jumps that are short enough to be one.
    joint: Option<(NamedNode, NamedNode)>,
    /// A leaf below the jumps.
    leaf: Option<NamedNode>,
}

impl JumpChain {
    /// Takes in the next node.
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
