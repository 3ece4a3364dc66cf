//! The members of one collection, as an engine stores them: [`Members`] for readers, and
//! [`MemberWrites`] for a write that changes them.
//!
//! Four places of members implement them: packed in a row ([`packed`](crate::packed)), entries of
//! an index in memory, entries of the disk engine's spaces, and entries within an open transaction.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use crate::kind::score_in;
use crate::member::Member;
use crate::{CollectionKind, ListEnd, Result, ScanDirection, SetWriter};

/// Called with a member and its value, until it breaks.
pub type EachNamed<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Called with the score of a member and its name, until it breaks.
pub type EachRanked<'e> = &'e mut dyn FnMut(f64, Member<'_>) -> ControlFlow<()>;

/// The members of one collection, as of one moment or as the open write has left them.
///
/// A sorted set has members with scores, and a hash has names with values. A set has names alone,
/// and all of its scores are [`SET_SCORE`](crate::SET_SCORE). The members have the order of their
/// names, and ranks in the order of their scores (of their names for equal scores); a hash has no
/// ranks.
///
/// # Errors
/// Each method returns the errors of the engine.
#[expect(clippy::missing_errors_doc, reason = "the trait says it for all methods")]
pub trait Members {
    /// Returns the number of members.
    fn len(&self) -> u64;

    /// Returns whether there are no members.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `look` with the value of a member, if it is present. Returns whether it is. The value of
    /// a member of a sorted set is its score, 8 bytes, little-endian.
    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Calls `each` with the members and their values in the order of their names, until it breaks;
    /// only with those after `after`, if given. REQUIRES: an open write has not changed a member.
    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()>;

    /// Returns the number of members for which `before` is true. In the order of ranks it must be
    /// true for the first members and false for all others; otherwise the answer is any number.
    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64>;

    /// Calls `each` with the members from rank `rank` on (the first is 0), forward or backward, until
    /// it breaks.
    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()>;

    /// Returns a copy of the value of a member.
    fn value(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.with_value(name, &mut |value| found = Some(value.to_vec()))?;
        Ok(found)
    }

    /// Returns the score of a member of a set, sorted or not.
    fn score(&self, member: &[u8]) -> Result<Option<f64>> {
        let mut found = None;
        self.with_value(member, &mut |value| found = Some(score_in(value)))?;
        Ok(found)
    }

    /// Returns the number of members before this entry, which may be absent.
    fn rank(&self, score: f64, member: &[u8]) -> Result<u64> {
        self.rank_by(&|other, name| {
            let order = other.partial_cmp(&score).unwrap_or(Ordering::Greater);
            order.then_with(|| name.cmp_bytes(member)).is_lt()
        })
    }

    /// Returns the number of members with a name less than `name`, which may be absent. REQUIRES:
    /// all members have one score.
    fn rank_of(&self, name: &[u8]) -> Result<u64> {
        self.rank_by(&|_, member| member.cmp_bytes(name).is_lt())
    }
}

/// A member that [`MemberWrites::find`] has looked up, for the write that follows.
#[derive(Clone, Copy, Debug)]
pub struct FoundMember<'m> {
    name: &'m [u8],
    score: Option<f64>,
    version: u64,
}

impl<'m> FoundMember<'m> {
    /// Returns the result of a lookup: the present score, or `None` if the member is absent. An
    /// engine that gives members versions also passes that of the member.
    pub fn new(name: &'m [u8], score: Option<f64>, version: u64) -> Self {
        Self { name, score, version }
    }

    /// Returns the name of the member.
    pub fn name(&self) -> &'m [u8] {
        self.name
    }

    /// Returns the score; `None` if the member is absent.
    pub fn score(&self) -> Option<f64> {
        self.score
    }

    /// Returns the version that the engine gave.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// The members of a collection while one write changes it. The changes are visible to the methods at
/// once, to readers at the end of the write. After an error the engine undoes the write.
///
/// The methods for scores also change the ranks.
///
/// # Errors
/// Each method returns the errors of the engine.
#[expect(clippy::missing_errors_doc, reason = "the trait says it for all methods")]
pub trait MemberWrites: Members {
    /// Looks up a member of a set, sorted or not, to change its score.
    fn find<'m>(&mut self, member: &'m [u8]) -> Result<FoundMember<'m>>;

    /// Sets the score of a member that was found and not written since. REQUIRES: `score` is a number.
    fn put_score(&mut self, found: FoundMember<'_>, score: f64) -> Result<()>;

    /// Removes a member that was found and not written since. Does nothing if it is absent.
    fn remove_score(&mut self, found: FoundMember<'_>) -> Result<()>;

    /// Sets the value of a name. Returns whether the name is new.
    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool>;

    /// Removes a name. Returns whether it was present.
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

    /// Adds elements at an end of a list whose only chunk is its row, one after the other. Returns
    /// false, and takes none of them, if the members are no such row. There the edge of a list needs
    /// no small chunk, because each write makes the whole row anew.
    fn push_in_row(&mut self, _end: ListEnd, _elements: &mut dyn Iterator<Item = &[u8]>) -> Result<bool> {
        Ok(false)
    }

    /// Looks up members that are about to be changed, with overlapping reads, to fill the cache.
    fn expect(&mut self, _members: &mut dyn Iterator<Item = &[u8]>) {}

    /// Rejects a key or contents over the limit: `KeyTooLong`, `ValueTooLong`.
    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()>;

    /// Rejects a write that adds memory, if memory is used up: `OverBudget`.
    fn admit_growth(&self) -> Result<()>;
}

/// Puts members of a collection of this kind, given as [`Members::walk_names`] shows them.
///
/// # Errors
/// Those of the engine, and of the kind's writes.
pub fn copy_members<'c>(
    kind: CollectionKind,
    members: impl IntoIterator<Item = (&'c [u8], &'c [u8])>,
    into: &mut dyn MemberWrites,
) -> Result<()> {
    for (name, value) in members {
        if kind.is_set() {
            SetWriter::new(into).put(name, score_in(value))?;
        } else {
            into.put_value(name, value)?;
        }
    }
    Ok(())
}
