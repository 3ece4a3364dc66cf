//! Ziplists, which Redis wrote before 7.0.
//!
//! ```text
//!   u32 bytes │ u32 offset of the last element │ u16 elements │ element │ … │ ff
//!               length of the element before (1 byte, or fe and 4), head, text or number ┘
//! ```
//!
//! | head             | element                                            |
//! | ---------------- | -------------------------------------------------- |
//! | `00` + 6 bits    | a text of this length                              |
//! | `01` + 14 bits   | a text of this length, big-endian                  |
//! | `80` + 4 bytes   | a text of this length, big-endian                  |
//! | `c0` `d0` `e0`   | a number of 2, 4, 8 bytes, little-endian           |
//! | `f0` `fe`        | a number of 3 bytes, of 1 byte                     |
//! | `f1` – `fd`      | a number from 0 to 12                              |

use super::{BlobBytes, PackedElement};
use crate::Result;

const HEADER: usize = 10;
const END: u8 = 0xff;
const LONG_LENGTH: u8 = 0xfe;
const UNCOUNTED: u16 = u16::MAX;

/// Calls `each` with the elements of a ziplist at this offset of the input.
pub(crate) fn read_ziplist<'b>(
    blob: &'b [u8],
    offset: u64,
    mut each: impl FnMut(PackedElement<'b>) -> Result<()>,
) -> Result<()> {
    let mut bytes = BlobBytes::new(blob, offset, "ziplist");
    if bytes.u32("the length of the ziplist")? as usize != blob.len() {
        return Err(bytes.damaged("another length", "the length of the ziplist"));
    }
    let tail = bytes.u32("the offset of the last element")? as usize;
    let count = u16::from_le_bytes(bytes.array("the number of elements")?);
    let (mut seen, mut last, mut before) = (0_u32, HEADER, 0);
    while bytes.rest.first() != Some(&END) {
        last = bytes.at();
        each(read_element(&mut bytes, before)?)?;
        before = bytes.at() - last;
        seen += 1;
    }
    bytes.take(1, "the end of the ziplist")?;
    if !bytes.rest.is_empty() {
        return Err(bytes.damaged("more bytes", "the end of the ziplist"));
    }
    if count != UNCOUNTED && u32::from(count) != seen {
        return Err(bytes.damaged(&format!("{seen} elements"), "the number of elements in the head"));
    }
    if tail != last {
        return Err(bytes.damaged(&format!("a last element at {last}"), "the offset in the head"));
    }
    Ok(())
}

fn read_element<'b>(bytes: &mut BlobBytes<'b>, before: usize) -> Result<PackedElement<'b>> {
    const EXPECTED: &str = "an element of a ziplist";
    let of_element = *bytes;
    let named = match bytes.byte(EXPECTED)? {
        LONG_LENGTH => bytes.u32(EXPECTED)? as usize,
        short => usize::from(short),
    };
    if named != before {
        return Err(of_element.damaged("another length", "the length of the element before"));
    }
    let of_head = *bytes;
    let head = bytes.byte(EXPECTED)?;
    Ok(match head {
        0..0x40 => PackedElement::Text(bytes.take(usize::from(head), EXPECTED)?),
        0x40..0x80 => {
            let len = usize::from(head & 0x3f) << 8 | usize::from(bytes.byte(EXPECTED)?);
            PackedElement::Text(bytes.take(len, EXPECTED)?)
        }
        0x80 => {
            let len = u32::from_be_bytes(bytes.array(EXPECTED)?) as usize;
            PackedElement::Text(bytes.take(len, EXPECTED)?)
        }
        0xc0 => PackedElement::Number(i64::from(i16::from_le_bytes(bytes.array(EXPECTED)?))),
        0xd0 => PackedElement::Number(i64::from(i32::from_le_bytes(bytes.array(EXPECTED)?))),
        0xe0 => PackedElement::Number(i64::from_le_bytes(bytes.array(EXPECTED)?)),
        0xf0 => PackedElement::Number(bytes.i24(EXPECTED)?),
        0xf1..=0xfd => PackedElement::Number(i64::from(head) - 0xf1),
        0xfe => PackedElement::Number(i64::from(bytes.byte(EXPECTED)?.cast_signed())),
        _ => return Err(of_head.damaged(&format!("the head {head:02x}"), EXPECTED)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a ziplist of these elements, each without the length before it.
    fn ziplist(elements: &[&[u8]]) -> Vec<u8> {
        let (mut body, mut before, mut last) = (Vec::new(), 0, HEADER);
        for element in elements {
            last = HEADER + body.len();
            if before < 254 {
                body.push(before as u8);
            } else {
                body.push(LONG_LENGTH);
                body.extend_from_slice(&(before as u32).to_le_bytes());
            }
            body.extend_from_slice(element);
            before = HEADER + body.len() - last;
        }
        let mut blob = (HEADER as u32 + body.len() as u32 + 1).to_le_bytes().to_vec();
        blob.extend_from_slice(&(last as u32).to_le_bytes());
        blob.extend_from_slice(&(elements.len() as u16).to_le_bytes());
        blob.extend_from_slice(&body);
        blob.push(END);
        blob
    }

    fn texts(blob: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut texts = Vec::new();
        read_ziplist(blob, 0, |element| {
            texts.push(element.into_vec());
            Ok(())
        })?;
        Ok(texts)
    }

    #[test]
    fn elements_of_every_encoding_are_read() {
        let long = [&b"\x41\x2c"[..], &[b'y'; 300]].concat();
        let longer = [&b"\x80\x00\x00\x40\x00"[..], &[b'z'; 16384]].concat();
        let blob = ziplist(&[
            b"\x03abc",
            &long,
            &longer,
            b"\xc0\x00\x80",
            b"\xd0\x00\x00\x00\x80",
            b"\xf0\xff\xff\xff",
            b"\xe0\0\0\0\0\0\0\0\x80",
            b"\xfe\x80",
            b"\xf1",
            b"\xfd",
        ]);
        let expected: [&[u8]; 10] = [
            b"abc",
            &[b'y'; 300],
            &[b'z'; 16384],
            b"-32768",
            b"-2147483648",
            b"-1",
            b"-9223372036854775808",
            b"-128",
            b"0",
            b"12",
        ];
        assert_eq!(texts(&blob).unwrap(), expected);
        assert_eq!(texts(&ziplist(&[])).unwrap(), [[0_u8; 0]; 0]);
    }

    #[test]
    fn damage_is_named() {
        let blob = ziplist(&[b"\x01a", b"\xf2"]);
        for (at, byte, part) in [
            (0, 99, "length of the ziplist"),
            (4, 11, "offset in the head"),
            (8, 3, "number of elements"),
            (13, 9, "length of the element before"),
            (14, 0xa0, "an element of a ziplist"),
        ] {
            let mut damaged = blob.clone();
            damaged[at] = byte;
            let fault = texts(&damaged).unwrap_err().to_string();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
