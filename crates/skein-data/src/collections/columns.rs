//! Reads of columns.

use std::borrow::Cow;
use std::ops::ControlFlow;

use skein_model::Members as _;

use super::sorted_set::SetReader;
use super::views::MembersView;
use crate::Result;

/// The columns of a key, as of one moment; see [`RowView::columns`](super::RowView::columns).
#[derive(Debug)]
pub enum ColumnsReader<'r> {
    /// Columns in memory, or in the row itself.
    Memory(skein_store::ColumnsReader<'r>),
    /// Spread columns of the disk engine.
    Stored(SetReader<'r>),
}

impl ColumnsReader<'_> {
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Stored(members) => members.check(),
        }
    }

    /// Returns the number of columns. It is 0 if the key was replaced meanwhile.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(columns) => columns.len(),
            Self::Stored(members) => usize::try_from(members.len()).unwrap_or(usize::MAX),
        }
    }

    /// Returns whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the columns are in the row of their key. Then there are few, and reading
    /// them is fast.
    pub fn in_row(&self) -> bool {
        matches!(self, Self::Memory(columns) if columns.in_row())
    }

    /// Returns the value of a column. For spread columns this takes a lookup.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Memory(columns) => columns.get(name).map(Cow::Borrowed),
            // The reader keeps its errors.
            Self::Stored(members) => members.value(name).unwrap_or_default().map(Cow::Owned),
        }
    }

    /// Calls `each` with the columns in the order of their names until it breaks; only those after
    /// `after`, if given.
    pub fn walk(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        match self {
            Self::Memory(columns) => columns.walk(after, each),
            Self::Stored(members) => members.walk_names(after, &mut each).unwrap_or_default(),
        }
    }

    /// Takes a view of the columns as they are now, to read them in steps while writers continue.
    /// Returns `None` if they are in the row of their key.
    pub fn view(&self) -> Option<MembersView> {
        match self {
            Self::Memory(columns) => columns.view().map(MembersView::memory_of),
            Self::Stored(members) => members.view_members(),
        }
    }

    /// Takes a step of the preparation for [`draw`](Self::draw), which passes about `most` columns.
    /// Returns whether the preparation is complete. Columns on disk cannot be prepared.
    pub fn prepare_draws(&self, most: usize) -> bool {
        match self {
            Self::Memory(columns) => columns.prepare_draws(most),
            Self::Stored(_) => false,
        }
    }

    /// Calls `each` with a column that is drawn at random by equally likely numbers that `below`
    /// returns. Returns false if there is no column to draw. REQUIRES: the preparation is complete.
    pub fn draw(&self, below: &mut dyn FnMut(usize) -> usize, each: impl FnMut(&[u8], &[u8])) -> bool {
        match self {
            Self::Memory(columns) => columns.draw(below, each),
            Self::Stored(_) => false,
        }
    }

    /// Returns all columns, by name.
    pub fn to_vec(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut columns = Vec::with_capacity(self.len());
        self.walk(None, |name, value| {
            columns.push((name.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        columns
    }
}
