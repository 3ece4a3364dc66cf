//! Commits: closing an epoch and making it durable. The state that all threads of a log share.
//!
//! ```text
//!   take the token ─ close epoch e ─ take each log's records of e ─ reserve places ─ write, sync ─ durable = e
//!                                                                   └ one log: here, by this thread
//!                                                                   └ several: their writers' threads, in parallel
//! ```
//!
//! 1. Whoever holds the token commits; one at a time. It is taken by whoever needs an epoch durable and finds it free
//!    (the leader), so a lone writer at `sync` pays one write and one sync and no change of threads. While a commit
//!    syncs, the next epoch fills: whoever waits then shares the next commit.
//! 2. A commit begins to write only when the one before is durable in all its logs. So a mark that says "durable before:
//!    d" proves that everything up to d was on disk.
//! 3. `durable` is raised only when all participants' syncs have returned `Ok`.
//! 4. A failed write or sync stops all writing for good: after it nobody knows what of it is on disk, and a second
//!    sync that succeeds would prove nothing.

use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::time::Duration;

use skein_sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::epoch::EpochGate;
use crate::maker::Maker;
use crate::planted::{self, Bug};
use crate::record::Participant;
use crate::storage::Storage;
use crate::sync::{lock, wait, wait_timeout};
use crate::writer::{Job, LogWriter};
use crate::{Durability, LogError, Result};

const RUNNING: u8 = 0;
const POISONED: u8 = 1;
const CLOSED: u8 = 2;

type Callback = Box<dyn Fn() + Send + Sync>;

/// Who may commit, and who is asked to.
#[derive(Debug, Default)]
struct Turn {
    /// The token is taken.
    taken: bool,
    /// An epoch that the committer's thread was asked to make durable.
    requested: u64,
    /// The committer's thread should end.
    ended: bool,
}

/// How the parts of a commit went that other threads do.
#[derive(Debug, Default)]
struct Parts {
    running: usize,
    failed: Option<LogError>,
}

/// What all threads of a log share.
pub struct Shared {
    pub storage: Arc<dyn Storage>,
    pub durability: Durability,
    pub gate: EpochGate,
    /// None at `Durability::None`.
    pub writers: Box<[LogWriter]>,
    pub maker: Maker,
    durable: AtomicU64,
    state: AtomicU8,
    cause: OnceLock<String>,
    commits: AtomicU64,
    turn: Mutex<Turn>,
    /// The token is free, or the durable epoch has advanced, or writes have stopped.
    turned: Condvar,
    /// The committer's thread has something to do.
    asked: Condvar,
    parts: Mutex<Parts>,
    part_done: Condvar,
    callbacks: RwLock<Vec<Callback>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("durability", &self.durability)
            .field("epoch", &self.gate.epoch())
            .field("durable_epoch", &self.durable())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub fn new(
        storage: Arc<dyn Storage>,
        durability: Durability,
        gate: EpochGate,
        writers: Box<[LogWriter]>,
        maker: Maker,
    ) -> Self {
        let durable = AtomicU64::new(gate.epoch() - 1);
        Self {
            storage,
            durability,
            gate,
            writers,
            maker,
            durable,
            state: AtomicU8::new(RUNNING),
            cause: OnceLock::new(),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
            turned: Condvar::new(),
            asked: Condvar::new(),
            parts: Mutex::default(),
            part_done: Condvar::new(),
            callbacks: RwLock::default(),
        }
    }

    /// Everything up to this epoch is durable.
    #[inline]
    pub fn durable(&self) -> u64 {
        // Acquire: pairs with the Release in `make_durable`.
        self.durable.load(Ordering::Acquire)
    }

