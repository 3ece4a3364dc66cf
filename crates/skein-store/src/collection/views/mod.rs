//! Views: a collection as it was at one moment, for a reader that reads in many steps and does not
//! block writers between them.
//!
//! ```text
//!   step 1     step 2      later steps
//!   a  b  c  │  d  e  f  │  g  h  i  j          present entries, in the view's order
//!                           ▲  ▲
//!        former entries:    │  └ h had another value       a writer notes the former entry before
//!                           └ g was absent                 it changes one ahead of the steps
//! ```
//!
//! Taking a view costs the same for any collection. It keeps only the entries that are changed
//! ahead of it, each once. If a collection has no view, a writer reads one flag per command.
//!
//! Alternatives that were considered:
//!
//! - A tree with nodes that its versions share: every reader and writer pays for an indirection and
//!   a count per run, and columns have no tree of their own.
//! - A copy of the entries under the lock: nothing is faster to read, but copying ten million
//!   members takes a tenth of a second.
//!
//! Read this file first, then `score_range` and `members`.
//!
//! # Invariants
//! 1. A view begins under the collection's lock, held shared, hence between two commands. Writers
//!    hold the lock exclusively. So a writer either sees the view in the list or has finished
//!    before it.
//! 2. Before a writer changes an entry, it notes the former entry in each view that has not reached
//!    it, unless the view has a note of it already. So a note holds the entry of the view's moment.
//! 3. A step holds the lock shared. It shows the present entries after the last shown one, and a
//!    noted entry as it was. Notes that it has passed are removed.
//! 4. A collection that dies with entries keeps them, in the member index and in `remains`, until
//!    its last view is dropped.
//! 5. Locks are taken in this order: the collection's, its list of views, one view's notes.
//!
//! Design: `docs/design/data-model.md`.

mod members;
mod score_range;

pub use members::MembersView;
pub use score_range::ScoreRangeView;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex};

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use super::sweep_queue::DeadCollection;
use super::{Collection, MemberIndex, SharedCollection};
use crate::ScanDirection;

#[derive(Debug, Default)]
pub(super) struct CollectionViews {
    /// By address, so that a view is removed as fast from many as from few.
    list: BTreeMap<usize, Arc<Mutex<FormerEntries>>>,
    /// The rest of a collection that has died.
    remains: Option<DeadCollection>,
}

/// The order of a view's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewOrder {
    /// By name; the value of an entry is that of its row.
    Name,
    /// By score; see `score_range::entry_key`. Values are empty.
    Score,
}

/// The former entries that a view has noted and not reached.
#[derive(Debug)]
struct FormerEntries {
    order: ViewOrder,
    direction: ScanDirection,
    /// The start of the next step.
    next: Bound<Vec<u8>>,
    /// Former entries that have changed; `None` for an entry that was absent.
    notes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Counts the bytes of the notes.
    members: Arc<MemberIndex>,
}

/// Bytes of a note besides its key and value: its part of the map and the allocator's overhead.
const NOTE: usize = 112;

fn weight(key: &[u8], was: Option<&Vec<u8>>) -> usize {
    NOTE + key.len() + was.map_or(0, Vec::len)
}

/// An entry at the view's moment.
enum FormerEntry {
    /// The same as now.
    Same,
    Absent,
    Held(Vec<u8>),
}

impl FormerEntries {
    /// Returns whether a later step will reach this entry.
    fn is_ahead(&self, key: &[u8]) -> bool {
        let forward = self.direction == ScanDirection::Forward;
        match &self.next {
            Bound::Unbounded => true,
            Bound::Included(next) if forward => key >= &next[..],
            Bound::Included(next) => key <= &next[..],
            Bound::Excluded(last) if forward => key > &last[..],
            Bound::Excluded(last) => key < &last[..],
        }
    }

    fn note(&mut self, key: Vec<u8>, was: Option<Vec<u8>>) {
        if self.is_ahead(&key)
            && let Entry::Vacant(entry) = self.notes.entry(key)
        {
            self.members.account(0, weight(entry.key(), was.as_ref()));
            entry.insert(was);
        }
    }

