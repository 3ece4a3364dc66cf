//! The checksum of Redis's dumps: CRC-64 with the polynomial of Jones, least bit first.
//!
//! Eight bytes are added at once, with a table for each of their positions (Kounavis and Berry, "A
//! Systematic Approach to Building High Performance, Software-Based, CRC Generators", 2005).

/// The polynomial 0xad93d23594c935a9 with its bits in reverse.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// `TABLES[0]` has the sum of each byte, `TABLES[n]` the sum of a byte with n zero bytes behind it.
static TABLES: [[u64; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u64, 0);
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut byte = 0;
        while byte < 256 {
            let sum = tables[behind - 1][byte];
            tables[behind][byte] = sum >> 8 ^ tables[0][(sum & 0xff) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
};

/// The checksum of bytes that come in parts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Crc64(u64);

impl Crc64 {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let sum = (self.0 ^ u64::from_le_bytes(*word)).to_le_bytes();
            self.0 = (0..8).fold(0, |next, at| next ^ TABLES[7 - at][usize::from(sum[at])]);
        }
        for byte in rest {
            self.0 = self.0 >> 8 ^ TABLES[0][usize::from(self.0 as u8 ^ byte)];
        }
    }

    /// Returns the checksum of the bytes so far.
    pub fn sum(self) -> u64 {
        self.0
    }
}

/// Returns the checksum of these bytes.
pub fn crc64(bytes: &[u8]) -> u64 {
    let mut sum = Crc64::default();
    sum.update(bytes);
    sum.sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The check value of Redis's own test.
    #[test]
    fn the_checksum_is_that_of_redis() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(crc64(b""), 0);
    }

    proptest! {
        #[test]
        fn parts_have_the_sum_of_the_whole(bytes: Vec<u8>, cut in 0_usize..100) {
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut sum = Crc64::default();
            sum.update(head);
            sum.update(tail);
            let slow = bytes.iter().fold(0, |sum, byte| sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)]);
            prop_assert_eq!(sum.sum(), slow);
            prop_assert_eq!(crc64(&bytes), slow);
        }
    }
}
