//! Sockets, and the bytes of connections: `transport` is TCP, TLS (`tls`) or a Unix socket
//! (`unix_socket`).
//!
//! `accepting` has the common parts of the threads that accept connections.
//! `open_files` is the budget of descriptors, and reads small files. `threads` starts threads and
//! makes event queues.

pub(crate) mod accepting;
pub(crate) mod open_files;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod unix_socket;

/// The number of connections that may wait to be accepted.
pub(crate) const BACKLOG: i32 = 4096;
