//! A position, its score, and distances.

use super::cell::{FINEST, GeoCell, LatitudeRange};

/// Latitudes nearer to the poles have no score: the limits of EPSG:3857, the map of web services.
pub(super) const LATITUDE_MAX: f64 = 85.051_128_78;
pub(super) const LONGITUDE_MAX: f64 = 180.0;

/// The radius of the earth in meters, as Redis has it.
pub(super) const EARTH_RADIUS: f64 = 6_372_797.560_856;

/// 2^63
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// The letters of a geohash.
const GEOHASH_LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Letters of a geohash: 52 bits make ten, and Redis adds a zero.
const GEOHASH_LEN: usize = 11;

/// A position in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Position {
    pub longitude: f64,
    pub latitude: f64,
}

impl Position {
    /// Returns whether the position has a score.
    pub(crate) fn is_valid(self) -> bool {
        let within = |degrees: f64, most: f64| -most <= degrees && degrees <= most;
        within(self.longitude, LONGITUDE_MAX) && within(self.latitude, LATITUDE_MAX)
    }

    /// Returns the score of a valid position.
    pub(crate) fn score(self) -> f64 {
        GeoCell::of(self, FINEST, LatitudeRange::Scores).scores().start
    }

    /// Returns the position of a score: the center of its finest cell. A score that no position has
    /// gives some position.
    pub(crate) fn of_score(score: f64) -> Self {
        let [longitude, latitude] = GeoCell::finest(score_bits(score)).sides();
        let center =
            |side: std::ops::Range<f64>, most: f64| f64::midpoint(side.start, side.end).clamp(-most, most);
        Self { longitude: center(longitude, LONGITUDE_MAX), latitude: center(latitude, LATITUDE_MAX) }
    }

    /// Returns the geohash of a valid position as other programs write it.
    pub(crate) fn geohash(self) -> [u8; GEOHASH_LEN] {
        let bits = GeoCell::of(self, FINEST, LatitudeRange::Poles).bits();
        std::array::from_fn(|at| {
            let place = 52_usize.checked_sub((at + 1) * 5);
            GEOHASH_LETTERS[place.map_or(0, |place| bits >> place & 0x1f) as usize]
        })
    }

    /// Returns the distance between two positions in meters, along a great circle.
    pub(crate) fn distance(self, other: Self) -> f64 {
        let v = half_chord(self.longitude, other.longitude);
        if v == 0.0 {
            return self.latitude_distance(other);
        }
        let u = half_chord(self.latitude, other.latitude);
        let cosines = self.latitude.to_radians_of_redis().cos() * other.latitude.to_radians_of_redis().cos();
        let a = u * u + cosines * v * v;
        // Between opposite ends of the earth, rounding must not leave the domain of the arc sine.
        2.0 * EARTH_RADIUS * a.sqrt().min(1.0).asin()
    }

    /// Returns the distance between two latitudes in meters.
    pub(super) fn latitude_distance(self, other: Self) -> f64 {
        let radians = other.latitude.to_radians_of_redis() - self.latitude.to_radians_of_redis();
        EARTH_RADIUS * radians.abs()
    }
}

/// Returns the sine of half the angle between two degrees.
fn half_chord(from: f64, to: f64) -> f64 {
    ((to.to_radians_of_redis() - from.to_radians_of_redis()) / 2.0).sin()
}

/// Degrees and radians, with Redis's factor.
pub(super) trait Angle {
    fn to_radians_of_redis(self) -> f64;
    fn to_degrees_of_redis(self) -> f64;
}

/// One degree in radians.
const DEGREE: f64 = std::f64::consts::PI / 180.0;

impl Angle for f64 {
    fn to_radians_of_redis(self) -> f64 {
        self * DEGREE
    }

    fn to_degrees_of_redis(self) -> f64 {
        self / DEGREE
    }
}

/// Returns a number without its fraction, as x86 converts it: a number out of range becomes the
/// least integer.
pub(crate) fn score_as_integer(score: f64) -> i64 {
    if (-TWO_63..TWO_63).contains(&score) { score as i64 } else { i64::MIN }
}

/// Does the same without signs: a negative number wraps, and a number out of range becomes 0.
fn score_bits(score: f64) -> u64 {
    if score >= TWO_63 {
        score_as_integer(score - TWO_63).cast_unsigned() ^ 1 << 63
    } else {
        score_as_integer(score).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(longitude: f64, latitude: f64) -> Position {
        Position { longitude, latitude }
    }

    /// The examples of Redis's documentation.
    #[test]
    fn scores_are_those_of_redis() {
        let palermo = at(13.361_389, 38.115_556);
        let catania = at(15.087_269, 37.502_669);
        assert_eq!((palermo.score(), catania.score()), (3_479_099_956_230_698.0, 3_479_447_370_796_909.0));
        let (one, other) = (Position::of_score(palermo.score()), Position::of_score(catania.score()));
        assert_eq!((one.geohash(), other.geohash()), (*b"sqc8b49rny0", *b"sqdtr74hyu0"));
        assert!((one.distance(other) - 166_274.151_6).abs() < 0.0001);
        assert_eq!(format!("{:.17}", one.longitude), "13.36138933897018433");
    }

    #[test]
    fn the_distance_along_a_meridian_is_that_of_the_latitudes() {
        let (one, other) = (at(10.0, 20.0), at(10.0, 21.0));
        assert_eq!(one.distance(other).to_bits(), one.latitude_distance(other).to_bits());
        assert_eq!(one.distance(one).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn limits() {
        assert!(at(180.0, LATITUDE_MAX).is_valid() && at(-180.0, -LATITUDE_MAX).is_valid());
        for (longitude, latitude) in
            [(180.1, 0.0), (-180.1, 0.0), (0.0, 85.06), (0.0, -85.06), (f64::NAN, 0.0)]
        {
            assert!(!at(longitude, latitude).is_valid());
        }
    }

    #[test]
    fn scores_that_no_position_has_are_read_as_on_x86() {
        for (score, bits) in [
            (-1.0, u64::MAX),
            (1.9, 1),
            (TWO_63, 1 << 63),
            (2.0 * TWO_63, 0),
            (f64::INFINITY, 0),
            (f64::NEG_INFINITY, 1 << 63),
            (-1e300, 1 << 63),
        ] {
            assert_eq!(score_bits(score), bits, "{score}");
            assert!(Position::of_score(score).is_valid());
        }
    }

    proptest::proptest! {
        #[test]
        fn opposite_ends_have_a_distance(longitude in -180.0..0.0_f64, latitude in -85.0..85.0_f64) {
            let other = at(longitude + 180.0, -latitude);
            let half = std::f64::consts::PI * EARTH_RADIUS;
            proptest::prop_assert!((at(longitude, latitude).distance(other) - half).abs() < 1.0);
        }

        #[test]
        fn a_score_gives_a_near_position(longitude in -180.0..180.0, latitude in -85.0..85.0) {
            let position = at(longitude, latitude);
            let near = Position::of_score(position.score());
            proptest::prop_assert!(position.distance(near) < 0.6);
            // Redis's documentation calls the score stable.
            proptest::prop_assert_eq!(near.score().to_bits(), position.score().to_bits());
        }

        #[test]
        fn any_score_gives_a_valid_position(bits: u64) {
            proptest::prop_assert!(Position::of_score(f64::from_bits(bits)).is_valid());
        }
    }
}
