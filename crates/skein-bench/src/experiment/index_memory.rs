//! Measures the live bytes of an index: the usable sizes of all live blocks, rounding included,
//! plus the live bytes of the index's own arenas.

use super::Bench;
use super::findings::MeasureSpec;
use crate::counting::weigh;
use crate::keyset::PackedKeys;
use crate::result::{AxisPoint, Better, FOOTPRINT};
use crate::rival::index::{DynIndex, RegisteredIndex};
use crate::sys::LoopClock;
use crate::{Error, Result};

/// The measure of bytes per key without keys and values.
pub const BESIDE: &str = "memory beside keys and values";
/// The measure of bytes per key of each part.
pub const PARTS: &str = "memory by part";
/// The measure of all bytes per key, keys and values included.
pub const IN_ALL: &str = "memory in all";

/// Returns a measure in bytes per key; fewer are better.
pub const fn per_key(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec { measure, unit: "B/key", better: Better::Less }
}

/// An index with a count of its bytes while it is filled.
pub struct IndexScales {
    index: Box<dyn DynIndex>,
    keys: usize,
    payload: usize,
    /// The live bytes that it has from the counted allocators.
    allocated: isize,
}

impl IndexScales {
    /// Creates an empty index, made for this many keys.
    pub fn new(entry: &RegisteredIndex, expected: usize) -> Self {
        let (index, allocated) = weigh(|| (entry.make)(expected));
        Self { index, keys: 0, payload: 0, allocated }
    }

    /// Inserts more keys.
    pub fn fill(&mut self, keys: &PackedKeys) {
        let (_, allocated) = weigh(|| self.index.fill(keys, 0, 1, LoopClock::Wall));
        self.allocated += allocated;
        self.keys += keys.len();
        // Values are 64-bit words.
        self.payload += keys.byte_len() + size_of::<u64>() * keys.len();
    }

    /// Returns all live bytes.
    pub fn bytes(&self) -> f64 {
        let own: usize = self.index.own_bytes().iter().map(|(_, bytes)| bytes).sum();
        (self.allocated + own.cast_signed()) as f64
    }

    /// Returns the live bytes per key.
    pub fn total(&self) -> f64 {
        self.bytes() / self.keys as f64
    }

    /// Returns the live bytes per key, without those of keys and values.
    pub fn overhead(&self) -> f64 {
        (self.bytes() - self.payload as f64) / self.keys as f64
    }

    /// Returns the bytes per key of each part; the parts add up to the whole. Returns nothing if
    /// the index does not report its parts.
    ///
    /// # Errors
    /// If the index finds itself damaged.
    pub fn parts(&mut self) -> Result<Vec<(&'static str, f64)>> {
        let own = self.index.parts().map_err(Error::Failed)?;
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let all = own.into_iter().map(|(part, bytes)| (part, bytes as f64));
        let all = all.chain([("other allocations", self.allocated as f64)]);
        Ok(all.map(|(part, bytes)| (part, bytes / self.keys as f64)).collect())
    }
}

/// Fills a contender with the keys, records its size in the findings, and returns it.
///
/// # Errors
/// If there are no keys, or if a figure is not finite.
pub fn weigh_index(
    bench: &mut Bench,
    at: Option<&AxisPoint>,
    keys: &PackedKeys,
    entry: &RegisteredIndex,
) -> Result<IndexScales> {
    if keys.is_empty() {
        return Err(Error::Input("the key set is empty, so there is no index to measure".to_owned()));
    }
    let mut scales = IndexScales::new(entry, keys.len());
    scales.fill(keys);
    bench.add(per_key(BESIDE), entry.name, at, scales.overhead())?;
    bench.add(per_key(IN_ALL), entry.name, at, scales.total())?;
    Ok(scales)
}

/// Records the bytes per key of each part of an index, if the index reports its parts.
///
/// # Errors
/// If the index finds itself damaged, or if a figure is not finite.
pub fn weigh_parts(
    bench: &mut Bench,
    set: &str,
    entry: &RegisteredIndex,
    scales: &mut IndexScales,
) -> Result<()> {
    for (part, bytes) in scales.parts()? {
        bench.add(per_key(PARTS), entry.name, Some(&part_of(set, part)), bytes)?;
    }
    Ok(())
}

/// Returns the axis point of a part on a key set.
pub fn part_of(set: &str, part: &str) -> AxisPoint {
    AxisPoint::name("part", &format!("{set}: {part}"))
}

/// Records the size of an index.
///
/// # Errors
/// If the figure is not finite.
pub fn footprint(
    bench: &mut Bench,
    at: Option<&AxisPoint>,
    entry: &RegisteredIndex,
    bytes: f64,
) -> Result<()> {
    let place = MeasureSpec { measure: FOOTPRINT, unit: "MiB", better: Better::Neither };
    bench.add(place, entry.name, at, bytes / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::super::key_lengths::takes_keys;
    use super::*;
    use crate::keyset;
    use crate::rival::index;

    // Tests run in parallel and share the counted allocators, so the totals mean nothing here. The
    // sum of the parts still does.
    #[test]
    fn the_parts_of_our_indexes_add_up() {
        let sets = ["url", "rand-8"].map(|name| keyset::make(name, 2_000, 0, 1).expect("a good name"));
        for entry in index::all().into_iter().filter(|entry| entry.role == index::IndexRole::Ours) {
            let set = sets.iter().find(|set| takes_keys(entry, set).is_ok()).expect("numbers at least");
            let mut scales = IndexScales::new(entry, set.keys.len());
            scales.fill(&set.keys);
            let parts = scales.parts().expect("a sound index");
            assert!(parts.len() > 1, "{} does not say what it holds", entry.name);
            let sum: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
            assert!((sum - scales.total()).abs() < 1e-6, "{}: {parts:?}", entry.name);
            let payload = (set.keys.byte_len() + 8 * set.keys.len()) as f64 / set.keys.len() as f64;
            assert!((scales.total() - scales.overhead() - payload).abs() < 1e-6, "{}", entry.name);
        }
    }
}
