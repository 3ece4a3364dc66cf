//! Finds a command by its name, in any case, with a few operations on words instead of a loop over
//! letters.
//!
//! ```text
//!   name ─► first and last 8 bytes, in lower case ─► hash ─► SLOTS ─► index in COMMANDS
//! ```

use super::registry::{COMMANDS, COUNT};

/// Number of slots in [`SLOTS`]: about four for each command, so that a search rarely probes
/// further.
const SLOT_COUNT: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;

/// Odd numbers whose products spread words over all slots.
const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// The longest name that its words hold whole.
const WHOLE_MAX: usize = 16;

/// A name as words, in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
struct NameWords {
    len: usize,
    first: u64,
    /// The last 8 bytes; 0 if the name is shorter.
    last: u64,
}

impl NameWords {
    #[inline(always)]
    const fn of(name: &[u8]) -> Self {
        let len = name.len();
        match (name.first_chunk(), name.last_chunk()) {
            (Some(first), Some(last)) => {
                Self { len, first: lower(u64::from_le_bytes(*first)), last: lower(u64::from_le_bytes(*last)) }
            }
            _ => Self { len, first: lower(short_word(name)), last: 0 },
        }
    }

    /// Returns the slot where the search for the name starts.
    #[inline(always)]
    const fn slot(self) -> usize {
        let mixed = self.first ^ self.last.wrapping_mul(FACTORS[1]);
        (mixed.wrapping_mul(FACTORS[0]) >> (u64::BITS - SLOT_BITS)) as usize
    }
}

/// Returns a name of less than 8 bytes as a word. Parts that overlap have the same bytes there.
#[inline(always)]
const fn short_word(name: &[u8]) -> u64 {
    let len = name.len();
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            first as u64 | (last as u64) << (8 * (len - size_of::<u32>()))
        }
        _ if len == 0 => 0,
        _ => {
            let (middle, last) = (len / 2, len - 1);
            name[0] as u64 | (name[middle] as u64) << (8 * middle) | (name[last] as u64) << (8 * last)
        }
    }
}

/// Returns the word with its ASCII letters in lower case. The sums set the highest bit of each byte
/// that is at least `A`, and of each that is above `Z`; none carries into the next byte.
#[inline(always)]
const fn lower(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * EACH);
    let letters = (low + (0x80 - b'A' as u64) * EACH) & !(low + (0x7f - b'Z' as u64) * EACH);
    word | (letters & !word & (0x80 * EACH)) >> 2
}

/// The words of each name in [`COMMANDS`], which lie closer together than the rows.
static NAMES: [NameWords; COUNT] = {
    let mut names = [NameWords::of(b""); COUNT];
    let mut i = 0;
    while i < COUNT {
        names[i] = NameWords::of(COMMANDS[i].name.as_bytes());
        i += 1;
    }
    names
};

/// Index + 1 in [`COMMANDS`] by [`NameWords::slot`], with linear probing; 0 is free.
static SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [0; SLOT_COUNT];
    let mut i = 0;
    while i < COUNT {
        let mut slot = NAMES[i].slot();
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = i as u16 + 1;
        i += 1;
    }
    slots
};

/// Returns a command's index in the table. Ignores the case of the name.
#[inline(always)]
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    let words = NameWords::of(name);
    let mut slot = words.slot();
    loop {
        let index = usize::from(SLOTS[slot]).checked_sub(1)?;
        if NAMES[index] == words && (name.len() <= WHOLE_MAX || is_named(index, name)) {
            return Some(index);
        }
        slot = (slot + 1) % SLOTS.len();
    }
}

#[cold]
fn is_named(index: usize, name: &[u8]) -> bool {
    COMMANDS[index].name.as_bytes().eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case() {
        for (i, command) in COMMANDS.iter().enumerate() {
            assert_eq!(find(command.name.as_bytes()), Some(i));
            assert_eq!(find(command.name.to_uppercase().as_bytes()), Some(i));
            assert_eq!(command.name, command.name.to_lowercase());
        }
        for name in ["", "g", "gets", "sk", "sk.", "\0", "GE\0", "GET\0", "georadiusbyMEMBER-ro"] {
            assert_eq!(find(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn only_letters_have_a_case() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut bytes = *b"[@Zz{\x80\xda\x5a";
                bytes[at] = byte;
                let lowered = lower(u64::from_le_bytes(bytes)).to_le_bytes();
                assert_eq!(lowered, bytes.map(|byte| byte.to_ascii_lowercase()));
            }
        }
    }

    #[test]
    fn words_tell_apart_all_names_of_up_to_sixteen_bytes() {
        for len in 0..=WHOLE_MAX {
            let name: Vec<u8> = (b'a'..).take(len).collect();
            for at in 0..len {
                let mut other = name.clone();
                other[at] = b'-';
                assert!(NameWords::of(&name) != NameWords::of(&other), "byte {at} of {len}");
                assert!(NameWords::of(&name) != NameWords::of(&name[..at]), "{at} of {len} bytes");
            }
        }
    }
}
