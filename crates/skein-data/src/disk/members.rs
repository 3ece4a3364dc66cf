//! The members of a collection while a transaction changes it.

use std::ops::Bound;

use skein_disk::{DiskTransaction, KeySpace, ScanRequest, WalkDirection};
use skein_model::{
    CollectionHead, EachNamed, EachRanked, FoundMember, Member, MemberOrder, MemberWrites, Members,
    SET_SCORE, ScanDirection, score_in,
};

use super::DiskEngine;
use super::keys::{member_key, name_in, score_key};
use super::reader::{DiskCollection, TransactionReads, bounds_of, rows};
use crate::RowError;

/// Members that one step of a removal lists.
const LISTED: usize = 256;
const LISTED_BYTES: usize = 64 << 10;

/// The members of a collection within an open transaction.
pub(super) struct DiskMembers<'m, 'w> {
    engine: &'m DiskEngine,
    collection: DiskCollection<TransactionReads<'m, 'm, 'w>>,
    cleared: bool,
    /// The former contents of the members that were changed, in the order of the changes.
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'m, 'w> DiskMembers<'m, 'w> {
    pub(super) fn new(
        engine: &'m DiskEngine,
        reads: TransactionReads<'m, 'm, 'w>,
        head: CollectionHead,
    ) -> Self {
        Self {
            engine,
            collection: DiskCollection { reads, head },
            cleared: false,
            changes: Vec::new(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the head with the present number of members.
    pub(super) fn head(&self) -> CollectionHead {
        self.collection.head
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns whether the collection has no members, or is to be removed as a whole.
    pub(super) fn is_gone(&self) -> bool {
        self.collection.head.len == 0 || self.cleared
    }

    /// Restores the former contents of all members, the last change first.
    pub(super) fn undo(&mut self) -> crate::Result<()> {
        self.cleared = false;
        for (name, before) in std::mem::take(&mut self.changes).into_iter().rev() {
            if !self.collection.head.kind.is_set() {
                self.write_value(&name, before.as_deref())?;
                continue;
            }
            let now = self.read(&name)?.then(|| score_in(&self.value));
            let before = before.map(|value| score_in(&value));
            self.write_score(&name, now, before)?;
        }
        self.changes.clear();
        Ok(())
    }

    /// Reads a member into `value`. Returns whether it is present.
    fn read(&mut self, name: &[u8]) -> crate::Result<bool> {
        let key = member_key(&mut self.key, self.collection.head.id, name);
        Ok(self.collection.reads.borrow_mut().get_in(KeySpace::Members, key, &mut self.value)?.is_some())
    }

    /// Puts or removes a member, and notes its former contents, which are in `value` if it was
    /// present.
    fn write(&mut self, name: &[u8], value: Option<&[u8]>) -> crate::Result<()> {
        let was_there = self.read(name)?;
        if !was_there && value.is_none() {
            return Ok(());
        }
        self.engine.note_references();
        self.changes.push((name.to_vec(), was_there.then(|| self.value.clone())));
        let key = member_key(&mut self.key, self.collection.head.id, name);
        match value {
            Some(value) => _ = self.collection.reads.borrow_mut().set_in(KeySpace::Members, key, value)?,
            None => _ = self.collection.reads.borrow_mut().remove_in(KeySpace::Members, key)?,
        }
        self.collection.head.len =
            (self.collection.head.len + u64::from(value.is_some())).saturating_sub(u64::from(was_there));
        Ok(())
    }

    /// Puts or removes a member with a value that is not its score.
    fn write_value(&mut self, name: &[u8], value: Option<&[u8]>) -> crate::Result<()> {
        let before = self.collection.head.len;
        self.write(name, value)?;
        if before != self.collection.head.len && self.collection.head.kind.has_ranks() {
            let key = score_key(&mut self.key, self.collection.head.id, SET_SCORE, name);
            let changed = match value {
                Some(_) => self.collection.reads.borrow_mut().insert_key(KeySpace::Scores, key),
                None => self.collection.reads.borrow_mut().remove_key(KeySpace::Scores, key),
            };
            changed?;
        }
        Ok(())
    }

    fn write_score(&mut self, name: &[u8], before: Option<f64>, score: Option<f64>) -> crate::Result<()> {
        let (kind, score_bytes) = (self.collection.head.kind, score.map(f64::to_le_bytes));
        self.write(name, score_bytes.as_ref().map(|score| kind.value_of(score)))?;
        if let Some(before) = before {
            let key = score_key(&mut self.key, self.collection.head.id, before, name);
            self.collection.reads.borrow_mut().remove_key(KeySpace::Scores, key)?;
        }
        if let Some(score) = score {
            let key = score_key(&mut self.key, self.collection.head.id, score, name);
            self.collection.reads.borrow_mut().insert_key(KeySpace::Scores, key)?;
        }
        Ok(())
    }
}

impl Members for DiskMembers<'_, '_> {
    fn len(&self) -> u64 {
        self.collection.len()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool, RowError> {
        self.collection.with_value(name, look)
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<(), RowError> {
        self.collection.walk_names(after, each)
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64, RowError> {
        self.collection.rank_by(before)
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<(), RowError> {
        self.collection.walk_ranks(rank, direction, each)
    }
}

impl MemberWrites for DiskMembers<'_, '_> {
    fn find<'m>(&mut self, member: &'m [u8]) -> Result<FoundMember<'m>, RowError> {
        Ok(FoundMember::new(member, self.score(member)?, 0))
    }

    fn put_score(&mut self, found: FoundMember<'_>, score: f64) -> Result<(), RowError> {
        rows(self.write_score(found.name(), found.score(), Some(score)))
    }

    fn remove_score(&mut self, found: FoundMember<'_>) -> Result<(), RowError> {
        rows(self.write_score(found.name(), found.score(), None))
    }

    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool, RowError> {
        let before = self.len();
        rows(self.write_value(name, Some(value)))?;
        Ok(self.len() > before)
    }

    fn remove_value(&mut self, name: &[u8]) -> Result<bool, RowError> {
        let before = self.len();
        rows(self.write_value(name, None))?;
        Ok(self.len() < before)
    }

    fn set_cleared(&mut self, cleared: bool) -> bool {
        std::mem::replace(&mut self.cleared, cleared)
    }

    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<(), RowError> {
        self.engine.check_sizes(key, bytes)
    }

    /// The disk engine is bounded by its cache, so memory is never used up.
    fn admit_growth(&self) -> Result<(), RowError> {
        Ok(())
    }
}

/// Returns the byte in the mark of a dead collection with this order.
pub(super) fn order_code(order: MemberOrder) -> u8 {
    match order {
        MemberOrder::Unranked => 0,
        MemberOrder::ByScore => 1,
        MemberOrder::ByName => 2,
    }
}

/// Returns the order that a mark has.
pub(super) fn order_in(mark: &[u8]) -> MemberOrder {
    match mark.first() {
        Some(1) => MemberOrder::ByScore,
        Some(2) => MemberOrder::ByName,
        _ => MemberOrder::Unranked,
    }
}

/// Removes up to `most` members of a dead collection, and their keys in `scores`.
/// Stops when the transaction is full, or `fills` it. Returns whether there are more.
pub(super) fn remove_members(
    transaction: &mut DiskTransaction<'_>,
    id: u64,
    order: MemberOrder,
    most: usize,
    fills: bool,
) -> crate::Result<bool> {
    let (mut left, mut key, (start, end)) = (most, Vec::new(), bounds_of(id));
    while left > 0 {
        let found = transaction.range_in(
            KeySpace::Members,
            &ScanRequest {
                lower: Bound::Included(&start),
                upper: end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end)),
                direction: WalkDirection::Forward,
                keys: left.min(LISTED),
                bytes: LISTED_BYTES,
                values: order == MemberOrder::ByScore,
            },
        )?;
        for entry in &found.entries {
            if order != MemberOrder::Unranked {
                let is_stored = order == MemberOrder::ByScore;
                let score = if is_stored { score_in(&entry.value) } else { SET_SCORE };
                let key = score_key(&mut key, id, score, name_in(&entry.key));
                transaction.remove_key(KeySpace::Scores, key)?;
            }
            transaction.remove_in(KeySpace::Members, &entry.key)?;
            // Listing alone may fill it, so each call removes at least one member.
            if !fills && transaction.is_full() {
                return Ok(true);
            }
        }
        if !found.more {
            return Ok(false);
        }
        left = left.saturating_sub(found.entries.len());
    }
    Ok(true)
}
