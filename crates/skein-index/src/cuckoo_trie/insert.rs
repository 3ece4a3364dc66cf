//! Writes: `compute` and its relatives, which read, set or remove the value of a key.
//!
//! ```text
//!   the search ends at      the transaction adds (section 4.5)
//!   the key's leaf          nothing: the record's value changes
//!   a branch                a leaf below it
//!   another key's leaf      in its place, jumps for the shared symbols;
//!                           then a branch, with both leaves below it
//!   a jump                  in its place, the shared part; then a branch,
//!                           with the new leaf and the rest of the jump below it
//! ```
//!
//! A node that replaces another has the same name, and so the same hash and color. So its parent
//! need not change. The closure of `compute` is called once the transaction is planned and locked.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::displacement::RoomRequests;
use super::entry::{CuckooNodeBody, CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::hints::HintTrail;
use super::prefixes::KeyPrefixes;
use super::search::{NamedNode, SearchEnd};
use super::symbols::KeySymbols;
use super::transaction::{CuckooAbort, CuckooSlot, CuckooTransaction, NODES_MAX};
use super::variant::CuckooSettings;
use crate::engine::ComputeClosure;
use crate::index::{self, Computed, IndexError};
use crate::record::KeyRecord;
use crate::slot::{Slot, retire_value};

/// The jumps in one transaction. Keys that share more are separated in several transactions.
const JUMPS_MAX: usize = NODES_MAX - 3;

/// A leaf that a transaction has moved down, below new jumps.
#[derive(Clone, Copy, Debug)]
struct LoweredLeaf {
    spot: CuckooSlot,
    hash: u32,
    depth: u32,
    color: u8,
}

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Applies the decision of `change` to `key`, which must not be too long.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        let mut lowered = false;
        let done = self.write_until_done(key, &mut ComputeClosure::new(change), guard, &mut lowered);
        let is_added = matches!(done, Ok(Computed { before: None, changed: true }));
        if lowered && !is_added {
            self.join_along(key, guard);
        }
        done
    }

    /// Retries until an attempt succeeds. Sets `lowered` if it moved a leaf down. If the key is not
    /// added after that, the leaf is below jumps that lead to nothing else.
    fn write_until_done<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
        lowered: &mut bool,
    ) -> Result<Computed<'g, S>, IndexError> {
        let mut backoff = Backoff::new();
        let mut crowded = RoomRequests::default();
        let learns = self.engine.table.wants_hints(key);
        loop {
            let mut trail = HintTrail::new(learns);
            match self.attempt(key, change, guard, &mut trail, lowered) {
                Ok(computed) => {
                    if learns && computed.changed && computed.before.is_none() {
                        self.learn(&trail);
                    }
                    return Ok(computed);
                }
                Err(CuckooAbort::Changed) => backoff.wait(),
                Err(CuckooAbort::Crowded(hash)) => self.make_room(hash, &mut crowded)?,
                Err(CuckooAbort::OutOfColors) => return Err(self.full()),
            }
        }
    }

    fn attempt<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
        trail: &mut HintTrail,
        lowered: &mut bool,
    ) -> Result<Computed<'g, S>, CuckooAbort> {
        let stop = self.search(key, trail)?;
        // Whatever this write adds, this node keeps its name.
        trail.meet(&stop.at);
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let leaf = match stop.at.node.entry.kind() {
            CuckooNodeKind::Branch => self.plan_leaf(&mut transaction, key, &stop.at)?,
            CuckooNodeKind::Jump => self.plan_fork(&mut transaction, key, &stop)?,
            CuckooNodeKind::Leaf | CuckooNodeKind::Dead => {
                self.prefetch_child(key, &stop.at);
                // SAFETY: a leaf, read under the guard.
                let record = unsafe { stop.at.node.entry.record() }.ok_or(CuckooAbort::Changed)?;
                if record.key() == key {
                    return self.on_leaf(key, &stop.at, record, change, guard);
                }
                self.plan_separation(&mut transaction, key, &stop.at, record.key(), lowered)?
            }
        };
        self.fill(&mut transaction, leaf, key, change, guard)
    }

    /// Prefetches the buckets of a node's child for `key`. If the node is another key's leaf, the
    /// new leaf will probably be there.
    #[inline(always)]
    fn prefetch_child(&self, key: &[u8], NamedNode { hash, depth, .. }: &NamedNode) {
        let below = self.engine.table.extend(*hash, KeySymbols::of(key).at(*depth));
        self.engine.table.prefetch(self.engine.table.pair(below));
    }

    /// Locks a transaction, asks `change` for the value of its new leaf, which has no record yet,
    /// and applies the transaction if there is a value.
    fn fill<'g, G: Guard>(
        &'g self,
        transaction: &mut CuckooTransaction<'_, V>,
        leaf: CuckooSlot,
        key: &[u8],
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, CuckooAbort> {
        transaction.buckets.lock()?;
        let index::ComputeAction::Put(value) = change.call(None) else {
            return Ok(Computed { before: None, changed: false });
        };
        let record = KeyRecord::new(&self.base.arena, 0, key, Some(value.into_word()));
        transaction.set_low(leaf, record.word());
        self.count(transaction.apply(), 1, guard);
        if transaction.buckets.crowded {
            self.grow_if_loaded();
        }
        Ok(Computed { before: None, changed: true })
    }

    pub(super) fn count(&self, entries: i64, keys: i64, guard: &impl Guard) {
        self.engine.entries.add(guard.thread_id(), entries);
        if keys != 0 {
            self.base.len.add(guard.thread_id(), keys);
        }
    }

    /// Applies the decision of `change` to a key that has a leaf, which may be dead.
    pub(super) fn on_leaf<'g, G: Guard>(
        &'g self,
        key: &[u8],
        at: &NamedNode,
        record: KeyRecord,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, CuckooAbort> {
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let leaf = transaction.take_node(&at.node)?;
        if at.node.entry.kind() == CuckooNodeKind::Dead {
            transaction.set_body(leaf, CuckooNodeBody::leaf(0));
            return self.fill(&mut transaction, leaf, key, change, guard);
        }
        transaction.buckets.lock()?;
        let before = record.value();
        // SAFETY: the word is in the index. It is retired under this guard or a later one, if at
        // all.
        let seen: Option<S::Ref<'g>> = Some(unsafe { S::borrow(before) });
        let removes = match change.call(seen) {
            index::ComputeAction::Keep => return Ok(Computed { before: seen, changed: false }),
            index::ComputeAction::Put(value) => {
                record.set_value(value.into_word());
                // The buckets are released by reference: dropping the transaction would move all of
                // it first.
                transaction.buckets.release();
                false
            }
            index::ComputeAction::Remove => {
                let body = transaction.entry(leaf).body();
                transaction.set_body(leaf, body.dead());
                self.count(transaction.apply(), -1, guard);
                true
            }
        };
        // SAFETY: the word is no longer in the index, which owned it.
        unsafe { retire_value::<S>(before, guard) };
        if removes {
            self.remove_dead_leaf(key, record, guard);
        }
        Ok(Computed { before: seen, changed: true })
    }

    /// Plans a leaf for `key` below a branch that does not have the key's next symbol.
    fn plan_leaf(
        &self,
        transaction: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        branch: &NamedNode,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let spot = transaction.take_node(&branch.node)?;
        let symbol = KeySymbols::of(key).at(branch.depth);
        let entry = branch.node.entry;
        transaction.set_low(spot, entry.low | 1 << symbol);
        let hash = self.engine.table.extend(branch.hash, symbol);
        let (leaf, _) = transaction.place(hash, symbol, entry.color(), CuckooNodeBody::leaf(0))?;
        self.engine.table.depths.note(hash, branch.depth + 1, |start| self.has_node(key, start));
        Ok(leaf)
    }

    /// Returns whether there probably is a node for the first `depth` symbols of a key.
    #[cold]
    fn has_node(&self, key: &[u8], depth: u32) -> bool {
        self.guess(KeyPrefixes::of(&self.engine.table, key).skip_to(depth)).is_some()
    }

    /// Plans a fork in a jump for `key`, which shares only some of the jump's symbols.
    fn plan_fork(
        &self,
        transaction: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        stop: &SearchEnd,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let SearchEnd { at, shared } = *stop;
        let jump = at.node.entry;
        let table = &self.engine.table;
        let top = transaction.take_node(&at.node)?;
        let ends = shared + 1 == jump.length();
        let child = if ends { Some(transaction.take_node(&self.below_jump(&at)?.node)?) } else { None };
        let fork_hash = jump.jump_symbols(0, shared).fold(at.hash, |hash, symbol| table.extend(hash, symbol));
        let (old, new) = (jump.jump_symbol(shared), KeySymbols::of(key).at(at.depth + shared));
        let fork = CuckooNodeBody::branch(1 << old | 1 << new, at.depth + shared);
        let color = if shared == 0 {
            transaction.set_body(top, fork);
            jump.color()
        } else {
            let last = jump.jump_symbol(shared - 1);
            let (_, color) = transaction.place(fork_hash, last, UNDER_JUMP, fork)?;
            transaction.set_body(top, CuckooNodeBody::jump(jump.jump_symbols(0, shared), color));
            color
        };
        let old_hash = table.extend(fork_hash, old);
        if let Some(child) = child {
            transaction.set(child, transaction.entry(child).with_parent(color));
        } else {
            let rest = CuckooNodeBody::jump(jump.jump_symbols(shared + 1, jump.length()), jump.link());
            transaction.place(old_hash, old, color, rest)?;
        }
        let (leaf, _) =
            transaction.place(table.extend(fork_hash, new), new, color, CuckooNodeBody::leaf(0))?;
        Ok(leaf)
    }

    /// Plans a branch below another key's leaf, where the two keys diverge, with both leaves below
    /// it. If they share many symbols, transactions of their own move the leaf down first and set
    /// `lowered`.
    fn plan_separation(
        &self,
        transaction: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        leaf: &NamedNode,
        other: &[u8],
        lowered: &mut bool,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let (ours, theirs) = (KeySymbols::of(key), KeySymbols::of(other));
        let fork = ours.first_difference(theirs);
        let mut leaf = *leaf;
        while fork - leaf.depth > JUMPS_MAX as u32 * JUMP_MAX {
            let mut lowering = CuckooTransaction::new(&self.engine.table);
            let depth = leaf.depth + JUMPS_MAX as u32 * JUMP_MAX;
            let down = self.plan_descent(&mut lowering, ours, &leaf, depth)?;
            lowering.buckets.lock()?;
            self.engine.entries.add(0, lowering.apply());
            *lowered = true;
            leaf = NamedNode { node: lowering.applied(down.spot), hash: down.hash, depth };
        }
        let body = leaf.node.entry.body();
        let down = self.plan_descent(transaction, ours, &leaf, fork)?;
        let (old, new) = (theirs.at(fork), ours.at(fork));
        transaction.set_body(down.spot, CuckooNodeBody::branch(1 << old | 1 << new, fork));
        let old_hash = self.engine.table.extend(down.hash, old);
        // The buckets of the new leaf have usually been prefetched already.
        self.engine.table.prefetch(self.engine.table.pair(old_hash));
        let (spot, _) = transaction.place(
            self.engine.table.extend(down.hash, new),
            new,
            down.color,
            CuckooNodeBody::leaf(0),
        )?;
        transaction.place(old_hash, old, down.color, body)?;
        Ok(spot)
    }

    /// Plans jumps in a leaf's place, along these symbols, with the leaf below them at `depth`.
    fn plan_descent(
        &self,
        transaction: &mut CuckooTransaction<'_, V>,
        symbols: KeySymbols<'_>,
        leaf: &NamedNode,
        depth: u32,
    ) -> Result<LoweredLeaf, CuckooAbort> {
        let entry = leaf.node.entry;
        let spot = transaction.take_node(&leaf.node)?;
        let mut at = LoweredLeaf { spot, hash: leaf.hash, depth: leaf.depth, color: entry.color() };
        while at.depth < depth {
            let end = depth.min(at.depth + JUMP_MAX);
            let path = (at.depth..end).map(|index| symbols.at(index));
            let hash = path.clone().fold(at.hash, |hash, symbol| self.engine.table.extend(hash, symbol));
            let (spot, color) = transaction.place(hash, symbols.at(end - 1), UNDER_JUMP, entry.body())?;
            transaction.set_body(at.spot, CuckooNodeBody::jump(path, color));
            at = LoweredLeaf { spot, hash, depth: end, color };
        }
        Ok(at)
    }
}
