//! The points of a grid, and the memory that they need.

use crate::Result;
use crate::keyset;
use crate::result::AxisPoint;

/// A point of a grid: a key set, and its position on the axis.
#[derive(Debug, Clone)]
pub struct GridPoint {
    /// The key set's name.
    pub keys: String,
    /// The number of keys.
    pub count: usize,
    /// The number of absent keys, which loops may look for.
    pub absent: usize,
    /// The position on the axis.
    pub at: Option<AxisPoint>,
}

/// The bytes per key that the largest contender is expected to take, in addition to the key: a hash
/// table of key views while it doubles, and the keys in blocks of their own.
const BYTES_PER_KEY: u64 = 192;

/// Returns the bytes that a grid needs at most, at its greatest point: the key set, the operations
/// with their keys, and one index.
pub fn memory(points: &[GridPoint], loops: usize, operations: usize) -> Result<u64> {
    let mut most = 0;
    for point in points {
        let keys = keyset::estimated_bytes(&point.keys, point.count + point.absent)?;
        let each = keys / (point.count + point.absent).max(1) as u64;
        let index = index_memory(point.count, each);
        let scripts = (loops * operations) as u64 * (16 + each);
        most = most.max(keys + index + scripts + 12 * point.count as u64);
    }
    Ok(most)
}

/// Returns the bytes that an index of `count` keys needs at most, if the key set takes `each` bytes
/// per key.
fn index_memory(count: usize, each: u64) -> u64 {
    count as u64 * (BYTES_PER_KEY + 2 * each)
}

/// Returns the bytes that `more` indexes need at most, in addition to the one that [`memory`]
/// counts.
pub fn memory_of_more(point: &GridPoint, more: usize) -> Result<u64> {
    let each = keyset::estimated_bytes(&point.keys, point.count)? / point.count.max(1) as u64;
    Ok(more as u64 * index_memory(point.count, each))
}

/// Returns the points of an experiment over key sets.
pub fn over_key_sets(names: Vec<String>, count: usize, absent: usize) -> Vec<GridPoint> {
    let at = |name: &str| Some(AxisPoint::name("key set", name));
    names.into_iter().map(|name| GridPoint { at: at(&name), keys: name, count, absent }).collect()
}

/// Returns the points of an experiment over sizes: from some ten thousand keys up to `most`, each
/// four times the one before.
pub fn over_sizes(keys: &str, most: usize) -> Vec<GridPoint> {
    let sizes = std::iter::successors(Some(most), |&size| (size / 4 >= 10_000).then_some(size / 4));
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.reverse();
    let at = |size: usize| Some(AxisPoint::number("keys", size as f64));
    sizes
        .into_iter()
        .map(|size| GridPoint { keys: keys.to_owned(), count: size, absent: 0, at: at(size) })
        .collect()
}
