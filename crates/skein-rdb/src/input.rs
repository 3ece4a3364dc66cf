//! Lengths and strings, and the source that they are read from.
//!
//! A string begins with its length, or with the way in which it is compressed:
//!
//! | first byte          | meaning                                                               |
//! | ------------------- | --------------------------------------------------------------------- |
//! | `00`, `01` + 6 bits | a length of 6 bits, or of 14 with the next byte                       |
//! | `80`, `81`          | a length of 4 or 8 bytes, big-endian                                  |
//! | `c0`–`c2`           | a number of 1, 2 or 4 bytes, little-endian, in place of its digits    |
//! | `c3`                | LZF: two lengths, compressed and not, and the compressed bytes        |

use std::io::{BufRead, ErrorKind, Read};

use crate::{Crc64, RdbError, Result, lzf};

/// The first byte of a compressed string.
pub(crate) const LZF: u8 = 0xc3;

/// The limits of a read.
#[derive(Debug, Clone, Copy)]
pub struct RdbLimits {
    /// The most bytes of a string, after decompression.
    pub string_bytes: usize,
    /// The most bytes of memory for the elements of one packed blob, about. A blob has them in 11
    /// bits each; in memory they take more.
    pub blob_memory: usize,
}

impl Default for RdbLimits {
    /// Redis's limit for strings, and one GiB for elements.
    fn default() -> Self {
        Self { string_bytes: 512 << 20, blob_memory: 1 << 30 }
    }
}

/// A source of bytes, with the position and the checksum of those that were read.
#[derive(Debug)]
pub struct RdbInput<R> {
    source: R,
    offset: u64,
    sum: Crc64,
    limits: RdbLimits,
}

/// A length or the head of an encoded string.
enum StringHead {
    Plain(u64),
    /// A number of this many bytes.
    Integer(usize),
    Compressed,
}

/// Reads up to this length go to memory that is allocated at once.
const ALLOCATED_AT_ONCE: usize = 64 << 10;

impl<R: BufRead> RdbInput<R> {
    /// Returns the input of this source.
    pub fn new(source: R, limits: RdbLimits) -> Self {
        Self::starting_at(source, 0, limits)
    }

    /// Returns the input of a source that begins at this offset of a file. Errors name offsets of
    /// the file.
    pub fn starting_at(source: R, offset: u64, limits: RdbLimits) -> Self {
        Self { source, offset, sum: Crc64::default(), limits }
    }

    /// Returns the number of bytes that were read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the checksum of the bytes that were read.
    pub fn sum(&self) -> u64 {
        self.sum.sum()
    }

    pub(crate) fn limits(&self) -> RdbLimits {
        self.limits
    }

    fn took(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.sum.update(bytes);
    }

