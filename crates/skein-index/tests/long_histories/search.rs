//! The search for an order of all operations on one key that explains their answers.
//!
//! After Wing and Gong (1993): an operation may be next if no other remaining operation had ended
//! before it began. The search remembers positions that failed. Every value is written once, so
//! there is seldom more than one candidate, and long histories are searched quickly.

use std::collections::HashSet;

/// The number of a key's value, or `None` if the key is absent.
pub type ValueNumber = Option<u64>;

/// The effect of an operation on a key, at one moment between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// The key held this, and nothing changed.
    Saw(ValueNumber),
    /// The key held the first, and holds the second from then on.
    Changed(ValueNumber, ValueNumber),
    /// The key was present, with any value, and was removed.
    Removed,
}

impl KeyEffect {
    /// Returns the value that the key holds afterwards, or `None` if the operation cannot have
    /// found the key like this.
    fn after(self, before: ValueNumber) -> Option<ValueNumber> {
        match self {
            Self::Saw(seen) => (seen == before).then_some(before),
            Self::Changed(seen, now) => (seen == before).then_some(now),
            Self::Removed => before.map(|_| None),
        }
    }
}

/// A finished operation, as far as it concerns one key.
#[derive(Clone, Copy, Debug)]
pub struct KeyEvent {
    /// The operation's name, for messages.
    pub name: &'static str,
    pub thread: usize,
    pub effect: KeyEffect,
    pub began: u64,
    pub ended: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVerdict {
    Explained,
    Impossible,
    /// The search visited too many positions.
    Undecided,
}

/// The number of positions after which the search gives up.
const POSITIONS_MAX: usize = 1_000_000;

/// The events that an order has taken, and the value that the key then holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SearchPosition {
    /// All events before this one are taken.
    first: usize,
    /// The later events that are taken, in order.
    taken: Vec<usize>,
    held: ValueNumber,
}

impl SearchPosition {
    fn take(&mut self, event: usize, held: ValueNumber) {
        self.held = held;
        let at = self.taken.partition_point(|&taken| taken < event);
        self.taken.insert(at, event);
        let run = self.taken.iter().zip(self.first..).take_while(|(taken, next)| **taken == *next).count();
        self.taken.drain(..run);
        self.first += run;
    }

    /// Returns the events that may be next. They are sorted by their start.
    fn candidates(&self, events: &[KeyEvent]) -> Vec<usize> {
        let mut first_end = u64::MAX;
        let mut found = Vec::new();
        for (event, KeyEvent { began, ended, .. }) in events.iter().enumerate().skip(self.first) {
            if *began > first_end {
                break;
            }
            if self.taken.binary_search(&event).is_err() {
                found.push(event);
                first_end = first_end.min(*ended);
            }
        }
        found
    }

    /// Takes candidates that change nothing as long as there are some: they fit no better later.
    /// Returns the remaining candidates.
    fn take_fitting_lookups(&mut self, events: &[KeyEvent]) -> Vec<usize> {
        loop {
            let candidates = self.candidates(events);
            let fits = |event: &&usize| events[**event].effect == KeyEffect::Saw(self.held);
            let Some(&event) = candidates.iter().find(fits) else { return candidates };
            self.take(event, self.held);
        }
    }
}

/// Tells if an order of the events explains them, for a key that held `held` before.
pub fn explain(events: &[KeyEvent], held: ValueNumber) -> HistoryVerdict {
    let mut events = events.to_vec();
    events.sort_unstable_by_key(|event| event.began);
    let mut searched = HashSet::new();
    let mut open = vec![SearchPosition { first: 0, taken: Vec::new(), held }];
    while let Some(mut position) = open.pop() {
        let candidates = position.take_fitting_lookups(&events);
        if position.first == events.len() {
            return HistoryVerdict::Explained;
        }
        for &event in candidates.iter().rev() {
            if let Some(held) = events[event].effect.after(position.held) {
                let mut next = position.clone();
                next.take(event, held);
                open.push(next);
            }
        }
        if !searched.insert(position) {
            continue;
        }
        if searched.len() > POSITIONS_MAX {
            return HistoryVerdict::Undecided;
        }
    }
    HistoryVerdict::Impossible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(effect: KeyEffect, began: u64, ended: u64) -> KeyEvent {
        KeyEvent { name: "test", thread: 0, effect, began, ended }
    }

    #[test]
    fn a_stale_answer_is_rejected() {
        let put = event(KeyEffect::Changed(None, Some(1)), 0, 1);
        assert_eq!(explain(&[put, event(KeyEffect::Saw(None), 2, 3)], None), HistoryVerdict::Impossible);
        assert_eq!(explain(&[put, event(KeyEffect::Saw(Some(1)), 2, 3)], None), HistoryVerdict::Explained);
        let overlapping = event(KeyEffect::Changed(None, Some(1)), 0, 3);
        assert_eq!(
            explain(&[overlapping, event(KeyEffect::Saw(None), 1, 2)], None),
            HistoryVerdict::Explained
        );
    }

    #[test]
    fn one_value_is_not_removed_twice() {
        let removal = |began, ended| event(KeyEffect::Changed(Some(7), None), began, ended);
        assert_eq!(explain(&[removal(0, 2), removal(1, 3)], Some(7)), HistoryVerdict::Impossible);
        let put = event(KeyEffect::Changed(None, Some(7)), 0, 3);
        assert_eq!(explain(&[removal(0, 2), put, removal(1, 4)], Some(7)), HistoryVerdict::Explained);
        assert_eq!(
            explain(&[event(KeyEffect::Removed, 0, 1), removal(2, 3)], Some(7)),
            HistoryVerdict::Impossible
        );
    }

    /// Two reads that see two values in different orders: each fits alone.
    #[test]
    fn readers_agree_on_an_order() {
        let puts = [KeyEffect::Changed(Some(0), Some(1)), KeyEffect::Changed(Some(1), Some(2))];
        let reads = [KeyEffect::Saw(Some(2)), KeyEffect::Saw(Some(1))];
        let mut events: Vec<KeyEvent> = puts.map(|put| event(put, 0, 100)).to_vec();
        events.extend(reads.iter().zip(1..).map(|(&read, at)| event(read, 2 * at, 2 * at + 1)));
        assert_eq!(explain(&events, Some(0)), HistoryVerdict::Impossible);
        events.swap(2, 3);
        (events[2].began, events[2].ended, events[3].began, events[3].ended) = (2, 3, 4, 5);
        assert_eq!(explain(&events, Some(0)), HistoryVerdict::Explained);
    }

    /// The search gives up a path that fits at first and fails later, and tries another.
    #[test]
    fn the_search_backtracks() {
        let events = [
            event(KeyEffect::Changed(Some(0), Some(1)), 0, 10),
            event(KeyEffect::Removed, 0, 10),
            event(KeyEffect::Changed(None, Some(0)), 0, 10),
            event(KeyEffect::Saw(Some(1)), 11, 12),
        ];
        assert_eq!(explain(&events, Some(0)), HistoryVerdict::Explained);
    }
}
