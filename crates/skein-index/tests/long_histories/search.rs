//! The search for an order of all operations on one key that explains what each of them was told.
//!
//! After Wing and Gong (1993): an operation may come next if no other one that is left had ended before it began. Positions that were searched in vain
//! are remembered. Every value is written once, so there is seldom more than one way to go on, and long histories are searched in no time.

use std::collections::HashSet;

/// What a key holds: the number of its value, if it is there.
pub type Held = Option<u64>;

/// What an operation says of a key at one moment between its begin and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The key held this, and nothing changed.
    Saw(Held),
    /// The key held the first, and holds the second from then on.
    Changed(Held, Held),
    /// The key was there, with any value, and went.
    Removed,
}

impl Effect {
    /// What the key holds afterwards; none if the operation cannot have met it so.
    fn after(self, before: Held) -> Option<Held> {
        match self {
            Self::Saw(seen) => (seen == before).then_some(before),
            Self::Changed(seen, now) => (seen == before).then_some(now),
            Self::Removed => before.map(|_| None),
        }
    }
}

/// An operation that has ended, as far as it is about one key.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// For who reads the history.
    pub name: &'static str,
    pub thread: usize,
    pub effect: Effect,
    pub began: u64,
    pub ended: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Explained,
    Impossible,
    /// The search took too many positions.
    Undecided,
}

/// Positions after which the search gives up.
const POSITIONS_MAX: usize = 1_000_000;

/// Which events an order has taken, and what the key holds then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Position {
    /// All events before this one are taken.
    first: usize,
    /// Those after it that are, in order.
    taken: Vec<usize>,
    held: Held,
}

impl Position {
    fn take(&mut self, event: usize, held: Held) {
        self.held = held;
        let at = self.taken.partition_point(|&taken| taken < event);
        self.taken.insert(at, event);
        let run = self.taken.iter().zip(self.first..).take_while(|(taken, next)| **taken == *next).count();
        self.taken.drain(..run);
        self.first += run;
    }

    /// The events that may come next; they are sorted by their begins.
    fn candidates(&self, events: &[Event]) -> Vec<usize> {
        let mut first_end = u64::MAX;
        let mut found = Vec::new();
        for (event, Event { began, ended, .. }) in events.iter().enumerate().skip(self.first) {
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

    /// Takes what may come next and changes nothing, for as long as there is such an event: later it fits no better. Returns the candidates then.
    fn take_what_saw(&mut self, events: &[Event]) -> Vec<usize> {
        loop {
            let candidates = self.candidates(events);
            let fits = |event: &&usize| events[**event].effect == Effect::Saw(self.held);
            let Some(&event) = candidates.iter().find(fits) else { return candidates };
            self.take(event, self.held);
        }
    }
}

/// Whether an order of the events explains them, of a key that held `held` before.
pub fn explain(events: &[Event], held: Held) -> Verdict {
    let mut events = events.to_vec();
    events.sort_unstable_by_key(|event| event.began);
    let mut searched = HashSet::new();
    let mut open = vec![Position { first: 0, taken: Vec::new(), held }];
    while let Some(mut position) = open.pop() {
        let candidates = position.take_what_saw(&events);
        if position.first == events.len() {
            return Verdict::Explained;
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
            return Verdict::Undecided;
        }
    }
    Verdict::Impossible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(effect: Effect, began: u64, ended: u64) -> Event {
        Event { name: "test", thread: 0, effect, began, ended }
    }

    #[test]
    fn a_stale_answer_is_refused() {
        let put = event(Effect::Changed(None, Some(1)), 0, 1);
        assert_eq!(explain(&[put, event(Effect::Saw(None), 2, 3)], None), Verdict::Impossible);
        assert_eq!(explain(&[put, event(Effect::Saw(Some(1)), 2, 3)], None), Verdict::Explained);
        let overlapping = event(Effect::Changed(None, Some(1)), 0, 3);
        assert_eq!(explain(&[overlapping, event(Effect::Saw(None), 1, 2)], None), Verdict::Explained);
    }

    #[test]
    fn one_value_is_not_removed_twice() {
        let removal = |began, ended| event(Effect::Changed(Some(7), None), began, ended);
        assert_eq!(explain(&[removal(0, 2), removal(1, 3)], Some(7)), Verdict::Impossible);
        let put = event(Effect::Changed(None, Some(7)), 0, 3);
        assert_eq!(explain(&[removal(0, 2), put, removal(1, 4)], Some(7)), Verdict::Explained);
        assert_eq!(explain(&[event(Effect::Removed, 0, 1), removal(2, 3)], Some(7)), Verdict::Impossible);
    }

    /// Reads that see two values in different orders: each fits alone.
    #[test]
    fn readers_agree_on_an_order() {
        let puts = [Effect::Changed(Some(0), Some(1)), Effect::Changed(Some(1), Some(2))];
        let reads = [Effect::Saw(Some(2)), Effect::Saw(Some(1))];
        let mut events: Vec<Event> = puts.map(|put| event(put, 0, 100)).to_vec();
        events.extend(reads.iter().zip(1..).map(|(&read, at)| event(read, 2 * at, 2 * at + 1)));
        assert_eq!(explain(&events, Some(0)), Verdict::Impossible);
        events.swap(2, 3);
        (events[2].began, events[2].ended, events[3].began, events[3].ended) = (2, 3, 4, 5);
        assert_eq!(explain(&events, Some(0)), Verdict::Explained);
    }

    /// A way that fits at first and fails at last is given up for another one.
    #[test]
    fn the_search_goes_back() {
        let events = [
            event(Effect::Changed(Some(0), Some(1)), 0, 10),
            event(Effect::Removed, 0, 10),
            event(Effect::Changed(None, Some(0)), 0, 10),
            event(Effect::Saw(Some(1)), 11, 12),
        ];
        assert_eq!(explain(&events, Some(0)), Verdict::Explained);
    }
}
