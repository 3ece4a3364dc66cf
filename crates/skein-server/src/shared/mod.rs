//! The state that the threads of a server share.
//!
//! - Between workers: `exclusion_gate` lets one worker run alone, `mailbox` carries messages, and
//!   `busy_script` is the script that keeps all of them waiting.
//! - Of the data: `databases` knows where the keys of each database are, `migrations` has the keys on
//!   their way to another server, and `checkpoint_requests` begins SAVE and BGSAVE.
//! - `worker_counters`: the plain counts of a worker.

pub(crate) mod busy_script;
pub(crate) mod checkpoint_requests;
pub(crate) mod databases;
pub(crate) mod exclusion_gate;
pub(crate) mod mailbox;
pub(crate) mod migrations;
pub(crate) mod worker_counters;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mio::Waker;
use skein_sync::locks::lock;

use crate::ServerOptions;
use crate::acl::Acl;
use crate::clients::client_eviction::ClientEviction;
use crate::clients::client_registry::{ClientLocation, ClientRegistry};
use crate::clients::pause::ClientPause;
use crate::clients::waiting_clients::WaitingClients;
use crate::command_table::Command;
use crate::command_table::request_keys::keys_of;
use crate::config::settings::LiveSettings;
use crate::net::loading::Loading;
use crate::net::open_files::OpenFileBudget;
use crate::net::tls::TlsPort;
use crate::notice::channels::Channels;
use crate::notice::key_events::{EventClasses, KeyObserver};
use crate::notice::monitors::Monitors;
use crate::observe::warnings::WarningLimiter;
use crate::observe::{CommandTotals, ServerObserver};
use crate::request::command_error::CommandError;
use crate::request::scan_cursors::ScanCursors;
use crate::resp::RequestArgs;
use crate::scripting::functions::FunctionRegistry;
use crate::scripting::script_cache::{LuaMemory, ScriptCache};
use crate::shared::busy_script::BusyScript;
use crate::shared::checkpoint_requests::CheckpointRequests;
use crate::shared::databases::Databases;
use crate::shared::exclusion_gate::ExclusionGate;
pub(crate) use crate::shared::mailbox::{Mailbox, WaitAnswer};
use crate::shared::migrations::{MigrationEnd, Migrations};
use crate::shared::worker_counters::{Lookups, WorkerCounters};
use crate::worker::EvictionAttempts;
use skein_data::{Durability, Engine, EngineKeys, KeyspaceStats, StoreStats, StoredKeyspace, Ticket};

/// The error for clients that request a checkpoint of a stopping server.
pub(crate) const STOPPING: CommandError = CommandError::text("ERR the server is stopping");

/// The shared state of a server.
#[derive(Debug)]
pub(crate) struct ServerShared {
    /// The options at the start. Settings that can change are in `settings`.
    pub options: ServerOptions,
    pub settings: LiveSettings,
    pub address: SocketAddr,
    /// The TLS port, if there is one.
    pub tls: Option<Arc<TlsPort>>,
    /// Held while the configuration is changed: parameters that depend on each other are checked
    /// and changed together.
    pub configuring: Mutex<()>,
    /// Held while the configuration is written to the file, which takes as long as the disk does.
    /// Acquired before `configuring`.
    pub rewriting: Mutex<()>,
    pub store: Engine,
    pub durability: Durability,
    pub cursors: ScanCursors,
    pub scripts: ScriptCache,
    /// The memory of the workers' Lua states.
    pub lua_memory: LuaMemory,
    pub functions: FunctionRegistry,
    pub gate: ExclusionGate,
    /// The script that keeps the server busy.
    pub busy_script: BusyScript,
    /// The state of CLIENT PAUSE.
    pub pause: ClientPause,
    pub clients: Arc<ClientRegistry>,
    pub client_eviction: ClientEviction,
    pub eviction_attempts: EvictionAttempts,
    pub acl: Arc<Acl>,
    pub databases: Arc<Databases>,
    pub started: Instant,
    /// The time of `started`.
    pub started_unix_s: u64,
    /// Identifies this run of the server: 40 hexadecimal digits, as in Redis.
    pub run_id: String,
    /// Names the history of the data for replicas, although this server has no replicas. It is a
    /// number of this run, as in a Redis that was just started.
    pub replication_id: String,
    /// How many connections fit under the limit on open files.
    pub files: OpenFileBudget,
    /// One per worker.
    pub mailboxes: Arc<[Mailbox]>,
    pub warnings: WarningLimiter,
    /// Observation: its shared results.
    pub observing: ServerObserver,
    /// Wakes the acceptor.
    pub acceptor: Waker,
    stop: AtomicBool,
    next_client: AtomicU64,
    /// Connections accepted since the start, and those refused because there were too many.
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// The counts at the last reset of the statistics.
    counted_before: Mutex<ResetBaseline>,
    /// The checkpoints that clients wait for.
    pub checkpoints: CheckpointRequests,
    /// The channels of publish and subscribe.
    pub channels: Arc<Channels>,
    /// Tells clients which keys change.
    pub key_observer: Arc<KeyObserver>,
    /// The clients of MONITOR.
    pub monitors: Monitors,
    /// The clients that wait for keys.
    pub waiting: Arc<WaitingClients>,
    /// The keys that move to other servers.
    pub migrations: Migrations,
}

