//! Disjoint intervals of the engine's keys, each with a value.

use std::collections::BTreeMap;
use std::ops::Bound;

use skein_data::EngineBounds;

use crate::db::range_reader::OwnedBounds;

/// A position between keys: directly before or behind one, or behind all. Positions have the order
/// of the keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Position {
    At { key: Vec<u8>, behind: bool },
    End,
}

impl Position {
    pub(super) fn before(key: &[u8]) -> Self {
        Self::At { key: key.to_vec(), behind: false }
    }

    pub(super) fn behind(key: &[u8]) -> Self {
        Self::At { key: key.to_vec(), behind: true }
    }

    /// Returns the positions where bounds begin and end.
    pub(super) fn of((lower, upper): EngineBounds<'_>) -> (Self, Self) {
        let lower = match lower {
            Bound::Included(key) => Self::before(key),
            Bound::Excluded(key) => Self::behind(key),
            // The empty key is the least one.
            Bound::Unbounded => Self::before(&[]),
        };
        let upper = match upper {
            Bound::Included(key) => Self::behind(key),
            Bound::Excluded(key) => Self::before(key),
            Bound::Unbounded => Self::End,
        };
        (lower, upper)
    }

    /// Returns the bounds of the keys between two positions; `None` if there are no such keys.
    pub(super) fn bounds(lower: Self, upper: Self) -> Option<OwnedBounds> {
        if lower >= upper {
            return None;
        }
        let Self::At { key, behind } = lower else { return None };
        let lower = if behind { Bound::Excluded(key) } else { Bound::Included(key) };
        let upper = match upper {
            Self::At { key, behind: true } => Bound::Included(key),
            Self::At { key, behind: false } => Bound::Excluded(key),
            Self::End => Bound::Unbounded,
        };
        Some((lower, upper))
    }
}

/// Intervals that neither overlap nor touch, by their first positions.
#[derive(Debug)]
pub(super) struct KeyIntervals<T>(BTreeMap<Position, (Position, T)>);

impl<T> Default for KeyIntervals<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> KeyIntervals<T> {
    /// Returns the interval that begins at or before a position.
    fn last_from(&self, position: &Position) -> Option<(&Position, &Position)> {
        self.0.range(..=position).next_back().map(|(lower, (upper, _))| (lower, upper))
    }

    /// Returns whether a key is within an interval.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        let position = Position::before(key);
        self.last_from(&position).is_some_and(|(_, upper)| position < *upper)
    }

    /// Returns the end of the interval that has the keys directly behind a position.
    pub(super) fn end_behind(&self, position: &Position) -> Option<&Position> {
        self.last_from(position).map(|(_, upper)| upper).filter(|upper| *upper > position)
    }

    /// Returns the begin of the interval that has the keys directly before a position.
    pub(super) fn begin_before(&self, position: &Position) -> Option<&Position> {
        let (lower, (upper, _)) = self.0.range(..position).next_back()?;
        (upper >= position).then_some(lower)
    }

    /// Adds an interval. Intervals that it overlaps or touches become one with it, and `join`
    /// combines their values, two at a time.
    pub(super) fn add(
        &mut self,
        mut lower: Position,
        mut upper: Position,
        mut value: T,
        join: impl Fn(T, T) -> T,
    ) {
        if lower >= upper {
            return;
        }
        while let Some((first, (last, _))) = self.0.range(..=&upper).next_back()
            && *last >= lower
        {
            let first = first.clone();
            let Some((last, other)) = self.0.remove(&first) else { break };
            value = join(other, value);
            lower = lower.min(first);
            upper = upper.max(last);
        }
        self.0.insert(lower, (upper, value));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Position, &Position, &T)> {
        self.0.iter().map(|(lower, (upper, value))| (lower, upper, value))
    }
}

impl KeyIntervals<()> {
    /// Takes a key out of the interval that contains it.
    pub(super) fn cut_out(&mut self, key: &[u8]) {
        let position = Position::before(key);
        let Some((lower, upper)) = self.last_from(&position) else { return };
        if position >= *upper {
            return;
        }
        let (lower, upper) = (lower.clone(), upper.clone());
        self.0.remove(&lower);
        let behind = Position::behind(key);
        for (lower, upper) in [(lower, position), (behind, upper)] {
            if lower < upper {
                self.0.insert(lower, (upper, ()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of the model: each is one byte, and positions lie before and behind each.
    const KEYS: u8 = 12;

    fn position(number: u8) -> Position {
        if number == 2 * KEYS {
            return Position::End;
        }
        Position::At { key: vec![number / 2], behind: number % 2 == 1 }
    }

    /// Compares random intervals with a set of keys.
    #[test]
    fn intervals_are_a_set_of_keys() {
        let mut random = 0x9e37_79b9_u32;
        let mut next = |below: u8| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((random >> 16) % u32::from(below)) as u8
        };
        for _ in 0..300 {
            let (mut intervals, mut model) = (KeyIntervals::default(), [false; KEYS as usize]);
            for _ in 0..8 {
                let (lower, upper) = (next(2 * KEYS), next(2 * KEYS + 1));
                intervals.add(position(lower), position(upper), (), |(), ()| ());
                for key in 0..KEYS {
                    model[key as usize] |= lower <= 2 * key && 2 * key < upper;
                }
                let gone = next(KEYS);
                if next(3) == 0 {
                    intervals.cut_out(&[gone]);
                    model[gone as usize] = false;
                }
                for key in 0..KEYS {
                    assert_eq!(intervals.contains(&[key]), model[key as usize], "{key} of {intervals:?}");
                }
                let ends: Vec<_> = intervals.iter().map(|(lower, upper, ())| (lower, upper)).collect();
                assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0), "they touch: {ends:?}");
            }
        }
    }

    #[test]
    fn the_ends_of_an_interval_are_found_from_within() {
        let mut intervals = KeyIntervals::default();
        intervals.add(position(4), position(9), 1, |a, b| a + b);
        intervals.add(position(12), position(24), 2, |a, b| a + b);
        assert_eq!(intervals.end_behind(&position(4)), Some(&position(9)));
        assert_eq!(intervals.end_behind(&position(9)), None);
        assert_eq!(intervals.end_behind(&position(3)), None);
        assert_eq!(intervals.begin_before(&position(9)), Some(&position(4)));
        assert_eq!(intervals.begin_before(&position(4)), None);
        assert_eq!(intervals.begin_before(&Position::End), Some(&position(12)));
        intervals.add(position(9), position(12), 4, |a, b| a + b);
        let joined: Vec<_> = intervals.iter().map(|(_, _, value)| *value).collect();
        assert_eq!(joined, [7], "intervals that touch become one");
        assert!(Position::bounds(position(5), position(5)).is_none());
    }
}
