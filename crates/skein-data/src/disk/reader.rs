//! Reads of the disk engine's spaces, and of the collections in them.
//!
//! ```text
//!   &DiskStore          the current entries: each read is of a moment of its own
//!   Arc<DiskSnapshot>   the entries of one moment
//!   TransactionReads    the entries with the writes of an open transaction
//! ```
//!
//! A collection is read as of one moment. The row of a key may be older than the collection that
//! its reader finds. So a reader of the store takes a snapshot and reads the row again in it.

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use skein_disk::{
    DiskSnapshot, DiskStore, DiskTransaction, KeySpace, Result as DiskResult, ScanEntries, ScanRequest,
    WalkDirection,
};
use skein_model::{CollectionHead, EachNamed, EachRanked, Member, Members, RowRef, ScanDirection};

use super::keys::{member_key, name_in, parse_score_key, walk_direction};
use super::{DiskRowReader, live};
use crate::collections::{KeptMembers, StoredMembers};
use crate::{Error, Result, RowError};

/// Entries and bytes that one walk reads.
const WALK_KEYS: usize = 256;
const WALK_BYTES: usize = 256 << 10;

/// The position of a key among the ranked ones of a space, and the direction from there.
pub(crate) type RankedFrom = (u64, WalkDirection);
/// Keys without values.
pub(crate) type DiskKeys = DiskResult<Vec<Vec<u8>>>;

/// Reads of the disk engine's spaces: of the store, of a snapshot, or within an open transaction.
pub(crate) trait DiskReads {
    /// Reads the value of a key. Returns its version, or `None` if it is absent.
    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> DiskResult<Option<u64>>;

    /// Returns the entries of a range.
    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> DiskResult<ScanEntries>;

    /// Returns entries of `main` in the order of the trie; see [`DiskStore::walk`].
    fn walk(&self, request: &ScanRequest<'_>) -> DiskResult<ScanEntries>;

    /// Checks that there are not more entries than the store can have; see
    /// [`DiskStore::check_scanned`].
    fn check_scanned(&self, before: u64, now: u64) -> DiskResult<()>;

    /// Returns the number of keys for which a predicate is true; see
    /// [`DiskSnapshot::key_rank_by`].
    fn key_rank_by(&self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> DiskResult<u64>;

    /// Returns up to `most` keys; see [`DiskSnapshot::keys_from`].
    fn keys_from(&self, space: KeySpace, from: RankedFrom, most: usize) -> DiskKeys;

    /// Opens the collection of a key, whose row has this head; see [`CollectionSource`]. `now`
    /// decides whether the row has expired.
    fn open(&self, key: &[u8], now: u64, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>>;
}

/// The reads that a store, a snapshot and a transaction offer by the same names.
macro_rules! same_reads {
    ($self:ident => $reads:expr) => {
        fn walk(&$self, request: &ScanRequest<'_>) -> DiskResult<ScanEntries> {
            $reads.walk(request)
        }

        fn check_scanned(&$self, before: u64, now: u64) -> DiskResult<()> {
            $reads.check_scanned(before, now)
        }

        fn key_rank_by(&$self, space: KeySpace, is_before: &mut dyn FnMut(&[u8]) -> bool) -> DiskResult<u64> {
            $reads.key_rank_by(space, is_before)
        }

        fn keys_from(&$self, space: KeySpace, (position, direction): RankedFrom, most: usize) -> DiskKeys {
            $reads.keys_from(space, position, direction, most)
        }
    };
}

impl DiskReads for &DiskStore {
    same_reads!(self => (**self));

    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> DiskResult<Option<u64>> {
        match space {
            KeySpace::Main => self.get_into(key, value),
            _ => self.space(space)?.get_into(key, value),
        }
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> DiskResult<ScanEntries> {
        match space {
            KeySpace::Main => DiskStore::range(self, request),
            _ => self.space(space)?.range(request),
        }
    }

    /// Opens it in a new snapshot, where the row of the key may be another one.
    fn open(&self, key: &[u8], now: u64, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        let reads = Arc::new(self.snapshot()?);
        let mut buffer = DiskRowReader::default();
        let row = live(buffer.row(key, |value| reads.get_into(key, value))?, now);
        let found = row.and_then(RowRef::stored_collection).filter(|found| found.id == head.id);
        let head = found.unwrap_or(CollectionHead { len: 0, ..head });
        Ok(Box::new(DiskCollection { reads, head }))
    }
}

impl DiskReads for Arc<DiskSnapshot> {
    same_reads!(self => (**self));

    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> DiskResult<Option<u64>> {
        self.get_in(space, key, value)
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> DiskResult<ScanEntries> {
        self.range_in(space, request)
    }

    fn open(&self, _key: &[u8], _now: u64, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        Ok(Box::new(DiskCollection { reads: self.clone(), head }))
    }
}

/// Reads within an open transaction.
pub(crate) type TransactionReads<'r, 't, 'w> = &'r RefCell<&'t mut DiskTransaction<'w>>;

impl DiskReads for TransactionReads<'_, '_, '_> {
    same_reads!(self => self.borrow_mut());

    fn get(&self, space: KeySpace, key: &[u8], value: &mut Vec<u8>) -> DiskResult<Option<u64>> {
        self.borrow_mut().get_in(space, key, value)
    }

    fn range(&self, space: KeySpace, request: &ScanRequest<'_>) -> DiskResult<ScanEntries> {
        self.borrow_mut().range_in(space, request)
    }

    fn open(&self, _key: &[u8], _now: u64, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        Ok(Box::new(DiskCollection { reads: *self, head }))
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
fn first_position(reads: &impl DiskReads, id: u64) -> DiskResult<u64> {
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
        let keys = reads.keys_from(KeySpace::Scores, (position, walk_direction(direction)), WALK_KEYS)?;
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
pub(super) fn rows<T>(done: std::result::Result<T, impl Into<Error>>) -> std::result::Result<T, RowError> {
    done.map_err(|error| error.into().into_rows())
}

impl<R: DiskReads> Members for DiskCollection<R> {
    fn len(&self) -> u64 {
        self.head.len
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> std::result::Result<bool, RowError> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let key = member_key(&mut key, self.head.id, name);
        let found =
            if self.head.len == 0 { None } else { rows(self.reads.get(KeySpace::Members, key, &mut value))? };
        let is_there = found.is_some();
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

impl StoredMembers for DiskCollection<Arc<DiskSnapshot>> {
    fn keep(&self) -> Option<KeptMembers> {
        Some(Arc::new(DiskCollection { reads: self.reads.clone(), head: self.head }))
    }
}

impl StoredMembers for DiskCollection<TransactionReads<'_, '_, '_>> {
    fn keep(&self) -> Option<KeptMembers> {
        None
    }
}
