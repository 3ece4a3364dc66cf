//! The state that the threads of a server share, in parts: a user of one part needs no other.
//!
//! ```text
//!   options, settings                           data       engine, databases, checkpoints, migrations
//!   identity  addresses, start, run             scripts    cache, functions, the busy script
//!   acl       users and their rights            clients    registry, pause, limits of connections
//!   observing slow log, latency, rates          workers    mail, counts, the gate between them
//!                                               notices    channels, monitors, tracking, waiting clients
//! ```
//!
//! - The parts: `data`, `workers`, `notices`; the smaller ones are here. `statistics` has the
//!   numbers that need several parts.
//! - Between workers: `exclusion_gate` lets one worker run alone, `mailbox` carries messages, and
//!   `busy_script` is the script that keeps all of them waiting.
//! - Of the data: `loading` is the state while it is loaded, `stored_request` is a request with the
//!   keys of the store, `migrations` has the keys on their way to another server, and
//!   `checkpoint_requests` begins SAVE and BGSAVE.

pub(crate) mod busy_script;
pub(crate) mod checkpoint_requests;
mod data;
pub(crate) mod exclusion_gate;
pub(crate) mod loading;
pub(crate) mod mailbox;
pub(crate) mod migrations;
mod notices;
mod statistics;
pub(crate) mod stored_request;
mod workers;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::ServerOptions;
use crate::acl::Acl;
use crate::clients::client_eviction::ClientEviction;
use crate::clients::client_registry::{ClientRecord, ClientRegistry};
use crate::clients::pause::ClientPause;
use crate::clients::warnings::WarningLimiter;
use crate::config::settings::LiveSettings;
use crate::net::open_files::OpenFileBudget;
use crate::net::tls::TlsPort;
use crate::notice::key_events::EventClasses;
use crate::observe::ServerObserver;
use crate::request::command_error::CommandError;
use crate::scripting::functions::FunctionRegistry;
use crate::scripting::script_cache::{LuaMemory, ScriptCache};
use crate::shared::busy_script::BusyScript;
use crate::shared::loading::Loading;
pub(crate) use crate::shared::mailbox::{Mailbox, WaitAnswer};

pub(crate) use data::{EvictionAttempts, StoredData};
pub(crate) use notices::Notices;
use statistics::ResetBaseline;
pub(crate) use statistics::ServerCounts;
pub(crate) use workers::WorkerAccess;

/// The error for clients that request a checkpoint of a stopping server.
pub(crate) const STOPPING: CommandError = CommandError::text("ERR the server is stopping");

/// The shared state of a server.
#[derive(Debug)]
pub(crate) struct ServerShared {
    /// The options at the start. Settings that can change are in `settings`.
    pub options: ServerOptions,
    pub settings: LiveSettings,
    pub identity: ServerIdentity,
    pub acl: Arc<Acl>,
    pub data: StoredData,
    pub scripts: ServerScripts,
    pub clients: ClientAccess,
    pub workers: WorkerAccess,
    pub notices: Notices,
    /// Observation: its shared results.
    pub observing: ServerObserver,
    /// The counts at the last reset of the statistics.
    counted_before: Mutex<ResetBaseline>,
}

/// The addresses of a server, and what names this run of it.
#[derive(Debug)]
pub(crate) struct ServerIdentity {
    pub address: SocketAddr,
    /// The TLS port, if there is one.
    pub tls: Option<Arc<TlsPort>>,
    pub started: Instant,
    /// The time of `started`.
    pub started_unix_s: u64,
    /// Identifies this run of the server: 40 hexadecimal digits, as in Redis.
    pub run_id: String,
    /// Names the history of the data for replicas, although this server has no replicas. It is a
    /// number of this run, as in a Redis that was just started.
    pub replication_id: String,
}

/// The scripts and functions of a server.
#[derive(Debug)]
pub(crate) struct ServerScripts {
    pub cache: ScriptCache,
    /// The memory of the workers' Lua states.
    pub lua_memory: LuaMemory,
    pub functions: FunctionRegistry,
    /// The script that keeps the server busy.
    pub busy: BusyScript,
}

/// The clients of a server.
#[derive(Debug)]
pub(crate) struct ClientAccess {
    pub registry: Arc<ClientRegistry>,
    pub eviction: ClientEviction,
    /// The state of CLIENT PAUSE.
    pub pause: ClientPause,
    /// How many connections fit under the limit on open files.
    pub files: OpenFileBudget,
    /// Limits the warnings that strangers can cause.
    pub warnings: WarningLimiter,
    next: AtomicU64,
    /// Connections accepted since the start, and those refused because there were too many.
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
}

impl ClientAccess {
    /// Continues the counts of the loading thread.
    pub(crate) fn after(loading: &Loading, files: OpenFileBudget) -> Self {
        Self {
            registry: Arc::default(),
            eviction: ClientEviction::new(loading.options.client_memory_max),
            pause: ClientPause::default(),
            files,
            warnings: WarningLimiter::default(),
            next: loading.first_client_of_workers().into(),
            accepted: loading.accepted.load(Ordering::Relaxed).into(),
            refused: loading.refused.load(Ordering::Relaxed).into(),
        }
    }

    /// Returns the number of the next client.
    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl ServerShared {
    pub(crate) fn new(
        options: ServerOptions,
        identity: ServerIdentity,
        acl: Arc<Acl>,
        data: StoredData,
        functions: FunctionRegistry,
        clients: ClientAccess,
        workers: WorkerAccess,
    ) -> Self {
        let classes = EventClasses::parse(options.keyspace_events.as_bytes()).unwrap_or_default();
        let notices = Notices::new(&clients.registry, &workers.mailboxes, &data.databases, classes);
        data.store.observe_removals(Arc::clone(&notices.key_observer) as Arc<_>);
        Self {
            settings: LiveSettings::new(&options),
            options,
            identity,
            acl,
            data,
            scripts: ServerScripts {
                cache: ScriptCache::default(),
                lua_memory: LuaMemory::default(),
                functions,
                busy: BusyScript::default(),
            },
            clients,
            workers,
            notices,
            observing: ServerObserver::default(),
            counted_before: Mutex::default(),
        }
    }

    /// Disconnects the client of another connection. From now on no key serves it; its worker
    /// closes the connection later. Returns `false` if it was killed already.
    pub(crate) fn disconnect(&self, client: &ClientRecord) -> bool {
        let killed = self.notices.waiting.kill(client);
        if killed {
            self.workers.mailboxes[client.place.worker].send(|mail| mail.kills.push(client.place));
        }
        killed
    }

    /// Begins a graceful stop.
    pub(crate) fn stop(&self) {
        self.clients.pause.close();
        self.workers.report_checkpoint(self.data.checkpoints.close(), &Err(STOPPING));
        self.workers.stop();
    }
}
