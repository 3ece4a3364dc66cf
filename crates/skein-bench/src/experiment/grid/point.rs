//! The points of a grid, and the memory that they need.

use crate::Result;
use crate::keyset;
use crate::result::AxisPoint;

/// A point of the grid: one key set, and where it stands on the axis.
#[derive(Debug, Clone)]
pub struct GridPoint {
    /// The key set's name.
    pub keys: String,
    /// How many keys.
    pub count: usize,
    /// Absent keys beside them.
    pub absent: usize,
    /// Where it stands.
    pub at: Option<AxisPoint>,
}

/// Bytes per key that the worst contender is expected to take, beside the key: a hash table with views of its keys while it
/// doubles, and those keys in blocks of their own.
const BYTES_PER_KEY: u64 = 192;

/// Memory that a grid needs at most, at its greatest point: the key set, the operations with their keys, and one index.
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

/// Memory that an index of so many keys needs at most, with so many bytes for each in its key set.
fn index_memory(count: usize, each: u64) -> u64 {
    count as u64 * (BYTES_PER_KEY + 2 * each)
}

/// Memory that `more` indexes need at most beside the one that [`memory`] counts.
pub fn memory_of_more(point: &GridPoint, more: usize) -> Result<u64> {
    let each = keyset::estimated_bytes(&point.keys, point.count)? / point.count.max(1) as u64;
    Ok(more as u64 * index_memory(point.count, each))
}

/// The points of an experiment over key sets.
pub fn over_key_sets(names: Vec<String>, count: usize, absent: usize) -> Vec<GridPoint> {
    let at = |name: &str| Some(AxisPoint::name("key set", name));
    names.into_iter().map(|name| GridPoint { at: at(&name), keys: name, count, absent }).collect()
}

/// The points of an experiment over sizes: from some ten thousand keys up to the greatest, each four times the one before.
pub fn over_sizes(keys: &str, most: usize) -> Vec<GridPoint> {
    let sizes = std::iter::successors(Some(most), |&size| (size / 4 >= 10_000).then_some(size / 4));
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.reverse();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let at = |size: usize| Some(AxisPoint::number("keys", size as f64));
    sizes
        .into_iter()
        .map(|size| GridPoint { keys: keys.to_owned(), count: size, absent: 0, at: at(size) })
        .collect()
}
