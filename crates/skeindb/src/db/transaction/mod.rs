//! Serializable transactions: reads of one snapshot, private writes, and a check at the commit.
//!
//! ```text
//!   begin ── snapshot (at the first read)
//!   get      private writes first, then the snapshot;  the key's version is noted
//!   range    both merged;                              the versions of the part read are noted
//!   insert   private
//!   commit   alone: are the noted versions the present ones? ── apply the writes as one batch
//! ```
//!
//! A transaction that commits could have run whole at the moment of its commit: all its reads,
//! ranges included, would return the same then. So committed transactions are serializable, in the
//! order of their commits. A transaction that only reads runs at the moment of its snapshot.
//!
//! A version belongs to one content of one key for ever (promise 6 of an engine), so equal versions
//! mean that nothing changed. A key that was absent, then inserted and removed again, counts as
//! unchanged, and rightly so.
//!
//! Compared with locks: no transaction waits for another one and none can deadlock; two that meet
//! are sorted out at the commit, where the later one begins again.
//!
//! An exclusive transaction keeps other writers away from its begin to its commit, by
//! `exclusive_gate`. So nothing that it has read can be changed, and its commit checks nothing. The
//! time stands still for it: a key that expires meanwhile counts as present.
//!
//! Read `private_writes`, `key_intervals`, `read_set`, `hidden_runs`, `reads`, `writes`, then this
//! file. Two modules serve tests: `step_count` bounds the cost of searches, and `planted_bugs`
//! proves that the checker of histories finds bugs.

mod hidden_runs;
mod key_intervals;
pub mod planted_bugs;
mod private_writes;
mod read_set;
mod reads;
#[cfg(test)]
mod step_count;
mod writes;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use skein_sync::locks::{into_inner, lock};

use hidden_runs::HiddenRuns;
use private_writes::PrivateWrites;
use read_set::ReadSet;

use super::exclusive_gate::ExclusiveTurn;
use super::{Db, DbShared, Snapshot};
use crate::{Durability, Error, Result};

/// How often [`Db::transaction`] tries.
const ATTEMPTS_MAX: u32 = 1000;
/// Attempts that follow at once; later ones wait, up to `LONGEST_WAIT`.
const ATTEMPTS_AT_ONCE: u32 = 4;
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// An open transaction; see [`Db::transaction`] and [`Db::begin`]. Dropped without
/// [`commit`](Self::commit), it leaves nothing.
///
/// Its first read takes a [`Snapshot`], which it keeps until its end: keep it short. Its writes are
/// in memory until the commit.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<DbShared>,
    snapshot: Mutex<Option<Snapshot>>,
    reads: Mutex<ReadState>,
    writes: PrivateWrites,
    durability: Durability,
    /// Of an exclusive transaction. The last field: the gate opens after the snapshot has ended.
    turn: Option<ExclusiveTurn>,
}

/// The reads of a transaction, as it records them.
#[derive(Debug, Default)]
struct ReadState {
    set: ReadSet,
    hidden: HiddenRuns,
}

/// A place in a transaction to which its writes can be rolled back; see
/// [`Transaction::savepoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint(private_writes::Place);