    /// Reads bytes of a fixed number.
    pub(crate) fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, expected)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], expected: &'static str) -> Result<()> {
        let offset = self.offset;
        match self.source.read_exact(bytes) {
            Ok(()) => {
                self.took(bytes);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(RdbError::Ended { offset, expected })
            }
            Err(error) => Err(RdbError::Io { offset, error }),
        }
    }

    /// Reads so many bytes. If the source has fewer, it allocates memory for those alone.
    pub(crate) fn bytes(&mut self, len: usize, expected: &'static str) -> Result<Vec<u8>> {
        let offset = self.offset;
        let mut bytes = Vec::new();
        if len <= ALLOCATED_AT_ONCE {
            bytes.resize(len, 0);
            self.fill(&mut bytes, expected)?;
            return Ok(bytes);
        }
        let read = self.source.by_ref().take(len as u64).read_to_end(&mut bytes);
        read.map_err(|error| RdbError::Io { offset, error })?;
        if bytes.len() < len {
            return Err(RdbError::Ended { offset: offset + bytes.len() as u64, expected });
        }
        self.took(&bytes);
        Ok(bytes)
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// The input ends, or the source failed.
    pub fn byte(&mut self, expected: &'static str) -> Result<u8> {
        self.array(expected).map(|[byte]| byte)
    }

    pub(crate) fn u64_le(&mut self, expected: &'static str) -> Result<u64> {
        self.array(expected).map(u64::from_le_bytes)
    }

    fn head(&mut self, expected: &'static str) -> Result<StringHead> {
        let offset = self.offset;
        let first = self.byte(expected)?;
        Ok(match first {
            0..0x40 => StringHead::Plain(u64::from(first)),
            0x40..0x80 => StringHead::Plain(u64::from(first & 0x3f) << 8 | u64::from(self.byte(expected)?)),
            0x80 => StringHead::Plain(u64::from(u32::from_be_bytes(self.array(expected)?))),
            0x81 => StringHead::Plain(u64::from_be_bytes(self.array(expected)?)),
            0xc0..=0xc2 => StringHead::Integer(1 << (first - 0xc0)),
            LZF => StringHead::Compressed,
            _ => return Err(RdbError::damaged(offset, format!("the byte {first:02x}"), expected)),
        })
    }

    /// Reads a length, or another number that is written as one.
    pub(crate) fn length(&mut self, expected: &'static str) -> Result<u64> {
        let offset = self.offset;
        match self.head(expected)? {
            StringHead::Plain(len) => Ok(len),
            _ => Err(RdbError::damaged(offset, "the head of an encoded string", expected)),
        }
    }

    /// Reads the length of a string, which must be within the limit.
    fn string_length(&mut self, expected: &'static str) -> Result<usize> {
        let offset = self.offset;
        let len = self.length(expected)?;
        self.within_limit(len, offset)
    }

    fn within_limit(&self, len: u64, offset: u64) -> Result<usize> {
        let limit = self.limits.string_bytes;
        let fits = usize::try_from(len).ok().filter(|len| *len <= limit);
        fits.ok_or(RdbError::TooLong { offset, what: "a string", limit })
    }

    /// Reads a string.
    ///
    /// # Errors
    /// The input ends or is damaged, or the string exceeds the limit.
    pub fn string(&mut self, expected: &'static str) -> Result<Vec<u8>> {
        let offset = self.offset;
        match self.head(expected)? {
            StringHead::Plain(len) => {
                let len = self.within_limit(len, offset)?;
                self.bytes(len, expected)
            }
            StringHead::Integer(width) => {
                let mut bytes = [0; 8];
                self.fill(&mut bytes[..width], expected)?;
                let unused = 64 - 8 * width as u32;
                let number = i64::from_le_bytes(bytes) << unused >> unused;
                Ok(number.to_string().into_bytes())
            }
            StringHead::Compressed => {
                let packed = self.string_length(expected)?;
                let len = self.string_length(expected)?;
                let packed = self.bytes(packed, expected)?;
                lzf::decompress(&packed, len)
                    .ok_or_else(|| RdbError::damaged(offset, "a compressed string", "bytes of LZF"))
            }
        }
    }

    /// Reads a string and drops it. Takes little memory.
    pub(crate) fn skip_string(&mut self, expected: &'static str) -> Result<()> {
        match self.head(expected)? {
            StringHead::Plain(len) => self.skip(len, expected),
            StringHead::Integer(width) => self.skip(width as u64, expected),
            StringHead::Compressed => {
                let packed = self.length(expected)?;
                self.length(expected)?;
                self.skip(packed, expected)
            }
        }
    }

    /// Reads so many bytes and drops them.
    pub(crate) fn skip(&mut self, mut len: u64, expected: &'static str) -> Result<()> {
        while len > 0 {
            let some = usize::try_from(len).unwrap_or(usize::MAX).min(ALLOCATED_AT_ONCE);
            self.bytes(some, expected)?;
            len -= some as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{write_length, write_string};

    fn input(bytes: &[u8]) -> RdbInput<&[u8]> {
        RdbInput::new(bytes, RdbLimits { string_bytes: 1000, ..RdbLimits::default() })
    }

    #[test]
    fn lengths_of_every_width_are_read_again() {
        for len in [0, 63, 64, 16383, 16384, u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX] {
            let mut bytes = Vec::new();
            write_length(&mut bytes, len);
            let mut read = input(&bytes);
            assert_eq!(read.length("a length").unwrap(), len);
            assert_eq!(read.offset(), bytes.len() as u64);
        }
    }

    #[test]
    fn strings_of_every_encoding_are_read_again() {
        let texts: [&[u8]; 12] = [
            b"",
            b"0",
            b"-1",
            b"127",
            b"128",
            b"-32768",
            b"32768",
            b"-2147483648",
            b"2147483648",
            b"01",
            &[b'x'; 21],
            &[b'y'; 999],
        ];
        for text in texts {
            let mut bytes = Vec::new();
            write_string(&mut bytes, text);
            let mut read = input(&bytes);
            assert_eq!(read.string("a string").unwrap(), text);
            let mut skipped = input(&bytes);
            skipped.skip_string("a string").unwrap();
            assert_eq!((read.offset(), skipped.offset()), (bytes.len() as u64, bytes.len() as u64));
            assert_eq!(read.sum(), crate::crc64(&bytes));
        }
    }

    #[test]
    fn errors_name_the_place_and_what_was_expected() {
        let fault = |bytes: &[u8]| input(bytes).string("a key").unwrap_err().to_string();
        assert_eq!(fault(b""), "the input ends at byte 0; expected a key");
        assert_eq!(fault(b"\x05abc"), "the input ends at byte 1; expected a key");
        assert_eq!(fault(b"\xc9"), "damaged at byte 0: the byte c9; expected a key");
        assert_eq!(fault(b"\xc3\x01\x05x"), "damaged at byte 0: a compressed string; expected bytes of LZF");
        assert_eq!(
            fault(b"\x43\xe9"),
            "too long, at byte 0: a string takes more than the limit of 1000 bytes"
        );
        assert_eq!(
            fault(b"\xc3\x01\x81\xff\xff\xff\xff\xff\xff\xff\xffx"),
            "too long, at byte 2: a string takes more than the limit of 1000 bytes"
        );
        assert!(matches!(input(b"\xc0\x01").length("a length"), Err(RdbError::Damaged { .. })));
        let claims = RdbInput::new(&b"\x81\0\0\0\0\x1f\xff\xff\xffabc"[..], RdbLimits::default())
            .string("a value")
            .unwrap_err();
        assert_eq!(claims.to_string(), "the input ends at byte 12; expected a value");
    }
}
