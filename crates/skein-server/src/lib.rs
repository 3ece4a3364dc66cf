//! The server: speaks RESP2 and RESP3 over `skein-store` or `skein-disk`, so that every Redis
//! client is a client of `SkeinDB`.
//!
//! ```text
//!   client ─► acceptor ─► worker (event loop) ─► resp ─► commands ─► engine ─► skein-store
//!             transport: TCP, TLS, Unix                  acl                   skein-disk
//! ```
//!
//! | room | what it has |
//! | --- | --- |
//! | `server` | start and stop of all of it ([`Server`]): its ports, the acceptor |
//! | `worker` | the event loop, and the batches of requests; read its `mod` first |
//! | `commands` | the rows and the handlers; `docs/commands.md` defines the replies |
//! | [`config`] | the options, a row each, and their values while the server runs |
//! | `report` | the numbers for INFO and Prometheus |
//! | `shared` | the state that all threads share, and the gate that lets one run alone |
//! | `scripting` | the scripts of EVAL, the libraries of FCALL |
//! | `notice` | messages of the acts of others: events, channels, MONITOR |
//! | `clients` | the record and the state of each client |
//! | `request` | a request between parser and command: its database, its keys, its errors |
//! | `acl` | users and rights |
//! | `observe` | counts and times, the slow log |
//! | `command_table` | the type of a row for each command, and the facts that follow from it |
//! | `resp` | the parser of requests, the writer of replies |
//! | `net` | sockets, TLS, small files |
//! | `redis` | patterns, arithmetic and draws as in Redis |
//!
//! A room uses those below it. `skein-tidy` has the exceptions, with their reasons (`rules/rooms.rs`).
//! `planted_bugs` and `fuzzing` are for tests.
//!
//! Libraries never print. [`StopReport`] has the final figures of a server; problems on the way are
//! `tracing` events.
//!
//! Design: `docs/design/server.md`.

#![forbid(unsafe_code)]

mod acl;
mod clients;
mod command_table;
mod commands;
pub mod config;
#[cfg(fuzzing)]
pub mod fuzzing;
mod net;
mod notice;
mod observe;
#[cfg(feature = "planted-bugs")]
pub mod planted_bugs;
#[cfg(not(feature = "planted-bugs"))]
mod planted_bugs;
mod redis;
mod report;
mod request;
mod resp;
mod scripting;
mod server;
mod shared;
mod worker;

pub use acl::DefaultChannels;
pub use clients::client_eviction::ClientMemoryLimit;
pub use config::{LogControl, OptionValue, OptionsFile, OutputLimit, ServeOptions, ServerOptions};
pub use net::open_files::read_at_most;
pub use net::tls::{Tls, TlsClients, certificates, private_key};
pub use net::unix_socket::UnixSocket;
pub use resp::double::{parse_double, write_double};
pub use server::bound_server::BoundServer;
pub use server::error::StartError;
pub use server::{Server, ServerHandle, StopReport};

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
