//! The server: speaks RESP2 and RESP3 over `skein-store` or `skein-disk`, so that every Redis
//! client is a client of `SkeinDB`.
//!
//! ```text
//!   client ─► acceptor ─► worker (event loop) ─► resp ─► commands ─► engine ─► skein-store
//!             transport: TCP, TLS, Unix                  acl                   skein-disk
//! ```
//!
//! - Start and stop: [`server`](crate::Server). `acceptor` sends connections to workers.
//!   `bound_server` and `loading` answer clients until the data is loaded.
//! - `transport`: the bytes of a connection, over TCP, TLS (`tls`) or a Unix socket
//!   (`unix_socket`).
//! - `worker`: the event loop, and the batches of requests. Read its `mod` first.
//! - `resp`: parses requests and writes replies.
//! - `command_table`: a row for each command. `commands`: the handlers. `docs/commands.md` defines
//!   the replies.
//! - `engine`: the interface to the engines. `exclusion_gate`: lets one worker run alone.
//! - [`config`]: the options, a row each. `settings`: those that can change while the server runs.
//! - `acl`: users and rights. `client_registry`: the connected clients.
//! - `observe`: counts and times, for INFO, SLOWLOG and LATENCY. `figures`: a row for each number
//!   that INFO and Prometheus (`metrics`) tell.
//! - `script_cache`: the scripts of EVAL. `functions`: the libraries of FCALL, and their row.
//! - `long_double`, `random`, `hyperloglog`, `geo`: arithmetic for commands.
//!
//! Libraries never print. [`StopReport`] has the final figures of a server; problems on the way are
//! `tracing` events.
//!
//! Design: `docs/design/server.md`.

#![forbid(unsafe_code)]

// Further modules:
// - For requests: stored_request (with the keys of the store), command_error, glob, databases,
//   key_version, scan_cursors, waiting_clients, migrations, pause, busy_script.
// - Told to others: key_events, channels, monitors, info.
// - Shared by threads: shared, mailbox, worker_counters, threads, checkpoint_requests, client_eviction,
//   open_files, warnings, recent_entries.
// - error: of the start. planted_bugs, fuzzing: for tests.
mod acceptor;
mod acl;
mod bound_server;
mod busy_script;
mod channels;
mod checkpoint_requests;
mod client;
mod client_eviction;
mod client_registry;
mod command_error;
mod command_table;
mod commands;
pub mod config;
mod databases;
mod error;
mod exclusion_gate;
mod figures;
mod functions;
#[cfg(fuzzing)]
pub mod fuzzing;
mod geo;
mod glob;
mod hyperloglog;
mod info;
mod key_events;
mod key_version;
mod loading;
mod long_double;
mod mailbox;
mod metrics;
mod migrations;
mod monitors;
mod observe;
mod open_files;
mod pause;
#[cfg(feature = "planted-bugs")]
pub mod planted_bugs;
#[cfg(not(feature = "planted-bugs"))]
mod planted_bugs;
mod random;
mod recent_entries;
mod resp;
mod scan_cursors;
mod script_cache;
mod server;
mod settings;
mod shared;
mod stored_request;
mod threads;
mod tls;
mod transport;
mod unix_socket;
mod waiting_clients;
mod warnings;
mod worker;
mod worker_counters;

pub use acl::DefaultChannels;
pub use bound_server::BoundServer;
pub use client_eviction::ClientMemoryLimit;
pub use config::{LogControl, OptionValue, OptionsFile, OutputLimit, ServeOptions, ServerOptions};
pub use error::StartError;
pub use open_files::read_at_most;
pub use resp::double::{parse_double, write_double};
pub use server::{Server, ServerHandle, StopReport};
pub use tls::{Tls, TlsClients, certificates, private_key};
pub use unix_socket::UnixSocket;

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
