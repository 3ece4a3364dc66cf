//! Tests of the database over every engine and index.

mod collections;
mod common;
mod error_kinds;
mod history;
mod iterators;
mod keyspaces;
mod misuse;
mod model;
mod power_cuts;
mod publication;
mod transactions;
mod writes;
