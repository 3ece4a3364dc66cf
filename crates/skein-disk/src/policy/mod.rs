//! Which page leaves a full cache: a seam with two fillings.
//!
//! - [`Lru`](lru::Lru): the paper's (section 2.2), a list and a map, constant time.
//! - [`S3Fifo`](s3_fifo::S3Fifo): three queues, which a scan does not flush; a hit changes no queue, so readers need no lock.

mod lru;
mod s3_fifo;

use std::str::FromStr;

use crate::page::PageId;

/// The policies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplacementPolicy {
    /// The page that was used longest ago leaves first.
    Lru,
    /// Pages that were used once leave before those that were used again (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023).
    #[default]
    S3Fifo,
}

impl FromStr for ReplacementPolicy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "lru" => Ok(Self::Lru),
            "s3-fifo" => Ok(Self::S3Fifo),
            other => Err(format!("there is no policy '{other}'; there are lru and s3-fifo")),
        }
    }
}

/// The most uses that a page counts.
pub(crate) const USES_MOST: u8 = 3;

/// What is to become of a page that a policy proposes to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VictimFate {
    /// It leaves.
    Leaves,
    /// Somebody uses it at this moment: it moves to the end of the line instead (section 2.2).
    Stays,
}

/// What a policy keeps. All calls come under one lock.
pub(crate) trait Replacement: Send + std::fmt::Debug {
    /// Whether [`used`](Self::used) is to be called.
    fn wants_uses(&self) -> bool;

    /// A page has come. It may be here already, if it went and came again while somebody was about to say so.
    fn insert(&mut self, page: PageId);

    /// Entries that are kept: of pages that are there, that have left, and that are remembered.
    fn entries(&self) -> usize;

    /// A page was used. It may have left.
    fn touch(&mut self, page: PageId);

    /// A page is no more. It may have left.
    fn remove(&mut self, page: PageId);

    /// Proposes pages, the first one to leave first, until `fate` says that one leaves; it is out then. Each page is proposed a few times at most; none
    /// leaves if all stay. `take_use` takes one from the uses that a page has counted, [`USES_MOST`] at most; false if there is none.
    fn choose_victim(
        &mut self,
        take_use: &mut dyn FnMut(PageId) -> bool,
        fate: &mut dyn FnMut(PageId) -> VictimFate,
    ) -> Option<PageId>;
}

impl ReplacementPolicy {
    /// A policy's state for a cache of so many pages.
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

    /// Serves requests with a cache of so many pages; returns how many were hits.
    fn serve(policy: ReplacementPolicy, cache: usize, requests: impl Iterator<Item = u32>) -> usize {
        let mut replacement = policy.for_cache(cache);
        let mut there = std::collections::HashMap::<PageId, u8>::new();
        let mut hits = 0;
        for request in requests {
            let page = PageId(request);
            if let Some(uses) = there.get_mut(&page) {
                hits += 1;
                *uses = (*uses + 1).min(USES_MOST);
                if replacement.wants_uses() {
                    replacement.touch(page);
                }
                continue;
            }
            if there.len() == cache {
                let mut take_use = |page: PageId| {
                    let uses = there.get_mut(&page).unwrap();
                    let had_some = *uses > 0;
                    *uses = uses.saturating_sub(1);
                    had_some
                };
                let left = replacement.choose_victim(&mut take_use, &mut |_| VictimFate::Leaves);
                assert!(there.remove(&left.unwrap()).is_some(), "only what is there leaves");
            }
            there.insert(page, 0);
            replacement.insert(page);
        }
        hits
    }

    /// Half of the requests are for few pages, and between them scans go by.
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
    fn pages_in_use_stay_and_the_others_leave() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(10);
            (0..10).for_each(|page| replacement.insert(PageId(page)));
            let mut fate = |page: PageId| if page.0 < 9 { VictimFate::Stays } else { VictimFate::Leaves };
            assert_eq!(replacement.choose_victim(&mut |_| false, &mut fate), Some(PageId(9)), "{policy:?}");
            assert_eq!(replacement.choose_victim(&mut |_| false, &mut fate), None, "{policy:?}");
            replacement.remove(PageId(3));
            let mut left: Vec<u32> = (0..8)
                .filter_map(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Leaves))
                .map(|page| page.0)
                .collect();
            left.sort_unstable();
            assert_eq!(left, [0, 1, 2, 4, 5, 6, 7, 8], "{policy:?}");
            assert_eq!(
                replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Leaves),
                None,
                "{policy:?}"
            );
        }
    }

    /// Incident: a page was freed while a reader was about to say that it had come, and its id used again: it came twice. Consequence: the list had
    /// an entry that never left, which was proposed for ever, and writers found no room. Fix: who comes again is forgotten first.
    #[test]
    fn a_page_that_comes_twice_leaves_once() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(10);
            [1, 2, 1].map(PageId).into_iter().for_each(|page| replacement.insert(page));
            let mut left: Vec<_> = (0..4)
                .map_while(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Leaves))
                .collect();
            left.sort_unstable();
            assert_eq!(left, [1, 2].map(PageId), "{policy:?}");
        }
    }

    /// Incident: S3-FIFO took the entries of pages that were no more out of its queues only where it proposed pages, and
    /// nothing is proposed while all pages fit the cache. Consequence: a long value that was written over and over, each time
    /// in other pages, cost memory without bound. Fix: queues with more stale entries than valid ones are swept.
    #[test]
    fn pages_that_come_and_are_no_more_leave_no_entries() {
        for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
            let mut replacement = policy.for_cache(100);
            for round in 0..10_000 {
                // Ids are used again, and some are in the main queue.
                let pages = (0..10).map(|page| PageId(page + round % 7 * 10));
                pages.clone().for_each(|page| replacement.insert(page));
                if round % 50 == 0 {
                    replacement.choose_victim(&mut |page| page.0 % 3 > 0, &mut |_| VictimFate::Leaves);
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
                (0..20).map_while(|_| replacement.choose_victim(&mut |_| false, &mut |_| VictimFate::Leaves));
            assert_eq!(left.count(), 10, "{policy:?}: sweeping keeps what is there");
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
