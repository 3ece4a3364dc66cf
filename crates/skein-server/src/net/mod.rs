//! Connections: from the listening socket to bytes that a worker reads and writes.
//!
//! ```text
//!   bound_server ─► loading ─► acceptor ─► worker
//!   (sockets)       (the data   (limits,     └─► transport: TCP, TLS (tls), Unix (unix_socket)
//!                    is loaded)  TLS begins)
//! ```
//!
//! `open_files` is the budget of descriptors, and reads small files. `threads` starts threads and
//! makes event queues.

pub(crate) mod acceptor;
pub(crate) mod bound_server;
pub(crate) mod loading;
pub(crate) mod open_files;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod unix_socket;
