//! LATENCY: operations that kept clients waiting longer than `latency-monitor-threshold`, by kind
//! of event.
//!
//! As in Redis, an event has the last 160 seconds in which it occurred, with the worst time of each
//! second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use skein_sync::locks::lock;

/// The number of seconds that are kept per event.
const SAMPLES_MAX: usize = 160;

/// The kinds of operations that can keep clients waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LatencyEvent {
    /// Requests that ran together: a batch of reads or writes.
    Batch,
    /// A command that may take long, or one slice of it.
    Command,
    /// A command that should never take long.
    FastCommand,
}

impl LatencyEvent {
    pub(crate) const ALL: [Self; 3] = [Self::Batch, Self::Command, Self::FastCommand];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Command => "command",
            Self::FastCommand => "fast-command",
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// The worst time of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LatencySample {
    /// Seconds since 1970.
    pub unix_s: u64,
    pub millis: u64,
}

/// The samples of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatencyHistory {
    /// Oldest first.
    pub samples: VecDeque<LatencySample>,
    /// The worst time since the last reset, in milliseconds.
    pub worst: u64,
}

impl LatencyHistory {
    fn add(&mut self, sample: LatencySample) {
        self.worst = self.worst.max(sample.millis);
        match self.samples.back_mut() {
            Some(last) if last.unix_s == sample.unix_s => last.millis = last.millis.max(sample.millis),
            _ => {
                if self.samples.len() == SAMPLES_MAX {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

/// All events.
#[derive(Debug, Default)]
pub(crate) struct LatencyEvents(Mutex<BTreeMap<LatencyEvent, LatencyHistory>>);

impl LatencyEvents {
    pub(crate) fn add(&self, event: LatencyEvent, nanos: u64) {
        let unix_s = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        lock(&self.0).entry(event).or_default().add(LatencySample { unix_s, millis: nanos / 1_000_000 });
    }

    /// Returns the events since the last reset, by name.
    pub(crate) fn all(&self) -> Vec<(LatencyEvent, LatencyHistory)> {
        lock(&self.0).iter().map(|(event, history)| (*event, history.clone())).collect()
    }

    /// Removes an event. Returns `false` if there was nothing to remove.
    pub(crate) fn reset(&self, event: LatencyEvent) -> bool {
        lock(&self.0).remove(&event).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_of_each_second_is_kept_and_old_seconds_removed() {
        let mut history = LatencyHistory::default();
        for (unix_s, millis) in [(1, 5), (1, 9), (1, 7), (2, 3)] {
            history.add(LatencySample { unix_s, millis });
        }
        assert_eq!(
            history.samples,
            [LatencySample { unix_s: 1, millis: 9 }, LatencySample { unix_s: 2, millis: 3 }]
        );
        (3..200).for_each(|unix_s| history.add(LatencySample { unix_s, millis: 1 }));
        assert_eq!((history.samples.len(), history.samples[0].unix_s, history.worst), (160, 40, 9));
    }

    #[test]
    fn events_are_found_by_name_and_reset() {
        let events = LatencyEvents::default();
        events.add(LatencyEvent::Batch, 12_000_000);
        assert_eq!(events.all()[0].1.samples[0].millis, 12);
        assert!(
            events.reset(LatencyEvent::Batch)
                && !events.reset(LatencyEvent::Batch)
                && events.all().is_empty()
        );
        assert!(
            LatencyEvent::ALL
                .into_iter()
                .all(|event| LatencyEvent::named(event.name().as_bytes()) == Some(event))
        );
        assert_eq!(LatencyEvent::named(b"fork"), None);
    }
}