    /// Calls `show` with the removed entries that are ahead and before `before` (all if `None`).
    fn show_removed(
        &mut self,
        before: Option<&[u8]>,
        mut show: impl FnMut(&[u8], Vec<u8>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let forward = self.direction == ScanDirection::Forward;
        loop {
            let nearest = if forward { self.notes.first_entry() } else { self.notes.last_entry() };
            let is_next =
                |key: &[u8]| before.is_none_or(|before| if forward { key < before } else { key > before });
            let Some(nearest) = nearest.filter(|nearest| is_next(nearest.key())) else {
                return ControlFlow::Continue(());
            };
            let (key, was) = nearest.remove_entry();
            self.members.account(weight(&key, was.as_ref()), 0);
            let shown = was.map(|value| show(&key, value));
            self.next = Bound::Excluded(key);
            if let Some(broken) = shown.filter(ControlFlow::is_break) {
                return broken;
            }
        }
    }

    /// Takes the note of an entry that a step has reached.
    fn take(&mut self, key: &[u8]) -> FormerEntry {
        let noted = self.notes.remove(key);
        if let Some(was) = &noted {
            self.members.account(weight(key, was.as_ref()), 0);
        }
        match noted {
            None => FormerEntry::Same,
            Some(None) => FormerEntry::Absent,
            Some(Some(value)) => FormerEntry::Held(value),
        }
    }
}

impl Drop for FormerEntries {
    fn drop(&mut self) {
        let bytes = self.notes.iter().map(|(key, was)| weight(key, was.as_ref())).sum();
        self.members.account(bytes, 0);
    }
}

/// Bytes that a view uses besides itself and its notes: the data shared with writers, its reference
/// counts, and its part of the list.
const PLACE: usize = size_of::<Mutex<FormerEntries>>() + 6 * size_of::<usize>();

/// A view's entry in the list of its collection.
#[derive(Debug)]
struct RegisteredView {
    collection: Arc<SharedCollection>,
    former: Arc<Mutex<FormerEntries>>,
}

impl RegisteredView {
    /// Adds a view to the list. REQUIRES: the collection's lock is held shared.
    fn new(
        collection: Arc<SharedCollection>,
        order: ViewOrder,
        direction: ScanDirection,
        next: Bound<Vec<u8>>,
    ) -> Self {
        let (notes, members) = (BTreeMap::new(), collection.members.clone());
        let former = Arc::new(Mutex::new(FormerEntries { order, direction, next, notes, members }));
        let mut views = lock(&collection.views);
        views.list.insert(Arc::as_ptr(&former).addr(), former.clone());
        // Relaxed: a writer sees it because it takes the collection's lock later. A thread that
        // clears the flag holds the list, too.
        collection.viewed.store(true, Ordering::Relaxed);
        drop(views);
        Self { collection, former }
    }
}

impl Drop for RegisteredView {
    fn drop(&mut self) {
        let mut views = lock(&self.collection.views);
        views.list.remove(&Arc::as_ptr(&self.former).addr());
        if views.list.is_empty() {
            self.collection.viewed.store(false, Ordering::Relaxed);
            if let Some(dead) = views.remains.take() {
                self.collection.members.discard(dead);
            }
        }
    }
}

impl Collection {
    /// Returns whether writers must note former entries. Call it under the lock, held exclusively.
    #[inline]
    pub(crate) fn is_viewed(&self) -> bool {
        self.viewed.load(Ordering::Relaxed)
    }

    /// Notes the value of a member before it is put or removed; `None` if it is absent.
    pub(crate) fn note_value(&self, name: &[u8], was: Option<&[u8]>) {
        for former in lock(&self.views).list.values() {
            lock(former).note(name.to_vec(), was.map(<[u8]>::to_vec));
        }
    }

    /// Notes the score of a member before it becomes `score`; `None` for an absent member.
    pub(crate) fn note_score(&self, member: &[u8], was: Option<f64>, score: Option<f64>) {
        for former in lock(&self.views).list.values() {
            let mut former = lock(former);
            if former.order == ViewOrder::Name {
                former.note(member.to_vec(), was.map(|was| was.to_le_bytes().to_vec()));
                continue;
            }
            if let Some(was) = was {
                former.note(score_range::entry_key(was, member), Some(Vec::new()));
            }
            if let Some(score) = score {
                former.note(score_range::entry_key(score, member), None);
            }
        }
    }

    /// Keeps the rest of a dying collection if it has a view. Otherwise returns it.
    pub(super) fn keep_for_views(&self, dead: DeadCollection) -> Option<DeadCollection> {
        if !self.is_viewed() {
            return Some(dead);
        }
        let mut views = lock(&self.views);
        if views.list.is_empty() {
            return Some(dead);
        }
        views.remains = Some(dead);
        None
    }
}
