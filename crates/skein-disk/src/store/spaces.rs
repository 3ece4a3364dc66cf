//! The key spaces of a store: a trie for each, under its name in the catalog.
//!
//! ```text
//!   space     trie                         number in the log   stores
//!   main      of the options' shape        0                   all
//!   members   linked, so it has an order   1                   of rows
//! ```
//!
//! # Invariants
//! 1. A store has the same spaces from its opening to its end. The file has all of them before the
//!    first write is logged: opening creates the missing ones and takes a checkpoint. So no record
//!    of the log names a space that the file lacks.
//! 2. A header that leads to a space besides `main` has [`FileFormat::KeySpaces`]. An older program
//!    refuses such a file: it would change keys and not their members.

use super::DiskOptions;
use super::log_record::LoggedWrite;
use crate::buffer::PageWriter;
use crate::catalog::Catalog;
use crate::page_file::FileFormat;
use crate::trie::{DiskTrie, TrieShape};
use crate::{DiskError, KeySpace, Result, TrieKind, Values};

/// The tries of a store's key spaces.
#[derive(Debug)]
pub(super) struct SpaceTries {
    main: DiskTrie,
    members: Option<DiskTrie>,
}

impl SpaceTries {
    /// Opens the tries of all spaces, and creates the missing ones.
    ///
    /// # Errors
    /// The main trie is of another kind than the options, a page cannot be read or is damaged, or
    /// no page can be allocated.
    pub(super) fn open(writer: &mut PageWriter<'_>, catalog: Catalog, options: &DiskOptions) -> Result<Self> {
        let kind = options.kind();
        let mut open =
            |space: KeySpace, kind| catalog.open(writer, space.name(), kind, skein_log::random_id());
        let main = open(KeySpace::Main, kind)?;
        let members = match kind.values {
            Values::Bytes => None,
            Values::Rows => Some(open(KeySpace::Members, TrieKind { shape: TrieShape::Linked, ..kind })?),
        };
        Ok(Self { main, members })
    }

    #[inline]
    pub(super) fn main(&self) -> &DiskTrie {
        &self.main
    }

    /// Returns the trie of a space.
    ///
    /// # Errors
    /// [`DiskError::NoSuchSpace`].
    #[inline]
    pub(super) fn get(&self, space: KeySpace) -> Result<&DiskTrie> {
        match space {
            KeySpace::Main => Ok(&self.main),
            KeySpace::Members => self.members.as_ref().ok_or_else(|| missing(space)),
        }
    }

    /// Returns the spaces with their tries.
    pub(super) fn iter(&self) -> impl Iterator<Item = (KeySpace, &DiskTrie)> {
        let members = self.members.iter().map(|trie| (KeySpace::Members, trie));
        std::iter::once((KeySpace::Main, &self.main)).chain(members)
    }

    /// Returns the format version of a file with these spaces.
    pub(super) fn format(&self) -> FileFormat {
        if self.members.is_some() { FileFormat::KeySpaces } else { FileFormat::OneTrie }
    }
}

/// Returns the error for a space that the store does not have.
#[cold]
fn missing(space: KeySpace) -> DiskError {
    DiskError::NoSuchSpace { space }
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
