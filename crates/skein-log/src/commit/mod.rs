//! Commits: closing an epoch and making it durable. Also the state that all threads of a log share.
//!
//! ```text
//!   take token ─ close epoch e ─ take records of e ─ reserve positions ─ write, sync ─ durable = e
//!                                                                        │
//!                                      one log: on this thread ──────────┤
//!                                      several: on their writer threads, in parallel
//! ```
//!
//! 1. The holder of the token commits, so there is one commit at a time. A thread that waits for an
//!    epoch and finds the token free takes it and becomes the leader. So a lone writer of the
//!    library at `sync` pays one write, one sync and no change of threads. A thread that must not
//!    wait, like a server's worker, asks the committer thread, which also commits at `buffered`
//!    every 200 ms. While a commit syncs, the next epoch fills, and all threads that wait for it
//!    share the next commit. The participants of a commit are the logs with records of its epoch;
//!    each ends them with a mark, the record that says which logs took part.
//! 2. A commit begins to write only when the one before is durable in all its logs. So a mark that
//!    says "durable before: d" proves that all epochs up to d were on disk.
//! 3. `durable` is raised only when the syncs of all participants have returned `Ok`.
//! 4. A failed write or sync stops all writing for good. After it nobody knows which of its bytes
//!    are on disk, and a second sync that succeeds would prove nothing.
//! 5. The exception is a write that found no room: the disk is full, or too many files are open. It
//!    is known to be undone, and nothing of its epoch is durable. New operations are refused, the
//!    epoch waits, and the committer thread writes the same bytes to the same positions until there
//!    is room (`disk_full.rs`).
//!
//! Read `write_state.rs`, then `committer.rs`, `commit_parts.rs`, `disk_full.rs` and
//! `standstill.rs`. Design: `docs/design/log.md`.

mod commit_parts;
mod committer;
mod disk_full;
mod standstill;
mod write_state;

use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::background::ThreadSignal;

use crate::epoch::EpochGate;
use crate::planted_bugs::{self, PlantedBug};
use crate::segment_allocator::SegmentAllocator;
use crate::storage::Storage;
use crate::writer::LogWriter;
use crate::{Durability, LogError, Result};
use commit_parts::CommitParts;
use committer::{CommitToken, CommitTurn};
use disk_full::StalledCommit;
use skein_sync::locks::lock;
pub use standstill::Standstill;
use write_state::{AtomicWriteState, WriteState};

type DurableCallback = Box<dyn Fn() + Send + Sync>;

/// The state that all threads of a log share.
pub struct SharedLog {
    pub storage: Arc<dyn Storage>,
    pub durability: Durability,
    pub gate: EpochGate,
    /// Empty at `Durability::None`.
    pub writers: Box<[LogWriter]>,
    pub allocator: SegmentAllocator,
    durable: AtomicU64,
    state: AtomicWriteState,
    cause: OnceLock<String>,
    /// The latest error about a lack of space.
    no_room: Mutex<String>,
    /// Only the holder of the token uses it.
    stalled: Mutex<StalledCommit>,
    commits: AtomicU64,
    turn: Mutex<CommitTurn>,
    /// Notified when the token is free, the durable epoch has advanced, or writes have stopped.
    turned: Condvar,
    /// Wakes the committer thread.
    pub committer: Arc<ThreadSignal>,
    parts: Mutex<CommitParts>,
    part_done: Condvar,
    callbacks: RwLock<Vec<DurableCallback>>,
}

impl std::fmt::Debug for SharedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("durability", &self.durability)
            .field("epoch", &self.gate.epoch())
            .field("durable_epoch", &self.durable())
            .finish_non_exhaustive()
    }
}

impl SharedLog {
    pub fn new(
        storage: Arc<dyn Storage>,
        durability: Durability,
        gate: EpochGate,
        writers: Box<[LogWriter]>,
        allocator: SegmentAllocator,
    ) -> Self {
        let durable = AtomicU64::new(gate.epoch() - 1);
        Self {
            storage,
            durability,
            gate,
            writers,
            allocator,
            durable,
            state: AtomicWriteState::new(),
            cause: OnceLock::new(),
            no_room: Mutex::default(),
            stalled: Mutex::default(),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
            turned: Condvar::new(),
            committer: Arc::default(),
            parts: Mutex::default(),
            part_done: Condvar::new(),
            callbacks: RwLock::default(),
        }
    }

    /// Returns the last durable epoch.
    #[inline]
    pub fn durable(&self) -> u64 {
        // Acquire: pairs with the Release in `make_durable`.
        self.durable.load(Ordering::Acquire)
    }

