//! Compression.
//!
//! ```text
//!   table   hash of 3 bytes ─► their last position
//!           the same 3 bytes there, less than 8 KiB back ─► a copy, as long as bytes are equal
//!           otherwise ─► one more literal byte
//! ```
//!
//! Hash, window and the positions that enter the table are those of liblzf with the settings of
//! Redis. So the output is that of Redis, and small dumps have the same bytes.

use std::cell::RefCell;

const HASH_BITS: u32 = 16;
/// A copy begins at most this number of bytes back.
const WINDOW: usize = 1 << 13;
/// The most bytes of a copy, and of a run of literal bytes.
const COPY_MAX: usize = (1 << 8) + (1 << 3);
const RUN_MAX: usize = 1 << 5;

/// The last positions of three bytes, by their hash.
///
/// Positions of one input follow those of the input before, so that the table need not be cleared
/// in between. Positions below `base` are of earlier inputs.
struct PositionTable {
    positions: Vec<u32>,
    base: u32,
}

impl PositionTable {
    fn hash(three: [u8; 3]) -> usize {
        let value = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        ((value >> (24 - HASH_BITS)).wrapping_sub(value.wrapping_mul(5)) & ((1 << HASH_BITS) - 1)) as usize
    }

    /// Prepares the table for an input of this length.
    fn begin(&mut self, len: u32) {
        if self.positions.is_empty() || self.base.checked_add(len).is_none() {
            self.positions = vec![0; 1 << HASH_BITS];
            // 0 is no position.
            self.base = 1;
        }
    }

    /// Enters a position of the input. Returns the one before it with the same hash.
    fn enter(&mut self, input: &[u8], at: usize) -> Option<usize> {
        let three = [*input.get(at)?, *input.get(at + 1)?, *input.get(at + 2)?];
        let slot = self.positions.get_mut(Self::hash(three))?;
        let before = std::mem::replace(slot, self.base + at as u32);
        before.checked_sub(self.base).map(|before| before as usize)
    }
}

thread_local! {
    /// Kept, because a new one takes longer than to compress a short string.
    static TABLE: RefCell<PositionTable> = const { RefCell::new(PositionTable { positions: Vec::new(), base: 0 }) };
}

/// The compressed bytes. A run of literal bytes has a head, which is written when the run ends.
struct CompressedOutput {
    bytes: Vec<u8>,
    run: usize,
    most: usize,
}

impl CompressedOutput {
    fn new(most: usize) -> Self {
        Self { bytes: vec![0], run: 0, most }
    }

    fn literal(&mut self, byte: u8) -> Option<()> {
        if self.bytes.len() >= self.most {
            return None;
        }
        self.literal_unchecked(byte);
        Some(())
    }

    fn literal_unchecked(&mut self, byte: u8) {
        self.bytes.push(byte);
        self.run += 1;
        if self.run == RUN_MAX {
            self.end_run();
            self.bytes.push(0);
        }
    }

    fn end_run(&mut self) {
        let head = self.bytes.len() - self.run - 1;
        if self.run == 0 {
            self.bytes.truncate(head);
        } else {
            self.bytes[head] = (self.run - 1) as u8;
        }
        self.run = 0;
    }

    /// Writes a copy of `len` bytes from `back` bytes before.
    fn copy(&mut self, len: usize, back: usize) {
        self.end_run();
        let (len, back) = (len - 2, back - 1);
        if len < 7 {
            self.bytes.push((len << 5 | back >> 8) as u8);
        } else {
            self.bytes.extend_from_slice(&[(7 << 5 | back >> 8) as u8, (len - 7) as u8]);
        }
        self.bytes.extend_from_slice(&[back as u8, 0]);
    }

    /// Returns whether a copy has room.
    fn has_room_for_copy(&self) -> bool {
        self.bytes.len() - usize::from(self.run == 0) + 4 < self.most
    }
}

/// Returns how many bytes from `from` on are equal to those from `at` on, for a copy.
fn equal_bytes(input: &[u8], from: usize, at: usize) -> usize {
    let most = (input.len() - at - 2).min(COPY_MAX);
    // As in liblzf, the first 16 bytes of a long copy are not checked against the limit.
    let unchecked = if most > 16 { 2 + 16 } else { 2 };
    let mut len = 2;
    loop {
        len += 1;
        if (len > unchecked && len >= most) || input[from + len] != input[at + len] {
            return len;
        }
    }
}

/// Returns these bytes compressed, or `None` if they would not fit into `most` bytes.
pub fn compress(input: &[u8], most: usize) -> Option<Vec<u8>> {
    let len = u32::try_from(input.len()).ok().filter(|len| *len < u32::MAX / 2)?;
    if len == 0 || most == 0 {
        return None;
    }
    TABLE.with_borrow_mut(|table| {
        table.begin(len);
        let compressed = compress_with(table, input, most);
        table.base += len;
        compressed
    })
}

fn compress_with(table: &mut PositionTable, input: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = CompressedOutput::new(most);
    let (mut at, last) = (0, input.len().saturating_sub(2));
    while at < last {
        // Position 0 is never copied: in liblzf it is the mark of an empty slot.
        let found = table.enter(input, at).filter(|from| *from > 0 && at - from - 1 < WINDOW);
        match found.filter(|from| input[*from..from + 3] == input[at..at + 3]) {
            None => {
                out.literal(input[at])?;
                at += 1;
            }
            Some(from) => {
                if !out.has_room_for_copy() {
                    return None;
                }
                let len = equal_bytes(input, from, at);
                out.copy(len, at - from);
                at += len;
                if at >= last {
                    break;
                }
                table.enter(input, at - 2);
                table.enter(input, at - 1);
            }
        }
    }
    // At most two bytes and a head are missing.
    if out.bytes.len() + 3 > most {
        return None;
    }
    for byte in &input[at..] {
        out.literal_unchecked(*byte);
    }
    out.end_run();
    Some(out.bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decompress;
    use super::*;

    #[test]
    fn runs_and_copies_are_those_of_redis() {
        // From DUMP of Redis 7.0.15.
        let text = [b'a'; 30];
        assert_eq!(compress(&text, 26).unwrap(), b"\x01aa\xe0\x11\x00\x01aa"[..].to_vec());
    }

    #[test]
    fn bytes_without_repetition_are_not_compressed() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert!(compress(&bytes, 252).is_none());
        assert!(compress(b"", 10).is_none());
        assert!(compress(b"aaaa", 0).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn compressed_bytes_are_read_again(
            words in prop::collection::vec(prop::collection::vec(0_u8..4, 0..40), 0..60),
            most in 0_usize..3000,
        ) {
            let input = words.concat();
            if let Some(compressed) = compress(&input, most) {
                prop_assert!(compressed.len() <= most);
                prop_assert_eq!(decompress(&compressed, input.len()), Some(input));
            }
        }
    }
}
