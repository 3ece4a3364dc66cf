//! Changes the members of a key's collection, wherever they are, or makes the collection.
//!
//! ```text
//!   change_or_make ─► update ─┬─ members in the row, or no row ─► replace the row
//!                             ├─ the change outgrows the row ───► make a collection of the
//!                             │                                   members, and change that
//!                             └─ a collection ──────────────────► change it; the row stays
//! ```

use std::ops::ControlFlow;

use crate::{
    CollectionKind, MemberWrites, PackedMembers, RowAllocator, RowLimits, RowMembers, RowRef, copy_members,
};

use super::row_change::RowChange;
use super::row_writer::{RowWriter, StoredCollection};
use crate::{Error, Result};

/// Errors if a row holds a value other than a collection of this kind.
pub(super) fn check_kind(row: Option<RowRef<'_>>, kind: CollectionKind) -> Result<()> {
    match row {
        Some(row) if row.collection_kind() != Some(kind) => {
            Err(Error::WrongKind { found: row.holds(), needed: kind.contents() })
        }
        _ => Ok(()),
    }
}

/// The names and values of members.
type CopiedMembers = Vec<(Vec<u8>, Vec<u8>)>;

/// Puts members that were copied from a collection of this kind.
pub(super) fn put_copied(
    kind: CollectionKind,
    copied: &CopiedMembers,
    into: &mut dyn MemberWrites,
) -> Result<()> {
    copy_members(kind, copied.iter().map(|(name, value)| (&name[..], &value[..])), into)
}

/// Copies all members of a collection.
pub(super) fn copied_from(members: &dyn MemberWrites) -> Result<CopiedMembers> {
    let mut copied = Vec::new();
    members.walk_names(None, &mut |name, value| {
        copied.push((name.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(copied)
}

/// Where a write found, or did not find, the members of a key.
enum FoundMembers<C, R> {
    /// In the row: the answer of the change, which is done. `None` if there is no row and none was to
    /// be made.
    InRow(Option<R>),
    /// In a collection.
    Collection(C),
    /// In the row, or nowhere, and the change needs a collection: the members so far, and the version
    /// and the expiry of the row.
    Outgrown { members: CopiedMembers, base: Option<u64>, expires: Option<u64> },
}

/// Changes the collection of a key, or makes one, if the key is absent and `make` is true. Returns
/// `None` if there is no collection. `change` runs again if another writer changes the key
/// meanwhile, and if its members need more than a row.
pub(super) fn change_or_make<W: RowWriter + ?Sized, R, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    kind: CollectionKind,
    key: &[u8],
    make: bool,
    mut change: impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
) -> std::result::Result<Option<R>, E> {
    writer.check_sizes(key, 0)?;
    loop {
        let done = match change_in_row(writer, kind, key, make, &mut change)? {
            FoundMembers::InRow(answer) => return Ok(answer),
            FoundMembers::Collection(collection) => {
                writer.change_collection(key, &collection, &mut change)?
            }
            FoundMembers::Outgrown { members, base, expires } => {
                let made = writer.make_collection::<R, E>(key, kind, base, expires, |into| {
                    put_copied(kind, &members, into)?;
                    change(into)
                })?;
                match (made, base) {
                    // Nothing is left of the members that were in the row.
                    (Some((_, 0)), Some(base)) if !remove_version(writer, key, base)? => None,
                    (made, _) => made.map(|(answer, _)| answer),
                }
            }
        };
        // Without an answer, the collection died or the key was changed meanwhile.
        if done.is_some() {
            return Ok(done);
        }
    }
}

/// Removes a key if its row still has this version. Returns whether it did.
fn remove_version<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    version: u64,
) -> std::result::Result<bool, W::Error> {
    let removed = writer.update::<W::Error>(key, |row, _| {
        let is_same = row.is_some_and(|row| row.version() == version);
        Ok(if is_same { RowChange::Remove } else { RowChange::Keep })
    })?;
    Ok(removed.changed)
}

/// Changes members that are in the row of their key, and stay there. Otherwise says where they are.
fn change_in_row<W: RowWriter + ?Sized, R, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    kind: CollectionKind,
    key: &[u8],
    make: bool,
    change: &mut impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
) -> std::result::Result<FoundMembers<W::Collection, R>, E> {
    let limits = writer.row_limits();
    let mut found = FoundMembers::InRow(None);
    writer.update::<E>(key, |row, rows| {
        found = FoundMembers::InRow(None);
        check_kind(row, kind)?;
        if let Some(collection) = row.and_then(W::Collection::of) {
            found = FoundMembers::Collection(collection);
            return Ok(RowChange::Keep);
        }
        let packed = row.and_then(RowRef::packed);
        if row.is_none() && !make {
            return Ok(RowChange::Keep);
        }
        let in_row = if packed.is_some() || limits.admit(kind) {
            change_packed(kind, packed, limits, change)?
        } else {
            None
        };
        let Some((answer, members)) = in_row else {
            found = FoundMembers::Outgrown {
                members: packed.map(PackedMembers::to_vec).unwrap_or_default(),
                base: row.map(RowRef::version),
                expires: row.and_then(RowRef::expires_at),
            };
            return Ok(RowChange::Keep);
        };
        found = FoundMembers::InRow(Some(answer));
        if members.is_changed() || members.is_gone() {
            Ok(next_row(&members, rows, row.and_then(RowRef::expires_at))?)
        } else {
            Ok(RowChange::Keep)
        }
    })?;
    Ok(found)
}

/// Runs a change on the members in a row. Returns `None` if they outgrew the row.
pub(super) fn change_packed<R, E>(
    kind: CollectionKind,
    packed: Option<PackedMembers<'_>>,
    limits: RowLimits,
    change: &mut impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
) -> std::result::Result<Option<(R, RowMembers)>, E> {
    let mut members = RowMembers::new(kind, packed, limits);
    let answer = change(&mut members);
    if members.is_outgrown() { Ok(None) } else { Ok(Some((answer?, members))) }
}

/// Returns the row of the members that a change has left.
pub(super) fn next_row(members: &RowMembers, rows: &RowAllocator, expires: Option<u64>) -> Result<RowChange> {
    if members.is_gone() {
        return Ok(RowChange::Remove);
    }
    let bytes = members.pack();
    Ok(RowChange::Put(rows.packed(PackedMembers::trusted(members.kind(), &bytes), expires)?))
}
