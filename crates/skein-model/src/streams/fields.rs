//! The fields of an entry: pairs of names and values.

use crate::{Texts, push_text};

/// The fields of an entry, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct EntryFields<'e> {
    /// Names and values in turn, or values alone.
    texts: Texts<'e>,
    /// The fields of another entry that has the same names.
    names: Option<Texts<'e>>,
    /// With such names: whether the next text is a value.
    is_at_value: bool,
}

impl<'e> EntryFields<'e> {
    /// Returns the fields in these bytes.
    pub(super) fn of(value: &'e [u8]) -> Self {
        Self { texts: Texts::of(value), names: None, is_at_value: false }
    }

    /// Returns the fields with these values, and with the names of other fields.
    pub(super) fn with_names_of(names: Texts<'e>, values: Texts<'e>) -> Self {
        Self { texts: values, names: Some(names), is_at_value: false }
    }

    /// Returns whether other fields have the same names in this order.
    pub(super) fn has_names_of(self, other: EntryFields<'_>) -> bool {
        self.step_by(2).eq(other.step_by(2))
    }

    /// Returns the number of names and values together.
    pub fn len(&self) -> usize {
        self.clone().count()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.texts.as_bytes().is_empty()
    }
}

/// Names and values in turn.
impl<'e> Iterator for EntryFields<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        let Some(names) = &mut self.names else { return self.texts.next() };
        if self.is_at_value {
            self.is_at_value = false;
            return self.texts.next();
        }
        if self.texts.as_bytes().is_empty() {
            return None;
        }
        let name = names.next()?;
        names.next();
        self.is_at_value = true;
        Some(name)
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

    /// Returns the fields.
    pub fn fields(&self) -> EntryFields<'_> {
        EntryFields::of(&self.0)
    }

    /// Returns their bytes.
    #[cfg(test)]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
