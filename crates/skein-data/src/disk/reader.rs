//! Reads of the collections of the disk engine: of a snapshot, or within an open transaction.
//!
//! The row of a key may be older than the collection that its reader finds. So a reader of the
//! store takes a snapshot and reads the row again in it.

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use skein_disk::{DiskSnapshot, DiskTransaction, KeySpace, ScanEntries, ScanRequest, WalkDirection};
use skein_model::{EachNamed, EachRanked, Member, Members, ScanDirection};
use skein_store::{CollectionHead, RowRef};

use super::keys::{member_key, name_in, parse_score_key, walk_direction};
use super::{DiskEngine, DiskRowReader, live};
use crate::collections::{CollectionSource, KeptMembers, StoredMembers};
use crate::{Error, Result, RowError};

/// Entries and bytes that one walk reads.
const WALK_KEYS: usize = 256;
const WALK_BYTES: usize = 256 << 10;

/// Reads of the disk engine's spaces, all of one moment.
pub(super) trait DiskReads {
    /// Reads the value of a key. Returns whether it is present.
    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// Returns the entries of a range.
    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries>;

    /// Returns the number of keys for which a predicate is true; see
    /// [`DiskSnapshot::key_rank_by`].
    fn key_rank_by(&self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> Result<u64>;

    /// Returns up to `most` keys from a position on; see [`DiskSnapshot::keys_from`].
    fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>>;

    /// Returns the snapshot that is read, if it is one.
    fn snapshot(&self) -> Option<Arc<DiskSnapshot>>;
}

impl<R: DiskReads> DiskReads for &R {
    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        (**self).get(space, key, value)
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        (**self).range(space, request)
    }

    fn key_rank_by(&self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> Result<u64> {
        (**self).key_rank_by(space, is_before)
    }

    fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        (**self).keys_from(space, position, direction, most)
    }

    fn snapshot(&self) -> Option<Arc<DiskSnapshot>> {
        (**self).snapshot()
    }
}

impl DiskReads for Arc<DiskSnapshot> {
    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get_in(space, key, value)?.is_some())
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        Ok(self.range_in(space, request)?)
    }

    fn key_rank_by(&self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> Result<u64> {
        Ok(DiskSnapshot::key_rank_by(self, space, is_before)?)
    }

    fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        Ok(DiskSnapshot::keys_from(self, space, position, direction, most)?)
    }

    fn snapshot(&self) -> Option<Arc<DiskSnapshot>> {
        Some(self.clone())
    }
}

/// Returns the bounds of the members of a collection in `members` and `scores`.
pub(super) fn bounds_of(id: u64) -> ([u8; 8], Option<[u8; 8]>) {
    (id.to_be_bytes(), id.checked_add(1).map(u64::to_be_bytes))
}

/// Calls `each` with the members of a collection after the one named `after`, in the order of
/// names, until it breaks.
fn walk_members(reads: &impl DiskReads, id: u64, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
    let ((start, end), mut key) = (bounds_of(id), Vec::new());
    let mut lower = match after {
        Some(name) => Bound::Excluded(member_key(&mut key, id, name).to_vec()),
        None => Bound::Included(start.to_vec()),
    };
    loop {
        let found = reads.range(
            KeySpace::Members,
            &ScanRequest {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end)),
                direction: WalkDirection::Forward,
                keys: WALK_KEYS,
                bytes: WALK_BYTES,
                values: true,
            },
        )?;
        for entry in &found.entries {
            if each(name_in(&entry.key), &entry.value).is_break() {
                return Ok(());
            }
        }
        let Some(last) = found.entries.into_iter().next_back().filter(|_| found.more) else { return Ok(()) };
        lower = Bound::Excluded(last.key);
    }
}

/// Returns the number of scores that lie before a collection's.
fn first_position(reads: &impl DiskReads, id: u64) -> Result<u64> {
    let start = id.to_be_bytes();
    reads.key_rank_by(KeySpace::Scores, &mut |key| key < &start[..])
}

