//! The ordinals of positions: they lead from an index to a chunk.
//!
//! ```text
//!   ordinal(position) = position / STEP + d        d: that of the last step at or before the position
//!
//!   position    …─┬─────────────┬───────────┬──►
//!   step          (0, 0)        (q1, d1)    (q2, d2)       value of the member: q (8), d (8), …
//! ```
//!
//! A list that is only pushed and popped has no steps but the first, which is not stored. An
//! insertion or a removal in the middle adds a step at the chunk behind it.

use std::ops::RangeInclusive;

use super::STEP;

/// The bytes of a step.
const STEP_BYTES: usize = 16;

/// The steps of a list, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ordinals {
    /// Positions, and the numbers that are added from there on. The first step, at 0, is implied.
    steps: Vec<(u64, i64)>,
}

/// A chunk has gained or lost elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    /// The position of this chunk.
    pub(super) before: u64,
    /// The position of the next one.
    pub(super) next: u64,
    pub(super) by: i64,
}

/// Returns `position / STEP`, which always fits.
fn quotient(position: u64) -> i64 {
    (position / STEP).cast_signed()
}

impl Ordinals {
    /// Decodes the value of their member.
    pub(super) fn of(value: &[u8]) -> Self {
        let step = |bytes: &[u8]| {
            let (position, delta) = bytes.split_first_chunk()?;
            Some((u64::from_le_bytes(*position), i64::from_le_bytes(delta.try_into().ok()?)))
        };
        Self { steps: value.chunks_exact(STEP_BYTES).filter_map(step).collect() }
    }

