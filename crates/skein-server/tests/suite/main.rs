//! Tests of the server over its sockets, in one program.
//!
//! `cargo test -p skein-server --test suite tls` runs one module. Two tests are programs of their
//! own: `storms` measures the memory of its process, and `differential` draws its own cases.

#[path = "../common/mod.rs"]
mod common;

mod acl;
mod acl_commands;
mod bad_input;
mod blocking;
mod busy;
mod channels;
mod client_commands;
mod client_memory;
mod closing;
mod configuration;
mod databases;
mod debug;
mod disk;
mod dump;
mod expiry;
mod functions;
mod geo;
mod golden;
mod hash_commands;
mod held_replies;
mod held_snapshots;
mod hyperloglog;
mod interference;
mod key_commands;
mod keyspace_events;
mod limits;
mod lists;
mod long_replies;
mod member_reads;
mod memory;
mod memory_usage;
mod migrate;
mod monitor;
mod monitoring;
mod pause;
mod protected_mode;
mod refused_replies;
mod rewriting;
mod runs;
mod script_bounds;
mod scripts;
mod serving;
mod sets;
mod skein_commands;
mod slices;
mod slow_readers;
mod snapshots;
mod sorted_sets;
mod standalone;
mod streams;
mod swapped_databases;
mod taking_over;
mod tls;
mod tracking;
mod tracking_expiry;
mod transactions;
mod unix_socket;
mod untrusted_clients;
