//! The payload of FUNCTION DUMP, which is also the value of the stored row. It moves between Redis
//! and this server both ways.
//!
//! ```text
//!   f5 │ string      the source of a library, any number of times
//!   u16              version of Redis's file format, little-endian
//!   u64              CRC-64 of all bytes before it, little-endian
//! ```
//!
//! A string begins with its length, or with the way in which it is compressed:
//!
//! | first byte     | meaning                                                                    |
//! | -------------- | -------------------------------------------------------------------------- |
//! | `00`, `01` + 6 bits | a length of 6 bits, or of 14 with the next byte                       |
//! | `80`, `81`     | a length of 4 or 8 bytes, big-endian                                       |
//! | `c0`–`c2`      | a number of 1, 2 or 4 bytes, little-endian, in place of its digits         |
//! | `c3`           | LZF: two lengths, compressed and not, and the compressed bytes             |

use super::crc64::crc64;
use super::lzf;
use crate::command_error::CommandError;

/// What begins a library.
const LIBRARY: u8 = 0xf5;
/// The format of Redis 7.0, which later versions read. Payloads of later formats are refused.
const VERSION: u16 = 10;
/// Version and checksum.
const FOOTER: usize = 10;
const LZF: u8 = 0xc3;

const DAMAGED: CommandError = CommandError::text("ERR DUMP payload version or checksum are wrong");
const NOT_A_LIBRARY: CommandError = CommandError::text("ERR given type is not a function");
const CUT_SHORT: CommandError = CommandError::text("ERR Failed loading library payload");

/// Returns the payload of libraries with these sources.
pub(super) fn write<'s>(sources: impl Iterator<Item = &'s [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for source in sources {
        bytes.push(LIBRARY);
        write_length(&mut bytes, source.len());
        bytes.extend_from_slice(source);
    }
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let sum = crc64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn write_length(bytes: &mut Vec<u8>, len: usize) {
    if len < 1 << 6 {
        bytes.push(len as u8);
    } else if len < 1 << 14 {
        bytes.extend_from_slice(&(0x4000 | len as u16).to_be_bytes());
    } else if let Ok(len) = u32::try_from(len) {
        bytes.push(0x80);
        bytes.extend_from_slice(&len.to_be_bytes());
    } else {
        bytes.push(0x81);
        bytes.extend_from_slice(&(len as u64).to_be_bytes());
    }
}

/// Returns the sources of the libraries in a payload.
///
/// # Errors
/// The payload is damaged, of a later version, or has something else than libraries.
pub(super) fn read(payload: &[u8]) -> Result<Vec<Vec<u8>>, CommandError> {
    let (body, footer) = payload.split_at_checked(payload.len().wrapping_sub(FOOTER)).ok_or(DAMAGED)?;
    let (version, sum) = footer.split_at(2);
    let (summed, _) = payload.split_at(payload.len() - 8);
    if number(version, false) > u64::from(VERSION) || number(sum, false) != crc64(summed) {
        return Err(DAMAGED);
    }
    let mut rest = body;
    let mut sources = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        if *kind != LIBRARY {
            return Err(NOT_A_LIBRARY);
        }
        rest = after;
        sources.push(read_string(&mut rest).ok_or(CUT_SHORT)?);
    }
    Ok(sources)
}

/// Returns the number in these bytes, 8 at most.
fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

/// Takes the first `len` bytes.
fn take<'p>(rest: &mut &'p [u8], len: usize) -> Option<&'p [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

fn read_length(rest: &mut &[u8], first: u8) -> Option<usize> {
    let len = match first {
        0..0x40 => u64::from(first),
        0x40..0x80 => u64::from(first & 0x3f) << 8 | number(take(rest, 1)?, true),
        0x80 => number(take(rest, 4)?, true),
        0x81 => number(take(rest, 8)?, true),
        _ => return None,
    };
    usize::try_from(len).ok()
}

fn read_string(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let first = take(rest, 1)?[0];
    match first {
        // A library is never a number, but its error names the first line.
        0xc0..=0xc2 => {
            let bytes = take(rest, 1 << (first - 0xc0))?;
            let unused = 64 - 8 * bytes.len() as u32;
            let number = (number(bytes, false) << unused).cast_signed() >> unused;
            Some(number.to_string().into_bytes())
        }
        LZF => {
            let length = |rest: &mut &[u8]| {
                let first = take(rest, 1)?[0];
                read_length(rest, first)
            };
            let (compressed, len) = (length(rest)?, length(rest)?);
            lzf::decompress(take(rest, compressed)?, len)
        }
        _ => {
            let len = read_length(rest, first)?;
            take(rest, len).map(<[u8]>::to_vec)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// FUNCTION DUMP of Redis 7.0.15 without a library, and with a compressed one.
    const EMPTY: &[u8] = b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda";
    const ONE: &[u8] = b"\xf5\xc3@\x94@\xa4\x1f#!lua name=lib\nredis.register_fu\x06nction{\xc0\x08\x00_`)\n'f',descrip@\x1d\x06='does  \x14\x08callback=\xc0/\x13(keys,args) return {\xe0\x00\x12\x19} end,flags={'no-writes',' F\now-stale'}}\n\x00m\x9d\xbc\xe1nU\xbbn";

    #[test]
    fn payloads_of_redis_are_read() {
        assert_eq!(read(EMPTY).unwrap(), [[0_u8; 0]; 0]);
        assert_eq!(write(std::iter::empty()), EMPTY);
        let sources = read(ONE).unwrap();
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].len(), 164);
        assert!(sources[0].starts_with(b"#!lua name=lib\nredis.register_function{function_name='f'"));
        assert!(sources[0].ends_with(b"flags={'no-writes','allow-stale'}}"));
    }

    #[test]
    fn damage_is_noticed() {
        for at in 0..ONE.len() {
            let mut damaged = ONE.to_vec();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged).unwrap_err().bytes(), DAMAGED.bytes());
            assert_eq!(read(&ONE[..at]).unwrap_err().bytes(), DAMAGED.bytes());
        }
    }

    /// Returns these bytes with a right footer.
    fn sealed(body: &[u8], version: u16) -> Vec<u8> {
        let bytes = [body, &version.to_le_bytes()].concat();
        [&bytes[..], &crc64(&bytes).to_le_bytes()].concat()
    }

    #[test]
    fn bodies_that_are_not_libraries_are_refused() {
        assert!(read(&sealed(b"", 9)).is_ok());
        assert_eq!(read(&sealed(b"", 11)).unwrap_err().bytes(), DAMAGED.bytes());
        assert_eq!(read(&sealed(b"\0\x01x", VERSION)).unwrap_err().bytes(), NOT_A_LIBRARY.bytes());
        for body in [&b"\xf5"[..], b"\xf5\x10abc", b"\xf5\xc4", b"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff"] {
            assert_eq!(read(&sealed(body, VERSION)).unwrap_err().bytes(), CUT_SHORT.bytes());
        }
        assert_eq!(read(&sealed(b"\xf5\xc0\xfb\xf5\xc1\x00\x01", VERSION)).unwrap(), [&b"-5"[..], b"256"]);
    }

    #[test]
    fn lengths_of_every_width_are_read_again() {
        let sources = [0, 63, 64, 16383, 16384, 70_000].map(|len| vec![b'x'; len]);
        assert_eq!(read(&write(sources.iter().map(Vec::as_slice))).unwrap(), sources);
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>) {
            let _ = read(&sealed(&body, VERSION));
            let _ = read(&sealed(&[&[LIBRARY, LZF][..], &body].concat(), VERSION));
            let _ = read(&body);
        }
    }
}
