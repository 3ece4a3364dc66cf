//! The server: RESP2 and RESP3 over `skein-store` or `skein-disk`, so that every Redis client is a client of `SkeinDB`.
//!
//! - [`server`](crate::Server): start and stop; `acceptor` gives connections to workers. `loading`:
//!   who comes before there is data.
//! - `transport`: what a connection goes over, TCP, TLS (`tls`) or a Unix socket.
//! - `worker`: the event loop, and how requests become batches.
//! - `resp`: bytes to requests, replies to bytes.
//! - `commands`: what each command does; what each answers is in `docs/commands.md`.
//! - `engine`: the seam to the engines. `gate`: lets one worker be alone.
//! - `settings`: what can change while the server runs.
//! - `acl`: who may do what. `clients`: who is connected, for the commands about that.
//! - `observe`: what is counted, and told by INFO, SLOWLOG, LATENCY and the metrics. `metrics`: all of it for Prometheus.
//! - `long_double`, `random`: numbers that commands reckon with.
//!
//! Libraries never print: what a server did is in its [`StopReport`], what went wrong meanwhile is a
//! `tracing` event.

#![forbid(unsafe_code)]

mod acceptor;
mod acl;
mod bound_server;
mod checkpoint_requests;
mod client;
mod client_registry;
mod commands;
mod config;
mod engine;
mod error;
mod exclusion_gate;
#[cfg(fuzzing)]
pub mod fuzzing;
mod info;
mod loading;
mod long_double;
mod metrics;
mod observe;
mod open_files;
mod pause;
mod random;
mod recent_entries;
mod resp;
mod scan_cursors;
mod server;
mod settings;
mod shared;
mod tls;
mod transport;
mod unix_socket;
mod warnings;
mod worker;

pub use bound_server::BoundServer;
pub use config::{LogControl, OptionValue, OptionsFile, OutputLimit, ServerOptions};
pub use engine::{DiskEngine, Engine, EngineError, EngineSession, EngineWriter};
pub use error::StartError;
pub use open_files::read_at_most;
pub use resp::double::{parse_double, write_double};
pub use server::{Server, ServerHandle, StopReport};
pub use tls::{Tls, TlsClients, certificates, private_key};
pub use unix_socket::UnixSocket;