    /// Commits made since the start.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Whether operations are taken.
    ///
    /// # Errors
    /// The log is poisoned or closed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        // Relaxed: who enters an epoch after the one in which the log was closed sees it through the gate.
        match self.state.load(Ordering::Relaxed) {
            RUNNING => Ok(()),
            state => Err(self.refusal(state)),
        }
    }

    #[cold]
    fn refusal(&self, state: u8) -> LogError {
        match self.cause.get() {
            Some(cause) if state == POISONED => LogError::Poisoned { cause: cause.clone() },
            _ => LogError::Closed,
        }
    }

    /// Why writes are stopped, if a failure stopped them.
    pub fn poisoned(&self) -> Option<LogError> {
        self.cause.get().map(|cause| LogError::Poisoned { cause: cause.clone() })
    }

    /// Stops all writing for good (invariant 4).
    pub fn poison(&self, error: &LogError) {
        if self.cause.set(error.to_string()).is_err() {
            return;
        }
        tracing::error!(%error, "writes to the log are stopped");
        self.state.store(POISONED, Ordering::Release);
        self.wake_everybody();
    }

    fn wake_everybody(&self) {
        for writer in &self.writers {
            if self.state.load(Ordering::Relaxed) == POISONED {
                writer.stop();
            }
            writer.buffer.wake_all();
        }
        drop(lock(&self.turn));
        self.turned.notify_all();
        self.asked.notify_all();
        self.call_back();
    }

    /// Adds a callback for `make_durable` and `poison`.
    pub fn on_durable(&self, callback: Callback) {
        self.callbacks.write().unwrap_or_else(std::sync::PoisonError::into_inner).push(callback);
    }

    fn call_back(&self) {
        for callback in &*self.callbacks.read().unwrap_or_else(std::sync::PoisonError::into_inner) {
            callback();
        }
    }

    /// Waits until `epoch` is durable, leading a commit if nobody else does.
    pub fn wait_durable(&self, epoch: u64) -> Result<()> {
        if self.durability == Durability::None || self.durable() >= epoch {
            return Ok(());
        }
        assert!(
            epoch <= self.gate.epoch(),
            "epoch {epoch} has not begun; wait for one that an operation had"
        );
        loop {
            let lead = self.take_token(|| self.durable() >= epoch);
            if self.durable() >= epoch {
                if lead {
                    self.give_token_back();
                }
                return Ok(());
            }
            let committed = self.check().and_then(|()| self.commit_holding_token(false));
            self.give_token_back();
            committed?;
        }
    }

    /// Closes the present epoch and makes it durable; returns it.
    pub fn commit(&self) -> Result<u64> {
        self.take_token(|| false);
        let committed = self.check().and_then(|()| self.commit_holding_token(false));
        self.give_token_back();
        committed
    }

    /// Waits for the token; returns false, without it, once `enough` holds.
    fn take_token(&self, enough: impl Fn() -> bool) -> bool {
        let mut turn = lock(&self.turn);
        while turn.taken {
            if enough() {
                return false;
            }
            turn = wait(&self.turned, turn);
        }
        turn.taken = true;
        true
    }

    fn give_token_back(&self) {
        lock(&self.turn).taken = false;
        self.turned.notify_all();
    }

    /// One commit. With `everywhere` all logs that were ever written to take part, data or not.
    fn commit_holding_token(&self, everywhere: bool) -> Result<u64> {
        let epoch = self.gate.close();
        let before = self.durable();
        if planted::is_on(Bug::EarlyAcknowledgement) {
            self.make_durable(epoch);
        }
        if let Err(error) = self.write_epoch(epoch, before, everywhere) {
            self.poison(&error);
            return Err(self.refusal(POISONED));
        }
        self.make_durable(epoch);
        Ok(epoch)
    }

    fn make_durable(&self, epoch: u64) {
        // Release: pairs with the Acquire in `durable`.
        self.durable.store(epoch, Ordering::Release);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.maker.set_durable(epoch);
        self.call_back();
    }

    /// Writes and syncs all records of `epoch`, which is closed, and its marks.
    fn write_epoch(&self, epoch: u64, durable_before: u64, everywhere: bool) -> Result<()> {
        let mut files = Vec::new();
        for writer in &self.writers {
            let file = writer.file();
            // Taken under the file's lock, like a drain: the order in the file is the order of taking.
            let taken = writer.buffer.take_closed(epoch);
            if !taken.bytes.is_empty() || file.has_unsynced() || (everywhere && file.is_used()) {
                files.push((file, taken.bytes));
            } else if writer.buffer.wants_drain() {
                writer.ask_to_drain();
            }
        }
        let count = files.len();
        let mut parts = Vec::with_capacity(count);
        for (mut file, bytes) in files {
            parts.push(file.begin_part(&self.maker, epoch, bytes, count)?);
        }
        let participants: Vec<Participant> =
            parts.iter().map(|part| Participant { log: part.log as u32, mark: part.mark }).collect();
        self.write_parts(parts.into_iter().map(|part| Job {
            part,
            epoch,
            durable_before,
            participants: participants.clone(),
        }))
    }

    /// Writes and syncs the parts: the first one here, the others in their writers' threads.
    fn write_parts(&self, mut jobs: impl ExactSizeIterator<Item = Job>) -> Result<()> {
        let Some(own) = jobs.next() else { return Ok(()) };
        let others = jobs.len();
        if others > 0 {
            *lock(&self.parts) = Parts { running: others, failed: None };
        }
        for job in jobs {
            let writer = &self.writers[job.part.log];
            if !writer.give(job) {
                self.part_done(Err(self.refusal(POISONED)));
            }
        }
        let writer = &self.writers[own.part.log];
        let mut result = writer.do_job(own);
        if others > 0 {
            let mut parts = lock(&self.parts);
            while parts.running > 0 {
                parts = wait(&self.part_done, parts);
            }
            result = result.and(parts.failed.take().map_or(Ok(()), Err));
        }
        for writer in &self.writers {
            if writer.buffer.wants_drain() {
                writer.ask_to_drain();
            }
        }
        result
    }

    /// A writer's thread has done its part.
    pub fn part_done(&self, result: Result<()>) {
        let mut parts = lock(&self.parts);
        parts.running -= 1;
        if let Err(error) = result {
            parts.failed = Some(error);
        }
        self.part_done.notify_all();
    }

    /// Asks the committer's thread to make `epoch` durable.
    pub fn request(&self, epoch: u64) {
        if self.durability == Durability::None || self.durable() >= epoch {
            return;
        }
        let mut turn = lock(&self.turn);
        if turn.requested < epoch {
            turn.requested = epoch;
            self.asked.notify_one();
        }
    }

    /// The committer's thread: commits when asked, and every `interval` if there is anything to commit.
    pub fn run_committer(&self, interval: Duration) {
        let mut turn = lock(&self.turn);
        let mut last = std::time::Instant::now();
        while !turn.ended && self.check().is_ok() {
            let requested = turn.requested.min(self.gate.epoch());
            if requested > self.durable() {
                drop(turn);
                // A failure poisons the log, and that ends the loop.
                let _ = self.wait_durable(requested);
                last = std::time::Instant::now();
            } else if last.elapsed() >= interval {
                drop(turn);
                if self.has_uncommitted() {
                    let _ = self.commit();
                }
                last = std::time::Instant::now();
            } else {
                let left = interval.saturating_sub(last.elapsed());
                drop(wait_timeout(&self.asked, turn, left));
            }
            turn = lock(&self.turn);
        }
    }

    fn has_uncommitted(&self) -> bool {
        self.writers.iter().any(|writer| !writer.buffer.is_empty() || writer.file().has_unsynced())
    }

    /// Refuses new operations, makes durable what there is, and ends the threads; returns the last epoch, or nothing
    /// if the log was closed before.
    pub fn close(&self) -> Result<Option<u64>> {
        self.take_token(|| false);
        // Release, as the gate's epoch is: who enters a later epoch sees it.
        let state = self.state.compare_exchange(RUNNING, CLOSED, Ordering::Release, Ordering::Relaxed);
        let closed = match state {
            // Two epochs: an operation that entered before the first was closed may append to the second, and its marks
            // prove all the rest durable.
            Ok(_) => self.commit_holding_token(false).and_then(|_| self.commit_holding_token(true)).map(Some),
            Err(POISONED) => Err(self.refusal(POISONED)),
            Err(_) => Ok(None),
        };
        self.give_token_back();
        lock(&self.turn).ended = true;
        for writer in &self.writers {
            writer.stop();
        }
        self.maker.stop();
        self.wake_everybody();
        closed
    }
}
