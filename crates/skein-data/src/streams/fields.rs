//! The fields of an entry: pairs of names and values, each with its length (LEB128) before it.

/// The bytes of a length at most.
const LENGTH_BYTES_MAX: usize = 5;

/// The fields of an entry, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct EntryFields<'e>(&'e [u8]);

impl<'e> EntryFields<'e> {
    /// Returns the fields that a member's value holds.
    pub(crate) fn of(value: &'e [u8]) -> Self {
        Self(value)
    }

    /// Returns the number of names and values together.
    pub fn len(&self) -> usize {
        self.clone().count()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Names and values in turn.
impl<'e> Iterator for EntryFields<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        let (len, rest) = read_length(self.0)?;
        let (text, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(text)
    }
}

/// Builds the fields of an entry.
#[derive(Clone, Debug, Default)]
pub struct FieldsBuilder(Vec<u8>);

impl FieldsBuilder {
    /// Returns the fields with these names and values in turn. A text must be shorter than 4 GiB.
    pub fn of<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut fields = Self::default();
        texts.for_each(|text| fields.push(text));
        fields
    }

    /// Adds a name or a value.
    pub fn push(&mut self, text: &[u8]) {
        let mut len = text.len();
        while len > 0x7f {
            self.0.push(len as u8 | 0x80);
            len >>= 7;
        }
        self.0.push(len as u8);
        self.0.extend_from_slice(text);
    }

    /// Returns the value of the member.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut len = 0;
    for (at, byte) in bytes.iter().enumerate().take(LENGTH_BYTES_MAX) {
        len |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((len, &bytes[at + 1..]));
        }
    }
    None
}
