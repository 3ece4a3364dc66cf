//! The fields of an entry: pairs of names and values, each with its length (LEB128) before it.

use skein_store::{Texts, push_text};

/// The fields of an entry, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct EntryFields<'e>(Texts<'e>);

impl<'e> EntryFields<'e> {
    /// Returns the fields that a member's value holds.
    pub(crate) fn of(value: &'e [u8]) -> Self {
        Self(Texts::of(value))
    }

    /// Returns the number of names and values together.
    pub fn len(&self) -> usize {
        self.clone().count()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.as_bytes().is_empty()
    }
}

/// Names and values in turn.
impl<'e> Iterator for EntryFields<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        self.0.next()
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
        push_text(&mut self.0, text);
    }

    /// Returns the value of the member.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
