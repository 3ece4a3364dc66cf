//! Replacement policies: they select the page to evict from a full cache.
//!
//! - [`Lru`](lru::Lru): the paper's policy (section 2.2), a list and a map, constant time.
//! - [`S3Fifo`](s3_fifo::S3Fifo): three queues. A scan does not flush them, and a hit changes no
//!   queue, so readers need no lock.
//!
//! Design: `docs/design/disk.md`.

mod lru;
mod s3_fifo;

use std::str::FromStr;

use crate::page::PageId;

/// The available policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplacementPolicy {
    /// Evicts the least recently used page.
    Lru,
    /// Evicts pages that were used once before pages that were used again (Yang et al., "FIFO
    /// queues are all you need for cache eviction", SOSP 2023).
    #[default]
    S3Fifo,
}

impl ReplacementPolicy {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::Lru, Self::S3Fifo];

    /// Returns the name of the policy, as in the options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3-fifo",
        }
    }
}

impl FromStr for ReplacementPolicy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(" and ");
            format!("there is no policy '{name}'; there are {known}")
        })
    }
}

/// The maximum number of uses that a page counts.
pub(crate) const USES_MOST: u8 = 3;

/// The caller's answer to a proposed victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VictimFate {
    /// The page is evicted.
    Evict,
    /// The page is in use. It moves to the end of the queue (section 2.2).
    Keep,
}

/// The state of a policy. All calls are made under one lock.
pub(crate) trait Replacement: Send + std::fmt::Debug {
    /// Returns whether [`touch`](Self::touch) must be called.
    fn wants_uses(&self) -> bool;

    /// Adds a page. The page may be in the policy already, if it was evicted and loaded again
    /// before the call for its first load.
    fn insert(&mut self, page: PageId);

    /// Returns the number of entries: of pages in memory, stale ones and ghosts.
    fn entries(&self) -> usize;

    /// Notes a use of a page. The page may be evicted already.
    fn touch(&mut self, page: PageId);

    /// Removes a page that was freed. The page may be evicted already.
    fn remove(&mut self, page: PageId);

    /// Adapts to a cache of this many pages, and frees memory that a larger one needed.
    fn resize(&mut self, pages: usize);

    /// Proposes pages in the order of eviction until `fate` accepts one; removes and returns it.
    /// Proposes each page a limited number of times, and returns `None` if all stay.
    ///
    /// `take_use` takes one of the page's counted uses, at most [`USES_MOST`], and returns false if
    /// there is no use left.
    fn choose_victim(
        &mut self,
        take_use: &mut dyn FnMut(PageId) -> bool,
        fate: &mut dyn FnMut(PageId) -> VictimFate,
    ) -> Option<PageId>;
}