impl Db {
    /// Runs a transaction. Calls `body`, and commits its writes if it returns `Ok`. If another
    /// write has changed a row or a range that it read, calls it again with a new transaction, up
    /// to 1,000 times. If it returns an error, nothing was done; [`Error::abort`] and
    /// [`Error::other`] carry reasons of your own.
    ///
    /// `body` may use the database, but only operations through the transaction are part of it.
    ///
    /// A `body` that reads many keys which others keep writing may conflict each time. Use
    /// [`transaction_exclusive`](Self::transaction_exclusive) for it.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let accounts = db.keyspace("accounts")?;
    /// accounts.insert("ada", "10")?;
    /// let left = db.transaction(|tx| {
    ///     let balance = tx.increment(&accounts, "ada", -3)?;
    ///     if balance < 0 {
    ///         return Err(skeindb::Error::abort("not enough"));
    ///     }
    ///     tx.increment(&accounts, "bob", 3)?;
    ///     Ok(balance)
    /// })?;
    /// assert_eq!(left, 7);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `body`; [`Error::Conflict`] after 1,000 attempts; as for [`Db::apply`].
    pub fn transaction<T>(&self, mut body: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = self.begin()?;
            let answer = body(&mut transaction)?;
            match transaction.commit() {
                Err(Error::Conflict { .. }) => wait_before(attempt),
                done => return done.map(|()| answer),
            }
        }
        Err(Error::Conflict { attempts: ATTEMPTS_MAX })
    }

    /// Runs an exclusive transaction: from before `body` to the end of the commit no other thread
    /// writes, so it cannot conflict, and `body` is called once. Reads continue everywhere.
    /// Exclusive transactions run in the order of their requests, and the writes that waited for
    /// one run before the next, so neither starves.
    ///
    /// `body` must write through the transaction alone: any other write on its thread returns
    /// [`Error::WithinExclusive`]. It must not wait for another thread that writes. Keep it short,
    /// because all other writes wait for it, those that create and drop keyspaces included. A key
    /// that expires meanwhile counts as present.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let accounts = db.keyspace("accounts")?;
    /// accounts.insert("ada", "10")?;
    /// accounts.insert("bob", "20")?;
    /// let rows = db.transaction_exclusive(|tx| {
    ///     let rows = tx.keys(&accounts).count();
    ///     tx.insert(&accounts, "rows", rows.to_string())?;
    ///     Ok(rows)
    /// })?;
    /// assert_eq!(rows, 2);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `body`; the calling thread has an exclusive transaction open; as for [`Db::apply`].
    pub fn transaction_exclusive<T>(&self, body: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
        let mut transaction = self.begin_exclusive()?;
        let answer = body(&mut transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    /// Begins an exclusive transaction that the caller commits, or drops; see
    /// [`transaction_exclusive`](Self::transaction_exclusive). Until then all other writers wait.
    /// End it on the thread that began it: only there a write beside it is an error, and on another
    /// thread that write would wait for ever.
    ///
    /// # Errors
    /// The database is closed, or the calling thread has an exclusive transaction open.
    pub fn begin_exclusive(&self) -> Result<Transaction> {
        let turn = ExclusiveTurn::begin(&self.shared)?;
        Ok(Transaction { turn: Some(turn), ..self.begin()? })
    }

    /// Begins a transaction that the caller commits. See [`transaction`](Self::transaction), which
    /// also repeats it.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&geese, "grey", "Anser anser")?;
    /// assert!(!geese.contains_key("grey")?, "nobody else sees it before the commit");
    /// tx.commit()?;
    /// assert!(geese.contains_key("grey")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed.
    pub fn begin(&self) -> Result<Transaction> {
        self.shared.check_usable()?;
        Ok(Transaction {
            shared: self.shared.clone(),
            snapshot: Mutex::default(),
            reads: Mutex::default(),
            writes: PrivateWrites::default(),
            durability: self.shared.engine.durability(),
            turn: None,
        })
    }
}

/// Waits before another attempt, longer each time, so that transactions that meet get apart.
fn wait_before(attempt: u32) {
    let Some(late) = attempt.checked_sub(ATTEMPTS_AT_ONCE) else { return };
    // Different threads wait for different times.
    let spread = u64::from(std::process::id()) ^ std::ptr::from_ref(&attempt).addr() as u64 >> 12;
    let longest = (10 << late.min(8)) + spread % 50;
    std::thread::sleep(Duration::from_micros(longest).min(LONGEST_WAIT));
}

impl Transaction {
    /// Sets how durable the commit is when it returns. By default it is as durable as the database
    /// promises.
    ///
    /// # Errors
    /// The database has [`Durability::None`], so a commit cannot be durable.
    pub fn set_durability(&mut self, durability: Durability) -> Result<()> {
        if self.shared.engine.durability() == Durability::None && durability != Durability::None {
            let why = format!("{durability:?}: the database was opened with `none`, so it has no log");
            return Err(Error::BadOption { name: "durability", why });
        }
        self.durability = durability;
        Ok(())
    }

    /// Returns a savepoint: the writes after it can be undone without the others.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let geese = db.keyspace("geese")?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&geese, "grey", "Anser anser")?;
    /// let savepoint = tx.savepoint();
    /// tx.insert(&geese, "bean", "Anser fabalis")?;
    /// tx.rollback_to(savepoint)?;
    /// tx.commit()?;
    /// assert_eq!(geese.len()?, 1);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.writes.savepoint())
    }

    /// Undoes the writes after a savepoint, which stays. Reads since then are still checked
    /// at the commit.
    ///
    /// # Errors
    /// The savepoint belongs to another transaction, or an earlier one was rolled back to.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let mut reads = lock(&self.reads);
        self.writes.rollback_to(savepoint.0, |number, key| reads.hidden.show(number, key))
    }

    /// Applies all writes, if its reads have not changed, and ends the transaction.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it has changed; otherwise as for [`Db::apply`]. Nothing was written
    /// then. If writes are stopped or the database is closed while the commit becomes durable, the
    /// writes may be lost or not.
    pub fn commit(self) -> Result<()> {
        self.shared.check_usable()?;
        if self.writes.is_empty() {
            return Ok(());
        }
        let Self { shared, snapshot, reads, writes, durability, turn } = self;
        // So that the commit itself keeps nothing for it.
        drop(snapshot);
        let reads = into_inner(reads).set;
        let (batch, keyspaces) = writes.into_batch();
        let applied = shared.apply_alone(turn.as_ref(), &batch, keyspaces.iter(), |present| {
            if turn.is_some() { Ok(true) } else { reads.is_unchanged(present) }
        });
        // Others write while this commit becomes durable.
        drop(turn);
        let ticket = applied?.ok_or(Error::Conflict { attempts: 1 })?;
        shared.acknowledge(ticket, durability)
    }

    /// Ends the transaction and undoes everything, as dropping it does.
    pub fn rollback(self) {}
}
