//! S3-FIFO: new pages enter a small queue, and only pages that are used again enter the main queue.
//!
//! ```text
//!   new page ─► small, a tenth of the cache ──used again──► main ──used again──┐
//!                   │                                        ▲  └───◄──────────┘
//!                   └─ evicted; remembered as a ghost ── loaded again soon ─┘
//! ```
//!
//! A hit only counts in the page itself, so it needs no lock. Each load of a page has a number, and
//! each entry has the number of its load. So stale entries, left behind by freed pages, are
//! recognised.
//!
//! Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction" (SOSP
//! 2023).

use std::collections::{HashMap, VecDeque};

use super::{Replacement, USES_MOST, VictimFate};
use crate::page::PageId;

/// The small queue's share of the cache.
const SMALL_PART: usize = 10;

/// Up to this many stale entries are not swept, even if there are few pages.
const STALE_MOST: usize = 64;

/// How often a page can be proposed: for each of its uses, from the small queue, and once more.
const ROUNDS: usize = USES_MOST as usize + 2;

/// Returns the most pages of the small queue, for a cache of this many pages.
fn small_most(pages: usize) -> usize {
    (pages / SMALL_PART).max(1)
}

/// A page, and the number of its load.
type S3FifoEntry = (PageId, u64);

/// The queues.
#[derive(Debug)]
pub(super) struct S3Fifo {
    small: VecDeque<S3FifoEntry>,
    main: VecDeque<S3FifoEntry>,
    /// The pages in either queue, with the number of their last load.
    resident: HashMap<PageId, u64>,
    ghosts: VecDeque<S3FifoEntry>,
    remembered: HashMap<PageId, u64>,
    loads: u64,
    small_most: usize,
    ghosts_most: usize,
}

impl S3Fifo {
    /// Returns empty queues for a cache of this many pages.
    pub(super) fn new(pages: usize) -> Self {
        Self {
            small: VecDeque::new(),
            main: VecDeque::new(),
            resident: HashMap::new(),
            ghosts: VecDeque::new(),
            remembered: HashMap::new(),
            loads: 0,
            small_most: small_most(pages),
            ghosts_most: pages,
        }
    }

    /// Removes stale entries if they outnumber the valid ones. So each costs constant time.
    fn sweep_if_stale(&mut self) {
        if self.small.len() + self.main.len() > 2 * self.resident.len() + STALE_MOST {
            for queue in [&mut self.small, &mut self.main] {
                queue.retain(|(page, load)| self.resident.get(page) == Some(load));
            }
        }
    }

    fn remember(&mut self, entry: S3FifoEntry) {
        self.remembered.insert(entry.0, entry.1);
        self.ghosts.push_back(entry);
        self.forget_oldest();
    }

    /// Forgets ghosts until there are no more than the limit.
    fn forget_oldest(&mut self) {
        while self.ghosts.len() > self.ghosts_most
            && let Some((page, load)) = self.ghosts.pop_front()
        {
            if self.remembered.get(&page) == Some(&load) {
                self.remembered.remove(&page);
            }
        }
    }

    /// Removes the next valid entry from the queue that must evict. Returns it, and whether it was
    /// in the small queue.
    fn next(&mut self) -> Option<(S3FifoEntry, bool)> {
        loop {
            let from_small = self.small.len() >= self.small_most || self.main.is_empty();
            let entry = if from_small { self.small.pop_front() } else { self.main.pop_front() }?;
            if self.resident.get(&entry.0) == Some(&entry.1) {
                return Some((entry, from_small));
            }
        }
    }
}

impl Replacement for S3Fifo {
    fn wants_uses(&self) -> bool {
        false
    }

    fn insert(&mut self, page: PageId) {
        self.loads += 1;
        self.resident.insert(page, self.loads);
        let is_back = self.remembered.remove(&page).is_some();
        let queue = if is_back { &mut self.main } else { &mut self.small };
        queue.push_back((page, self.loads));
        self.sweep_if_stale();
    }

    fn entries(&self) -> usize {
        self.small.len() + self.main.len() + self.ghosts.len()
    }

    fn touch(&mut self, _: PageId) {}

    fn remove(&mut self, page: PageId) {
        self.resident.remove(&page);
        self.sweep_if_stale();
    }

    fn resize(&mut self, pages: usize) {
        (self.small_most, self.ghosts_most) = (small_most(pages), pages);
        self.forget_oldest();
        for queue in [&mut self.small, &mut self.main, &mut self.ghosts] {
            queue.shrink_to_fit();
        }
        self.resident.shrink_to_fit();
        self.remembered.shrink_to_fit();
    }

    fn choose_victim(
        &mut self,
        take_use: &mut dyn FnMut(PageId) -> bool,
        fate: &mut dyn FnMut(PageId) -> VictimFate,
    ) -> Option<PageId> {
        for _ in 0..ROUNDS * (self.small.len() + self.main.len()) {
            let (entry, from_small) = self.next()?;
            let page = entry.0;
            if take_use(page) || fate(page) == VictimFate::Keep {
                self.main.push_back(entry);
                continue;
            }
            self.resident.remove(&page);
            if from_small {
                self.remember(entry);
            }
            return Some(page);
        }
        None
    }
}
