//! Reads columns in both of their places: in the row of their key, or, if they are spread, in the
//! member index.
//!
//! A reader of spread columns holds the collection's lock shared, so it sees each write whole. It
//! also holds a guard of the member index, so that values can be borrowed.

use std::ops::{Bound, ControlFlow};
use std::sync::RwLockReadGuard;

use skein_index::LocalGuard;

use super::members::{CollectionState, member_key};
use super::views::MembersView;
use super::{Collection, ID};
use crate::{RowRef, ScanDirection};

/// The columns of a key, protected from changes; see [`CollectionReads::read_columns`](super::CollectionReads::read_columns).
#[derive(Debug)]
pub struct ColumnsReader<'g> {
    place: ColumnsPlace<'g>,
}

#[derive(Debug)]
enum ColumnsPlace<'g> {
    Row(RowRef<'g>),
    Hash(LockedHash<'g>),
}

struct LockedHash<'g> {
    collection: &'g Collection,
    /// The main row.
    row: RowRef<'g>,
    state: RwLockReadGuard<'g, CollectionState>,
    guard: LocalGuard<'g>,
}

impl<'g> ColumnsReader<'g> {
    #[inline]
    pub(crate) fn of_row(row: RowRef<'g>) -> Self {
        Self { place: ColumnsPlace::Row(row) }
    }

    pub(crate) fn of_hash(collection: &'g Collection, row: RowRef<'g>) -> Self {
        let (state, guard) = (collection.read(), collection.members().enter());
        Self { place: ColumnsPlace::Hash(LockedHash { collection, row, state, guard }) }
    }

    /// Returns the number of columns. It is 0 if the key was replaced meanwhile.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.place {
            ColumnsPlace::Row(row) => row.column_count(),
            ColumnsPlace::Hash(hash) => usize::try_from(hash.state.len()).unwrap_or(usize::MAX),
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
        matches!(self.place, ColumnsPlace::Row(_))
    }

    /// Returns the value of a column. For spread columns this takes a lookup.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        match &self.place {
            ColumnsPlace::Row(row) => row.column(name),
            ColumnsPlace::Hash(hash) => hash.get(name),
        }
    }

    /// Calls `each` with the columns in the order of their names until it breaks; only those after
    /// `after`, if given.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// use std::ops::ControlFlow;
    ///
    /// store.put_columns(b"flock", &[(b"leader", b"goose"), (b"place", b"lake")])?;
    /// store.put_columns(b"flock", &[(b"size", b"40")])?;
    /// let mut names = Vec::new();
    /// store.session().get_with(b"flock", |row| {
    ///     let columns = row.and_then(|row| row.read_columns()).expect("it has columns");
    ///     assert_eq!((columns.len(), columns.get(b"size")), (3, Some(&b"40"[..])));
    ///     columns.walk(Some(b"leader"), |name, _| {
    ///         names.push(name.to_vec());
    ///         ControlFlow::Continue(())
    ///     });
    /// });
    /// assert_eq!(names, [b"place".to_vec(), b"size".to_vec()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        match &self.place {
            ColumnsPlace::Row(row) => {
                let rest = row.columns().skip_while(|(name, _)| after.is_some_and(|after| *name <= after));
                let _ = rest.into_iter().try_for_each(|(name, value)| each(name, value));
            }
            ColumnsPlace::Hash(hash) => hash.walk(after, each),
        }
    }

    /// Takes a view of the columns as they are now, to read them in steps while writers continue.
    /// Returns `None` if they are in the row of their key. Takes O(1).
    pub fn view(&self) -> Option<MembersView> {
        match &self.place {
            ColumnsPlace::Row(_) => None,
            ColumnsPlace::Hash(hash) => {
                Some(MembersView::new(hash.row.shared_collection()?, hash.state.len()))
            }
        }
    }

    /// Returns whether [`draw`](Self::draw) takes a time that does not grow with the columns. Takes
    /// a step of the preparation for that, which passes about `most` columns. Only spread columns
    /// can be prepared. Once they are, each write keeps them so.
    pub fn prepare_draws(&self, most: usize) -> bool {
        match &self.place {
            ColumnsPlace::Row(_) => false,
            ColumnsPlace::Hash(hash) => hash.collection.group_names(&hash.state, most),
        }
    }

    /// Calls `each` with a column that is drawn at random. All columns are equally likely if
    /// [`prepare_draws`](Self::prepare_draws) has returned true, and `below` returns equally likely
    /// numbers below its argument. Returns false if there is no column to draw.
    pub fn draw(&self, below: &mut dyn FnMut(usize) -> usize, mut each: impl FnMut(&[u8], &[u8])) -> bool {
        match &self.place {
            ColumnsPlace::Row(_) => false,
            ColumnsPlace::Hash(hash) => hash.collection.draw_member(&hash.state, below, |name, row| {
                each(name, row.value().unwrap_or_default());
            }),
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

impl LockedHash<'_> {
    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        if self.state.dead {
            return self.collection.frozen_member(name, &self.guard)?.value();
        }
        let mut key = Vec::new();
        let key = member_key(&mut key, self.collection.id(), name);
        self.collection.members().index.get(key, &self.guard)?.value()
    }

    fn walk(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        let each = |name: &[u8], row: RowRef<'_>| each(name, row.value().unwrap_or_default());
        if self.state.dead {
            return self.collection.walk_frozen(after, each);
        }
        self.collection.walk_members(after, each);
    }
}

impl std::fmt::Debug for LockedHash<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hash").field("len", &self.state.len()).finish_non_exhaustive()
    }
}

impl Collection {
    /// Calls `each` with the members in the order of their bytes until it breaks; only those after
    /// `after`, if given. The caller holds the lock.
    pub(crate) fn walk_members(
        &self,
        after: Option<&[u8]>,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.walk_members_from(after.map_or(Bound::Included(b""), Bound::Excluded), each);
    }

    /// Calls `each` with the members from a bound on, as [`walk_members`](Self::walk_members).
    pub(super) fn walk_members_from(
        &self,
        lower: Bound<&[u8]>,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        let (mut key, id) = (Vec::new(), self.id());
        let lower = match lower {
            Bound::Included(name) => Bound::Included(member_key(&mut key, id, name)),
            Bound::Excluded(name) => Bound::Excluded(member_key(&mut key, id, name)),
            Bound::Unbounded => Bound::Included(member_key(&mut key, id, b"")),
        };
        let end = skein_index::successor(&self.id().to_be_bytes());
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let index = &self.members().index;
        index.scan((lower, upper), ScanDirection::Forward, |key, row| each(&key[ID..], row));
    }
}
