//! The keys of the disk engine's spaces beside `main`; see "Collections" in `docs/format.md`.
//!
//! ```text
//!   members   id u64 │ name                    value: the column's value, or the score,
//!                                              or nothing in a set that is not sorted
//!             0 u64  │ id u64                  a collection whose members are to be removed:
//!                                              1 if it has scores, else 0
//!   scores    id u64 │ score u64 │ member      sorts as the score does
//!   expiry    time u64 │ key                   milliseconds since 1970
//! ```
//!
//! All numbers are big-endian, so keys sort by them. Ids start at 1.

use skein_model::ScanDirection;

/// Bytes of an id.
const ID: usize = size_of::<u64>();
/// Bytes before the member in a key of `scores`.
const SCORE_HEAD: usize = ID + size_of::<u64>();

/// Makes the key of a member.
pub(super) fn member_key<'k>(buffer: &'k mut Vec<u8>, id: u64, name: &[u8]) -> &'k [u8] {
    two_parts(buffer, id, name)
}

/// Returns the name in the key of a member.
pub(super) fn name_in(key: &[u8]) -> &[u8] {
    key.get(ID..).unwrap_or_default()
}

/// Makes the key of an entry of the expiry index.
pub(super) fn expiry_key<'k>(buffer: &'k mut Vec<u8>, at: u64, key: &[u8]) -> &'k [u8] {
    two_parts(buffer, at, key)
}

/// Returns the time and the key of an entry of the expiry index. `None` if it is too short.
pub(super) fn parse_expiry_key(entry: &[u8]) -> Option<(u64, &[u8])> {
    let (at, key) = entry.split_first_chunk()?;
    Some((u64::from_be_bytes(*at), key))
}

fn two_parts<'k>(buffer: &'k mut Vec<u8>, first: u64, second: &[u8]) -> &'k [u8] {
    buffer.clear();
    buffer.extend_from_slice(&first.to_be_bytes());
    buffer.extend_from_slice(second);
    buffer
}

/// Makes the key of a member by its score.
pub(super) fn score_key<'k>(buffer: &'k mut Vec<u8>, id: u64, score: f64, member: &[u8]) -> &'k [u8] {
    buffer.clear();
    buffer.extend_from_slice(&id.to_be_bytes());
    buffer.extend_from_slice(&sortable(score).to_be_bytes());
    buffer.extend_from_slice(member);
    buffer
}

/// Returns the score and the member in a key of `scores`. A shorter key, which separates two pages,
/// counts as continued by zeros.
pub(super) fn parse_score_key(key: &[u8]) -> (f64, &[u8]) {
    let mut bits = [0; 8];
    let score = key.get(ID..key.len().min(SCORE_HEAD)).unwrap_or_default();
    bits[..score.len()].copy_from_slice(score);
    let score = from_sortable(u64::from_be_bytes(bits));
    // Less than every number, as the pattern of the bits is.
    let score = if score.is_nan() { f64::NEG_INFINITY } else { score };
    (score, key.get(SCORE_HEAD..).unwrap_or_default())
}

/// Makes the key that marks a collection as dead.
pub(super) fn dead_key(id: u64) -> [u8; 2 * ID] {
    let mut key = [0; 2 * ID];
    key[ID..].copy_from_slice(&id.to_be_bytes());
    key
}

/// Returns a number that sorts as the score does.
fn sortable(score: f64) -> u64 {
    let bits = score.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_sortable(number: u64) -> f64 {
    f64::from_bits(if number >> 63 == 1 { number & !(1 << 63) } else { !number })
}

/// Returns the direction under the disk engine's name.
pub(crate) fn walk_direction(direction: ScanDirection) -> skein_disk::WalkDirection {
    match direction {
        ScanDirection::Forward => skein_disk::WalkDirection::Forward,
        ScanDirection::Backward => skein_disk::WalkDirection::Backward,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_scores_sort_as_the_scores() {
        let scores = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            1e-300,
            1.0,
            2.0,
            f64::MAX,
            f64::INFINITY,
        ];
        let mut keys = Vec::new();
        for score in scores {
            for member in [&b""[..], b"\0", b"a", b"ab"] {
                let mut key = Vec::new();
                score_key(&mut key, 7, score, member);
                assert_eq!(parse_score_key(&key), (score, member));
                keys.push(key);
            }
        }
        assert!(keys.is_sorted());
    }

    #[test]
    fn the_beginning_of_a_key_counts_as_less_than_the_key() {
        let mut key = Vec::new();
        score_key(&mut key, 7, f64::NEG_INFINITY, b"");
        for len in 8..16 {
            assert_eq!(parse_score_key(&key[..len]), (f64::NEG_INFINITY, &b""[..]));
        }
    }
}
