//! The clients of a server, as its workers and other clients see them.
//!
//! `client` is a client as its worker sees it, and `client_registry` has the record of each client that
//! any thread may read. `client_eviction` disconnects the largest ones at the limit of their memory.
//! `waiting_clients` has those that wait for a key (BLPOP), `pause` is CLIENT PAUSE, and `warnings`
//! limits the log lines that strangers can cause.

pub(crate) mod client;
pub(crate) mod client_eviction;
pub(crate) mod client_registry;
pub(crate) mod pause;
pub(crate) mod waiting_clients;
pub(crate) mod warnings;
