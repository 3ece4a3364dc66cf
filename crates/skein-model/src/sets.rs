//! Writes to sets, sorted or not, over the members that an engine stores. The members of a set that is
//! not sorted all have one score, so the writes are the same.

use std::ops::ControlFlow;

use crate::{Error, MEMBER_BYTES_MAX, Member, MemberWrites, Result, SET_SCORE, ScanDirection};

/// A set that is being changed, sorted or not, by a write to its key.
pub struct SetWriter<'w> {
    members: &'w mut dyn MemberWrites,
}

impl<'w> SetWriter<'w> {
    /// Returns a writer of the set with these members.
    pub fn new(members: &'w mut dyn MemberWrites) -> Self {
        Self { members }
    }

    /// Returns the number of members.
    pub fn len(&self) -> u64 {
        self.members.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the score of a member. This takes a lookup.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn score(&mut self, member: &[u8]) -> Result<Option<f64>> {
        self.members.score(member)
    }

    /// Looks up members that are about to be put or removed, with overlapping reads, to fill the
    /// cache. For a single member it does not help.
    pub fn expect<'m>(&mut self, mut members: impl Iterator<Item = &'m [u8]>) {
        self.members.expect(&mut members);
    }

    /// As [`Members::rank_by`](crate::Members::rank_by).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn rank_by(&mut self, before: impl Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        self.members.rank_by(&before)
    }

    /// As [`Members::walk_ranks`](crate::Members::walk_ranks).
    ///
    /// # Errors
    /// Those of the engine. Members that were read before the error have been passed to `each`.
    pub fn walk(
        &mut self,
        rank: u64,
        direction: ScanDirection,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.members.walk_ranks(rank, direction, &mut each)
    }

    /// Sets the score of a member and returns its previous score.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn put(&mut self, member: &[u8], score: f64) -> Result<Option<f64>> {
        let mut before = None;
        self.update::<Error>(member, |old| {
            before = old;
            Ok(Some(score))
        })?;
        Ok(before)
    }

    /// Adds a member to a set that is not sorted. Returns whether it is new.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    pub fn add(&mut self, member: &[u8]) -> Result<bool> {
        Ok(self.put(member, SET_SCORE)?.is_none())
    }

    /// Sets the score of a member to the result of `decide`, which receives the present score
    /// (`None` if the member is absent). If `decide` returns `None` or the present score, nothing
    /// changes.
    ///
    /// # Errors
    /// Those of `decide`; the member is over its limit, the score is not a number, or memory is
    /// used up and the member is new.
    pub fn update<E: From<Error>>(
        &mut self,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> std::result::Result<Option<f64>, E>,
    ) -> std::result::Result<(), E> {
        check_member(member)?;
        self.clear_now()?;
        let found = self.members.find(member)?;
        // Turns -0.0 into 0.0, so that there is one zero.
        let Some(score) = decide(found.score())?.map(|score| score + 0.0) else { return Ok(()) };
        if found.score() == Some(score) {
            return Ok(());
        }
        if score.is_nan() {
            return Err(Error::NotANumber.into());
        }
        if found.score().is_none() {
            self.members.admit_growth()?;
        }
        Ok(self.members.put_score(found, score)?)
    }

    /// Removes all members as fast as the removal of the key: a background thread frees them. They
    /// stay visible until the end of the change. If the change puts a member afterwards, they are
    /// removed at once, one by one.
    pub fn clear(&mut self) {
        let cleared = !self.is_empty();
        self.members.set_cleared(cleared);
    }

    /// Removes the members at once, because the change puts members after [`clear`](Self::clear).
    fn clear_now(&mut self) -> Result<()> {
        if self.members.set_cleared(false) {
            let mut members = Vec::new();
            self.walk(0, ScanDirection::Forward, |_, member| {
                members.push(member.to_vec());
                ControlFlow::Continue(())
            })?;
            members.iter().try_for_each(|member| self.remove(member).map(drop))?;
        }
        Ok(())
    }

    /// Removes a member and returns its score.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove(&mut self, member: &[u8]) -> Result<Option<f64>> {
        let found = self.members.find(member)?;
        if found.score().is_some() {
            self.members.remove_score(found)?;
        }
        Ok(found.score())
    }
}

impl std::fmt::Debug for SetWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetWriter").field("len", &self.len()).finish_non_exhaustive()
    }
}

fn check_member(member: &[u8]) -> Result<()> {
    let (len, limit) = (member.len(), MEMBER_BYTES_MAX);
    if len > limit { Err(Error::MemberTooLong { len, limit }) } else { Ok(()) }
}
