//! Divides the keys into ranges for several threads.

use std::ops::Bound;

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::threads;

use super::KeyBounds;

/// More than one, so that a slow range does not delay the other threads.
const RANGES_PER_THREAD: usize = 8;

/// Returns the number of ranges for this many threads.
pub(crate) fn parts(threads: usize) -> usize {
    threads * RANGES_PER_THREAD
}

/// Calls `work` once for each of the ranges between the ascending `cuts`, on up to `threads`
/// threads.
pub(crate) fn share(threads: usize, cuts: &[Vec<u8>], work: impl Fn(KeyBounds<'_>) + Sync) {
    let next = AtomicUsize::new(0);
    threads::share(threads.min(cuts.len() + 1), |_| {
        loop {
            // Relaxed: a ticket; the join of the threads publishes their work.
            let range = next.fetch_add(1, Ordering::Relaxed);
            if range > cuts.len() {
                return;
            }
            let start = range.checked_sub(1).map_or(Bound::Unbounded, |i| Bound::Included(&cuts[i][..]));
            let end = cuts.get(range).map_or(Bound::Unbounded, |cut| Bound::Excluded(&cut[..]));
            work((start, end));
        }
    });
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::RangeBounds;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_key_is_in_one_range() {
        let keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        for cuts in [vec![], vec![vec![7]], vec![vec![0], vec![100], vec![255]]] {
            let seen = Mutex::new(BTreeMap::new());
            share(3, &cuts, |bounds| {
                for key in keys.iter().filter(|key| bounds.contains(&key[..])) {
                    *seen.lock().unwrap().entry(key.clone()).or_insert(0) += 1;
                }
            });
            let seen = seen.into_inner().unwrap();
            assert!(seen.len() == keys.len() && seen.values().all(|&times| times == 1), "{cuts:?}");
        }
    }
}
