//! Listpacks.
//!
//! ```text
//!   u32 bytes │ u16 elements │ element │ element │ … │ ff
//!                              └ head, text or number, length of both from the back
//! ```
//!
//! | head                  | element                                     |
//! | --------------------- | ------------------------------------------- |
//! | `0` + 7 bits          | a number from 0 to 127                      |
//! | `10` + 6 bits         | a text of this length                       |
//! | `110` + 13 bits       | a number with a sign                        |
//! | `1110` + 12 bits      | a text of this length                       |
//! | `f0` + 4 bytes        | a text of this length, little-endian        |
//! | `f1` – `f4`           | a number of 2, 3, 4, 8 bytes, little-endian |
//!
//! The length from the back has 7 bits in a byte. A count of 65,535 elements means that nobody
//! counted.

use skein_syntax::number::parse_i64;

use super::{BlobBytes, PackedElement};
use crate::Result;

const HEADER: usize = 6;
const END: u8 = 0xff;
const UNCOUNTED: u16 = u16::MAX;

/// Returns how many bytes the length from the back takes. The bounds are those of Redis: some are
/// one too small.
fn length_width(len: usize) -> usize {
    match len {
        0..128 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

/// Calls `each` with the elements of a listpack at this offset of the input.
pub(crate) fn read_listpack<'b>(
    blob: &'b [u8],
    offset: u64,
    mut each: impl FnMut(PackedElement<'b>) -> Result<()>,
) -> Result<()> {
    let mut bytes = BlobBytes::new(blob, offset, "listpack");
    if bytes.u32("the length of the listpack")? as usize != blob.len() {
        return Err(bytes.damaged("another length", "the length of the listpack"));
    }
    let count = u16::from_le_bytes(bytes.array("the number of elements")?);
    let mut seen = 0_u32;
    while bytes.rest.first() != Some(&END) {
        each(read_element(&mut bytes)?)?;
        seen += 1;
    }
    bytes.take(1, "the end of the listpack")?;
    if !bytes.rest.is_empty() {
        return Err(bytes.damaged("more bytes", "the end of the listpack"));
    }
    if count != UNCOUNTED && u32::from(count) != seen {
        return Err(bytes.damaged(&format!("{seen} elements"), "the number of elements in the head"));
    }
    Ok(())
}

fn read_element<'b>(bytes: &mut BlobBytes<'b>) -> Result<PackedElement<'b>> {
    const EXPECTED: &str = "an element of a listpack";
    let start = bytes.at();
    let mut of_head = *bytes;
    let head = bytes.byte(EXPECTED)?;
    let element = match head {
        0..0x80 => PackedElement::Number(i64::from(head)),
        0x80..0xc0 => PackedElement::Text(bytes.take(usize::from(head & 0x3f), EXPECTED)?),
        0xc0..0xe0 => {
            let [high, low] = of_head.array(EXPECTED)?;
            bytes.take(1, EXPECTED)?;
            // The sign is the highest of 13 bits.
            let number = i16::from_be_bytes([high << 3 | low >> 5, low << 3]) >> 3;
            PackedElement::Number(i64::from(number))
        }
        0xe0..0xf0 => {
            let low = bytes.byte(EXPECTED)?;
            let len = usize::from(head & 0xf) << 8 | usize::from(low);
            PackedElement::Text(bytes.take(len, EXPECTED)?)
        }
        0xf0 => {
            let len = bytes.u32(EXPECTED)? as usize;
            PackedElement::Text(bytes.take(len, EXPECTED)?)
        }
        0xf1 => PackedElement::Number(i64::from(i16::from_le_bytes(bytes.array(EXPECTED)?))),
        0xf2 => PackedElement::Number(bytes.i24(EXPECTED)?),
        0xf3 => PackedElement::Number(i64::from(i32::from_le_bytes(bytes.array(EXPECTED)?))),
        0xf4 => PackedElement::Number(i64::from_le_bytes(bytes.array(EXPECTED)?)),
        _ => return Err(of_head.damaged(&format!("the head {head:02x}"), EXPECTED)),
    };
    let len = bytes.at() - start;
    let (written, width) = length_from_back(len);
    if bytes.take(width, "the length of the element before")? != &written[..width] {
        return Err(of_head.damaged("an element", "its length behind it"));
    }
    Ok(element)
}

/// Returns the bytes of the length from the back, and how many there are.
fn length_from_back(len: usize) -> ([u8; 5], usize) {
    let width = length_width(len);
    let mut bytes = [0; 5];
    for (at, byte) in bytes[..width].iter_mut().enumerate() {
        let bits = (len >> (7 * (width - 1 - at)) & 0x7f) as u8;
        *byte = if at == 0 { bits } else { bits | 0x80 };
    }
    (bytes, width)
}

/// A listpack that is being written.
#[derive(Debug)]
pub struct ListpackWriter {
    bytes: Vec<u8>,
    count: usize,
}

impl Default for ListpackWriter {
    fn default() -> Self {
        Self { bytes: vec![0; HEADER], count: 0 }
    }
}

