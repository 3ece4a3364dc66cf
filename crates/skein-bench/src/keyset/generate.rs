//! Makes a key set from a source: draws keys, drops duplicates, and sets absent keys apart.

use super::KeySource;
use super::family::SourceOrder;
use super::memory;
use super::name::ParsedKeySet;
use super::packed_keys::PackedKeys;
use super::random::SeededRandom;
use super::seen_keys::SeenKeys;
use super::sort::sorted;
use crate::{Error, Result};

/// The greatest number of keys in a set, absent ones included, since numbers have 32 bits.
const MOST: usize = u32::MAX as usize - 1;

/// The number of duplicates in a row, per key asked for, after which a source counts as exhausted.
const PATIENCE: usize = 64;

/// A key set: keys in their order of insertion, and absent keys of the same kind.
#[derive(Debug, Clone)]
pub struct KeySet {
    /// The name, in its canonical spelling.
    pub name: String,
    /// The keys; no two are equal.
    pub keys: PackedKeys,
    /// Keys of the same kind that are not in `keys`; no two are equal.
    pub absent: PackedKeys,
    /// The length of the shortest key, absent ones included.
    pub shortest: usize,
    /// The length of the longest key, absent ones included.
    pub longest: usize,
    /// The number of duplicates from the source that were dropped.
    pub duplicates_dropped: usize,
    /// A remark for the reader of its figures, for instance that a file had fewer keys than were
    /// asked for.
    pub note: Option<String>,
}

/// Makes a set of `count` keys and `extra` absent ones.
///
/// If a file has fewer keys, all are used, divided in the requested proportion, and the set's note
/// says so.
///
/// # Errors
/// If there is no such key set, if it has fewer different keys than `count` plus `extra`, if it
/// does not fit in memory, or if its file cannot be read.
pub fn make(name: &str, count: usize, extra: usize, seed: u64) -> Result<KeySet> {
    let total = count.saturating_add(extra);
    let named = ParsedKeySet::parse(name, total as u64, seed)?;
    check_size(&named, count, total)?;
    let mut source = named.open()?;
    check_space(&named, source.as_ref(), total)?;
    memory::check(&named, total)?;
    let drawn = match named.family.order {
        SourceOrder::Drawn => draw(source.as_mut(), &named, MOST)?,
        SourceOrder::Random | SourceOrder::Kept => draw(source.as_mut(), &named, total)?,
    };
    drop(source);
    divide(&named, drawn, count, extra)
}

fn check_size(named: &ParsedKeySet, count: usize, total: usize) -> Result<()> {
    let name = named.name();
    if count == 0 {
        return Err(Error::Input(format!("0 keys of {name} are too few for a key set; ask for 1 or more")));
    }
    if total > MOST {
        return Err(Error::Input(format!(
            "{total} keys of {name} are too many: keys and absent ones together are at most {MOST}"
        )));
    }
    Ok(())
}

fn check_space(named: &ParsedKeySet, source: &dyn KeySource, total: usize) -> Result<()> {
    match source.space() {
        Some(space) if space < total as u64 => Err(Error::Input(format!(
            "there are {space} different keys in {}, but {total} are asked for, absent ones \
             included; ask for fewer, or for another key set",
            named.name()
        ))),
        _ => Ok(()),
    }
}

/// Distinct keys in the source's order, and the number of duplicates that were dropped.
struct DistinctKeys {
    keys: PackedKeys,
    dropped: usize,
}

/// Draws until there are `want` different keys or the source ends.
fn draw(source: &mut dyn KeySource, named: &ParsedKeySet, want: usize) -> Result<DistinctKeys> {
    let room = if want == MOST { 0 } else { want };
    let mut keys = PackedKeys::with_capacity(room, room * memory::sampled_mean(named)? as usize);
    let mut seen = source.repeats().then(|| SeenKeys::new(room));
    let (mut key, mut dropped, mut in_a_row) = (Vec::new(), 0, 0);
    while keys.len() < want && source.next(&mut key)? {
        if seen.as_mut().is_none_or(|seen| seen.is_new(&key, &keys)) {
            keys.push(&key);
            in_a_row = 0;
        } else {
            dropped += 1;
            in_a_row += 1;
        }
        if in_a_row > PATIENCE.saturating_mul(want).max(1_000_000) {
            return Err(Error::Input(format!(
                "{} returned {} different keys of the {want} asked for, then {in_a_row} duplicates \
                 in a row; ask for fewer",
                named.name(),
                keys.len()
            )));
        }
        key.clear();
    }
    if keys.len() == MOST {
        return Err(Error::Input(format!("{} has more than {MOST} keys, the most of a set", named.name())));
    }
    Ok(DistinctKeys { keys, dropped })
}

