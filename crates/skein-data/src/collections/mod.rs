//! Reads of collections, in memory or on disk: the columns of a hash, the members of a set, sorted
//! or not, and the elements of a list.
//!
//! ```text
//!   RowView ─┬─ columns(|reader| …)      ColumnsReader ─┬─ in the row, or a locked collection
//!            ├─ set_of(|reader| …)       SetReader      │  on disk: StoredMembers of one moment
//!            └─ list(|reader| …)         ListReader    ─┘
//!                                          │
//!                                          └─ view ─► MembersView, ScoreRangeView: read in steps
//! ```
//!
//! A read on disk can fail. A reader keeps its first error, and then shows nothing more. The method
//! that lent the reader returns the error, so no caller can miss it. Views are read outside of such
//! a method, so their steps return errors themselves.
//!
//! Read `stored` first (the reads of the disk engine), then `sorted_set`, `columns`, `list` and
//! `views`.
//!
//! Design: `docs/design/data-model.md`.

mod columns;
mod list;
mod sorted_set;
mod stored;
mod views;

use std::ops::{ControlFlow, Deref};

pub use columns::ColumnsReader;
pub use list::{ElementsView, ListReader};
pub use sorted_set::SetReader;
pub(crate) use stored::{CollectionSource, KeptMembers, StoredMembers};
pub use views::{MembersView, ScoreRangeView};

use skein_model::{CollectionKind, RowRef};
use skein_store::CollectionReads as _;

use crate::{Error, Result};

/// The row of a key that a read has found, with access to its collection.
#[derive(Clone, Copy)]
pub struct RowView<'r> {
    row: RowRef<'r>,
    /// `None` in memory, where the row itself leads to the collection.
    source: Option<&'r dyn CollectionSource>,
}

impl std::fmt::Debug for RowView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.row.fmt(f)
    }
}

impl<'r> Deref for RowView<'r> {
    type Target = RowRef<'r>;

    #[inline]
    fn deref(&self) -> &RowRef<'r> {
        &self.row
    }
}

impl<'r> From<RowRef<'r>> for RowView<'r> {
    #[inline]
    fn from(row: RowRef<'r>) -> Self {
        Self { row, source: None }
    }
}

impl<'r> RowView<'r> {
    /// Returns the view of a row. `source` opens its collection.
    pub(crate) fn stored(row: RowRef<'r>, source: &'r dyn CollectionSource) -> Self {
        Self { row, source: Some(source) }
    }

    /// Returns the view of a row that was peeked at, with whether it has expired; `None` if it has.
    pub(crate) fn peeked(found: Option<(RowRef<'r>, bool)>) -> Option<Self> {
        found.filter(|(_, expired)| !expired).map(|(row, _)| row.into())
    }

    /// Returns the row alone, as closures of writes receive it.
    #[inline]
    pub fn row(self) -> RowRef<'r> {
        self.row
    }

    /// Opens the collection of the row, if it lies outside of memory and is of this kind.
    fn open(self, kind: CollectionKind) -> Result<Option<SetReader<'r>>> {
        let Some(source) = self.source else { return Ok(None) };
        let Some(head) = self.row.stored_collection().filter(|head| head.kind == kind) else {
            return Ok(None);
        };
        source.open(head).map(|members| Some(SetReader::stored(members)))
    }

    /// Returns about how many bytes the members of a collection have that lies outside of memory:
    /// their names and values. The first `most` members stand for all. Returns 0 for any other row.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn stored_bytes(self, most: u64) -> Result<u64> {
        let (Some(source), Some(head)) = (self.source, self.row.stored_collection()) else { return Ok(0) };
        let reader = source.open(head)?;
        let (mut seen, mut bytes) = (0_u64, 0_u64);
        let walked = reader.walk_names(None, &mut |name, value| {
            seen += 1;
            bytes += (name.len() + value.len()) as u64;
            if seen < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        walked.map_err(Error::from)?;
        let all = u128::from(bytes) * u128::from(reader.len()) / u128::from(seen.max(1));
        Ok(u64::try_from(all).unwrap_or(u64::MAX))
    }

    /// Calls `look` with the columns of the key, in the row or spread. Returns `None` if the key
    /// holds something else.
    ///
    /// In memory, spread columns do not change during the call, and their writers wait. So `look`
    /// must not read or write other columns.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    #[inline]
    pub fn columns<R>(self, look: impl FnOnce(&ColumnsReader<'_>) -> R) -> Result<Option<R>> {
        if let Some(columns) = self.row.read_columns() {
            return Ok(Some(look(&ColumnsReader::Memory(columns))));
        }
        let Some(opened) = self.open(CollectionKind::Hash)? else { return Ok(None) };
        let reader = ColumnsReader::Stored(opened);
        let answer = look(&reader);
        reader.check().map(|()| Some(answer))
    }

    /// Calls `look` with the sorted set of the key. Returns `None` if the key holds something else.
    ///
    /// In memory, the set does not change during the call, and its writers wait. So `look` must not
    /// read or write other sets.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn sorted_set<R>(self, look: impl FnOnce(&SetReader<'_>) -> R) -> Result<Option<R>> {
        self.set_of(CollectionKind::SortedSet, look)
    }

    /// Does the same with the set of the key, sorted or not.
    ///
    /// # Errors
    /// As for [`sorted_set`](Self::sorted_set).
    pub fn any_set<R>(self, look: impl FnOnce(&SetReader<'_>) -> R) -> Result<Option<R>> {
        match self.row.collection_kind().filter(|kind| kind.is_set()) {
            Some(kind) => self.set_of(kind, look),
            None => Ok(None),
        }
    }

    /// Does the same with the list of the key.
    ///
    /// # Errors
    /// As for [`sorted_set`](Self::sorted_set).
    pub fn list<R>(self, look: impl FnOnce(&ListReader<'_>) -> R) -> Result<Option<R>> {
        self.collection_of(CollectionKind::List, |members| look(&ListReader::new(members)))
    }

    /// Does the same with a set of this kind. The members of a set that is not sorted have the
    /// score [`SET_SCORE`](skein_model::SET_SCORE).
    ///
    /// # Errors
    /// As for [`sorted_set`](Self::sorted_set).
    pub fn set_of<R>(
        self,
        kind: CollectionKind,
        look: impl FnOnce(&SetReader<'_>) -> R,
    ) -> Result<Option<R>> {
        if kind.is_set() { self.collection_of(kind, look) } else { Ok(None) }
    }

    /// Calls `look` with the members of a collection that has ranks.
    pub(crate) fn collection_of<R>(
        self,
        kind: CollectionKind,
        look: impl FnOnce(&SetReader<'_>) -> R,
    ) -> Result<Option<R>> {
        if let Some(set) = self.row.set_of(kind) {
            return Ok(Some(look(&SetReader::in_memory(set.read()))));
        }
        let Some(reader) = self.open(kind)? else { return Ok(None) };
        let answer = look(&reader);
        reader.check().map(|()| Some(answer))
    }
}
