//! Batched lookups with overlapping memory reads.
//!
//! ```text
//!   round 1   key 0: read node, prefetch child │ key 1: read node, prefetch child │ ... key 31
//!   round 2   key 0: its child has arrived meanwhile ...
//! ```
//!
//! A single lookup waits for one node after another. Here up to 32 lookups take turns: each
//! processes one node, prefetches the cache lines of its next node, and yields to the others. By
//! its next turn the lines have arrived. The steps are those of a single lookup. Source: Masstree,
//! section 4.8 (after PALM).
//!
//! A caller that is about to write the keys keeps the location where each lookup ended
//! ([`MasstreeLocation`]). The write then locks that node directly and does not descend a second
//! time.

use skein_sync::reclaim::{Guard, check_guard};

use super::MasstreeVariant;
use super::key::KeySlice;
use super::link::SlotLink;
use super::lookup::{BorderVisit, SliceLookup, look_up};
use super::node::Node;
use super::search::child_index;
use super::suffix::SuffixBlock;
use super::variant::{MasstreeSettings, MasstreeStandard};
use super::write::BorderLocation;
use crate::index::{ComputeAction, Computed, IndexError, MAX_KEY_LEN};
use crate::memory::{CACHE_LINE, prefetch_read};
use crate::slot::Slot;

/// How many lookups take turns. More would not help: a core has about a dozen reads in flight.
pub const GROUP: usize = 32;

/// The location where a lookup ended: the node that holds the key, or should hold it. See
/// `Masstree::locate_many`.
#[derive(Clone, Copy, Debug)]
pub struct MasstreeLocation<V: MasstreeSettings = MasstreeStandard>(BorderLocation<V>);

/// The read of a lookup's next turn.
#[derive(Clone, Copy, Debug)]
enum NextRead<V: MasstreeSettings> {
    /// The present or a former root of a layer.
    Root(Node<V>),
    /// A child, with its parent as it was seen.
    Child(Node<V>, BorderVisit<V>),
    /// A suffix block.
    Suffix(SuffixBlock),
    /// Nothing: the lookup is done, with this result.
    Done(Option<u64>),
}

/// A lookup in progress.
#[derive(Clone, Copy, Debug)]
struct MasstreeLookup<'k, V: MasstreeSettings> {
    key: &'k [u8],
    offset: usize,
    slice: KeySlice,
    next: NextRead<V>,
    /// The border node of this layer, when it is reached, and that of the layer above.
    border: Option<BorderVisit<V>>,
    upper: Option<BorderVisit<V>>,
    /// A link led to a former root of its layer. A write that descends repairs the link.
    stale: bool,
}

impl<'k, V: MasstreeSettings> MasstreeLookup<'k, V> {
    #[inline(always)]
    fn new(key: &'k [u8], root: Node<V>) -> Self {
        Self {
            key,
            offset: 0,
            slice: KeySlice::at(key, 0),
            next: NextRead::Root(root),
            border: None,
            upper: None,
            stale: false,
        }
    }

    /// Returns the result; `None` also while the lookup is in progress.
    #[inline(always)]
    fn word(&self) -> Option<u64> {
        match self.next {
            NextRead::Done(word) => word,
            _ => None,
        }
    }

    /// Returns the location where the lookup ended; `None` if a write should search for the key
    /// itself.
    #[inline(always)]
    fn place(&self) -> Option<MasstreeLocation<V>> {
        let visit = self.border.filter(|_| !self.stale)?;
        Some(MasstreeLocation(BorderLocation {
            offset: self.offset,
            slice: self.slice,
            visit,
            upper: self.upper,
        }))
    }

    /// Takes one turn.
    #[inline(always)]
    fn step(&mut self) -> LookupProgress {
        match self.next {
            NextRead::Root(node) => {
                let version = node.version().stable();
                if version.is_deleted() {
                    return LookupProgress::Restart;
                }
                if version.is_root() {
                    return self.enter(BorderVisit { node, version });
                }
                let Some(parent) = node.parent() else { return LookupProgress::Restart };
                parent.prefetch();
                self.stale = true;
                self.next = NextRead::Root(parent);
                LookupProgress::Again
            }
            NextRead::Child(node, parent) => {
                let version = node.version().stable();
                if parent.node.version().changed(parent.version) || version.is_deleted() {
                    return LookupProgress::Restart;
                }
                self.enter(BorderVisit { node, version })
            }
            NextRead::Suffix(suffix) => {
                let same = suffix.bytes() == &self.key[self.offset + 8..];
                self.done(same.then(|| suffix.value()))
            }
            NextRead::Done(_) => LookupProgress::Done,
        }
    }

    #[inline(always)]
    fn done(&mut self, word: Option<u64>) -> LookupProgress {
        self.next = NextRead::Done(word);
        LookupProgress::Done
    }

