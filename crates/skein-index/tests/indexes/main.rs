//! What every index has to hold, in one program: the indexes' many instances are compiled once for all.
//!
//! `cargo test -p skein-index --test indexes waves` runs one module. What has a program of its own has a reason: `allocations` counts what the
//! heap is asked for, models (`loom_*`, `schedules`) are built with other atomics.
#![cfg(not(skein_loom))]

#[path = "../support/mod.rs"]
mod support;

mod conformance;
mod linearizability;
mod located_writes;
mod property;
mod snapshots;
mod stress;
mod thinning;
mod typed;
mod waves;
