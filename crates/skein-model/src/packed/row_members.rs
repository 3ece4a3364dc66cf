//! A write to the members in a row.

use std::borrow::Cow;

use super::entries::{Entries, Entry, EntryForm};
use super::{EachNamed, EachRanked, PackedMembers};
use crate::lists::{CHUNK_BYTES, ROW_CHUNK, append_chunk, count_in, is_chunk_name, len_with, push_element};
use crate::members::{FoundMember, MemberWrites, Members};
use crate::{CollectionKind, Error, ListEnd, Member, Result, SET_SCORE, ScanDirection};

/// The largest collection that stays in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// The number of members, or of a list's elements.
    pub members: usize,
    /// The bytes of all of them together; at most [`BYTES_MAX`](Self::BYTES_MAX) count.
    pub bytes: usize,
}

impl RowLimits {
    /// No collection begins in a row.
    pub const NONE: Self = Self { members: 0, bytes: 0 };

    /// The most bytes: a list in a row is one chunk.
    pub const BYTES_MAX: usize = CHUNK_BYTES;

    /// As many members as a row has columns, and the bytes of one table of them.
    pub const DEFAULT: Self = Self { members: 64, bytes: 1 << 10 };

    /// Returns these limits where no row may be longer than `bytes`, the limit of values.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self { members: self.members, bytes: self.bytes.min(bytes).min(Self::BYTES_MAX) }
    }

    /// Returns whether a collection of this kind may begin in a row.
    pub fn admit(self, kind: CollectionKind) -> bool {
        self.members > 0 && kind.packed_code().is_some()
    }
}

/// The members in a row while a write changes them: the next row, in the making.
///
/// A list stays the one chunk that a row has, until a write puts a second one.
#[derive(Debug)]
pub struct RowMembers {
    kind: CollectionKind,
    form: EntryForm,
    bytes: Vec<u8>,
    limits: RowLimits,
    /// The entry that is being added.
    added: Vec<u8>,
    changed: bool,
    cleared: bool,
    outgrown: bool,
    elements: Option<u64>,
}

impl RowMembers {
    /// Returns the members of a row, or none. The write may leave as many as `limits` allow.
    pub fn new(kind: CollectionKind, packed: Option<PackedMembers<'_>>, limits: RowLimits) -> Self {
        let form = EntryForm::of(kind);
        let former = packed.map(PackedMembers::as_bytes).unwrap_or_default();
        let mut bytes = Vec::with_capacity(former.len() + former.len() / 4 + 32);
        bytes.extend_from_slice(former);
        let (added, elements) = (Vec::new(), None);
        Self { kind, form, bytes, limits, added, changed: false, cleared: false, outgrown: false, elements }
    }

    /// Returns the kind of the collection.
    pub fn kind(&self) -> CollectionKind {
        self.kind
    }

    /// Returns whether a member was written.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns whether the write needed more than the limits. Then its error and its changes are to be
    /// forgotten, and the write is done with members outside of the row.
    pub fn is_outgrown(&self) -> bool {
        self.outgrown
    }

    /// Returns whether no members are left, or they are to be removed as a whole.
    pub fn is_gone(&self) -> bool {
        self.cleared || self.bytes.is_empty()
    }