/// Sets the absent keys apart.
fn divide(named: &ParsedKeySet, drawn: DistinctKeys, count: usize, extra: usize) -> Result<KeySet> {
    let DistinctKeys { keys: mut all, dropped } = drawn;
    let mut random = SeededRandom::new(named.request.seed_of(1));
    let (mut note, mut kept) = (None, count);
    let (keys, absent) = match named.family.order {
        SourceOrder::Random => {
            let absent = all.split_off(count);
            (all, absent)
        }
        SourceOrder::Kept => set_apart(&all, extra, &mut random),
        SourceOrder::Drawn => {
            if all.len() < count + extra {
                kept = share(all.len(), count, extra);
                note = Some(format!(
                    "{} has {} different keys of the {} asked for; all are used, {} of them as absent ones",
                    named.name(),
                    all.len(),
                    count + extra,
                    all.len() - kept
                ));
            }
            let mut numbers: Vec<u32> = (0..all.len() as u32).collect();
            random.shuffle(&mut numbers);
            numbers.truncate(count + extra);
            (all.pick(&numbers[..kept]), all.pick(&numbers[kept..]))
        }
    };
    if keys.is_empty() {
        return Err(Error::Input(format!("{} has no keys", named.name())));
    }
    let mut set = KeySet {
        name: named.name(),
        keys,
        absent,
        shortest: 0,
        longest: 0,
        duplicates_dropped: dropped,
        note,
    };
    set.measure_lengths();
    Ok(set)
}

/// Returns how many of `all` keys are present, if `count` of `count + extra` should be.
fn share(all: usize, count: usize, extra: usize) -> usize {
    let present = (all as u128 * count as u128).div_ceil((count + extra) as u128);
    present as usize
}

/// Sets `extra` keys apart, each with the same probability. Both parts keep their order.
fn set_apart(all: &PackedKeys, extra: usize, random: &mut SeededRandom) -> (PackedKeys, PackedKeys) {
    let (mut keys, mut absent) = (PackedKeys::default(), PackedKeys::default());
    for (number, key) in all.iter().enumerate() {
        let missing = extra - absent.len();
        let into = if random.below(all.len() - number) < missing { &mut absent } else { &mut keys };
        into.push(key);
    }
    (keys, absent)
}

impl KeySet {
    /// Returns the key numbers, in key order.
    pub fn order(&self) -> Vec<u32> {
        sorted(&self.keys)
    }

    /// Returns the set with its keys in key order, and without absent keys.
    #[must_use]
    pub fn in_key_order(&self) -> Self {
        Self {
            name: self.name.clone(),
            keys: self.keys.pick(&self.order()),
            absent: PackedKeys::default(),
            note: self.note.clone(),
            ..*self
        }
    }

    /// Removes keys outside the two lengths, absent keys included. Returns how many of `keys` it
    /// removed.
    pub fn leave_out(&mut self, shorter_than: usize, longer_than: usize) -> usize {
        let fits = |key: &[u8]| (shorter_than..=longer_than).contains(&key.len());
        let before = self.keys.len();
        if !self.keys.iter().chain(self.absent.iter()).all(fits) {
            self.keys = self.keys.iter().filter(|key| fits(key)).collect();
            self.absent = self.absent.iter().filter(|key| fits(key)).collect();
            self.measure_lengths();
        }
        before - self.keys.len()
    }

    /// Returns whether all keys, absent ones included, have a length within the limits.
    pub fn within(&self, (least, most): (usize, usize)) -> bool {
        self.shortest >= least && self.longest <= most
    }

    fn measure_lengths(&mut self) {
        let lengths = || self.keys.iter().chain(self.absent.iter()).map(<[u8]>::len);
        (self.shortest, self.longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    }
}
