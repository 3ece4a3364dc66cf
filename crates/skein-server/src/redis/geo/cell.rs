//! A cell: all positions that share the first bits.
//!
//! ```text
//!   step 1: 4 cells       step 2: 16 cells           bits of a cell: x y x y ...
//!   ┌────┬────┐           each of them has 4         x: halves of the longitudes
//!   │ 01 │ 11 │                                      y: halves of the latitudes
//!   ├────┼────┤
//!   │ 00 │ 10 │
//!   └────┴────┘
//! ```
//!
//! The greatest longitude lies one cell beyond the last one, as in Redis. So a cell may have one
//! bit more in its coordinate, and its score a bit above 52.

use std::ops::Range;

use super::position::{LATITUDE_MAX, LONGITUDE_MAX, Position};

/// The number of halvings of each coordinate in a score.
pub(super) const FINEST: u32 = 26;

/// Every second bit: those of the latitude.
const Y: u64 = 0x5555_5555_5555_5555;
/// The bits of the longitude.
const X: u64 = !Y;

/// The widths of groups of bits that are moved apart, and the bits that stay set then.
const SPREAD: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, Y),
];

/// Puts a zero before each bit.
fn spread(bits: u32) -> u64 {
    SPREAD.iter().fold(bits.into(), |spread, (width, mask)| (spread | spread << width) & mask)
}

/// Takes every second bit: the inverse of [`spread`].
fn gathered(bits: u64) -> u32 {
    let masks = SPREAD[..4].iter().rev().map(|(_, mask)| *mask).chain([u32::MAX.into()]);
    let widths = SPREAD.iter().rev().map(|(width, _)| *width);
    masks.zip(widths).fold(bits & Y, |gathered, (mask, width)| (gathered | gathered >> width) & mask) as u32
}

/// The range of latitudes that is halved.
#[derive(Clone, Copy)]
pub(super) enum LatitudeRange {
    /// That of scores.
    Scores,
    /// From pole to pole, for geohashes.
    Poles,
}

/// A rectangle of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GeoCell {
    bits: u64,
    /// The number of halvings, 1 to 26.
    step: u32,
}

impl GeoCell {
    /// Returns the cell of a valid position.
    #[expect(clippy::cast_sign_loss, reason = "a valid position is not below the least one")]
    pub(super) fn of(position: Position, step: u32, latitudes: LatitudeRange) -> Self {
        let cells = f64::from(1_u32 << step);
        let index = |degrees: f64, most: f64| ((degrees + most) / (most + most) * cells) as u32;
        let latitude_max = match latitudes {
            LatitudeRange::Scores => LATITUDE_MAX,
            LatitudeRange::Poles => 90.0,
        };
        let (x, y) = (index(position.longitude, LONGITUDE_MAX), index(position.latitude, latitude_max));
        Self { bits: spread(x) << 1 | spread(y), step }
    }

    /// Returns the finest cell with these bits.
    pub(super) fn finest(bits: u64) -> Self {
        Self { bits, step: FINEST }
    }

    pub(super) fn bits(self) -> u64 {
        self.bits
    }

    /// Returns the longitudes and the latitudes of the cell.
    pub(super) fn sides(self) -> [Range<f64>; 2] {
        let cells = f64::from(1_u32 << self.step);
        let side = |index: u32, most: f64| {
            let degrees = |index: u32| -most + f64::from(index) / cells * (most + most);
            degrees(index)..degrees(index.wrapping_add(1))
        };
        [side(gathered(self.bits >> 1), LONGITUDE_MAX), side(gathered(self.bits), LATITUDE_MAX)]
    }

    /// Returns the scores of the positions in the cell.
    #[expect(clippy::cast_precision_loss, reason = "the lowest bits are 0 where there are more than 53")]
    pub(crate) fn scores(self) -> Range<f64> {
        let unused = 2 * (FINEST - self.step);
        let score = |bits: u64| (bits << unused) as f64;
        score(self.bits)..score(self.bits + 1)
    }

    /// Returns the cell that is so many cells further east and north: -1, 0 or 1 each. Beyond the
    /// last cell follows the first one.
    pub(super) fn neighbour(self, east: i32, north: i32) -> Self {
        self.moved(X, east).moved(Y, north)
    }

    /// Moves along an axis, given by the mask of its bits.
    fn moved(self, axis: u64, by: i32) -> Self {
        let unused = 64 - 2 * self.step;
        let (own, others) = (self.bits & axis, self.bits & !axis);
        // With all bits of the other axis set, a carry or a borrow runs through them.
        let filled = !axis >> unused;
        let moved = match by {
            0 => return self,
            1.. => own.wrapping_add(filled + 1),
            _ => (own | filled).wrapping_sub(filled + 1),
        };
        Self { bits: moved & (axis >> unused) | others, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(x: u32, y: u32, step: u32) -> GeoCell {
        GeoCell { bits: spread(x) << 1 | spread(y), step }
    }

    #[test]
    fn bits_are_spread_and_gathered() {
        assert_eq!(spread(0b1011), 0b100_0101);
        for bits in [0, 1, 2, 0x1234_5678, u32::MAX] {
            assert_eq!(gathered(spread(bits) | spread(!bits) << 1), bits);
        }
    }

    #[test]
    fn neighbours_wrap_around() {
        for step in [1, 2, 5, 26] {
            let last = (1 << step) - 1;
            assert_eq!(cell(0, 0, step).neighbour(-1, -1), cell(last, last, step));
            assert_eq!(cell(last, last, step).neighbour(1, 1), cell(0, 0, step));
            assert_eq!(cell(0, last, step).neighbour(1, -1), cell(1 & last, last - 1, step));
        }
        assert_eq!(cell(3, 3, 5).neighbour(0, 0), cell(3, 3, 5));
    }

    #[test]
    fn the_scores_of_a_cell_are_those_of_its_parts() {
        let whole = cell(5, 6, 3);
        let part = cell(11, 12, 4);
        assert!(whole.scores().start <= part.scores().start && part.scores().end <= whole.scores().end);
        assert_eq!(cell(1, 1, 1).scores().end.to_bits(), 4_503_599_627_370_496_f64.to_bits());
    }
}