impl ListpackWriter {
    /// Appends a text; as a number if it is a decimal integer.
    pub fn push(&mut self, text: &[u8]) {
        if let Some(number) = parse_i64(text) {
            return self.push_number(number);
        }
        let start = self.bytes.len();
        match text.len() {
            len @ 0..64 => self.bytes.push(0x80 | len as u8),
            len @ 64..4096 => self.bytes.extend_from_slice(&(0xe000 | len as u16).to_be_bytes()),
            len => {
                self.bytes.push(0xf0);
                self.bytes.extend_from_slice(&(len as u32).to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(text);
        self.end_element(start);
    }

    /// Appends a number.
    pub fn push_number(&mut self, number: i64) {
        let start = self.bytes.len();
        let bytes = number.to_le_bytes();
        let (head, width) = match number {
            0..128 => (bytes[0], 0),
            -4096..4096 => {
                self.bytes.extend_from_slice(
                    &(0xc000 | (u16::from_le_bytes([bytes[0], bytes[1]]) & 0x1fff)).to_be_bytes(),
                );
                return self.end_element(start);
            }
            -0x8000..0x8000 => (0xf1, 2),
            -0x80_0000..0x80_0000 => (0xf2, 3),
            -0x8000_0000..0x8000_0000 => (0xf3, 4),
            _ => (0xf4, 8),
        };
        self.bytes.push(head);
        self.bytes.extend_from_slice(&bytes[..width]);
        self.end_element(start);
    }

    /// Appends a number of elements.
    pub(crate) fn push_count(&mut self, count: usize) {
        self.push_number(i64::try_from(count).unwrap_or(i64::MAX));
    }

    fn end_element(&mut self, start: usize) {
        let (bytes, width) = length_from_back(self.bytes.len() - start);
        self.bytes.extend_from_slice(&bytes[..width]);
        self.count += 1;
    }

    /// Appends all elements of another listpack.
    pub(crate) fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes[HEADER..]);
        self.count += other.count;
    }

    /// Returns the length of the listpack if it were finished now.
    pub fn byte_len(&self) -> usize {
        self.bytes.len() + 1
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the listpack. It must be shorter than 4 GiB.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let len = self.bytes.len() as u32;
        let count = u16::try_from(self.count).unwrap_or(UNCOUNTED);
        self.bytes[..4].copy_from_slice(&len.to_le_bytes());
        self.bytes[4..HEADER].copy_from_slice(&count.to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(blob: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut texts = Vec::new();
        read_listpack(blob, 0, |element| {
            texts.push(element.into_vec());
            Ok(())
        })?;
        Ok(texts)
    }

    fn packed(texts: &[Vec<u8>]) -> Vec<u8> {
        let mut writer = ListpackWriter::default();
        for text in texts {
            writer.push(text);
        }
        assert_eq!(writer.len(), texts.len());
        let len = writer.byte_len();
        let blob = writer.finish();
        assert_eq!(blob.len(), len);
        blob
    }

    #[test]
    fn elements_of_every_encoding_are_read_again() {
        let numbers = [
            0,
            127,
            128,
            -1,
            4095,
            -4096,
            4096,
            32767,
            -32768,
            32768,
            8_388_607,
            -8_388_608,
            8_388_608,
            i64::from(i32::MIN),
            i64::from(i32::MAX) + 1,
            i64::MIN,
            i64::MAX,
        ];
        let lengths = [0, 1, 63, 64, 122, 123, 4095, 4096, 16_375, 16_376, 16_377, 16_378, 16_379, 70_000];
        let mut all: Vec<Vec<u8>> = numbers.iter().map(|number| number.to_string().into_bytes()).collect();
        all.extend(lengths.map(|len| vec![b'x'; len]));
        assert_eq!(texts(&packed(&all)).unwrap(), all);
    }

    #[test]
    fn many_elements_are_not_counted() {
        let all = vec![b"7".to_vec(); 70_000];
        let blob = packed(&all);
        assert_eq!(blob[4..6], [0xff, 0xff]);
        assert_eq!(texts(&blob).unwrap().len(), 70_000);
    }

    #[test]
    fn damage_is_named() {
        let blob = packed(&[b"ab".to_vec(), b"5".to_vec()]);
        assert_eq!(blob, b"\x0d\0\0\0\x02\0\x82ab\x03\x05\x01\xff");
        let mut longer = blob.clone();
        longer[0] = 14;
        let fault = |blob: &[u8]| texts(blob).unwrap_err().to_string();
        assert_eq!(
            fault(&longer),
            "damaged at byte 0: another length at byte 4 of a listpack; expected the length of the listpack"
        );
        let mut miscounted = blob.clone();
        miscounted[4] = 1;
        assert!(fault(&miscounted).contains("2 elements"));
        let mut headless = blob.clone();
        headless[10] = 0xf7;
        assert_eq!(
            fault(&headless),
            "damaged at byte 0: the head f7 at byte 10 of a listpack; expected an element of a listpack"
        );
        let mut wrong_way = blob;
        wrong_way[9] = 4;
        assert!(fault(&wrong_way).contains("its length behind it"));
    }

    proptest! {
        #[test]
        fn any_texts_are_read_again(all: Vec<Vec<u8>>, numbers: Vec<i64>) {
            let numbers = numbers.iter().map(|number| number.to_string().into_bytes());
            let all: Vec<Vec<u8>> = all.into_iter().chain(numbers).collect();
            prop_assert_eq!(texts(&packed(&all)).unwrap(), all);
        }
    }
}
