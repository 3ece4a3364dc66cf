//! Views: a collection as it was at one moment, for who reads it in many steps and lets its writers go on between them.
//!
//! ```text
//!   step 1     step 2      steps to come
//!   a  b  c  │  d  e  f  │  g  h  i  j             present entries, in the view's order
//!                           ▲  ▲
//!            kept:          │  └ h had another value, which was ...        a writer notes what an entry was
//!                           └ g was not there                              before it changes what no step has come to
//! ```
//!
//! Taking one costs the same for any collection; what is kept are the entries that are changed ahead of it while it lives, each once. A writer to a collection of
//! which there is no view looks at one flag per command.
//!
//! Considered: a tree whose nodes are shared by its versions (an indirection and a count for each run of the order, paid by all; and columns have no tree of their own), and
//! a copy of the entries under the lock (nothing is faster to read, but ten million members take a tenth of a second to copy).
//!
//! # Invariants
//! 1. A view begins under the collection's lock, held shared: between two commands. So writers, who hold it alone, find it listed or began before it.
//! 2. What a writer changes is first noted in each view that has not come to it yet, unless it is there already: so what is noted is what the view's moment had.
//! 3. A step holds the lock shared. It shows the present entries after those that were shown, but each that is noted as it was. What it passes is noted no more.
//! 4. A collection that dies with entries keeps them, in the members' index and in `left`, until its last view is gone.
//! 5. Locks are taken in this order: the collection's, its list of views, one view's notes.

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
use super::{Collection, MemberIndex};
use crate::ScanDirection;

/// The views of a collection.
#[derive(Debug, Default)]
pub(super) struct CollectionViews {
    /// By their places in memory, so that one goes as fast from many as from few.
    kept: BTreeMap<usize, Arc<Mutex<FormerEntries>>>,
    /// What is left of a collection that has died.
    left: Option<DeadCollection>,
}

/// By which an order of entries is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewOrder {
    /// By what the members are called; an entry's value is that of its row.
    Name,
    /// By score; see `order::entry_key`. Values are empty.
    Score,
}

/// What a view keeps of entries that it has not come to.
#[derive(Debug)]
struct FormerEntries {
    by: ViewOrder,
    direction: ScanDirection,
    /// Where the next step begins.
    next: Bound<Vec<u8>>,
    /// What entries were that have changed, `None` for those that were not there.
    changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Where its bytes are counted.
    members: Arc<MemberIndex>,
}

/// Bytes that a note takes beside its own, with its part of the map and what the allocator adds.
const NOTE: usize = 112;

/// Bytes of a note.
fn weight(key: &[u8], was: Option<&Vec<u8>>) -> usize {
    NOTE + key.len() + was.map_or(0, Vec::len)
}

/// What an entry was at the view's moment.
enum FormerEntry {
    /// What it is now.
    Same,
    Absent,
    Held(Vec<u8>),
}

impl FormerEntries {
    /// Whether a step will come to this entry.
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
            && let Entry::Vacant(entry) = self.changed.entry(key)
        {
            self.members.account(0, weight(entry.key(), was.as_ref()));
            entry.insert(was);
        }
    }

    /// Shows `show` those entries that are there no more, and come before `before` (or all).
    fn show_gone(
        &mut self,
        before: Option<&[u8]>,
        mut show: impl FnMut(&[u8], Vec<u8>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let forward = self.direction == ScanDirection::Forward;
        loop {
            let nearest = if forward { self.changed.first_entry() } else { self.changed.last_entry() };
            let comes =
                |key: &[u8]| before.is_none_or(|before| if forward { key < before } else { key > before });
            let Some(nearest) = nearest.filter(|nearest| comes(nearest.key())) else {
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

    /// What the entry was that a step has come to. It is noted no more.
    fn take(&mut self, key: &[u8]) -> FormerEntry {
        let noted = self.changed.remove(key);
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
        let bytes = self.changed.iter().map(|(key, was)| weight(key, was.as_ref())).sum();
        self.members.account(bytes, 0);
    }
}

/// Bytes that a view takes beside itself and its notes: what is shared with writers, with its counts, and its part of their list.
const PLACE: usize = size_of::<Mutex<FormerEntries>>() + 6 * size_of::<usize>();

/// A view's place in its collection's list.
#[derive(Debug)]
struct RegisteredView {
    collection: Arc<Collection>,
    kept: Arc<Mutex<FormerEntries>>,
}

impl RegisteredView {
    /// REQUIRES: the collection's lock is held shared.
    fn new(
        collection: Arc<Collection>,
        by: ViewOrder,
        direction: ScanDirection,
        next: Bound<Vec<u8>>,
    ) -> Self {
        let (changed, members) = (BTreeMap::new(), collection.members.clone());
        let kept = Arc::new(Mutex::new(FormerEntries { by, direction, next, changed, members }));
        let mut views = lock(&collection.views);
        views.kept.insert(Arc::as_ptr(&kept).addr(), kept.clone());
        // Relaxed: writers see it because they take the collection's lock later; whoever makes it false holds the list, too.
        collection.viewed.store(true, Ordering::Relaxed);
        drop(views);
        Self { collection, kept }
    }
}

impl Drop for RegisteredView {
    fn drop(&mut self) {
        let mut views = lock(&self.collection.views);
        views.kept.remove(&Arc::as_ptr(&self.kept).addr());
        if views.kept.is_empty() {
            self.collection.viewed.store(false, Ordering::Relaxed);
            if let Some(dead) = views.left.take() {
                self.collection.members.discard(dead);
            }
        }
    }
}

impl Collection {
    /// Whether writers have to note what they change. Asked under the lock, held alone.
    #[inline]
    pub(crate) fn is_viewed(&self) -> bool {
        self.viewed.load(Ordering::Relaxed)
    }

    /// Notes what the value of a member was before it is put or removed; `None` if there was none.
    pub(crate) fn note_value(&self, name: &[u8], was: Option<&[u8]>) {
        for kept in lock(&self.views).kept.values() {
            lock(kept).note(name.to_vec(), was.map(<[u8]>::to_vec));
        }
    }

    /// Notes what the score of a member was before it becomes `score`; `None` for no member.
    pub(crate) fn note_score(&self, member: &[u8], was: Option<f64>, score: Option<f64>) {
        for kept in lock(&self.views).kept.values() {
            let mut kept = lock(kept);
            if kept.by == ViewOrder::Name {
                kept.note(member.to_vec(), was.map(|was| was.to_le_bytes().to_vec()));
                continue;
            }
            if let Some(was) = was {
                kept.note(score_range::entry_key(was, member), Some(Vec::new()));
            }
            if let Some(score) = score {
                kept.note(score_range::entry_key(score, member), None);
            }
        }
    }

    /// Keeps what a collection that dies has left, if there is a view of it; else gives it back.
    pub(super) fn leave(&self, dead: DeadCollection) -> Option<DeadCollection> {
        if !self.is_viewed() {
            return Some(dead);
        }
        let mut views = lock(&self.views);
        if views.kept.is_empty() {
            return Some(dead);
        }
        views.left = Some(dead);
        None
    }
}
