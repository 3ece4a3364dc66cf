//! The gate of exclusive transactions: while one is open, no other thread writes.
//!
//! ```text
//!   exclusive   wait for the turn ── close ──┤ body, commit ├── open ── next turn …
//!   writer        write        └─ wait ──────────────────────┘ write
//! ```
//!
//! The body of an exclusive transaction is code of the user, so it holds no room (invariant 2 of
//! `db`). Instead it closes this gate. A writer that finds the gate closed leaves its room and
//! waits.
//!
//! # Invariants
//! 1. `closed` is set by a thread that holds all rooms. So a writer that holds a room and reads
//!    `false` ends before the exclusive transaction begins, or begins after its end.
//! 2. Exclusive transactions close the gate in the order in which they asked for it. One that ends
//!    admits all writers that wait, and the next one closes the gate once these hold their rooms.
//!    So each side waits for one turn of the other at most, and neither starves.
//! 3. No lock is held while the gate is closed, so a transaction may move to another thread, and a
//!    thread that panics opens the gate by its drop.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;

use skein_sync::atomic::{AtomicBool, Ordering};
use skein_sync::locks::{lock, wait};

use super::DbShared;
use crate::{Error, Result};

/// The gate; see the module's head.
#[derive(Debug, Default)]
pub(super) struct ExclusiveGate {
    /// Whether an exclusive transaction is open (invariant 1).
    closed: AtomicBool,
    turns: Mutex<Turns>,
    /// Notified when the gate opens, when the last admitted writer has entered, and at the close of
    /// the database.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Turns {
    /// The thread that began the open exclusive transaction.
    holder: Option<ThreadId>,
    /// Exclusive transactions that have asked for the gate, and those that have ended.
    asked: u64,
    ended: u64,
    /// Writers that wait for the end of the present turn.
    waiting: usize,
    /// Writers that hold an [`Admission`].
    admitted: usize,
}

/// The right to write although exclusive transactions wait: none begins before it is dropped.
#[derive(Debug)]
pub(super) struct Admission<'g>(&'g ExclusiveGate);

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let mut turns = lock(&self.0.turns);
        turns.admitted -= 1;
        if turns.admitted == 0 {
            self.0.changed.notify_all();
        }
    }
}

impl ExclusiveGate {
    /// Returns whether a writer must wait. REQUIRES: the thread holds a room (invariant 1).
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `open`, so a writer that finds the gate open sees the
        // commit of the exclusive transaction.
        self.closed.load(Ordering::Acquire)
    }

    /// Waits until no exclusive transaction is open. REQUIRES: the thread holds no room and no lock
    /// that the body of a transaction may need.
    ///
    /// # Errors
    /// That of `check`, which is asked again at each change; the calling thread has the exclusive
    /// transaction that it would wait for.
    pub(super) fn admit(&self, check: impl Fn() -> Result<()>) -> Result<Admission<'_>> {
        let mut turns = self.turns_of_another()?;
        if turns.holder.is_none() && turns.asked == turns.ended {
            turns.admitted += 1;
            return Ok(Admission(self));
        }
        let ended = turns.ended;
        turns.waiting += 1;
        while turns.ended == ended {
            if let Err(error) = check() {
                turns.waiting -= 1;
                return Err(error);
            }
            turns = wait(&self.changed, turns);
        }
        // `open` has counted this writer among the admitted ones.
        drop(turns);
        Ok(Admission(self))
    }

    /// Waits for the turn of the calling thread. Once it returns, no writer is admitted that does
    /// not hold a room.
    fn take_turn(&self, check: impl Fn() -> Result<()>) -> Result<()> {
        let mut turns = self.turns_of_another()?;
        let turn = turns.asked;
        turns.asked += 1;
        while turns.holder.is_some() || turns.ended != turn || turns.admitted > 0 {
            // The turns of a closed database need no order.
            check()?;
            turns = wait(&self.changed, turns);
        }
        turns.holder = Some(std::thread::current().id());
        Ok(())
    }

    fn turns_of_another(&self) -> Result<MutexGuard<'_, Turns>> {
        let turns = lock(&self.turns);
        if turns.holder == Some(std::thread::current().id()) {
            Err(Error::WithinExclusive)
        } else {
            Ok(turns)
        }
    }

    fn open(&self) {
        // Release: pairs with the Acquire in `is_closed`.
        self.closed.store(false, Ordering::Release);
        let mut turns = lock(&self.turns);
        turns.holder = None;
        turns.ended += 1;
        turns.admitted += std::mem::take(&mut turns.waiting);
        drop(turns);
        self.changed.notify_all();
    }

    /// Wakes all waiting threads, which ask again whether the database is usable.
    pub(super) fn wake_all(&self) {
        let turns = lock(&self.turns);
        drop(turns);
        self.changed.notify_all();
    }
}

/// The turn of an exclusive transaction. Its drop opens the gate.
#[derive(Debug)]
pub(super) struct ExclusiveTurn(Arc<DbShared>);

impl ExclusiveTurn {
    /// Waits for a turn, and closes the gate.
    ///
    /// # Errors
    /// The database is closed, or the calling thread has an exclusive transaction already.
    pub(super) fn begin(shared: &Arc<DbShared>) -> Result<Self> {
        shared.check_usable()?;
        shared.exclusive.take_turn(|| shared.check_usable())?;
        let turn = Self(shared.clone());
        let all_rooms = shared.rooms.enter_all();
        // Release: a writer reads it in a room (invariant 1), and the room's lock orders the read.
        shared.exclusive.closed.store(true, Ordering::Release);
        drop(all_rooms);
        Ok(turn)
    }
}

impl Drop for ExclusiveTurn {
    fn drop(&mut self) {
        // In a forked child the lock may be held for ever, and nobody waits.
        if self.0.check_process().is_ok() {
            self.0.exclusive.open();
        }
    }
}
