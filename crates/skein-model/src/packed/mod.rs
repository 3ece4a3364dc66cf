//! Small collections in the row of their key.
//!
//! ```text
//!   set          length │ name │ length │ name │ …                     ascending
//!   sorted set   score │ length │ name │ score │ length │ name │ …     ascending by score, then by name
//!   list         one chunk: count (2) │ length │ element │ …           see `lists`
//!
//!   length   LEB128
//!   score    2·zigzag(n) in LEB128, if it is an integer n of up to 53 bits
//!            01 │ 8 bytes, little-endian, for any other number
//! ```
//!
//! A member costs its bytes and one or two more. As an entry of an index it would cost some ninety.
//! A write copies the whole row, so the row has limits ([`RowLimits`]). A collection beyond them
//! gets members of its own, once and for all: a key at the limit would be copied to and fro.
//!
//! Hashes have a row of columns instead (`column_table`). Streams have none: `WATCH` tells a delivery
//! to a group from a new entry by the version of the row.
//!
//! Read `entries` first (the bytes), then `row_members` (the writes).
//!
//! Design: `docs/design/model.md`.

mod entries;
mod row_members;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use entries::{Entries, Entry, EntryForm};
pub use row_members::{RowLimits, RowMembers};

use crate::lists::is_chunk;
use crate::members::{EachNamed, EachRanked};
use crate::{CollectionKind, Member, Members, Result, ScanDirection};

/// The members of a small collection, in the row of its key.
#[derive(Clone, Copy, Debug)]
pub struct PackedMembers<'r> {
    kind: CollectionKind,
    form: EntryForm,
    bytes: &'r [u8],
}

impl<'r> PackedMembers<'r> {
    /// Returns the members in bytes that [`RowMembers::pack`] has made. Other bytes are the members
    /// at their beginning, or none.
    #[inline]
    pub fn trusted(kind: CollectionKind, bytes: &'r [u8]) -> Self {
        Self { kind, form: EntryForm::of(kind), bytes }
    }

    /// Returns the members in bytes from a disk, which may hold anything. `None` if they are not
    /// well-formed.
    pub fn parse(kind: CollectionKind, bytes: &'r [u8]) -> Option<Self> {
        kind.packed_code()?;
        let packed = Self::trusted(kind, bytes);
        if kind == CollectionKind::List {
            return is_chunk(bytes).then_some(packed);
        }
        let mut entries = packed.entries();
        let mut before: Option<Entry<'_>> = None;
        for entry in entries.by_ref() {
            if before.is_some_and(|before| before.cmp(entry.score, entry.name).is_ge()) {
                return None;
            }
            before = Some(entry);
        }
        (before.is_some() && entries.is_at_end()).then_some(packed)
    }

    /// Returns the kind of the collection.
    pub fn kind(self) -> CollectionKind {
        self.kind
    }

    /// Returns the bytes in the row.
    pub fn as_bytes(self) -> &'r [u8] {
        self.bytes
    }

    /// Returns copies of the members and their values.
    pub fn to_vec(self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.entries().map(|entry| (entry.name.to_vec(), entry.with_value(<[u8]>::to_vec))).collect()
    }

    fn entries(self) -> Entries<'r> {
        Entries::of(self.form, self.bytes)
    }

    /// Returns the entry of a member.
    fn entry(self, name: &[u8]) -> Option<Entry<'r>> {
        if self.form == EntryForm::Scored {
            return self.entries().find(|entry| entry.name == name);
        }
        self.entries().find(|entry| entry.name >= name).filter(|entry| entry.name == name)
    }
}

impl Members for PackedMembers<'_> {
    fn len(&self) -> u64 {
        self.entries().count() as u64
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let found = self.entry(name);
        if let Some(entry) = found {
            entry.with_value(look);
        }
        Ok(found.is_some())
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
        let ahead = |entry: &Entry<'_>| after.is_none_or(|after| entry.name > after);
        let mut show = |entry: Entry<'_>| entry.with_value(|value| each(entry.name, value));
        _ = if self.form == EntryForm::Scored {
            let mut by_name: Vec<Entry<'_>> = self.entries().filter(ahead).collect();
            by_name.sort_unstable_by_key(|entry| entry.name);
            by_name.into_iter().try_for_each(&mut show)
        } else {
            self.entries().filter(ahead).try_for_each(&mut show)
        };
        Ok(())
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        Ok(self.entries().take_while(|entry| before(entry.score, Member::of(entry.name))).count() as u64)
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()> {
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        let mut show = |entry: Entry<'_>| each(entry.score, Member::of(entry.name));
        let _: ControlFlow<()> = match direction {
            ScanDirection::Forward => self.entries().skip(rank).try_for_each(&mut show),
            ScanDirection::Backward => {
                let up_to: Vec<Entry<'_>> = self.entries().take(rank.saturating_add(1)).collect();
                up_to.into_iter().rev().try_for_each(&mut show)
            }
        };
        Ok(())
    }
}
