//! The members of one collection while a write changes it, as an engine stores them.

use std::ops::ControlFlow;

use crate::collection::{CollectionKind, Member};
use crate::row::{CollectionHead, RowRef};
use crate::{Result, ScanDirection};

/// Called with a member and its value, until it breaks.
pub type EachNamed<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// The members of a collection while one write changes it. An engine implements it;
/// [`SetWriter`](super::SetWriter) and the writes to columns use it.
///
/// A sorted set has members with scores, and a hash has names with values. The methods for scores
/// also change the order by score. The changes are visible to the methods at once, to readers at
/// the end of the write.
pub trait MemberStore {
    /// Returns the number of members.
    fn len(&self) -> u64;

    /// Returns whether there are no members.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the score of a member of a sorted set.
    ///
    /// # Errors
    /// Those of the engine.
    fn score(&mut self, member: &[u8]) -> Result<Option<f64>>;

    /// Changes the score of a member from `before` (`None` if it is new). REQUIRES: the last call
    /// was [`score`](Self::score) for this member, and returned `before`; `score` is a number.
    ///
    /// # Errors
    /// Those of the engine.
    fn put_score(&mut self, member: &[u8], before: Option<f64>, score: f64) -> Result<()>;

    /// Removes a member that has this score. REQUIRES: as for [`put_score`](Self::put_score).
    ///
    /// # Errors
    /// Those of the engine.
    fn remove_score(&mut self, member: &[u8], score: f64) -> Result<()>;

    /// Returns the number of members for which `before` is true; it must be true for the first
    /// members in the order of scores, and false for all others.
    ///
    /// # Errors
    /// Those of the engine.
    fn rank_by(&mut self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64>;

    /// Calls `each` with the members from rank `rank` on, in the order of scores, until it breaks.
    ///
    /// # Errors
    /// Those of the engine.
    fn walk(
        &mut self,
        rank: u64,
        direction: ScanDirection,
        each: &mut dyn FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Calls `each` with all members and their values, in the order of their names, until it
    /// breaks. The value of a member of a sorted set is its score, 8 bytes, little-endian.
    /// REQUIRES: the write has not changed a member.
    ///
    /// # Errors
    /// Those of the engine.
    fn walk_names(&mut self, each: EachNamed<'_>) -> Result<()>;

    /// Returns the value of a name of a hash.
    ///
    /// # Errors
    /// Those of the engine.
    fn value(&mut self, name: &[u8]) -> Result<Option<&[u8]>>;

    /// Sets the value of a name. Returns whether the name is new.
    ///
    /// # Errors
    /// Those of the engine.
    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool>;

    /// Removes a name. Returns whether it was present.
    ///
    /// # Errors
    /// Those of the engine.
    fn remove_value(&mut self, name: &[u8]) -> Result<bool>;

    /// Sets whether the collection is removed as a whole at the end of the write. Returns the
    /// former choice. Its members stay visible until then.
    fn set_cleared(&mut self, cleared: bool) -> bool;

    /// Returns the number of elements that [`note_elements`](Self::note_elements) was told, if no
    /// member was written since.
    fn elements(&self) -> Option<u64> {
        None
    }

    /// Tells the number of a list's elements, which are fewer members. An engine may forget it.
    fn note_elements(&mut self, _elements: u64) {}

    /// Looks up members that are about to be changed, with overlapping reads, to fill the cache.
    fn expect(&mut self, members: &mut dyn Iterator<Item = &[u8]>);

    /// Rejects a key or contents over the limit.
    ///
    /// # Errors
    /// `KeyTooLong`, `ValueTooLong`.
    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()>;

    /// Rejects a write that adds memory, if memory is used up.
    ///
    /// # Errors
    /// `OverBudget`.
    fn admit_growth(&self) -> Result<()>;
}

/// A collection of an engine, which a row of a key stands for.
pub trait StoredCollection: Sized {
    /// Returns the collection that the row stands for, if it does.
    fn of(row: RowRef<'_>) -> Option<Self>;

    /// Returns the kind of the collection.
    fn kind(&self) -> CollectionKind;
}

impl StoredCollection for CollectionHead {
    fn of(row: RowRef<'_>) -> Option<Self> {
        row.stored_collection()
    }

    fn kind(&self) -> CollectionKind {
        self.kind
    }
}
