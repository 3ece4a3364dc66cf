//! Rows: a version and either one value or a table of columns; immutable once made.

use std::marker::PhantomData;

/// An owned row that nobody else can see yet.
#[derive(Debug)]
pub struct Row(());

/// A row in the store, as long as the guard (or the closure that was given it) lasts.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'g>(PhantomData<&'g ()>);

/// The columns of a row, in the order of their names.
#[derive(Clone, Debug)]
pub struct Columns<'g>(PhantomData<&'g ()>);

impl Row {
    /// A row with one value: the parts, one after the other.
    pub fn value(parts: &[&[u8]]) -> Self {
        let _ = parts;
        todo!()
    }

    /// A row of columns, given in any order; of a name that comes twice, the last counts.
    pub fn columns(columns: &[(&[u8], &[u8])]) -> Self {
        let _ = columns;
        todo!()
    }

    /// `current` with some columns set and some removed (a name in both is set); the others carry over. `None` if no column is left.
    /// A row with a value carries nothing over.
    pub fn merged(current: Option<RowRef<'_>>, set: &[(&[u8], &[u8])], remove: &[&[u8]]) -> Option<Self> {
        let _ = (current, set, remove);
        todo!()
    }
}

impl<'g> RowRef<'g> {
    /// The version: every write to a key makes it greater.
    pub fn version(self) -> u64 {
        todo!()
    }
    /// The value; `None` if the row has columns.
    pub fn value(self) -> Option<&'g [u8]> {
        todo!()
    }
    /// Whether the row has columns and not a value.
    pub fn has_columns(self) -> bool {
        todo!()
    }
    /// One column; `None` if there is none of that name, or the row has a value.
    pub fn column(self, name: &[u8]) -> Option<&'g [u8]> {
        let _ = name;
        todo!()
    }
    /// All columns, by name; none if the row has a value.
    pub fn columns(self) -> Columns<'g> {
        todo!()
    }
    /// How many columns; 0 if the row has a value.
    pub fn column_count(self) -> usize {
        todo!()
    }
    /// Bytes that the row takes in memory.
    pub fn memory(self) -> usize {
        todo!()
    }
}

impl<'g> Iterator for Columns<'g> {
    type Item = (&'g [u8], &'g [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
