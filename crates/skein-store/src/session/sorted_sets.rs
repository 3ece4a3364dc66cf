//! Writes to sorted sets: members and order change together, under the set's lock. See `collection` for what makes them safe.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Writer;
use super::member_writer::MemberWriter;
use crate::collection::{Collection, CollectionKind, MEMBER_BYTES_MAX, Member, score_of};
use crate::{Error, Result, ScanDirection};

/// What a write finds at its key.
enum FoundSet {
    Set(Arc<Collection>),
    Nothing,
}

impl Writer<'_> {
    /// Changes the sorted set at `key`; `change` is given it, held still. An absent key is an empty set if `make` says so, and becomes a set when members
    /// are put; otherwise the answer is `None`, and `change` is not called. A set without members is gone.
    ///
    /// All of it is one write, for readers and on disk. After an error, of `change` or of a write in it, the set is as it was. It may be called
    /// again if another writer gets in between, and must not write to anything else.
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
    /// That of `change`; a limit, the budget; `WrongKind` if the key holds something else.
    pub fn change_set<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        self.turn()?;
        self.inner.check_sizes(key, 0)?;
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
            // Without an answer the set died, or came to be, meanwhile.
            if done.is_some() {
                return Ok(done);
            }
        }
    }

    /// Makes `key` a sorted set of the members that `change` puts, whatever it held, until `expires` (milliseconds since 1970) or for ever. Without members the
    /// key is removed. `change` is given an empty set.
    ///
    /// All of it is one write, for readers and on disk. After an error, of `change` or of a write in it, the key holds what it held. `change` may be called again
    /// if another writer gets in between, and must not write to anything else.
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
    /// assert!(store.session().get_with(b"geese", |row| row.is_some_and(|row| row.sorted_set().is_some())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// That of `change`; a limit, the budget.
    pub fn replace_set<R, E: From<Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.turn()?;
        self.replace_by_collection(key, CollectionKind::SortedSet, expires, |members| {
            change(&mut SetWriter { members })
        })
    }

    fn find_set(&self, key: &[u8]) -> Result<FoundSet> {
        let found = self.time().live(self.inner.index.get(key, &self.guard));
        self.inner.used(found);
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
    /// How many members there are.
    pub fn len(&self) -> u64 {
        self.members.state.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of a member. Takes a lookup.
    pub fn score(&mut self, member: &[u8]) -> Option<f64> {
        self.members.look(member).map(score_of)
    }

    /// Looks members up, with overlapping reads and for the cache only, because they are about to be put or removed. For one it is in vain.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m [u8]>) {
        self.members.expect(members);
    }

    /// As [`SetReader::rank_by`](crate::SetReader::rank_by).
    pub fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        self.members.state.order.rank_by(before)
    }

    /// As [`SetReader::walk`](crate::SetReader::walk).
    pub fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        self.members.state.order.walk(rank, direction, each);
    }

    /// Gives a member a score; returns the one it had.
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

    /// Gives a member the score that `decide` makes of the one it has, `None` if it is not there; with `None` from it, or the same score, nothing is changed.
    ///
    /// # Errors
    /// That of `decide`; the member is over its limit, the score is not a number, memory is over the budget and the member is new.
    pub fn update<E: From<Error>>(
        &mut self,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> std::result::Result<Option<f64>, E>,
    ) -> std::result::Result<(), E> {
        check_member(member)?;
        self.clear_now()?;
        let (before, seen) = self.members.look(member).map(|row| (score_of(row), row.version())).unzip();
        // There is one zero.
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
        let order = &mut self.members.state.order;
        if let Some(before) = before {
            order.remove(before, member);
        }
        order.insert(score, member);
        Ok(())
    }

    /// Removes all members, which takes no longer than removing the key: they are given back in the background. They are still seen until the end of
    /// the change; if something is put after it, they go at once, one by one.
    pub fn clear(&mut self) {
        self.members.state.cleared = !self.is_empty();
    }

    /// The set goes on after all: what it was to lose with its end goes now.
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

    /// Removes a member; returns the score it had.
    ///
    /// # Errors
    /// What the index says.
    pub fn remove(&mut self, member: &[u8]) -> Result<Option<f64>> {
        let found = self.members.look(member).map(|row| (score_of(row), row.version()));
        let Some((score, version)) = found else { return Ok(None) };
        self.members.note_score(member, Some(score), None);
        self.members.remove(version);
        self.members.state.order.remove(score, member);
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
