//! Tests of the database over every engine and index.

mod collections;
mod common;
mod error_kinds;
mod exclusive;
mod expiry;
mod history;
mod iterators;
mod keyspaces;
mod misuse;
mod model;
mod options;
mod power_cuts;
mod publication;
mod transaction_reads;
mod transactions;
mod writes;
