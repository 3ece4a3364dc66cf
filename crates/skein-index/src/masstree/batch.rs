//! Batched lookups whose memory reads overlap.
//!
//! ```text
//!   round 1   key 0: read node, ask for child │ key 1: read node, ask for child │ ... key 31
//!   round 2   key 0: its child has arrived meanwhile ...
//! ```
//!
//! A lookup alone waits for one node after another. Here up to 32 of them take turns: each does one node's work,
//! asks for the cache lines of its next node, and leaves the turn to the others; when it is on again, the
//! lines are there. The steps are those of a single lookup. Source: Masstree, section 4.8 (after PALM).

use super::Masstree;
use super::key::Slice;
use super::link::Link;
use super::lookup::{Found, Visit, look_up};
use super::node::Node;
use super::search::child_index;
use super::suffix::Suffix;
use crate::memory::{CACHE_LINE, prefetch_read};
use crate::slot::Slot;

/// How many lookups take turns. More would not help: a core has about a dozen reads in flight.
pub const GROUP: usize = 32;

/// What a lookup reads in its next turn.
#[derive(Clone, Copy, Debug)]
enum Next<const W: usize> {
    /// A layer's root, or what was once one.
    Root(Node<W>),
    /// A child, with its parent as it was seen.
    Child(Node<W>, Visit<W>),
    /// A suffix block.
    Suffix(Suffix),
    /// Nothing: the lookup is done.
    Done(Option<u64>),
}

/// One lookup under way.
#[derive(Clone, Copy, Debug)]
struct Probe<'k, const W: usize> {
    key: &'k [u8],
    offset: usize,
    slice: Slice,
    next: Next<W>,
}

impl<'k, const W: usize> Probe<'k, W> {
    #[inline(always)]
    fn new(key: &'k [u8], root: Node<W>) -> Self {
        Self { key, offset: 0, slice: Slice::at(key, 0), next: Next::Root(root) }
    }

    /// Takes one turn; false once the lookup is done, or has to start over (then `next` is a `Root`).
    #[inline(always)]
    fn step(&mut self) -> Step {
        match self.next {
            Next::Root(node) => {
                let version = node.version().stable();
                if version.is_deleted() {
                    return Step::Restart;
                }
                if version.is_root() {
                    return self.enter(Visit { node, version });
                }
                let Some(parent) = node.parent() else { return Step::Restart };
                parent.prefetch();
                self.next = Next::Root(parent);
                Step::Again
            }
            Next::Child(node, parent) => {
                let version = node.version().stable();
                if parent.node.version().changed(parent.version) || version.is_deleted() {
                    return Step::Restart;
                }
                self.enter(Visit { node, version })
            }
            Next::Suffix(suffix) => {
                let same = suffix.bytes() == &self.key[self.offset + 8..];
                self.done(same.then(|| suffix.value()))
            }
            Next::Done(_) => Step::Done,
        }
    }

    #[inline(always)]
    fn done(&mut self, word: Option<u64>) -> Step {
        self.next = Next::Done(word);
        Step::Done
    }

    /// The turn's work in a node that was reached the right way.
    #[inline(always)]
    fn enter(&mut self, mut visit: Visit<W>) -> Step {
        if !visit.version.is_border() {
            let child = visit.node.child(child_index(visit.node, self.slice.bits));
            child.prefetch();
            self.next = Next::Child(child, visit);
            return Step::Again;
        }
        let word = match look_up(&mut visit, self.slice) {
            Found::Restart => return Step::Restart,
            Found::Absent => return self.done(None),
            Found::Value(word) => return self.done(Some(word)),
            Found::Link(word) => word,
        };
        Link::<W>::prefetch(word, self.key.len() - self.offset - 8);
        // SAFETY: `look_up` validated the word; the caller of `lookup_many` holds a guard.
        match unsafe { Link::from_word(word) } {
            Link::Suffix(suffix) => self.next = Next::Suffix(suffix),
            Link::Layer(root) => {
                self.offset += 8;
                self.slice = Slice::at(self.key, self.offset);
                self.next = Next::Root(root);
            }
        }
        Step::Again
    }
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Again,
    Done,
    Restart,
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Looks up many keys; the caller holds a guard.
    #[inline]
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (index, group) in keys.chunks(GROUP).enumerate() {
            self.lookup_group(group, |within, word| found(index * GROUP + within, word));
        }
    }

    #[inline]
    fn lookup_group(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for key in keys {
            // The keys themselves may be as far away as the nodes.
            (0..key.len()).step_by(CACHE_LINE).for_each(|offset| prefetch_read(&raw const key[offset]));
        }
        let root = self.root();
        let mut probes: [Probe<'_, W>; GROUP] =
            std::array::from_fn(|index| Probe::new(keys.get(index).copied().unwrap_or_default(), root));
        let mut waiting: [u8; GROUP] = std::array::from_fn(|index| index as u8);
        let mut count = keys.len();
        while count > 0 {
            let mut kept = 0;
            for turn in 0..count {
                let index = waiting[turn];
                let probe = &mut probes[usize::from(index)];
                match probe.step() {
                    Step::Again => {}
                    Step::Restart => *probe = Probe::new(probe.key, self.root()),
                    Step::Done => {
                        if let Next::Done(Some(word)) = probe.next {
                            S::prefetch(word);
                        }
                        continue;
                    }
                }
                waiting[kept] = index;
                kept += 1;
            }
            count = kept;
        }
        for (index, probe) in probes.iter().take(keys.len()).enumerate() {
            if let Next::Done(word) = probe.next {
                found(index, word);
            }
        }
    }
}
