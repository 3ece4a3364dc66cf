//! The cursor: a path of border nodes, one per layer, and a position in each.
//!
//! ```text
//!   path     layer 0: node, version, order, position ─┐
//!            layer 1: node, version, order, position ─┤  the cursor is at the last one's position
//!   key      [slice of layer 0][slice of layer 1][rest of the key]
//! ```
//!
//! A frame copies the order of a node's keys when the cursor reaches the node. Each step reads key
//! and value again and checks the node's version. While the version is unchanged, keys enter and
//! leave the node only by insert and remove, so the cursor returns every key that was present
//! throughout exactly once. If the version has changed, the cursor descends again and resumes after
//! its current key. A step back to the left neighbour trusts `prev` only if that node's `next`
//! leads back.

use std::cmp::Ordering;
use std::marker::PhantomData;

use skein_sync::reclaim::Guard;

use super::MasstreeVariant;
use super::frame::{BorderFrame, BorderNeighbour};
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::link::SlotLink;
use super::lookup::find_border;
use super::node::Node;
use super::path::{CursorKey, CursorPath};
use super::suffix::SuffixBlock;
use super::variant::MasstreeSettings;
use crate::cursor::{CursorMoves, CursorPosition};
use crate::slot::Slot;

/// A cursor of a [`Masstree`](crate::Masstree).
pub struct MasstreeCursor<'g, S: Slot, G: Guard, V: MasstreeSettings> {
    tree: &'g MasstreeVariant<S, V>,
    guard: PhantomData<&'g G>,
    path: CursorPath<V>,
    key: CursorKey,
    /// The cursor's key before a step that has overwritten part of `key`.
    stood_on: Vec<u8>,
    /// Whether this step has set `stood_on`.
    kept: bool,
    position: CursorPosition<()>,
}

// SAFETY: a cursor reads the tree, which is `Sync`, through pointers that its guard protects. The
// guard is borrowed; if it may be shared between threads (`OwnedGuard`), the borrow may move to
// another thread.
unsafe impl<S: Slot, G: Guard + Sync, V: MasstreeSettings> Send for MasstreeCursor<'_, S, G, V> {}

/// The target of a descent.
#[derive(Clone, Copy, Debug)]
enum DescentTarget<'k> {
    Key { key: &'k [u8], inclusive: bool },
    End,
}

impl<'g, S: Slot, G: Guard, V: MasstreeSettings> MasstreeCursor<'g, S, G, V> {
    pub(super) fn new(tree: &'g MasstreeVariant<S, V>, _guard: &'g G) -> Self {
        Self {
            tree,
            guard: PhantomData,
            path: CursorPath::new(),
            key: CursorKey::new(),
            stood_on: Vec::new(),
            kept: false,
            position: CursorPosition::Fresh,
        }
    }

