//! Hash slots of a cluster: the slot of a key, and sets of slots.
//!
//! A cluster divides its keys among 16,384 slots. A key's slot is the CRC-16 (XMODEM) of the key,
//! or of its hash tag: the text between the first `{` and the next `}`, unless that is empty.

use std::fmt;

/// Number of slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// Returns the slot of a key.
///
/// ```
/// use skein_syntax::slots::slot_of_key;
///
/// assert_eq!(slot_of_key(b"123456789"), 0x31C3);
/// assert_eq!(slot_of_key(b"{user1000}.following"), slot_of_key(b"user1000"));
/// ```
pub fn slot_of_key(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// Returns the part of a key between the first `{` and the next `}`, if there is one and it is not
/// empty.
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let from = key.iter().position(|byte| *byte == b'{')? + 1;
    let len = key[from..].iter().position(|byte| *byte == b'}')?;
    (len > 0).then(|| &key[from..from + len])
}

/// The remainder of each byte, for [`crc16`].
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let (mut crc, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)])
}

const WORDS: usize = SLOTS as usize / 64;

/// A set of slots. It takes 2 KiB.
///
/// ```
/// use skein_syntax::slots::SlotSet;
///
/// let mut slots: SlotSet = "0-5460 7000".parse()?;
/// slots.insert(5461);
/// assert!(slots.contains(7000));
/// assert_eq!(slots.to_string(), "0-5461 7000");
/// # Ok::<(), skein_syntax::slots::ParseSlotsError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SlotSet([u64; WORDS]);

/// A text that is not a list of slots.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no slot from 0 to 16383 and no range of slots")]
pub struct ParseSlotsError(pub String);

impl SlotSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);
    /// The set of all slots.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// Adds a slot.
    ///
    /// # Panics
    /// Panics if the slot is not less than [`SLOTS`].
    pub fn insert(&mut self, slot: u16) {
        self.0[usize::from(slot / 64)] |= 1 << (slot % 64);
    }

    /// Adds the slots from the first to the last one. Adds nothing if the first is greater than the
    /// last.
    ///
    /// # Panics
    /// Panics if the last slot is not less than [`SLOTS`].
    pub fn insert_range(&mut self, first: u16, last: u16) {
        if first > last {
            return;
        }
        let (low, high) = (usize::from(first / 64), usize::from(last / 64));
        for (word, bits) in self.0[low..=high].iter_mut().enumerate() {
            let from = if word == 0 { u64::MAX << (first % 64) } else { u64::MAX };
            let to = if low + word == high { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            *bits |= from & to;
        }
    }

    /// Returns whether the set has the slot. A slot that no cluster has is in no set.
    pub fn contains(&self, slot: u16) -> bool {
        self.0.get(usize::from(slot / 64)).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Returns whether the set has no slot.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Returns the slots that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |one, other| one | other)
    }

    /// Returns the slots that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |one, other| one & other)
    }

    /// Returns the slots of this set that the other set lacks.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |one, other| one & !other)
    }

    fn zip(&self, other: &Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|word| each(self.0[word], other.0[word])))
    }

    /// Returns the ranges of neighbouring slots, in order: first and last slot of each.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, u16)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = self.next(next, |word| word)?;
            next = self.next(first, |word| !word).unwrap_or(SLOTS);
            Some((first, next - 1))
        })
    }

    /// Returns the first slot, at or after `from`, that has its bit set in `view` of its word.
    fn next(&self, from: u16, view: impl Fn(u64) -> u64) -> Option<u16> {
        let first = usize::from(from / 64);
        (first..WORDS).find_map(|word| {
            let passed_over = if word == first { from % 64 } else { 0 };
            let bits = view(self.0[word]) & (u64::MAX << passed_over);
            (bits != 0).then(|| word as u16 * 64 + bits.trailing_zeros() as u16)
        })
    }
}

/// Writes the slots as `CLUSTER NODES` does: `0-5460 7000`.
impl fmt::Display for SlotSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.ranges().enumerate() {
            let gap = if place == 0 { "" } else { " " };
            if first == last {
                write!(out, "{gap}{first}")?;
            } else {
                write!(out, "{gap}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SlotSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SlotSet({self})")
    }
}

/// Parses the form that [`Display`](fmt::Display) writes.
impl std::str::FromStr for SlotSet {
    type Err = ParseSlotsError;

    fn from_str(text: &str) -> Result<Self, ParseSlotsError> {
        let mut slots = Self::EMPTY;
        for word in text.split_ascii_whitespace() {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let number = |text: &str| text.parse().ok().filter(|slot| *slot < SLOTS);
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                return Err(ParseSlotsError(word.to_owned()));
            };
            slots.insert_range(first, last);
        }
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        for (key, slot) in [
            (&b""[..], 0),
            (b"123456789", 0x31C3),
            (b"foo", 12182),
            (b"{foo}bar", 12182),
            (b"x{foo}{bar}", 12182),
            (b"{}foo", 9500),
            (b"foo{{bar}}zap", 4015),
        ] {
            assert_eq!(slot_of_key(key), slot, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn a_set_is_read_as_it_was_written() {
        for text in ["", "0", "16383", "0-16383", "1 3-5 64-127 16000", "63-64 66-190 192"] {
            assert_eq!(text.parse::<SlotSet>().expect(text).to_string(), text);
        }
        assert_eq!("0-16383".parse(), Ok(SlotSet::ALL));
        for text in ["x", "16384", "1-", "-1", "5-16384", "1-2-3"] {
            assert!(text.parse::<SlotSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_is_so_many_single_slots() {
        for (first, last) in [(0, 0), (5, 62), (63, 64), (64, 127), (100, 1_000), (16_320, 16_383), (9, 8)] {
            let (mut whole, mut single) = (SlotSet::EMPTY, SlotSet::EMPTY);
            whole.insert_range(first, last);
            (first..=last).for_each(|slot| single.insert(slot));
            assert_eq!(whole, single, "{first} to {last}");
            assert!((0..SLOTS).all(|slot| whole.contains(slot) == (first..=last).contains(&slot)));
        }
    }

    #[test]
    fn sets_are_combined() {
        let (low, high): (SlotSet, SlotSet) = ("0-99".parse().unwrap(), "50-199".parse().unwrap());
        assert_eq!(low.union(&high).to_string(), "0-199");
        assert_eq!(low.intersection(&high).to_string(), "50-99");
        assert_eq!(low.difference(&high).to_string(), "0-49");
        assert!(low.difference(&low).is_empty() && !low.is_empty());
        assert!(!low.contains(u16::MAX));
    }
}