    /// Returns the number of commits since the start.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns `Ok` if the log accepts operations.
    ///
    /// # Errors
    /// Returns an error if the log is poisoned, closed, or waits for space.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.state.get() {
            WriteState::Running => Ok(()),
            state => Err(self.refusal(state)),
        }
    }

    #[cold]
    fn refusal(&self, state: WriteState) -> LogError {
        match self.cause.get() {
            Some(cause) if state == WriteState::Poisoned => LogError::Poisoned { cause: cause.clone() },
            _ if state == WriteState::NoRoom => LogError::NoRoom { cause: lock(&self.no_room).clone() },
            _ => LogError::Closed,
        }
    }

    /// Returns the reason why writes are stopped, if a failure stopped them.
    pub fn poisoned(&self) -> Option<LogError> {
        let poisoned = self.cause.get().map(|cause| LogError::Poisoned { cause: cause.clone() });
        poisoned.or_else(|| self.is_waiting_for_room().then(|| self.refusal(WriteState::NoRoom)))
    }

    /// Stops all writing for good (invariant 4).
    pub fn poison(&self, cause: &dyn std::fmt::Display) {
        let first = self.cause.set(cause.to_string()).is_ok();
        // Also if another thread failed first: it may not have changed the state yet, and this
        // thread reads the state to report why it stops.
        self.state.poison();
        if first {
            tracing::error!(%cause, "writes to the log are stopped");
            self.wake_everybody();
        }
    }

    /// Sets the cause without the state, like a thread that is in the middle of [`Self::poison`].
    #[cfg(all(test, not(skein_loom)))]
    pub fn set_cause_alone(&self, cause: &str) {
        self.cause.set(cause.to_owned()).expect("no failure before");
    }

    fn wake_everybody(&self) {
        for writer in &self.writers {
            if self.state.get() == WriteState::Poisoned {
                writer.thread.stop();
            }
            writer.buffer.wake_all();
        }
        drop(lock(&self.turn));
        self.turned.notify_all();
        self.committer.wake();
        self.call_back();
    }

    /// Runs the writer thread of a log.
    pub fn run_writer(&self, log: usize) {
        let done = |result| self.part_done(result);
        let failed = |error| drop(self.stop_for(&error));
        let secure_room = || self.secure_next_segment(log);
        let lost = |has_part| self.part_lost(has_part);
        self.writers[log].run(&self.allocator, done, failed, secure_room, lost);
    }

    /// Adds a callback for `make_durable` and `poison`.
    pub fn on_durable(&self, callback: DurableCallback) {
        self.callbacks.write().unwrap_or_else(std::sync::PoisonError::into_inner).push(callback);
    }

    fn call_back(&self) {
        for callback in &*self.callbacks.read().unwrap_or_else(std::sync::PoisonError::into_inner) {
            callback();
        }
    }

    /// Waits until `epoch` is durable. If no other thread commits, this one does.
    pub fn wait_durable(&self, epoch: u64) -> Result<()> {
        if self.durability == Durability::None || self.durable() >= epoch {
            return Ok(());
        }
        assert!(
            epoch <= self.gate.epoch(),
            "epoch {epoch} has not begun; wait for the epoch of an operation"
        );
        loop {
            match self.token_unless(|| self.durable() >= epoch) {
                Some(token) if self.durable() < epoch => {
                    self.check()?;
                    self.commit_with(&token, false)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Closes the current epoch, makes it durable and returns it.
    pub fn commit(&self) -> Result<u64> {
        self.commit_then(|epoch| epoch)
    }

    /// Does the same, and calls `then` with the epoch before the next commit begins.
    pub fn commit_then<R>(&self, then: impl FnOnce(u64) -> R) -> Result<R> {
        let token = self.token();
        self.check()?;
        self.commit_with(&token, false).map(then)
    }

    /// Runs one commit. With `everywhere`, all logs that this run has written to take part, even
    /// without new records.
    fn commit_with(&self, _token: &CommitToken<'_>, everywhere: bool) -> Result<u64> {
        let StalledCommit { epoch, jobs } = std::mem::take(&mut *lock(&self.stalled));
        let epoch = epoch.unwrap_or_else(|| self.gate.close());
        let before = self.durable();
        if planted_bugs::is_on(PlantedBug::EarlyAcknowledgement) {
            self.make_durable(epoch);
        }
        let written = if jobs.is_empty() {
            self.write_epoch(epoch, before, everywhere)
        } else {
            self.write_parts(jobs.into_iter())
        };
        if let Err(error) = written {
            lock(&self.stalled).epoch = Some(epoch);
            return Err(self.stop_for(&error));
        }
        self.resume_writes();
        self.writers.iter().for_each(|writer| writer.buffer.made_durable());
        self.make_durable(epoch);
        Ok(epoch)
    }

    fn make_durable(&self, epoch: u64) {
        // Release: pairs with the Acquire in `durable`.
        self.durable.store(epoch, Ordering::Release);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.allocator.set_durable(epoch);
        self.call_back();
    }

    /// Refuses new operations and makes everything durable. Returns the last epoch, or `None` if
    /// the log was closed before. Afterwards the caller stops the threads.
    pub fn close(&self) -> Result<Option<u64>> {
        let token = self.token();
        if self.is_waiting_for_room()
            && let Err(error) = self.commit_with(&token, false)
        {
            match error {
                // Room that comes later does not help any more.
                LogError::NoRoom { cause } => self.poison(&cause),
                other => self.poison(&other),
            }
        }
        let closing = self.state.change(WriteState::Running, WriteState::Closed);
        // All that was acknowledged has a place, and only new operations found none.
        let closing = closing.or_else(|_| self.state.change(WriteState::NoRoom, WriteState::Closed));
        let closed = match closing {
            // Two epochs: an operation that entered before the first was closed may append to the
            // second. The marks of the second prove all the rest durable.
            Ok(()) => self.commit_with(&token, false).and_then(|_| self.commit_with(&token, true)).map(Some),
            Err(state @ WriteState::Poisoned) => Err(self.refusal(state)),
            Err(_) => Ok(None),
        };
        drop(token);
        self.wake_everybody();
        closed
    }
}
