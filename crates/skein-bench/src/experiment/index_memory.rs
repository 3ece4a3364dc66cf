//! Live bytes of an index: usable sizes of all live blocks, the allocator's rounding included, and its own arenas' live bytes.

use super::Bench;
use super::findings::MeasureSpec;
use crate::counting::weigh;
use crate::keyset::PackedKeys;
use crate::result::{AxisPoint, Better, FOOTPRINT};
use crate::rival::index::{DynIndex, RegisteredIndex};
use crate::sys::LoopClock;
use crate::{Error, Result};

/// The measures of a filled index.
pub const BESIDE: &str = "memory beside keys and values";
/// What each part of it holds.
pub const PARTS: &str = "memory by part";
/// With keys and values.
pub const IN_ALL: &str = "memory in all";

/// Bytes per key, of which fewer are better.
pub const fn per_key(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec { measure, unit: "B/key", better: Better::Less }
}

/// An index that is weighed while it is filled.
pub struct IndexScales {
    index: Box<dyn DynIndex>,
    keys: usize,
    payload: usize,
    /// What the counted allocators gave it.
    allocated: isize,
}

impl IndexScales {
    /// An empty one, made for so many keys.
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

    /// All live bytes.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn bytes(&self) -> f64 {
        let own: usize = self.index.own_bytes().iter().map(|(_, bytes)| bytes).sum();
        (self.allocated + own.cast_signed()) as f64
    }

    /// Live bytes per key.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn in_all(&self) -> f64 {
        self.bytes() / self.keys as f64
    }

    /// Live bytes per key without those of keys and values.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn beside(&self) -> f64 {
        (self.bytes() - self.payload as f64) / self.keys as f64
    }

    /// Bytes per key of each part, for an index that says what it holds; its parts add up to all.
    ///
    /// # Errors
    /// If the index finds itself damaged.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
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

/// Weighs a contender filled with the keys; what it holds is in the findings then, and given back.
///
/// # Errors
/// If a figure is none.
pub fn weigh_index(
    bench: &mut Bench,
    at: Option<&AxisPoint>,
    keys: &PackedKeys,
    entry: &RegisteredIndex,
) -> Result<IndexScales> {
    if keys.is_empty() {
        return Err(Error::Input("without keys there is nothing to weigh".to_owned()));
    }
    let mut scales = IndexScales::new(entry, keys.len());
    scales.fill(keys);
    bench.add(per_key(BESIDE), entry.name, at, scales.beside())?;
    bench.add(per_key(IN_ALL), entry.name, at, scales.in_all())?;
    Ok(scales)
}

/// Notes what each part of a weighed index holds, of those that tell: per key, on the keys of this set.
///
/// # Errors
/// If the index finds itself damaged, or a figure is none.
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

/// Where a part stands.
pub fn part_of(set: &str, part: &str) -> AxisPoint {
    AxisPoint::name("part", &format!("{set}: {part}"))
}

/// Notes how many bytes an index has.
///
/// # Errors
/// If the figure is none.
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

    // The bytes of the allocators are those of all tests that run meanwhile; what is summed up of them is not.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    fn the_parts_of_our_indexes_add_up() {
        let sets = ["url", "rand-8"].map(|name| keyset::make(name, 2_000, 0, 1).expect("a good name"));
        for entry in index::all().into_iter().filter(|entry| entry.ours()) {
            let set = sets.iter().find(|set| takes_keys(entry, set).is_ok()).expect("numbers at least");
            let mut scales = IndexScales::new(entry, set.keys.len());
            scales.fill(&set.keys);
            let parts = scales.parts().expect("a sound index");
            assert!(parts.len() > 1, "{} does not say what it holds", entry.name);
            let sum: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
            assert!((sum - scales.in_all()).abs() < 1e-6, "{}: {parts:?}", entry.name);
            let payload = (set.keys.byte_len() + 8 * set.keys.len()) as f64 / set.keys.len() as f64;
            assert!((scales.in_all() - scales.beside() - payload).abs() < 1e-6, "{}", entry.name);
        }
    }
}
