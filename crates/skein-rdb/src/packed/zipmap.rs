//! Zipmaps, with which Redis before 2.6 wrote small hashes.
//!
//! ```text
//!   u8 pairs │ length, name │ length, u8 unused, value, unused bytes │ … │ ff
//! ```
//!
//! A length has one byte, or is `fe` and 4 bytes, little-endian. A map of 254 pairs or more is not
//! counted.

use super::BlobBytes;
use crate::Result;

const END: u8 = 0xff;
const LONG_LENGTH: u8 = 0xfe;

/// Calls `each` with the names and values of a zipmap at this offset of the input.
pub(crate) fn read_zipmap<'b>(
    blob: &'b [u8],
    offset: u64,
    mut each: impl FnMut(&'b [u8], &'b [u8]) -> Result<()>,
) -> Result<()> {
    const EXPECTED: &str = "a pair of a zipmap";
    let mut bytes = BlobBytes::new(blob, offset, "zipmap");
    let count = bytes.byte("the number of pairs")?;
    let mut seen = 0_u32;
    while bytes.rest.first() != Some(&END) {
        let len = read_length(&mut bytes, EXPECTED)?;
        let name = bytes.take(len, EXPECTED)?;
        let len = read_length(&mut bytes, EXPECTED)?;
        let unused = usize::from(bytes.byte(EXPECTED)?);
        let value = bytes.take(len, EXPECTED)?;
        bytes.take(unused, EXPECTED)?;
        each(name, value)?;
        seen += 1;
    }
    bytes.take(1, "the end of the zipmap")?;
    if !bytes.rest.is_empty() {
        return Err(bytes.damaged("more bytes", "the end of the zipmap"));
    }
    if count < LONG_LENGTH && u32::from(count) != seen {
        return Err(bytes.damaged(&format!("{seen} pairs"), "the number of pairs in the head"));
    }
    Ok(())
}

fn read_length(bytes: &mut BlobBytes<'_>, expected: &'static str) -> Result<usize> {
    let of_length = *bytes;
    match bytes.byte(expected)? {
        END => Err(of_length.damaged("the end", expected)),
        LONG_LENGTH => Ok(bytes.u32(expected)? as usize),
        short => Ok(usize::from(short)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(blob: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut pairs = Vec::new();
        read_zipmap(blob, 0, |name, value| {
            pairs.push((name.to_vec(), value.to_vec()));
            Ok(())
        })?;
        Ok(pairs)
    }

    #[test]
    fn pairs_and_unused_bytes_are_read() {
        let blob = b"\x02\x03foo\x03\x00bar\x05hello\x05\x02world!!\xff";
        let expected = [(&b"foo"[..], &b"bar"[..]), (b"hello", b"world")];
        let expected: Vec<_> = expected.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        assert_eq!(pairs(blob).unwrap(), expected);
        let long = [&b"\x01\x01a\xfe\x2c\x01\0\0\0"[..], &[b'v'; 300], b"\xff"].concat();
        assert_eq!(pairs(&long).unwrap()[0].1.len(), 300);
        assert!(pairs(b"\x00\xff").unwrap().is_empty());
    }

    #[test]
    fn damage_is_named() {
        for (blob, part) in [
            (&b"\x01\x03fo"[..], "the end of the blob at byte 2 of a zipmap"),
            (b"\x02\x01a\x01\x00b\xff", "1 pairs"),
            (b"\x01\x01a\xff\x00b\xff", "the end at byte 3"),
            (b"\x01\x01a\x01\x00b\xffx", "more bytes"),
        ] {
            let fault = pairs(blob).unwrap_err().to_string();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