/// The fields of [`ServerShared`] that exist before it.
pub(crate) struct SharedParts {
    pub options: ServerOptions,
    pub address: SocketAddr,
    pub tls: Option<Arc<TlsPort>>,
    pub acl: Arc<Acl>,
    pub databases: Arc<Databases>,
    pub store: Engine,
    pub functions: FunctionRegistry,
    pub mailboxes: Vec<Mailbox>,
    pub acceptor: Waker,
    pub files: OpenFileBudget,
    pub run_id: String,
    pub replication_id: String,
}

/// The counts at the last reset of the statistics.
#[derive(Debug, Default)]
struct ResetBaseline {
    statistics: ServerStats,
    seen: CommandTotals,
    /// Keys that the store has removed by itself.
    expired: u64,
    evicted: u64,
    freed_collections: u64,
    evicted_clients: u64,
}

/// The figures of INFO stats.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ServerStats {
    pub accepted: u64,
    pub refused: u64,
    pub requests: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub reads: u64,
    pub writes: u64,
    pub lookups: Lookups,
}

impl ServerShared {
    pub(crate) fn new(parts: SharedParts) -> Self {
        let SharedParts {
            options,
            address,
            tls,
            acl,
            databases,
            store,
            functions,
            mailboxes,
            acceptor,
            files,
            run_id,
            replication_id,
        } = parts;
        let mailboxes: Arc<[Mailbox]> = mailboxes.into();
        let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_millis() as u64);
        let (channels, clients): (Arc<Channels>, Arc<ClientRegistry>) = Default::default();
        let classes = EventClasses::parse(options.keyspace_events.as_bytes()).unwrap_or_default();
        let waiting = Arc::<WaitingClients>::default();
        let told = (channels.clone(), clients.clone(), mailboxes.clone());
        let key_observer =
            Arc::new(KeyObserver::new(told, Arc::clone(&databases), Arc::clone(&waiting), classes));
        store.observe_removals(Arc::clone(&key_observer) as Arc<_>);
        Self {
            key_observer,
            cursors: ScanCursors::new(
                options.scan_cursors_max,
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12,
            ),
            durability: store.durability(),
            gate: ExclusionGate::new(mailboxes.len()),
            busy_script: BusyScript::default(),
            pause: ClientPause::default(),
            clients,
            client_eviction: ClientEviction::new(options.client_memory_max),
            eviction_attempts: EvictionAttempts::default(),
            acl,
            databases,
            settings: LiveSettings::new(&options),
            options,
            address,
            tls,
            configuring: Mutex::default(),
            rewriting: Mutex::default(),
            store,
            started: Instant::now(),
            started_unix_s: seed / 1000,
            run_id,
            replication_id,
            files,
            mailboxes: Arc::clone(&mailboxes),
            warnings: WarningLimiter::default(),
            observing: ServerObserver::default(),
            acceptor,
            stop: AtomicBool::new(false),
            next_client: AtomicU64::new(1),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            counted_before: Mutex::default(),
            checkpoints: CheckpointRequests::default(),
            channels,
            monitors: Monitors::new(mailboxes),
            waiting,
            migrations: Migrations::default(),
            scripts: ScriptCache::default(),
            lua_memory: LuaMemory::default(),
            functions,
        }
    }

    /// Begins a graceful stop.
    pub(crate) fn stop(&self) {
        // Release: pairs with the Acquire in `stopping`. The wakes below deliver the message; this
        // only orders it.
        self.stop.store(true, Ordering::Release);
        self.pause.close();
        self.report_checkpoint(self.checkpoints.close(), &Err(STOPPING));
        if let Err(cause) = self.acceptor.wake() {
            tracing::error!(%cause, "cannot wake the acceptor");
        }
        self.wake_workers();
    }

    /// Wakes all workers, so that they notice changes.
    pub(crate) fn wake_workers(&self) {
        self.mailboxes.iter().for_each(Mailbox::wake);
    }

    /// Answers the clients that asked for a checkpoint.
    pub(crate) fn report_checkpoint(&self, askers: Vec<ClientLocation>, done: &Result<(), CommandError>) {
        for who in askers {
            self.mailboxes[who.worker].send(|mail| mail.checkpoints.push((who, done.clone())));
        }
    }

    /// Sends the answer to a client that was taken from the waiting ones.
    pub(crate) fn answer_waiting(&self, who: ClientLocation, bytes: Vec<u8>, ticket: Ticket) {
        let answer = WaitAnswer { who, bytes, ticket };
        self.mailboxes[who.worker].send(|mail| mail.wait_answers.push(answer));
    }

    /// Sends the end of a migration to its client's worker.
    pub(crate) fn migration_ended(&self, end: MigrationEnd) {
        self.mailboxes[end.who.worker].send(|mail| mail.migrated.push(end));
    }

    /// Notes the keys that a request may have made and that clients wait for, after the request. A
    /// key that it has not made must not be noted: the next request may make another one first.
    /// REQUIRES: no other worker runs requests.
    pub(crate) fn note_made_keys(
        &self,
        engine_keys: &mut EngineKeys<'_>,
        command: &Command,
        args: &RequestArgs<'_>,
    ) {
        if !command.may_wake(&self.waiting) {
            return;
        }
        if command.removes_all_keys() {
            self.waiting.note_all();
        } else if let Some(keys) = keys_of(command, args) {
            let mut is_there = |key: &[u8]| {
                let mut found = false;
                // A key that cannot be read is tried, and its clients wait on.
                engine_keys.peek_many(&[key], |_, row| found = !matches!(row, Ok(None)));
                found
            };
            let counts_removals = self.waiting.count_needing_keys() > 0;
            let made = |key: &&&[u8]| self.waiting.waits_for(key) && (counts_removals || is_there(key));
            keys.all().iter().filter(made).for_each(|key| self.waiting.note(key));
        }
    }

    /// Returns whether any client may receive messages that it does not ask for one by one.
    pub(crate) fn sends_unasked(&self) -> bool {
        self.channels.any() || self.monitors.any() || self.key_observer.level().tracks()
    }

    pub(crate) fn stopping(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn next_client(&self) -> u64 {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the epoch that replies to these writes must wait for: only level `sync` promises
    /// durability before the reply.
    #[inline]
    pub(crate) fn epoch_to_wait_for(&self, ticket: Ticket) -> Option<u64> {
        (self.durability == Durability::Sync && ticket.epoch > 0).then_some(ticket.epoch)
    }

    /// Makes the client's worker disconnect it.
    pub(crate) fn disconnect(&self, who: ClientLocation) {
        self.mailboxes[who.worker].send(|mail| mail.kills.push(who));
    }

    /// Continues the counts of the loading thread.
    pub(crate) fn count_from(&self, loading: &Loading) {
        self.next_client.store(loading.first_client_of_workers(), Ordering::Relaxed);
        self.accepted.store(loading.accepted.load(Ordering::Relaxed), Ordering::Relaxed);
        self.refused.store(loading.refused.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns the number of current connections.
    pub(crate) fn connections(&self) -> usize {
        self.mailboxes.iter().map(|mailbox| mailbox.counts.connections.load(Ordering::Relaxed)).sum()
    }

    /// Returns the numbers of each database that has keys, from those of its keyspace.
    pub(crate) fn keyspaces(
        &self,
        mut stats: impl FnMut(StoredKeyspace) -> KeyspaceStats,
    ) -> Vec<(u32, KeyspaceStats)> {
        let of = |database| (database, stats(self.databases.keyspace(database)));
        (0..self.databases.count()).map(of).filter(|(_, stats)| stats.keys > 0).collect()
    }

    /// Returns the statistics of the engine with the keys of all databases, without rows of the
    /// server's own and of other keyspaces.
    pub(crate) fn store_stats(&self) -> StoreStats {
        let mut stats = self.store.stats();
        let keyspaces = self.keyspaces(|keyspace| self.store.keyspace_stats(keyspace));
        stats.keys = keyspaces.iter().map(|(_, stats)| stats.keys).sum();
        stats
    }

    /// Returns the counts since the last reset.
    pub(crate) fn statistics(&self) -> ServerStats {
        // Counted under the lock, so that no reset happens between the two.
        let before = lock(&self.counted_before);
        let (before, now) = (&before.statistics, self.worker_sums());
        ServerStats {
            accepted: now.accepted - before.accepted,
            refused: now.refused - before.refused,
            requests: now.requests - before.requests,
            bytes_in: now.bytes_in - before.bytes_in,
            bytes_out: now.bytes_out - before.bytes_out,
            reads: now.reads - before.reads,
            writes: now.writes - before.writes,
            lookups: Lookups {
                hits: now.lookups.hits - before.lookups.hits,
                misses: now.lookups.misses - before.lookups.misses,
            },
        }
    }

    pub(crate) fn reset_statistics(&self) {
        let mut before = lock(&self.counted_before);
        let StoreStats { expired, evicted, freed_collections, .. } = self.store.stats();
        *before = ResetBaseline {
            statistics: self.worker_sums(),
            seen: self.observed(),
            expired,
            evicted,
            freed_collections,
            evicted_clients: self.client_eviction.evicted(),
        };
    }

    /// Returns the keys that expired and those that were evicted since the last reset, from the
    /// store's counts since it was opened.
    pub(crate) fn removed_keys(&self, stats: &StoreStats) -> (u64, u64) {
        let before = lock(&self.counted_before);
        // The numbers may be older than a reset.
        (stats.expired.saturating_sub(before.expired), stats.evicted.saturating_sub(before.evicted))
    }

    /// Returns the number of removed collections that were freed since the last reset.
    pub(crate) fn freed_collections(&self, stats: &StoreStats) -> u64 {
        stats.freed_collections.saturating_sub(lock(&self.counted_before).freed_collections)
    }

    /// Returns the number of clients that were evicted since the last reset.
    pub(crate) fn evicted_clients(&self) -> u64 {
        self.client_eviction.evicted() - lock(&self.counted_before).evicted_clients
    }

    /// Returns the counts of commands since the last reset.
    pub(crate) fn seen(&self) -> CommandTotals {
        let before = lock(&self.counted_before);
        let mut seen = self.observed();
        seen.subtract(&before.seen);
        seen
    }

    /// Returns the counts of commands since the start.
    pub(crate) fn observed(&self) -> CommandTotals {
        CommandTotals::of(self.mailboxes.iter().map(|mailbox| &mailbox.observed))
    }

    /// Returns the duration of the longest current turn. Memory that was replaced or removed since
    /// its start is freed only after its end.
    pub(crate) fn oldest_turn(&self) -> Duration {
        let began = self.mailboxes.iter().map(|mailbox| mailbox.counts.turn_began.load(Ordering::Relaxed));
        let first = began.filter(|began| *began > 0).min();
        first.map_or(Duration::ZERO, |began| {
            self.started.elapsed().saturating_sub(Duration::from_nanos(began))
        })
    }

    /// Returns all bytes that count as used: by the engine, the connections, and the logs of
    /// requests.
    pub(crate) fn used_bytes(&self, stats: &StoreStats) -> usize {
        stats.index_bytes
            + stats.row_bytes
            + stats.unreclaimed_bytes
            + stats.memory.buffers
            + self.memory_outside_store()
    }

    /// Returns the highest number of used bytes so far.
    pub(crate) fn peak_bytes(&self, stats: &StoreStats) -> usize {
        self.used_bytes(stats).max(stats.memory.peak)
    }

    /// Returns the counts since the start.
    pub(crate) fn worker_sums(&self) -> ServerStats {
        ServerStats {
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            requests: self.total(|counts| &counts.requests),
            bytes_in: self.total(|counts| &counts.bytes_in),
            bytes_out: self.total(|counts| &counts.bytes_out),
            reads: self.total(|counts| &counts.reads),
            writes: self.total(|counts| &counts.writes),
            lookups: Lookups {
                hits: self.total(|counts| &counts.hits),
                misses: self.total(|counts| &counts.misses),
            },
        }
    }

    /// Returns the bytes of all connections and of their buffers.
    pub(crate) fn buffer_bytes(&self) -> usize {
        usize::try_from(self.total(|counts| &counts.buffers)).unwrap_or(usize::MAX)
    }

    /// Returns all memory that counts towards the limit, besides the store's.
    pub(crate) fn memory_outside_store(&self) -> usize {
        self.buffer_bytes()
            + self.observing.slowlog.memory()
            + self.acl.log.memory()
            + self.scripts.bytes()
            + self.functions.bytes()
            + self.key_observer.tracking.memory()
    }

    /// Returns a sum over the workers.
    pub(crate) fn total(&self, counter: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.mailboxes.iter().map(|mailbox| counter(&mailbox.counts).load(Ordering::Relaxed)).sum()
    }
}
