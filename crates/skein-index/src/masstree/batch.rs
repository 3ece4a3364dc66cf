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
//!
//! Who looks keys up because they are about to be written keeps where each lookup ended ([`Place`]): the write locks that node at once, and
//! does not go down a second time.

use skein_sync::reclaim::{Guard, check_guard};

use super::Masstree;
use super::key::Slice;
use super::link::Link;
use super::lookup::{Found, Visit, look_up};
use super::node::Node;
use super::search::child_index;
use super::suffix::Suffix;
use super::write::Spot;
use crate::index::{Change, Computed, MAX_KEY_LEN, Refused};
use crate::memory::{CACHE_LINE, prefetch_read};
use crate::slot::Slot;

/// How many lookups take turns. More would not help: a core has about a dozen reads in flight.
pub const GROUP: usize = 32;

/// Where a lookup ended: the node that holds the key, or that it belongs in. See [`Masstree::locate_many`].
#[derive(Clone, Copy, Debug)]
pub struct Place<const W: usize>(Spot<W>);

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
    /// The border node of this layer, once it was reached, and the one of the layer above.
    border: Option<Visit<W>>,
    upper: Option<Visit<W>>,
    /// A link led to what was the layer's root once. A write that goes down mends it.
    stale: bool,
}

impl<'k, const W: usize> Probe<'k, W> {
    #[inline(always)]
    fn new(key: &'k [u8], root: Node<W>) -> Self {
        Self {
            key,
            offset: 0,
            slice: Slice::at(key, 0),
            next: Next::Root(root),
            border: None,
            upper: None,
            stale: false,
        }
    }

    /// What was found, once the lookup is done.
    #[inline(always)]
    fn word(&self) -> Option<u64> {
        match self.next {
            Next::Done(word) => word,
            _ => None,
        }
    }

    /// Where the lookup ended.
    #[inline(always)]
    fn place(&self) -> Option<Place<W>> {
        let visit = self.border.filter(|_| !self.stale)?;
        Some(Place(Spot { offset: self.offset, slice: self.slice, visit, upper: self.upper }))
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
                self.stale = true;
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
        let found = look_up(&mut visit, self.slice);
        self.border = Some(visit);
        let word = match found {
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
                (self.upper, self.border) = (self.border, None);
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
        self.probe_many(keys, |index, probe| found(index, probe.word()));
    }

    /// As [`get_many`](crate::OrderedIndex::get_many), for keys that are about to be written: `found` is also told each key's place, for
    /// [`compute_at`](Self::compute_at), or none if the write has to look for it.
    ///
    /// # Panics
    /// If the guard is not of this tree's collector.
    #[inline]
    pub fn locate_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, Option<S::Ref<'g>>, Option<Place<W>>),
    ) {
        check_guard(&self.base.collector, guard);
        self.probe_many(keys, |index, probe| {
            // SAFETY: the word was in the tree, and is retired, if at all, under this guard or a later one.
            found(index, probe.word().map(|word| unsafe { S::borrow(word) }), probe.place());
        });
    }

    /// As [`get`](crate::OrderedIndex::get), beginning at the key's place.
    ///
    /// # Safety
    /// As for [`compute_at`](Self::compute_at).
    #[inline]
    pub unsafe fn get_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: Place<W>,
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        check_guard(&self.base.collector, guard);
        // SAFETY: as for `locate_many`.
        self.lookup_at(&place.0, key).map(|word| unsafe { S::borrow(word) })
    }

    /// As [`compute`](crate::OrderedIndex::compute), beginning at the key's place and not at the tree's root. Nothing about the place need be true any
    /// more: it is what any writer knows that was slow between its way down and its lock.
    ///
    /// # Errors
    /// As for `compute`.
    ///
    /// # Safety
    /// The place is what [`locate_many`](Self::locate_many) of this tree told of an equal key, under a guard that has been held, and not
    /// refreshed, since.
    #[inline]
    pub unsafe fn compute_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: Place<W>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> Change<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, Refused> {
        check_guard(&self.base.collector, guard);
        self.base.admit(key, MAX_KEY_LEN, || 0)?;
        Ok(self.write_from(Some(place.0), key, change, guard))
    }

    #[inline]
    fn probe_many(&self, keys: &[&[u8]], mut ended: impl FnMut(usize, &Probe<'_, W>)) {
        for (index, group) in keys.chunks(GROUP).enumerate() {
            self.probe_group(group, |within, probe| ended(index * GROUP + within, probe));
        }
    }

    #[inline]
    fn probe_group(&self, keys: &[&[u8]], mut ended: impl FnMut(usize, &Probe<'_, W>)) {
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
                        if let Some(word) = probe.word() {
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
            ended(index, probe);
        }
    }
}