    /// Descends to a target, and retries until no node on the path changes.
    fn descend(&mut self, target: DescentTarget<'_>, forward: bool) -> bool {
        loop {
            let found = match target {
                DescentTarget::Key { key, inclusive } => self.try_seek(key, inclusive, forward),
                DescentTarget::End => {
                    self.path.clear();
                    self.key.clear();
                    self.try_enter(self.tree.root(), forward).and_then(|()| self.settle(forward, false))
                }
            };
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// Copies the cursor's key, at most once in a step.
    fn keep_key(&mut self) {
        if !self.kept {
            self.kept = true;
            self.stood_on.clear();
            self.stood_on.extend_from_slice(self.key.as_slice());
        }
    }

    /// Descends along `target`'s slices and settles on the first key from there in the given
    /// direction. Returns `None` if a node changed.
    fn try_seek(&mut self, target: &[u8], inclusive: bool, forward: bool) -> Option<bool> {
        self.path.clear();
        self.key.clear();
        let mut root = self.tree.root();
        let mut offset = 0;
        loop {
            let slice = KeySlice::at(target, offset);
            let visit = find_border(root, slice.bits)?;
            let mut frame = BorderFrame::new(visit.node, visit.version);
            let equal = frame.lower_bound(slice);
            let lengths = frame.node.key_lengths();
            let word = frame.slot().map_or(0, |slot| frame.node.lv(slot, lengths.width()));
            if frame.changed() {
                return None;
            }
            let passed = if !equal {
                !forward
            } else if slice.code < LINK {
                !inclusive
            } else {
                // SAFETY: validated above; the cursor borrows a guard.
                match unsafe { SlotLink::from_word(word) } {
                    SlotLink::Layer(node) => {
                        self.path.push(frame);
                        self.key.end_with(offset, slice.bits.to_be_bytes(), 8);
                        offset += 8;
                        root = node;
                        continue;
                    }
                    SlotLink::Suffix(suffix) => {
                        let passed = match suffix.bytes().cmp(&target[offset + 8..]) {
                            Ordering::Less => forward,
                            Ordering::Equal => !inclusive,
                            Ordering::Greater => !forward,
                        };
                        if !passed {
                            // Stand on it now: at a second look the slot may be a layer, whose end
                            // lies on the other side of the target.
                            self.path.push(frame);
                            self.stand_on_suffix(slice.bits, suffix);
                            return Some(true);
                        }
                        true
                    }
                }
            };
            if passed {
                frame.step(forward);
            }
            frame.prefetch_first::<S>(forward);
            self.path.push(frame);
            return self.settle(forward, false);
        }
    }

    /// Stands on the top frame's key, which has more than eight bytes.
    #[inline(always)]
    fn stand_on_suffix(&mut self, slice: u64, suffix: SuffixBlock) {
        self.key.end_with(self.path.prefix(), slice.to_be_bytes(), 8);
        self.key.append(suffix.bytes());
        self.position = CursorPosition::On((), suffix.value());
    }

    /// Pushes the frame of a layer's first or last border node. Returns `None` if a node changed.
    fn try_enter(&mut self, root: Node<V>, forward: bool) -> Option<()> {
        let visit = find_border(root, if forward { 0 } else { u64::MAX })?;
        let frame = BorderFrame::new(visit.node, visit.version);
        let frame = if forward { frame } else { frame.to_last() };
        frame.prefetch_first::<S>(forward);
        self.path.push(frame);
        Some(())
    }

    /// Moves from the top frame's position, which may be off its node, to the next key, and stands
    /// on it. Returns `None` if a node changed. If `keep` is set, the current key is copied before
    /// it is overwritten.
    fn settle(&mut self, forward: bool, keep: bool) -> Option<bool> {
        loop {
            let prefix = self.path.prefix();
            let Some(frame) = self.path.lowest() else {
                self.position = CursorPosition::off_end(forward);
                self.key.clear();
                return Some(false);
            };
            let Some(slot) = frame.slot() else {
                match frame.neighbour(forward) {
                    BorderNeighbour::Changed => return None,
                    BorderNeighbour::Found(neighbour) => {
                        *frame = neighbour;
                        frame.prefetch_first::<S>(forward);
                    }
                    BorderNeighbour::None => {
                        self.path.pop();
                        if let Some(upper) = self.path.lowest() {
                            upper.step(forward);
                        }
                    }
                }
                continue;
            };
            let lengths = frame.node.key_lengths();
            let (bits, code) = (frame.node.slice(slot), lengths.code(slot));
            let word = frame.node.lv(slot, lengths.width());
            if frame.changed() {
                return None;
            }
            if code > LINK {
                // Removed since the order was read.
                frame.step(forward);
                continue;
            }
            frame.prefetch_ahead::<S>(forward);
            let slice = bits.to_be_bytes();
            if code < LINK {
                self.key.end_with(prefix, slice, code.into());
                self.position = CursorPosition::On((), word);
                return Some(true);
            }
            // SAFETY: validated above; the cursor borrows a guard.
            match unsafe { SlotLink::from_word(word) } {
                SlotLink::<V>::Suffix(suffix) => {
                    self.stand_on_suffix(bits, suffix);
                    return Some(true);
                }
                SlotLink::Layer(root) => {
                    if keep {
                        self.keep_key();
                    }
                    self.key.end_with(prefix, slice, 8);
                    self.try_enter(root, forward)?;
                }
            }
        }
    }
}

// SAFETY: a word is loaded from a node or a suffix under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: MasstreeSettings> CursorMoves<'g, S> for MasstreeCursor<'g, S, G, V> {
    /// The key's bytes are in the cursor.
    type Key = ();

    #[inline(always)]
    fn position(&self) -> &CursorPosition<()> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, (): &'k ()) -> &'k [u8] {
        self.key.as_slice()
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        self.descend(DescentTarget::Key { key, inclusive: true }, forward)
    }

    fn move_to_first(&mut self) -> bool {
        self.descend(DescentTarget::End, true)
    }

    fn move_to_last(&mut self) -> bool {
        self.descend(DescentTarget::End, false)
    }

    fn step(&mut self, (): (), forward: bool) -> bool {
        if let Some(frame) = self.path.lowest() {
            frame.step(forward);
        }
        self.kept = false;
        if let Some(found) = self.settle(forward, true) {
            return found;
        }
        // A node has changed: resume after the cursor's key.
        self.keep_key();
        let key = std::mem::take(&mut self.stood_on);
        let found = self.descend(DescentTarget::Key { key: &key, inclusive: false }, forward);
        self.stood_on = key;
        found
    }
}