impl ReplacementPolicy {
    /// Returns the initial state for a cache of this many pages.
    pub(crate) fn for_cache(self, pages: usize) -> Box<dyn Replacement> {
        match self {
            Self::Lru => Box::new(lru::Lru::new()),
            Self::S3Fifo => Box::new(s3_fifo::S3Fifo::new(pages)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves requests with a cache of this many pages. Returns the number of hits.
    fn serve(policy: ReplacementPolicy, cache: usize, requests: impl Iterator<Item = u32>) -> usize {
        let mut replacement = policy.for_cache(cache);
        let mut resident = std::collections::HashMap::<PageId, u8>::new();
        let mut hits = 0;
        for request in requests {
            let page = PageId(request);
            if let Some(uses) = resident.get_mut(&page) {
                hits += 1;
                *uses = (*uses + 1).min(USES_MOST);
                if replacement.wants_uses() {
                    replacement.touch(page);
                }
                continue;
            }
            if resident.len() == cache {
                let mut take_use = |page: PageId| {
                    let uses = resident.get_mut(&page).unwrap();
                    let had_some = *uses > 0;
                    *uses = uses.saturating_sub(1);
                    had_some
                };
                let left = replacement.choose_victim(&mut take_use, &mut |_| VictimFate::Evict);
                assert!(resident.remove(&left.unwrap()).is_some(), "only resident pages are evicted");
            }
            resident.insert(page, 0);
            replacement.insert(page);
        }
        hits
    }

    /// Half of the requests are for a few pages, mixed with a scan.
    fn with_scans(requests: u32) -> impl Iterator<Item = u32> {
        (0..requests).map(|n| if n % 2 == 0 { n.wrapping_mul(2_654_435_761) >> 26 } else { 1_000 + n })
    }

    #[test]
    fn scans_flush_lru_and_not_s3_fifo() {
        let [lru, s3_fifo] = [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo]
            .map(|policy| serve(policy, 80, with_scans(20_000)));
        assert!(s3_fifo > 9_000, "{s3_fifo} hits of at most 10,000");
        assert!(lru < s3_fifo, "{lru} and {s3_fifo} hits");
    }

    #[test]
    fn pages_in_use_stay_and_others_are_evicted() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(10);
            (0..10).for_each(|page| replacement.insert(PageId(page)));
            let mut fate = |page: PageId| if page.0 < 9 { VictimFate::Keep } else { VictimFate::Evict };
            assert_eq!(replacement.choose_victim(&mut |_| false, &mut fate), Some(PageId(9)), "{policy:?}");
            assert_eq!(replacement.choose_victim(&mut |_| false, &mut fate), None, "{policy:?}");
            replacement.remove(PageId(3));
            let mut left: Vec<u32> = (0..8)
                .filter_map(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Evict))
                .map(|page| page.0)
                .collect();
            left.sort_unstable();
            assert_eq!(left, [0, 1, 2, 4, 5, 6, 7, 8], "{policy:?}");
            assert_eq!(
                replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Evict),
                None,
                "{policy:?}"
            );
        }
    }

    /// Incident: a page was freed before a reader had reported its load, and its id was used again,
    /// so it was added twice. Consequence: one entry was never removed and was proposed forever,
    /// and writers found no room. Fix: a page is removed before it is added again.
    #[test]
    fn a_page_added_twice_is_evicted_once() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(10);
            [1, 2, 1].map(PageId).into_iter().for_each(|page| replacement.insert(page));
            let mut left: Vec<_> = (0..4)
                .map_while(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Evict))
                .collect();
            left.sort_unstable();
            assert_eq!(left, [1, 2].map(PageId), "{policy:?}");
        }
    }

    /// Incident: S3-FIFO removed entries of freed pages only when it proposed victims, and it
    /// proposes none while all pages fit the cache. Consequence: a long value that was overwritten
    /// again and again, each time in other pages, used memory without bound. Fix: queues with more
    /// stale entries than valid ones are swept.
    #[test]
    fn freed_pages_leave_no_entries() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(100);
            for round in 0..10_000 {
                // Ids are reused, and some are in the main queue.
                let pages = (0..10).map(|page| PageId(page + round % 7 * 10));
                pages.clone().for_each(|page| replacement.insert(page));
                if round % 50 == 0 {
                    replacement.choose_victim(&mut |page| page.0 % 3 > 0, &mut |_| VictimFate::Evict);
                }
                pages.for_each(|page| replacement.remove(page));
                assert!(
                    replacement.entries() <= 300,
                    "{policy:?}: {} in round {round}",
                    replacement.entries()
                );
            }
            (0..10).for_each(|page| replacement.insert(PageId(page)));
            let left =
                (0..20).map_while(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Evict));
            assert_eq!(left.count(), 10, "{policy:?}: a sweep keeps resident pages");
        }
    }

    #[test]
    fn a_resize_keeps_the_resident_pages_and_their_order() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(1_000);
            (0..1_000).for_each(|page| replacement.insert(PageId(page)));
            let evict = |replacement: &mut dyn Replacement, count| -> Vec<u32> {
                let evict =
                    |_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Evict).map(|id| id.0);
                (0..count).map_while(evict).collect()
            };
            assert_eq!(evict(&mut *replacement, 990), (0..990).collect::<Vec<_>>(), "{policy:?}");
            replacement.resize(10);
            assert!(replacement.entries() <= 20, "{policy:?}: {} entries", replacement.entries());
            (2_000..2_005).for_each(|page| replacement.insert(PageId(page)));
            let rest = [990, 991, 992, 993, 994, 995, 996, 997, 998, 999, 2_000, 2_001, 2_002, 2_003, 2_004];
            assert_eq!(evict(&mut *replacement, 100), rest, "{policy:?}");
        }
    }

    #[test]
    fn policies_are_known_by_their_names() {
        assert_eq!(
            ("lru".parse(), "s3-fifo".parse()),
            (Ok(ReplacementPolicy::Lru), Ok(ReplacementPolicy::S3Fifo))
        );
        assert!("fifo".parse::<ReplacementPolicy>().unwrap_err().contains("there are lru and s3-fifo"));
    }
}
