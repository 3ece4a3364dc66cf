//! Keys that MIGRATE moves to another server, and the threads that move them.
//!
//! ```text
//!   worker, alone      thread `skein-migrate`                  worker, alone
//!   MIGRATE k ─► hold(k) ─► dump ─► RESTORE at the target ─► mail ─► k as before? remove ─► reply
//!                  ├────── writes to k wait at the front of their connections ──────┤ release(k)
//! ```
//!
//! `moving_keys` has the keys on their way.
//!
//! The client's worker serves its other clients meanwhile. Reads of `k` see the key until it is
//! removed. A migration that was started ends, whether its client is still connected or not.
//!
//! # Invariants
//! 1. Keys are held only while no other worker runs requests (`exclusion_gate`). So a worker that
//!    runs requests, and sees that a key does not move, may write it until it gives up its room: at
//!    the end of its turn, or when it waits to be alone. A request that runs alone looks again
//!    (`AfterCommand::HeldBack`).
//! 2. A key is removed only if the target has acknowledged it, only while no other worker runs
//!    requests, and only if its version is that from before the dump. So no write is lost, not even
//!    one that was not held back.
//! 3. Each job that a thread takes ends with one mail to its client's worker, also if the thread
//!    panics. The worker releases the keys.
//!
//! Design: `docs/design/server.md`.

mod moving_keys;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mio::Waker;
use skein_sync::locks::lock;

use crate::clients::client_registry::ClientLocation;
use crate::request::command_error::CommandError;
use crate::request::key_version::KeyVersion;

pub(crate) use moving_keys::MovingKeys;

/// More migrations than this wait for a thread. Their keys are held already.
const THREADS_MAX: usize = 16;

/// The longest time that a stop waits for the threads after it has ended their connections. A
/// thread may be in the resolver of the system, which cannot be interrupted.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A key of the store that moves, and its version before.
#[derive(Debug, Clone)]
pub(crate) struct MovingKey {
    pub key: Vec<u8>,
    pub version: KeyVersion,
}

/// The server that keys are moved to, and how.
#[derive(Debug)]
pub(crate) struct MigrationTarget {
    pub host: String,
    /// `None` for a text that is no port.
    pub port: Option<u16>,
    pub database: i64,
    /// The longest wait for the connection, for 64 KiB to be sent, and for each reply.
    pub timeout: Duration,
    /// The arguments of AUTH; empty for none.
    pub login: Vec<Vec<u8>>,
    pub replace: bool,
}

/// The keys that a client moves.
#[derive(Debug)]
pub(crate) struct MigrationJob {
    pub who: ClientLocation,
    pub target: MigrationTarget,
    /// Whether the keys stay here.
    pub copy: bool,
    pub keys: Vec<MovingKey>,
}

/// The outcome of a migration.
#[derive(Debug)]
pub(crate) struct MigrationEnd {
    pub who: ClientLocation,
    pub copy: bool,
    pub keys: Vec<MovingKey>,
    /// The indexes of the keys that the target has acknowledged.
    pub acknowledged: Vec<usize>,
    pub result: Result<(), CommandError>,
}

/// The migrations of a server.
#[derive(Debug, Default)]
pub(crate) struct Migrations {
    pub moving: MovingKeys,
    threads: Mutex<MigrationThreads>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct MigrationThreads {
    queued: VecDeque<MigrationJob>,
    running: usize,
    /// Wakes the connections to targets, so that they notice that they are cancelled.
    wakers: BTreeMap<u64, Arc<Waker>>,
    next_waker: u64,
    /// The server has stopped.
    cancelled: bool,
}

/// A registered waker. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct CancelGuard<'m> {
    migrations: &'m Migrations,
    number: u64,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        lock(&self.migrations.threads).wakers.remove(&self.number);
    }
}

impl Migrations {
    /// Adds a job. Returns whether the caller must start a thread.
    pub(crate) fn add(&self, job: MigrationJob) -> bool {
        let mut threads = lock(&self.threads);
        threads.queued.push_back(job);
        let starts = threads.running < THREADS_MAX;
        threads.running += usize::from(starts);
        starts
    }

    /// Returns the next job of a thread. After `None` the thread must end.
    pub(crate) fn next(&self) -> Option<MigrationJob> {
        let mut threads = lock(&self.threads);
        let job = threads.queued.pop_front();
        if job.is_none() {
            threads.running -= 1;
            self.changed.notify_all();
        }
        job
    }

    /// Notes that the system has refused a thread. Returns the jobs that no thread will take.
    pub(crate) fn thread_refused(&self) -> VecDeque<MigrationJob> {
        let mut threads = lock(&self.threads);
        threads.running -= 1;
        if threads.running == 0 { std::mem::take(&mut threads.queued) } else { VecDeque::new() }
    }

    /// Registers a waker for the time until the result is dropped. `None` if all migrations are
    /// cancelled.
    pub(crate) fn register(&self, waker: Waker) -> Option<CancelGuard<'_>> {
        let mut threads = lock(&self.threads);
        if threads.cancelled {
            return None;
        }
        let number = threads.next_waker;
        threads.next_waker += 1;
        threads.wakers.insert(number, Arc::new(waker));
        Some(CancelGuard { migrations: self, number })
    }

    /// Returns whether all migrations are cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        lock(&self.threads).cancelled
    }

    /// Ends all connections to targets, and waits for the threads. The keys of those migrations
    /// stay here; their targets may have them, too.
    pub(crate) fn cancel(&self) {
        let mut threads = lock(&self.threads);
        threads.cancelled = true;
        threads.queued.clear();
        for waker in threads.wakers.values() {
            if let Err(cause) = waker.wake() {
                tracing::error!(%cause, "cannot end a connection of MIGRATE");
            }
        }
        let running = |threads: &mut MigrationThreads| threads.running > 0;
        let waited = self.changed.wait_timeout_while(threads, STOP_WAIT, running);
        if waited.is_ok_and(|(threads, _)| threads.running > 0) {
            tracing::warn!("a thread of MIGRATE still resolves the name of its target");
        }
    }
}