    /// Processes a node that was reached by a validated path.
    #[inline(always)]
    fn enter(&mut self, mut visit: BorderVisit<V>) -> LookupProgress {
        if !visit.version.is_border() {
            let child = visit.node.child(child_index(visit.node, self.slice.bits));
            child.prefetch();
            self.next = NextRead::Child(child, visit);
            return LookupProgress::Again;
        }
        let found = look_up(&mut visit, self.slice);
        self.border = Some(visit);
        let word = match found {
            SliceLookup::Restart => return LookupProgress::Restart,
            SliceLookup::Absent => return self.done(None),
            SliceLookup::Value(word) => return self.done(Some(word)),
            SliceLookup::Link(word) => word,
        };
        SlotLink::<V>::prefetch(word, self.key.len() - self.offset - 8);
        // SAFETY: `look_up` validated the word; the caller of `lookup_many` holds a guard.
        match unsafe { SlotLink::from_word(word) } {
            SlotLink::Suffix(suffix) => self.next = NextRead::Suffix(suffix),
            SlotLink::Layer(root) => {
                self.offset += 8;
                self.slice = KeySlice::at(self.key, self.offset);
                (self.upper, self.border) = (self.border, None);
                self.next = NextRead::Root(root);
            }
        }
        LookupProgress::Again
    }
}

/// The state of a lookup after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupProgress {
    Again,
    Done,
    Restart,
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Looks up many keys. The caller holds a guard.
    #[inline]
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        self.probe_many(keys, |index, probe| found(index, probe.word()));
    }

    /// Looks up keys that are about to be written. Like
    /// [`get_many`](crate::OrderedIndex::get_many), but also passes to `found` each key's location
    /// for [`compute_at`](Self::compute_at), or `None` if the write must search for the key itself.
    ///
    /// # Panics
    /// Panics if the guard is not of this tree's collector.
    #[inline]
    pub fn locate_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, Option<S::Ref<'g>>, Option<MasstreeLocation<V>>),
    ) {
        check_guard(&self.base.collector, guard);
        self.probe_many(keys, |index, probe| {
            // SAFETY: the word was in the tree; it is retired, if ever, under this guard or a later
            // one.
            found(index, probe.word().map(|word| unsafe { S::borrow(word) }), probe.place());
        });
    }

    /// Like [`get`](crate::OrderedIndex::get), but starts at the key's location.
    ///
    /// # Safety
    /// As for [`compute_at`](Self::compute_at).
    #[inline]
    pub unsafe fn get_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: MasstreeLocation<V>,
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        check_guard(&self.base.collector, guard);
        // SAFETY: as for `locate_many`.
        self.lookup_at(&place.0, key).map(|word| unsafe { S::borrow(word) })
    }

    /// Like [`compute`](crate::OrderedIndex::compute), but starts at the key's location and not at
    /// the root. The location may be out of date: every writer must expect changes between its
    /// descent and its lock, and checks the node again.
    ///
    /// # Errors
    /// As for `compute`.
    ///
    /// # Safety
    /// [`locate_many`](Self::locate_many) of this tree returned the location for an equal key,
    /// under a guard that has been held, and not refreshed, since.
    #[inline]
    pub unsafe fn compute_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: MasstreeLocation<V>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        check_guard(&self.base.collector, guard);
        self.base.check_write(key, MAX_KEY_LEN, || 0)?;
        Ok(self.write_from(Some(place.0), key, change, guard))
    }

    #[inline]
    fn probe_many(&self, keys: &[&[u8]], mut ended: impl FnMut(usize, &MasstreeLookup<'_, V>)) {
        for (index, group) in keys.chunks(GROUP).enumerate() {
            self.probe_group(group, |within, probe| ended(index * GROUP + within, probe));
        }
    }

    #[inline]
    fn probe_group(&self, keys: &[&[u8]], mut ended: impl FnMut(usize, &MasstreeLookup<'_, V>)) {
        for key in keys {
            // The keys themselves may be as far away as the nodes.
            (0..key.len()).step_by(CACHE_LINE).for_each(|offset| prefetch_read(&raw const key[offset]));
        }
        let root = self.root();
        let mut probes: [MasstreeLookup<'_, V>; GROUP] = std::array::from_fn(|index| {
            MasstreeLookup::new(keys.get(index).copied().unwrap_or_default(), root)
        });
        let mut waiting: [u8; GROUP] = std::array::from_fn(|index| index as u8);
        let mut count = keys.len();
        while count > 0 {
            let mut kept = 0;
            for turn in 0..count {
                let index = waiting[turn];
                let probe = &mut probes[usize::from(index)];
                match probe.step() {
                    LookupProgress::Again => {}
                    LookupProgress::Restart => *probe = MasstreeLookup::new(probe.key, self.root()),
                    LookupProgress::Done => {
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
