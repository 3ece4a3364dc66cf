//! Tests that every index must pass, in one program, so that the indexes' many instances are
//! compiled only once.
//!
//! `cargo test -p skein-index --test indexes waves` runs one module. Other tests have their own
//! programs for a reason: `allocations` counts heap allocations; the models (`loom_*`, `schedules`)
//! are built with other atomics.
#![cfg(not(skein_loom))]

#[path = "../support/mod.rs"]
mod support;

mod conformance;
mod linearizability;
mod located_writes;
mod packing;
mod pinned;
mod property;
mod serialize;
mod snapshots;
mod stress;
mod thinning;
mod typed;
mod waves;
