//! The current rates per second: a thread of the server samples the counts four times a second.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

/// The time between two samples.
pub(crate) const TICK: Duration = Duration::from_millis(250);
/// A rate covers the last second and a half.
const TICKS: usize = 6;

/// The counts at a moment.
#[derive(Debug, Clone, Copy)]
struct RateSample {
    at: Instant,
    counts: [u64; 3],
}

/// Recent operations per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct OperationRates {
    pub requests: f64,
    pub bytes_in: f64,
    pub bytes_out: f64,
}

/// The last few samples.
#[derive(Debug, Default)]
pub(crate) struct RateSampler(Mutex<VecDeque<RateSample>>);

impl RateSampler {
    /// Adds the numbers of requests, of bytes in and of bytes out at a moment.
    pub(crate) fn sample(&self, at: Instant, counts: [u64; 3]) {
        let mut beats = lock(&self.0);
        if beats.len() > TICKS {
            beats.pop_front();
        }
        beats.push_back(RateSample { at, counts });
    }

    /// Returns the rates; zero before the second sample.
    pub(crate) fn rates(&self) -> OperationRates {
        let beats = lock(&self.0);
        let (Some(first), Some(last)) = (beats.front(), beats.back()) else {
            return OperationRates::default();
        };
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        if seconds <= 0.0 {
            return OperationRates::default();
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate, rounded for people")]
        let rate = |which: usize| (last.counts[which] - first.counts[which]) as f64 / seconds;
        OperationRates { requests: rate(0), bytes_in: rate(1), bytes_out: rate(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_cover_only_the_last_ticks() {
        let (sampler, start) = (RateSampler::default(), Instant::now());
        assert_eq!(sampler.rates(), OperationRates::default());
        for n in 0..20 {
            // A burst first, then 100 a second.
            sampler.sample(start + TICK * n, [1_000_000 + u64::from(n) * 25, u64::from(n), 0]);
            if n == 0 {
                assert_eq!(sampler.rates(), OperationRates::default());
                sampler.sample(start, [0; 3]);
            }
        }
        assert_eq!(sampler.rates(), OperationRates { requests: 100.0, bytes_in: 4.0, bytes_out: 0.0 });
    }
}
