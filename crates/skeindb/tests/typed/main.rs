//! Typed keys and values: order, bytes, errors, derived types.

mod derived;
mod errors;
mod golden;
mod keyspace;
mod laws;
mod lookups;
mod order;
mod reopened;
mod values;