    /// Returns the value of their member.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.steps.len() * STEP_BYTES);
        for (position, delta) in &self.steps {
            bytes.extend_from_slice(&position.to_le_bytes());
            bytes.extend_from_slice(&delta.to_le_bytes());
        }
        bytes
    }

    /// Returns whether there is no step but the first.
    pub(super) fn is_plain(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the number of steps at or before a position.
    fn steps_to(&self, position: u64) -> usize {
        self.steps.partition_point(|(at, _)| *at <= position)
    }

    fn delta(&self, position: u64) -> i64 {
        self.delta_before(self.steps_to(position))
    }

    /// Returns the ordinal of a chunk's first element.
    pub(super) fn ordinal(&self, position: u64) -> i64 {
        quotient(position) + self.delta(position)
    }

    /// Returns the positions that a chunk with this ordinal may have, if its neighbours leave them
    /// free. `None` if positions are used up.
    pub(super) fn positions_of(&self, ordinal: i64) -> Option<RangeInclusive<u64>> {
        // Ordinals ascend with the steps (invariant 4 of the module above).
        let before = self.steps.partition_point(|(at, delta)| quotient(*at) + delta <= ordinal);
        let (start, delta) = before.checked_sub(1).map_or((0, 0), |step| self.steps[step]);
        let end = self.steps.get(before).map_or(u64::MAX, |(next, _)| next - 1);
        let first = u64::try_from(ordinal.checked_sub(delta)?).ok()?.checked_mul(STEP)?;
        let last = first.saturating_add(STEP - 1);
        Some(first.clamp(start, end)..=last.clamp(start, end))
    }

    /// Gives the chunk at `position` this ordinal. Changes no ordinal up to the chunk before it,
    /// nor from the chunk behind it on, if there are such chunks. For the first chunk, there is no
    /// chunk before it.
    pub(super) fn place(
        &mut self,
        position: u64,
        ordinal: i64,
        (before, behind): (Option<u64>, Option<u64>),
    ) {
        let start = before.map_or(0, |before| self.steps_to(before));
        let end = behind.map_or(self.steps.len(), |behind| self.steps_to(behind));
        let delta = ordinal - quotient(position);
        let kept = behind.map(|behind| (behind, self.delta(behind)));
        let here = Some((position, delta)).filter(|_| delta != self.delta_before(start));
        let kept = kept.filter(|(_, kept)| *kept != delta);
        self.steps.splice(start..end.max(start), here.into_iter().chain(kept));
    }

    /// Returns the number that is added before a step.
    fn delta_before(&self, step: usize) -> i64 {
        step.checked_sub(1).map_or(0, |before| self.steps[before].1)
    }

    /// Adds to the ordinals from some chunks on, because the chunks before them have gained or lost
    /// elements. The changes ascend and do not overlap.
    pub(super) fn shift(&mut self, changes: &[Shift]) {
        let former = std::mem::take(&mut self.steps);
        let (mut rest, mut delta, mut sum) = (&former[..], 0, 0);
        for change in changes {
            let (kept, behind) = rest.split_at(rest.partition_point(|(at, _)| *at <= change.before));
            self.steps.extend(kept.iter().map(|(at, delta)| (*at, delta + sum)));
            // Steps inside of the changed chunk are of chunks that were joined with it.
            let (dropped, behind) = behind.split_at(behind.partition_point(|(at, _)| *at <= change.next));
            delta = dropped.last().or(kept.last()).map_or(delta, |(_, delta)| *delta);
            sum += change.by;
            rest = behind;
            if delta + sum != self.delta_before(self.steps.len()) {
                self.steps.push((change.next, delta + sum));
            }
        }
        self.steps.extend(rest.iter().map(|(at, delta)| (*at, delta + sum)));
    }

    /// Checks that positions and ordinals of the steps ascend.
    pub(super) fn check(&self) -> Result<(), String> {
        let ascend = self.steps.is_sorted_by(|one, other| {
            one.0 < other.0 && quotient(one.0) + one.1 <= quotient(other.0) + other.1
        });
        if ascend { Ok(()) } else { Err(format!("steps do not ascend: {:?}", self.steps)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shifts the ordinals from a chunk on; the one before it is one element long.
    fn shift(ordinals: &mut Ordinals, next: u64, by: i64) {
        ordinals.shift(&[Shift { before: next - STEP, next, by }]);
    }

    #[test]
    fn a_position_leads_to_its_ordinal_and_back() {
        let mut ordinals = Ordinals::default();
        shift(&mut ordinals, 10 * STEP, 5);
        shift(&mut ordinals, 20 * STEP, -3);
        assert_eq!(ordinals.ordinal(9 * STEP), 9);
        assert_eq!(ordinals.ordinal(10 * STEP), 15);
        assert_eq!(ordinals.ordinal(21 * STEP + 3), 23);
        assert_eq!(ordinals.positions_of(9), Some(9 * STEP..=10 * STEP - 1));
        assert_eq!(ordinals.positions_of(12), Some(10 * STEP - 1..=10 * STEP - 1));
        assert_eq!(ordinals.positions_of(16), Some(11 * STEP..=12 * STEP - 1));
        assert_eq!(ordinals.positions_of(22), Some(20 * STEP..=21 * STEP - 1));
        assert_eq!(ordinals.positions_of(-1), None);
        assert_eq!(ordinals.positions_of(i64::MAX), None);
        assert_eq!(Ordinals::of(&ordinals.to_bytes()), ordinals);
    }

    #[test]
    fn shifts_that_cancel_leave_no_step() {
        let mut ordinals = Ordinals::default();
        shift(&mut ordinals, STEP, 5);
        let changes = [(0, STEP, -5), (8 * STEP, 9 * STEP, 1)];
        ordinals.shift(&changes.map(|(before, next, by)| Shift { before, next, by }));
        assert_eq!(ordinals.steps, [(9 * STEP, 1)]);
        shift(&mut ordinals, 9 * STEP, -1);
        assert!(ordinals.is_plain());
    }

    #[test]
    fn steps_inside_of_a_changed_chunk_end() {
        let mut ordinals = Ordinals::default();
        shift(&mut ordinals, 5 * STEP, 2);
        shift(&mut ordinals, 9 * STEP, 1);
        ordinals.shift(&[Shift { before: 4 * STEP, next: 9 * STEP, by: -4 }]);
        assert_eq!(ordinals.steps, [(9 * STEP, -1)]);
    }

    #[test]
    fn a_chunk_is_placed_without_a_change_behind_it() {
        let mut ordinals = Ordinals::default();
        shift(&mut ordinals, 10 * STEP, 5);
        ordinals.place(7 * STEP, 9, (Some(6 * STEP), Some(10 * STEP)));
        assert_eq!(ordinals.ordinal(6 * STEP), 6);
        assert_eq!(ordinals.ordinal(7 * STEP), 9);
        assert_eq!(ordinals.ordinal(10 * STEP), 15);
        ordinals.place(8 * STEP, 10, (Some(7 * STEP), None));
        assert_eq!(ordinals.steps, [(7 * STEP, 2)]);
    }
}