    /// Returns the members as a row has them. REQUIRES: there are some.
    pub fn pack(&self) -> Cow<'_, [u8]> {
        if self.form == EntryForm::of(self.kind) {
            return Cow::Borrowed(&self.bytes);
        }
        let mut packed = Vec::with_capacity(self.bytes.len());
        for entry in self.entries().filter(|entry| is_chunk_name(entry.name)) {
            entry.with_value(|value| append_chunk(&mut packed, value));
        }
        Cow::Owned(packed)
    }

    fn members(&self) -> PackedMembers<'_> {
        PackedMembers { kind: self.kind, form: self.form, bytes: &self.bytes }
    }

    fn entries(&self) -> Entries<'_> {
        Entries::of(self.form, &self.bytes)
    }

    /// Removes a member. Returns whether it was present.
    fn take_out(&mut self, name: &[u8]) -> bool {
        let found = self.members().entry(name).map(|Entry { start, end, .. }| start..end);
        let is_there = found.is_some();
        if let Some(place) = found {
            self.bytes.drain(place);
            (self.changed, self.elements) = (true, None);
        }
        is_there
    }

    /// Adds an absent member at its place.
    fn insert(&mut self, score: f64, name: &[u8], value: &[u8]) -> Result<()> {
        if !self.bytes.is_empty() || name != ROW_CHUNK {
            self.name_chunk();
        }
        self.added.clear();
        self.form.push(&mut self.added, score, name, value);
        let behind = self.entries().find(|entry| entry.cmp(score, name).is_gt());
        let at = behind.map_or(self.bytes.len(), |entry| entry.start);
        self.bytes.extend_from_slice(&self.added);
        self.bytes[at..].rotate_right(self.added.len());
        (self.changed, self.elements) = (true, None);
        self.check_limits()
    }

    /// Gives the one chunk of a list its name, so that others may stand beside it.
    pub(super) fn name_chunk(&mut self) {
        if self.form != EntryForm::Chunk {
            return;
        }
        let chunk = std::mem::take(&mut self.bytes);
        self.form = EntryForm::Pairs;
        if !chunk.is_empty() {
            self.form.push(&mut self.bytes, SET_SCORE, &ROW_CHUNK, &chunk);
        }
    }

    /// Compares what the row would have with the limits.
    fn check_limits(&mut self) -> Result<()> {
        let packed = self.pack();
        let count =
            if self.kind == CollectionKind::List { count_in(&packed) } else { self.entries().count() as u64 };
        let len = packed.len();
        self.check_extent(len, count)
    }

    /// Compares the bytes and the number of members of a row with the limits.
    fn check_extent(&mut self, len: usize, count: u64) -> Result<()> {
        let limit = self.limits.bytes;
        self.outgrown |= len > limit || count > self.limits.members as u64;
        if self.outgrown { Err(Error::ValueTooLong { len, limit }) } else { Ok(()) }
    }
}

impl Members for RowMembers {
    fn len(&self) -> u64 {
        self.members().len()
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.members().with_value(name, look)
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
        self.members().walk_names(after, each)
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        self.members().rank_by(before)
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()> {
        self.members().walk_ranks(rank, direction, each)
    }
}

impl MemberWrites for RowMembers {
    fn find<'m>(&mut self, member: &'m [u8]) -> Result<FoundMember<'m>> {
        Ok(FoundMember::new(member, self.members().entry(member).map(|entry| entry.score), 0))
    }

    fn put_score(&mut self, found: FoundMember<'_>, score: f64) -> Result<()> {
        if found.score().is_some() {
            self.take_out(found.name());
        }
        self.insert(score, found.name(), &[])
    }

    fn remove_score(&mut self, found: FoundMember<'_>) -> Result<()> {
        self.take_out(found.name());
        Ok(())
    }

    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool> {
        let is_new = !self.take_out(name);
        self.insert(SET_SCORE, name, value)?;
        Ok(is_new)
    }

    fn remove_value(&mut self, name: &[u8]) -> Result<bool> {
        Ok(self.take_out(name))
    }

    fn set_cleared(&mut self, cleared: bool) -> bool {
        std::mem::replace(&mut self.cleared, cleared)
    }

    fn elements(&self) -> Option<u64> {
        if self.form == EntryForm::Chunk { Some(count_in(&self.bytes)) } else { self.elements }
    }

    fn note_elements(&mut self, elements: u64) {
        self.elements = Some(elements);
    }

    fn push_in_row(&mut self, end: ListEnd, elements: &mut dyn Iterator<Item = &[u8]>) -> Result<bool> {
        if self.form != EntryForm::Chunk {
            return Ok(false);
        }
        for element in elements {
            self.check_extent(len_with(&self.bytes, element), count_in(&self.bytes) + 1)?;
            push_element(&mut self.bytes, end, element);
            self.changed = true;
        }
        Ok(true)
    }

    /// Longer contents need members outside of the row, and the engine checks them there.
    fn check_sizes(&self, _key: &[u8], _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// The engine admits the row that the write leaves.
    fn admit_growth(&self) -> Result<()> {
        Ok(())
    }
}
