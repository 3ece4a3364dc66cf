//! Texts one after the other in one value: each with its length (LEB128) before it. The fields of
//! an entry of a stream and the elements of a chunk of a list are stored so.

/// The bytes of a number at most.
const NUMBER_BYTES_MAX: usize = 10;

/// Appends a number in LEB128.
pub fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number in LEB128 from the front.
#[inline]
pub fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(NUMBER_BYTES_MAX) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

/// Appends a text.
pub fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push_number(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Returns the number of bytes that [`push_text`] appends.
pub fn text_len(text: &[u8]) -> usize {
    let bits = usize::BITS - (text.len() | 1).leading_zeros();
    bits.div_ceil(7) as usize + text.len()
}

/// The texts in a value, in order. Bytes that are cut short end them.
#[derive(Clone, Debug)]
pub struct Texts<'t>(&'t [u8]);

impl<'t> Texts<'t> {
    /// Returns the texts in these bytes.
    pub fn of(bytes: &'t [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the texts that are left.
    pub fn as_bytes(&self) -> &'t [u8] {
        self.0
    }
}

impl<'t> Iterator for Texts<'t> {
    type Item = &'t [u8];

    #[inline]
    fn next(&mut self) -> Option<&'t [u8]> {
        let mut rest = self.0;
        let len = usize::try_from(read_number(&mut rest)?).ok()?;
        let (text, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths_return() {
        let texts: Vec<Vec<u8>> = [0, 1, 127, 128, 16_383, 16_384].map(|len| vec![b'x'; len]).into();
        let (mut bytes, mut len) = (Vec::new(), 0);
        for text in &texts {
            push_text(&mut bytes, text);
            len += text_len(text);
        }
        assert_eq!(len, bytes.len());
        assert_eq!(Texts::of(&bytes).map(<[u8]>::to_vec).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn bytes_that_are_cut_short_end_the_texts() {
        for bytes in [&[][..], &[5, b'a'], &[0x80], &[0xff; 11]] {
            assert_eq!(Texts::of(bytes).next(), None, "{bytes:?}");
        }
    }
}
