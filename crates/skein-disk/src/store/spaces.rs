//! The key spaces of a store: a trie or a counted set for each, under its name in the catalog.
//!
//! ```text
//!   space     structure                          number in the log   stores
//!   main      a trie of the options' shape       0                   all
//!   members   a linked trie, so it has an order  1                   of rows
//!   scores    a counted set                      2                   of rows
//!   expiry    a counted set                      3                   of rows
//! ```
//!
//! # Invariants
//! 1. A file has all spaces of its store from its first checkpoint on, which ends before the first
//!    write is logged. So no record of the log names a space that the file lacks.

use super::DiskOptions;
use super::log_record::LoggedWrite;
use crate::buffer::PageWriter;
use crate::catalog::Catalog;
use crate::counted::CountedSet;
use crate::trie::{DiskTrie, TrieShape};
use crate::{DiskError, KeySpace, Result, TrieKind, Values};

/// The structures of a store's key spaces.
#[derive(Debug)]
pub(super) struct StoreSpaces {
    main: DiskTrie,
    rows: Option<RowSpaces>,
}

/// The key spaces that only a store of rows has.
#[derive(Debug)]
struct RowSpaces {
    members: DiskTrie,
    scores: CountedSet,
    expiry: CountedSet,
}

impl StoreSpaces {
    /// Opens all spaces. Creates them if the file is new.
    ///
    /// # Errors
    /// The main trie is of another kind than the options, a space is missing, a page cannot be read
    /// or is damaged, or no page can be allocated.
    pub(super) fn open(
        writer: &mut PageWriter<'_>,
        catalog: Catalog,
        options: &DiskOptions,
        is_new: bool,
    ) -> Result<Self> {
        let kind = options.kind();
        let check = |writer: &mut PageWriter<'_>, space: KeySpace| {
            if is_new { Ok(()) } else { catalog.check_has(writer, space.name()) }
        };
        let open = |writer: &mut PageWriter<'_>, space: KeySpace, kind| {
            check(writer, space)?;
            catalog.open(writer, space.name(), kind, skein_log::random_id())
        };
        let open_set = |writer: &mut PageWriter<'_>, space: KeySpace| {
            check(writer, space)?;
            catalog.open_set(writer, space.name())
        };
        let main = open(writer, KeySpace::Main, kind)?;
        if kind.values == Values::Bytes {
            return Ok(Self { main, rows: None });
        }
        let members = open(writer, KeySpace::Members, TrieKind { shape: TrieShape::Linked, ..kind })?;
        let scores = open_set(writer, KeySpace::Scores)?;
        let expiry = open_set(writer, KeySpace::Expiry)?;
        Ok(Self { main, rows: Some(RowSpaces { members, scores, expiry }) })
    }

    #[inline]
    pub(super) fn main(&self) -> &DiskTrie {
        &self.main
    }

    fn rows(&self, space: KeySpace) -> Result<&RowSpaces> {
        self.rows.as_ref().ok_or_else(|| missing(space))
    }

    /// Returns whether the store has a space.
    pub(super) fn has(&self, space: KeySpace) -> bool {
        space == KeySpace::Main || self.rows.is_some()
    }

    /// Returns the trie of a space.
    ///
    /// # Errors
    /// [`DiskError::NoSuchSpace`], [`DiskError::OtherSpaceKind`].
    #[inline]
    pub(super) fn get(&self, space: KeySpace) -> Result<&DiskTrie> {
        match space {
            KeySpace::Main => Ok(&self.main),
            KeySpace::Members => Ok(&self.rows(space)?.members),
            KeySpace::Scores | KeySpace::Expiry => Err(other_kind(
                space,
                "its keys have no values: use `insert_key`, `remove_key` and `keys_from`",
            )),
        }
    }

    /// Returns the counted set of a space.
    ///
    /// # Errors
    /// [`DiskError::NoSuchSpace`], [`DiskError::OtherSpaceKind`].
    pub(super) fn set(&self, space: KeySpace) -> Result<CountedSet> {
        match space {
            KeySpace::Scores => Ok(self.rows(space)?.scores),
            KeySpace::Expiry => Ok(self.rows(space)?.expiry),
            KeySpace::Main | KeySpace::Members => {
                Err(other_kind(space, "it has no ranks: use `get_in`, `set_in` and `range_in`"))
            }
        }
    }

    /// Applies a write. Returns the change of the number of keys of its space.
    ///
    /// # Errors
    /// The write is too long, or a file operation failed. The pages must be dropped then.
    pub(super) fn write(
        &self,
        writer: &mut PageWriter<'_>,
        number: u64,
        write: &LoggedWrite<'_>,
    ) -> Result<i64> {
        let LoggedWrite { space, key, value } = *write;
        if matches!(space, KeySpace::Scores | KeySpace::Expiry) {
            let set = self.set(space)?;
            let changed = if value.is_some() { set.insert(writer, key) } else { set.remove(writer, key) };
            let change = if value.is_some() { 1 } else { -1 };
            return Ok(if changed? { change } else { 0 });
        }
        let trie = self.get(space)?;
        Ok(match value {
            Some(value) => trie.set(writer, key, number, value)?.into(),
            None => -i64::from(trie.remove(writer, key)?),
        })
    }

    /// Returns the spaces that are tries.
    pub(super) fn tries(&self) -> impl Iterator<Item = (KeySpace, &DiskTrie)> {
        let members = self.rows.iter().map(|rows| (KeySpace::Members, &rows.members));
        std::iter::once((KeySpace::Main, &self.main)).chain(members)
    }

    /// Returns the spaces that are counted sets.
    pub(super) fn sets(&self) -> impl Iterator<Item = (KeySpace, CountedSet)> {
        let of = |rows: &RowSpaces| [(KeySpace::Scores, rows.scores), (KeySpace::Expiry, rows.expiry)];
        self.rows.iter().flat_map(of)
    }
}

/// Returns the error for a space that the store does not have.
#[cold]
fn missing(space: KeySpace) -> DiskError {
    DiskError::NoSuchSpace { space }
}

/// Returns the error for an operation of the other kind of spaces.
#[cold]
fn other_kind(space: KeySpace, way_out: &'static str) -> DiskError {
    DiskError::OtherSpaceKind { space, way_out }
}

/// Checks that a store with some spaces can replay these writes.
///
/// # Errors
/// A write is to another space.
pub(super) fn check_spaces(
    writes: &[LoggedWrite<'_>],
    has: impl Fn(KeySpace) -> bool,
) -> std::result::Result<(), String> {
    match writes.iter().find(|write| !has(write.space)) {
        Some(write) => Err(format!(
            "the record writes to the key space `{}`, which the store does not have",
            write.space
        )),
        None => Ok(()),
    }
}
