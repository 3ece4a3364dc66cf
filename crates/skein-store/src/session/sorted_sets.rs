//! Writes to sorted sets: members and score index change together, under the lock of the set.
//! `collection` explains why this is safe.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Writer;
use super::member_writer::MemberWriter;
use crate::collection::{Collection, CollectionKind, MEMBER_BYTES_MAX, Member, score_of};
use crate::{Error, Result, ScanDirection};

/// The contents that a write found at its key.
enum FoundSet {
    Set(Arc<Collection>),
    Nothing,
}

impl Writer<'_> {
    /// Calls `change` with the sorted set at `key` and holds its lock meanwhile. If the key is
    /// absent and `make` is true, `change` is called with an empty set, and the key becomes a set
    /// when `change` puts a member. If the key is absent and `make` is false, returns `None`
    /// without calling `change`. A set that loses its last member is removed.
    ///
    /// The change is one write, for readers and on disk. After an error the set is unchanged.
    /// `change` is called again if another writer changes the key meanwhile. It must not write to
    /// anything else.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let (written, _) = session.write(|writer| {
    ///     writer.change_set::<_, Error>(b"geese", true, |set| {
    ///         set.put(b"grey", 3.5)?;
    ///         set.put(b"bean", 2.0)
    ///     })
    /// })?;
    /// assert_eq!(written?, Some(None), "there was no score before");
    /// session.get_with(b"geese", |row| {
    ///     let set = row.and_then(|row| row.sorted_set()).expect("it was put").read();
    ///     assert_eq!((set.len(), set.score(b"grey"), set.rank(3.5, b"grey")), (2, Some(3.5), 1));
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `change`; a size limit, the memory limit; `WrongKind` if the key holds something
    /// else.
    pub fn change_set<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        self.begin_write()?;
        self.core.check_sizes(key, 0)?;
        loop {
            let done = match self.find_set(key)? {
                FoundSet::Set(collection) => {
                    self.change_collection(key, &collection, |members| change(&mut SetWriter { members }))?
                }
                FoundSet::Nothing if make => {
                    let made =
                        self.make_collection(key, CollectionKind::SortedSet, None, None, |members| {
                            change(&mut SetWriter { members })
                        })?;
                    made.map(|(answer, _)| answer)
                }
                FoundSet::Nothing => return Ok(None),
            };
            // Without an answer, the set died or was created meanwhile.
            if done.is_some() {
                return Ok(done);
            }
        }
    }

    /// Replaces the contents of `key` by a sorted set with the members that `change` puts, until
    /// `expires` (milliseconds since 1970) or for ever. `change` starts with an empty set. If it
    /// puts no members, the key is removed.
    ///
    /// The replacement is one write, for readers and on disk. After an error the key is unchanged.
    /// `change` is called again if another writer changes the key meanwhile. It must not write to
    /// anything else.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"geese", b"grey, bean")?;
    /// let (replaced, _) = store.session().write(|writer| {
    ///     writer.replace_set::<_, Error>(b"geese", None, |set| set.put(b"grey", 3.5).map(drop))
    /// })?;
    /// replaced?;
    /// let is_set = |row: Option<RowRef<'_>>| row.is_some_and(|row| row.sorted_set().is_some());
    /// assert!(store.session().get_with(b"geese", is_set));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `change`; a size limit or the memory limit.
    pub fn replace_set<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.begin_write()?;
        self.replace_by_collection(key, CollectionKind::SortedSet, expires, |members| {
            change(&mut SetWriter { members })
        })
    }

    fn find_set(&self, key: &[u8]) -> Result<FoundSet> {
        let found = self.time().live(self.core.index.get(key, &self.guard));
        self.core.used(found);
        match found {
            None => Ok(FoundSet::Nothing),
            Some(row) => {
                match row.shared_collection().filter(|found| found.kind() == CollectionKind::SortedSet) {
                    Some(collection) => Ok(FoundSet::Set(collection)),
                    None => Err(Error::WrongKind { found: row.holds(), needed: "a sorted set" }),
                }
            }
        }
    }
}

/// A sorted set that is being changed; see [`Writer::change_set`].
pub struct SetWriter<'w> {
    members: MemberWriter<'w>,
}

impl SetWriter<'_> {
    /// Returns the number of members.
    pub fn len(&self) -> u64 {
        self.members.state.score_index.len()
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the score of a member. This takes a lookup.
    pub fn score(&mut self, member: &[u8]) -> Option<f64> {
        self.members.look(member).map(score_of)
    }

    /// Looks up members that are about to be put or removed, with overlapping reads, to fill the
    /// cache. For a single member it does not help.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m [u8]>) {
        self.members.expect(members);
    }

    /// As [`SetReader::rank_by`](crate::SetReader::rank_by).
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.members.state.score_index.rank_by(before)
    }

    /// As [`SetReader::walk`](crate::SetReader::walk).
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.members.state.score_index.walk(rank, direction, each);
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
        let (before, seen) = self.members.look(member).map(|row| (score_of(row), row.version())).unzip();
        // Turns -0.0 into 0.0, so that there is one zero.
        let Some(score) = decide(before)?.map(|score| score + 0.0) else { return Ok(()) };
        if before == Some(score) {
            return Ok(());
        }
        if score.is_nan() {
            return Err(Error::NotANumber.into());
        }
        if before.is_none() {
            self.members.admit_growth()?;
        }
        self.members.note_score(member, before, Some(score));
        self.members.put(seen, &score.to_le_bytes())?;
        let score_index = &mut self.members.state.score_index;
        if let Some(before) = before {
            score_index.remove(before, member);
        }
        score_index.insert(score, member);
        Ok(())
    }

    /// Removes all members as fast as the removal of the key: a background thread frees them. They
    /// stay visible until the end of the change. If the change puts a member afterwards, they are
    /// removed at once, one by one.
    pub fn clear(&mut self) {
        self.members.state.cleared = !self.is_empty();
    }

    /// Removes the members at once, because the change puts members after [`clear`](Self::clear).
    fn clear_now(&mut self) -> Result<()> {
        if std::mem::take(&mut self.members.state.cleared) {
            let mut members = Vec::new();
            self.walk(0, ScanDirection::Forward, |_, member| {
                members.push(member.to_vec());
                ControlFlow::Continue(())
            });
            members.iter().try_for_each(|member| self.remove(member).map(drop))?;
        }
        Ok(())
    }

    /// Removes a member and returns its score.
    ///
    /// # Errors
    /// Those of the index.
    pub fn remove(&mut self, member: &[u8]) -> Result<Option<f64>> {
        let found = self.members.look(member).map(|row| (score_of(row), row.version()));
        let Some((score, version)) = found else { return Ok(None) };
        self.members.note_score(member, Some(score), None);
        self.members.remove(version);
        self.members.state.score_index.remove(score, member);
        Ok(Some(score))
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
