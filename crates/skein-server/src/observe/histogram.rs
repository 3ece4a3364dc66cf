//! Histograms of times: counts by bucket, of times in nanoseconds.
//!
//! ```text
//!   0 1 2 … 15 │ 16 … 31 │ 32 34 … 62 │ 64 68 … 124 │ …    16 buckets per doubling: error ≤ 6 %
//! ```
//!
//! One thread counts and any thread may read. Counts are plain stores, so a reader may miss the
//! last few.

use std::sync::atomic::{AtomicU64, Ordering};

/// The buckets per doubling, as a power of two.
const FINE_BITS: u32 = 4;
const FINE: usize = 1 << FINE_BITS;
/// Times of 2^36 ns (about a minute) and more are counted in the last bucket.
const TOP_BITS: u32 = 36;
const COUNTS: usize = (TOP_BITS - FINE_BITS + 1) as usize * FINE;

/// Returns the bucket of a time.
#[inline]
fn place(nanos: u64) -> usize {
    let nanos = nanos.min((1 << TOP_BITS) - 1);
    let bits = u64::BITS - nanos.leading_zeros();
    // How often the time must be halved until `FINE_BITS + 1` bits are left.
    let halvings = bits.saturating_sub(FINE_BITS + 1);
    (nanos >> halvings) as usize + halvings as usize * FINE
}

/// Returns the longest time of a bucket.
fn longest(place: usize) -> u64 {
    let halvings = (place / FINE).saturating_sub(1);
    let fine = (place - halvings * FINE) as u64;
    ((fine + 1) << halvings) - 1
}

/// The counts, which one thread writes.
#[derive(Debug)]
pub(crate) struct LatencyHistogram(Box<[AtomicU64; COUNTS]>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self(Box::new([const { AtomicU64::new(0) }; COUNTS]))
    }
}

impl LatencyHistogram {
    /// Counts `count` requests of this time. Only the thread that owns the histogram may call this.
    #[inline]
    pub(crate) fn add(&self, nanos: u64, count: u64) {
        let counter = &self.0[place(nanos)];
        // Relaxed: a statistic, ordered with nothing.
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

/// The counts at a moment, of one or several histograms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LatencyDistribution {
    /// Empty until something is added.
    counts: Vec<u64>,
}

impl LatencyDistribution {
    pub(crate) fn add(&mut self, histogram: &LatencyHistogram) {
        self.counts.resize(COUNTS, 0);
        for (sum, count) in self.counts.iter_mut().zip(&*histogram.0) {
            *sum += count.load(Ordering::Relaxed);
        }
    }

    /// Subtracts earlier counts.
    pub(crate) fn subtract(&mut self, before: &Self) {
        for (count, before) in self.counts.iter_mut().zip(&before.counts) {
            *count = count.saturating_sub(*before);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the time that this percentage of all requests did not exceed; 0 if there are no
    /// requests.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let total = self.total();
        #[expect(clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a percentage of a count")]
        let wanted = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut sum = 0;
        let found = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        found.map_or(0, longest)
    }

    /// Returns the number of times below 2^bits nanoseconds, for up to 36 bits.
    pub(crate) fn below(&self, bits: u32) -> u64 {
        self.counts.iter().take(place((1 << bits) - 1) + 1).sum()
    }

    /// Returns the number of times below 2^n nanoseconds, for each n from 10 to the least that
    /// covers all.
    pub(crate) fn doublings(&self) -> Vec<(u64, u64)> {
        let total = self.total();
        let mut below = Vec::new();
        for bits in 10..=TOP_BITS {
            let sum = self.below(bits);
            below.push((1 << bits, sum));
            if sum == total {
                break;
            }
        }
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_bounds_rise_and_exceed_a_time_by_six_percent() {
        let mut last = 0;
        for time in (0..4096).chain((12..36).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 77]))
        {
            let at = place(time);
            assert!(at >= last && at < COUNTS, "{time}");
            last = at;
            assert!(time <= longest(at) && longest(at) * 16 <= time * 17, "{time} {}", longest(at));
        }
        assert_eq!(place(u64::MAX), COUNTS - 1);
        assert!((0..COUNTS).all(|at| place(longest(at)) == at));
    }

    #[test]
    fn percentiles_and_doublings() {
        let histogram = LatencyHistogram::default();
        histogram.add(500, 90);
        histogram.add(5_000, 9);
        histogram.add(u64::MAX, 1);
        let mut found = LatencyDistribution::default();
        assert_eq!((found.total(), found.percentile(50.0), found.doublings()), (0, 0, vec![(1024, 0)]));
        found.add(&histogram);
        let before = found.clone();
        found.add(&histogram);
        found.subtract(&before);
        assert_eq!((found.total(), &found), (100, &before));
        assert!((500..532).contains(&found.percentile(50.0)));
        assert_eq!(found.percentile(0.0), found.percentile(90.0));
        assert!((5_000..5_320).contains(&found.percentile(99.0)));
        assert_eq!(found.percentile(100.0), (1 << 36) - 1);
        let below = found.doublings();
        assert_eq!(below[..4], [(1024, 90), (2048, 90), (4096, 90), (8192, 99)]);
        assert_eq!(below.last(), Some(&(1 << 36, 100)));
    }
}
