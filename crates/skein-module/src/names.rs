//! The names of one database's keys, in order.
//!
//! A Wormhole holds the names, in its variant for one thread. Redis allows longer keys than the
//! Wormhole accepts, although they are rare. A tree beside the Wormhole holds such names, and a
//! page merges both. Changes wait in a [`PendingChanges`] batch, which every reader merges first.
//!
//! Each name has an [`ExpiryKnowledge`]. It says whether the server notifies the module in time
//! when the key is removed, or whether the module must look up the key.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_index::index::MAX_KEY_LEN;
use skein_index::memory::Arena;
use skein_index::wormhole::variant::{WormholeForOneThread, WormholeVariant};
use skein_index::{Collector, Inline, MemoryUsage, OrderedIndex, ScanDirection, walk};

pub use crate::expiry_knowledge::ExpiryKnowledge;
use crate::pending::{KeyNameChange, PendingChanges};

/// Names in a full leaf. A compromise: with 128 the index takes a twentieth less memory, and
/// inserts take an eighth more time.
const WIDTH: usize = 112;

type NameIndex = WormholeVariant<Inline<bool>, WormholeForOneThread<WIDTH>>;

impl ExpiryKnowledge {
    fn word(self) -> Inline<bool> {
        Inline(self == Self::Unsure)
    }

    fn of(is_unsure: bool) -> Self {
        if is_unsure { Self::Unsure } else { Self::Lasting }
    }
}

/// The set of names of one database.
pub struct DatabaseNames {
    index: NameIndex,
    /// Names of more than [`MAX_KEY_LEN`] bytes. All of them are unsure.
    long: BTreeSet<Box<[u8]>>,
    /// Changes of other names that are not merged into the index yet.
    pending: PendingChanges,
}

/// The reason why the index cannot reject a name.
const FITS: &str = "there is no budget, and the name is not too long";

/// A page of consecutive names.
#[derive(Debug, Default)]
pub struct NamePage {
    bytes: Vec<u8>,
    /// The end of each name in `bytes`, and its standing.
    ends: Vec<(usize, ExpiryKnowledge)>,
}

impl NamePage {
    /// Returns the names in the requested direction.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], ExpiryKnowledge)> {
        (0..self.len()).map(|place| (self.name(place), self.ends[place].1))
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn last(&self) -> Option<&[u8]> {
        self.ends.len().checked_sub(1).map(|place| self.name(place))
    }

    fn name(&self, place: usize) -> &[u8] {
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before].0);
        &self.bytes[begin..self.ends[place].0]
    }

    fn push(&mut self, name: &[u8], standing: ExpiryKnowledge) {
        self.bytes.extend_from_slice(name);
        self.ends.push((self.bytes.len(), standing));
    }
}

impl DatabaseNames {
    pub fn new() -> Self {
        // SAFETY: `&mut self` of every write, and the server's lock, admit one thread at a time. No
        // cursor is held across a write. No other index uses the arena.
        let index = unsafe {
            NameIndex::single_threaded_in(Arena::on_global_allocator(), Arc::new(Collector::new()))
        };
        Self { index, long: BTreeSet::new(), pending: PendingChanges::default() }
    }

    pub fn len(&mut self) -> usize {
        self.merge();
        self.index.len() + self.long.len()
    }

    pub fn memory(&self) -> MemoryUsage {
        let long = self.long.iter().map(|name| name.len() + size_of::<Box<[u8]>>()).sum::<usize>();
        let usage = self.index.memory();
        MemoryUsage {
            keys: usage.keys + long,
            reserved: usage.reserved + long + self.pending.memory(),
            ..usage
        }
    }

    /// Inserts a name, or updates its standing. The change waits for the next merge.
    pub fn note(&mut self, name: &[u8], standing: ExpiryKnowledge) {
        if name.len() > MAX_KEY_LEN {
            self.long.insert(name.into());
        } else if self.pending.note(name, KeyNameChange::Put(standing)) {
            self.merge();
        }
    }

    /// Removes a name, if it is present. The change waits for the next merge.
    pub fn forget(&mut self, name: &[u8]) {
        if name.len() > MAX_KEY_LEN {
            self.long.remove(name);
        } else if self.pending.note(name, KeyNameChange::Remove) {
            self.merge();
        }
    }

    /// Inserts a name of unknown standing. Returns whether it is new.
    pub fn add(&mut self, name: &[u8]) -> bool {
        if name.len() > MAX_KEY_LEN {
            return self.long.insert(name.into());
        }
        self.merge();
        let guard = self.index.collector().enter();
        self.index.insert_if_absent(name, ExpiryKnowledge::Unsure.word(), &guard).expect(FITS).is_none()
    }

    /// Removes a name. Returns whether it was present.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        if name.len() > MAX_KEY_LEN {
            return self.long.remove(name);
        }
        self.merge();
        let guard = self.index.collector().enter();
        self.index.remove(name, &guard).is_some()
    }

    /// Merges the waiting changes into the index.
    pub fn merge(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let guard = self.index.collector().enter();
        self.pending.settle(|changes| {
            let (mut put, mut standings, mut removed) =
                (Vec::with_capacity(changes.len()), Vec::with_capacity(changes.len()), Vec::new());
            for &(name, change) in changes {
                match change {
                    KeyNameChange::Put(standing) => {
                        put.push(name);
                        standings.push(standing.word());
                    }
                    KeyNameChange::Remove => removed.push(name),
                }
            }
            self.index.put_many(&put, |place| standings[place], &guard).expect(FITS);
            // The memory reads of the lookups overlap. The removals then find their nodes in the
            // cache.
            let mut present = Vec::with_capacity(removed.len());
            self.index.get_many(&removed, &guard, |place, held| {
                if held.is_some() {
                    present.push(place);
                }
            });
            for place in present {
                self.index.remove(removed[place], &guard);
            }
        });
    }

    /// Returns at most `most` names within the bounds: the first ones, or the last ones if the
    /// direction is backward.
    pub fn page(
        &mut self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: ScanDirection,
        most: usize,
    ) -> NamePage {
        self.merge();
        let mut page = NamePage::default();
        let mut long = self.long_within(bounds, direction).peekable();
        let guard = self.index.collector().enter();
        let comes_first =
            |other: &&[u8], name: &[u8]| (**other < *name) == (direction == ScanDirection::Forward);
        let (near, far) = direction.near_and_far(bounds);
        walk(&mut self.index.cursor(&guard), near, far, direction, |name, word| {
            while page.len() < most
                && let Some(other) = long.next_if(|other| comes_first(other, name))
            {
                page.push(other, ExpiryKnowledge::Unsure);
            }
            if page.len() == most {
                return ControlFlow::Break(());
            }
            page.push(name, ExpiryKnowledge::of(word));
            ControlFlow::Continue(())
        });
        let room = most - page.len();
        long.take(room).for_each(|other| page.push(other, ExpiryKnowledge::Unsure));
        page
    }

    fn long_within<'n>(
        &'n self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: ScanDirection,
    ) -> impl Iterator<Item = &'n [u8]> {
        // A tree panics if the bounds cross each other.
        let none = self.long.is_empty() || is_crossed(bounds);
        let mut within = (!none).then(|| self.long.range::<[u8], _>(bounds));
        std::iter::from_fn(move || {
            let within = within.as_mut()?;
            let name = if direction == ScanDirection::Forward { within.next() } else { within.next_back() };
            name.map(|name| &**name)
        })
    }
}

/// Returns whether the bounds exclude every name.
fn is_crossed(bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
        _ => false,
    }
}
