//! Writes that set a key, or ask about it.
//!
//! ```text
//!   the search ends at      what is added (section 4.5)
//!   the key's leaf          nothing: the record's value changes
//!   a branch                a leaf under it
//!   another key's leaf      in its place, jumps for what the keys share; then a branch, with both leaves under it
//!   a jump                  in its place, the part that is shared; then a branch, with the new leaf and the rest of the jump under it
//! ```
//!
//! What takes the place of a node has its name, and so its hash and its color: what leads there stays as it is. The closure of `compute` is
//! asked once the change is planned and locked.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::displacement::RoomRequests;
use super::entry::{CuckooNodeBody, CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::hints::HintTrail;
use super::prefixes::KeyPrefixes;
use super::search::{NamedNode, SearchEnd};
use super::symbols::KeySymbols;
use super::transaction::{CuckooAbort, CuckooSlot, CuckooTransaction, NODES_MAX};
use crate::engine::ComputeClosure;
use crate::index::{self, Computed, IndexError};
use crate::record::KeyRecord;
use crate::slot::{Slot, retire_value};

/// Jumps in one change; keys that share more are parted in several.
const JUMPS_MAX: usize = NODES_MAX - 3;

/// Where a leaf has come to in a change.
#[derive(Clone, Copy, Debug)]
struct LoweredLeaf {
    spot: CuckooSlot,
    hash: u32,
    depth: u32,
    color: u8,
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Does what `change` decides about `key`, which is not too long.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        let mut lowered = false;
        let done = self.write_at_last(key, &mut ComputeClosure::new(change), guard, &mut lowered);
        let is_added = matches!(done, Ok(Computed { before: None, changed: true }));
        if lowered && !is_added {
            self.join_along(key, guard);
        }
        done
    }

    /// The same; a leaf that was `lowered` for a key that was not added then is below jumps that lead to nothing else.
    fn write_at_last<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
        lowered: &mut bool,
    ) -> Result<Computed<'g, S>, IndexError> {
        let mut backoff = Backoff::new();
        let mut crowded = RoomRequests::default();
        let learns = self.table.wants_hints(key);
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
        // Whatever is added, this node keeps its name.
        trail.meet(&stop.at);
        let mut planned = CuckooTransaction::new(&self.table);
        let leaf = match stop.at.node.entry.kind() {
            CuckooNodeKind::Branch => self.plan_leaf(&mut planned, key, &stop.at)?,
            CuckooNodeKind::Jump => self.plan_fork(&mut planned, key, &stop)?,
            CuckooNodeKind::Leaf | CuckooNodeKind::Dead => {
                self.ask_below(key, &stop.at);
                // SAFETY: a leaf, read under the guard.
                let record = unsafe { stop.at.node.entry.record() }.ok_or(CuckooAbort::Changed)?;
                if record.key() == key {
                    return self.on_leaf(key, &stop.at, record, change, guard);
                }
                self.plan_parting(&mut planned, key, &stop.at, record.key(), lowered)?
            }
        };
        self.fill(&mut planned, leaf, key, change, guard)
    }

    /// Asks for the buckets of a child for `key` of a node: where its leaf will mostly be, if the node is the leaf of another key.
    #[inline(always)]
    fn ask_below(&self, key: &[u8], NamedNode { hash, depth, .. }: &NamedNode) {
        let below = self.table.extend(*hash, KeySymbols::of(key).at(*depth));
        self.table.prefetch(self.table.pair(below));
    }

    /// Locks a change, asks for the value of its new leaf, which has no record yet, and makes the change if there is one.
    fn fill<'g, G: Guard>(
        &'g self,
        planned: &mut CuckooTransaction<'_, V>,
        leaf: CuckooSlot,
        key: &[u8],
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, CuckooAbort> {
        planned.lock()?;
        let index::ComputeAction::Put(value) = change.call(None) else {
            return Ok(Computed { before: None, changed: false });
        };
        let record = KeyRecord::new(&self.base.arena, 0, key, Some(value.into_word()));
        planned.set_low(leaf, record.word());
        self.count(planned.apply(), 1, guard);
        if planned.crowded() {
            self.grow_if_loaded();
        }
        Ok(Computed { before: None, changed: true })
    }

    /// Adds up entries and keys.
    pub(super) fn count(&self, entries: i64, keys: i64, guard: &impl Guard) {
        self.entries.add(guard.thread_id(), entries);
        if keys != 0 {
            self.base.len.add(guard.thread_id(), keys);
        }
    }

    /// The key has a leaf, which may be dead.
    pub(super) fn on_leaf<'g, G: Guard>(
        &'g self,
        key: &[u8],
        at: &NamedNode,
        record: KeyRecord,
        change: &mut ComputeClosure<impl FnOnce(Option<S::Ref<'_>>) -> index::ComputeAction<S>>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, CuckooAbort> {
        let mut planned = CuckooTransaction::new(&self.table);
        let leaf = planned.take_node(&at.node)?;
        if at.node.entry.kind() == CuckooNodeKind::Dead {
            planned.set_body(leaf, CuckooNodeBody::leaf(0));
            return self.fill(&mut planned, leaf, key, change, guard);
        }
        planned.lock()?;
        let before = record.value();
        // SAFETY: the word is in the index, and retired, if at all, under this guard or a later one.
        let seen: Option<S::Ref<'g>> = Some(unsafe { S::borrow(before) });
        let removes = match change.call(seen) {
            index::ComputeAction::Keep => return Ok(Computed { before: seen, changed: false }),
            index::ComputeAction::Put(value) => {
                record.set_value(value.into_word());
                // By reference: a drop would move all of it first.
                planned.unlock();
                false
            }
            index::ComputeAction::Remove => {
                let body = planned.entry(leaf).body();
                planned.set_body(leaf, body.dead());
                self.count(planned.apply(), -1, guard);
                true
            }
        };
        // SAFETY: the word is out of the index, which owned it.
        unsafe { retire_value::<S>(before, guard) };
        if removes {
            self.remove_dead_leaf(key, record, guard);
        }
        Ok(Computed { before: seen, changed: true })
    }

    /// A leaf for `key` under a branch that does not have its next symbol.
    fn plan_leaf(
        &self,
        change: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        branch: &NamedNode,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let spot = change.take_node(&branch.node)?;
        let symbol = KeySymbols::of(key).at(branch.depth);
        let entry = branch.node.entry;
        change.set_low(spot, entry.low | 1 << symbol);
        let hash = self.table.extend(branch.hash, symbol);
        let (leaf, _) = change.place(hash, symbol, entry.color(), CuckooNodeBody::leaf(0))?;
        self.table.depths.note(hash, branch.depth + 1, |start| self.has_node(key, start));
        Ok(leaf)
    }

    /// Whether there is a node for the first so many symbols of a key, as far as a look tells.
    #[cold]
    fn has_node(&self, key: &[u8], depth: u32) -> bool {
        self.guess(KeyPrefixes::of(&self.table, key).skip_to(depth)).is_some()
    }

    /// A fork in a jump for `key`, which shares only some of its symbols.
    fn plan_fork(
        &self,
        change: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        stop: &SearchEnd,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let SearchEnd { at, shared } = *stop;
        let jump = at.node.entry;
        let table = &self.table;
        let top = change.take_node(&at.node)?;
        let ends = shared + 1 == jump.length();
        let child = if ends { Some(change.take_node(&self.below_jump(&at)?.node)?) } else { None };
        let fork_hash = jump.jump_symbols(0, shared).fold(at.hash, |hash, symbol| table.extend(hash, symbol));
        let (old, new) = (jump.jump_symbol(shared), KeySymbols::of(key).at(at.depth + shared));
        let fork = CuckooNodeBody::branch(1 << old | 1 << new, at.depth + shared);
        let color = if shared == 0 {
            change.set_body(top, fork);
            jump.color()
        } else {
            let last = jump.jump_symbol(shared - 1);
            let (_, color) = change.place(fork_hash, last, UNDER_JUMP, fork)?;
            change.set_body(top, CuckooNodeBody::jump(jump.jump_symbols(0, shared), color));
            color
        };
        let old_hash = table.extend(fork_hash, old);
        if let Some(child) = child {
            change.set(child, change.entry(child).with_parent(color));
        } else {
            let rest = CuckooNodeBody::jump(jump.jump_symbols(shared + 1, jump.length()), jump.link());
            change.place(old_hash, old, color, rest)?;
        }
        let (leaf, _) = change.place(table.extend(fork_hash, new), new, color, CuckooNodeBody::leaf(0))?;
        Ok(leaf)
    }

    /// A branch below a leaf of another key, with that key and `key` under it, past what the two share. If that is much, the leaf is `lowered` first, by changes of their own.
    fn plan_parting(
        &self,
        change: &mut CuckooTransaction<'_, V>,
        key: &[u8],
        leaf: &NamedNode,
        other: &[u8],
        lowered: &mut bool,
    ) -> Result<CuckooSlot, CuckooAbort> {
        let (ours, theirs) = (KeySymbols::of(key), KeySymbols::of(other));
        let fork = ours.first_difference(theirs);
        let mut leaf = *leaf;
        while fork - leaf.depth > JUMPS_MAX as u32 * JUMP_MAX {
            let mut lowering = CuckooTransaction::new(&self.table);
            let depth = leaf.depth + JUMPS_MAX as u32 * JUMP_MAX;
            let down = self.plan_descent(&mut lowering, ours, &leaf, depth)?;
            lowering.lock()?;
            self.entries.add(0, lowering.apply());
            *lowered = true;
            leaf = NamedNode { node: lowering.applied(down.spot), hash: down.hash, depth };
        }
        let body = leaf.node.entry.body();
        let down = self.plan_descent(change, ours, &leaf, fork)?;
        let (old, new) = (theirs.at(fork), ours.at(fork));
        change.set_body(down.spot, CuckooNodeBody::branch(1 << old | 1 << new, fork));
        let old_hash = self.table.extend(down.hash, old);
        // Those of the new leaf have mostly been asked for already.
        self.table.prefetch(self.table.pair(old_hash));
        let (spot, _) =
            change.place(self.table.extend(down.hash, new), new, down.color, CuckooNodeBody::leaf(0))?;
        change.place(old_hash, old, down.color, body)?;
        Ok(spot)
    }

    /// Jumps in a leaf's place, along these symbols, with the leaf at a depth below them.
    fn plan_descent(
        &self,
        change: &mut CuckooTransaction<'_, V>,
        symbols: KeySymbols<'_>,
        leaf: &NamedNode,
        depth: u32,
    ) -> Result<LoweredLeaf, CuckooAbort> {
        let entry = leaf.node.entry;
        let spot = change.take_node(&leaf.node)?;
        let mut at = LoweredLeaf { spot, hash: leaf.hash, depth: leaf.depth, color: entry.color() };
        while at.depth < depth {
            let end = depth.min(at.depth + JUMP_MAX);
            let path = (at.depth..end).map(|index| symbols.at(index));
            let hash = path.clone().fold(at.hash, |hash, symbol| self.table.extend(hash, symbol));
            let (spot, color) = change.place(hash, symbols.at(end - 1), UNDER_JUMP, entry.body())?;
            change.set_body(at.spot, CuckooNodeBody::jump(path, color));
            at = LoweredLeaf { spot, hash, depth: end, color };
        }
        Ok(at)
    }
}
