//! Places on the globe: members of sorted sets with their positions as scores.

use super::{FuzzModel, FuzzRequest, ModelAnswer, count, words};
use crate::call::FuzzName;

/// The greatest latitude, as in the Mercator projection of a square.
const LATITUDE_MAX: f64 = 85.05112878;
/// Bits of each coordinate in a score.
const BITS: u32 = 26;

impl FuzzModel {
    pub(super) fn add_places(
        &mut self,
        key: FuzzName,
        first: &(i8, i8, FuzzName),
        rest: &[(i8, i8, FuzzName)],
    ) -> (FuzzRequest, ModelAnswer) {
        let places: Vec<_> = std::iter::once(first)
            .chain(rest)
            .map(|(longitude, latitude, name)| (*longitude, latitude % 86, name.bytes()))
            .collect();
        let args = places.iter().flat_map(|(longitude, latitude, name)| {
            [longitude.to_string().into_bytes(), latitude.to_string().into_bytes(), name.clone()]
        });
        let request = words("GEOADD", &std::iter::once(key.bytes()).chain(args).collect::<Vec<_>>());
        let answer = self.members_to_change(key.bytes()).map(|members| {
            let added = places
                .into_iter()
                .filter(|(longitude, latitude, name)| {
                    members.insert(name.clone(), position(*longitude, *latitude)).is_none()
                })
                .count();
            count(added)
        });
        (request, answer)
    }
}

/// Returns the score: the bits of both coordinates in turn, the longitude's first.
fn position(longitude: i8, latitude: i8) -> f64 {
    let cell = |offset: f64, width: f64| (offset / width * f64::from(1 << BITS)) as u64;
    let longitude = cell(f64::from(longitude) + 180.0, 360.0);
    let latitude = cell(f64::from(latitude) + LATITUDE_MAX, 2.0 * LATITUDE_MAX);
    let bits = (0..BITS).rev().flat_map(|bit| [longitude >> bit & 1, latitude >> bit & 1]);
    bits.fold(0, |score, bit| score << 1 | bit) as f64
}
