//! The server: RESP2 and RESP3 over `skein-store` or `skein-disk`, so that every Redis client is a client of `SkeinDB`.
//!
//! - [`server`](crate::Server): start and stop; `acceptor` gives connections to workers.
//! - `worker`: the event loop, and how requests become batches.
//! - `resp`: bytes to requests, replies to bytes.
//! - `commands`: what each command does; what each answers is in `docs/commands.md`.
//! - `engine`: the seam to the engines.
//!
//! Libraries never print: what a server did is in its [`StopReport`], what went wrong meanwhile is a
//! `tracing` event.

#![forbid(unsafe_code)]

mod acceptor;
mod client;
mod commands;
mod config;
mod cursors;
mod engine;
mod error;
mod files;
mod info;
mod resp;
mod server;
mod shared;
mod worker;

pub use config::ServerOptions;
pub use engine::{DiskEngine, Engine, EngineError, Session, Writer};
pub use error::StartError;
pub use server::{Server, ServerHandle, StopReport};