/// Returns the number of members of a sorted set for which `before` is true.
fn rank_in(
    reads: &impl DiskReads,
    head: CollectionHead,
    before: &dyn Fn(f64, Member<'_>) -> bool,
) -> Result<u64> {
    let start = head.id.to_be_bytes();
    let rank = reads.key_rank_by(KeySpace::Scores, &mut |key| {
        if !key.starts_with(&start) {
            return key < &start[..];
        }
        let (score, member) = parse_score_key(key);
        before(score, Member::of(member))
    })?;
    Ok(rank.saturating_sub(first_position(reads, head.id)?))
}

/// Calls `each` with the members of a sorted set from rank `rank` on, until it breaks.
fn walk_ranks(
    reads: &impl DiskReads,
    head: CollectionHead,
    rank: u64,
    direction: ScanDirection,
    each: EachRanked<'_>,
) -> Result<()> {
    if rank >= head.len {
        return Ok(());
    }
    let (start, forward) = (head.id.to_be_bytes(), direction == ScanDirection::Forward);
    // A walk backward begins behind its first key.
    let mut position = first_position(reads, head.id)? + rank + u64::from(!forward);
    loop {
        let keys = reads.keys_from(KeySpace::Scores, position, walk_direction(direction), WALK_KEYS)?;
        for key in &keys {
            let (score, member) = parse_score_key(key);
            if !key.starts_with(&start) || each(score, Member::of(member)).is_break() {
                return Ok(());
            }
        }
        let passed = keys.len() as u64;
        if passed == 0 {
            return Ok(());
        }
        position = if forward { position + passed } else { position.saturating_sub(passed) };
    }
}

/// A collection as of one moment.
pub(super) struct DiskCollection<R> {
    pub(super) reads: R,
    pub(super) head: CollectionHead,
}

/// Returns the result of a read as one of rows.
pub(super) fn rows<T>(done: Result<T>) -> std::result::Result<T, RowError> {
    done.map_err(Error::into_rows)
}

impl<R: DiskReads> Members for DiskCollection<R> {
    fn len(&self) -> u64 {
        self.head.len
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> std::result::Result<bool, RowError> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let key = member_key(&mut key, self.head.id, name);
        let is_there = self.head.len > 0 && rows(self.reads.get(KeySpace::Members, key, &mut value))?;
        if is_there {
            look(&value);
        }
        Ok(is_there)
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> std::result::Result<(), RowError> {
        if self.head.len == 0 { Ok(()) } else { rows(walk_members(&self.reads, self.head.id, after, each)) }
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> std::result::Result<u64, RowError> {
        if self.head.len == 0 { Ok(0) } else { rows(rank_in(&self.reads, self.head, before)) }
    }

    fn walk_ranks(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: EachRanked<'_>,
    ) -> std::result::Result<(), RowError> {
        rows(walk_ranks(&self.reads, self.head, rank, direction, each))
    }
}

impl<R: DiskReads> StoredMembers for DiskCollection<R> {
    fn keep(&self) -> Option<KeptMembers> {
        let reads = self.reads.snapshot()?;
        Some(Arc::new(DiskCollection { reads, head: self.head }))
    }
}

/// Opens the collection of a key in a new snapshot of the store.
pub(crate) struct StoreSource<'d> {
    pub(crate) engine: &'d DiskEngine,
    pub(crate) key: &'d [u8],
    /// The time that decides which keys have expired.
    pub(crate) now: u64,
}

impl CollectionSource for StoreSource<'_> {
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        let reads = Arc::new(self.engine.store().snapshot()?);
        let mut buffer = DiskRowReader::default();
        let row = live(buffer.row(self.key, |value| reads.get_into(self.key, value))?, self.now);
        let found = row.and_then(RowRef::stored_collection).filter(|found| found.id == head.id);
        let head = found.unwrap_or(CollectionHead { len: 0, ..head });
        Ok(Box::new(DiskCollection { reads, head }))
    }
}

/// Opens collections in a snapshot.
pub(crate) struct SnapshotSource<'s>(pub(crate) &'s Arc<DiskSnapshot>);

impl CollectionSource for SnapshotSource<'_> {
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        Ok(Box::new(DiskCollection { reads: self.0.clone(), head }))
    }
}

/// Opens collections in an open transaction.
pub(crate) struct TransactionSource<'r, 't, 'w>(pub(crate) &'r RefCell<&'t mut DiskTransaction<'w>>);

impl DiskReads for RefCell<&mut DiskTransaction<'_>> {
    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.borrow_mut().get_in(space, key, value)?.is_some())
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        Ok(self.borrow_mut().range_in(space, request)?)
    }

    fn key_rank_by(&self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> Result<u64> {
        Ok(self.borrow_mut().key_rank_by(space, is_before)?)
    }

    fn keys_from(
        &self,
        space: KeySpace,
        position: u64,
        direction: WalkDirection,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        Ok(self.borrow_mut().keys_from(space, position, direction, most)?)
    }

    fn snapshot(&self) -> Option<Arc<DiskSnapshot>> {
        None
    }
}

impl CollectionSource for TransactionSource<'_, '_, '_> {
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        Ok(Box::new(DiskCollection { reads: self.0, head }))
    }
}
