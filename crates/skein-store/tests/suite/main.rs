//! The store through its interface, in one program.
//!
//! `cargo test -p skein-store --test suite reopen` runs one module. What has a program of its own has a reason: `memory_count` counts what the allocator
//! holds, `planted` is built with mistakes.

#[path = "../common/mod.rs"]
mod common;

mod api;
mod checkpoint;
mod concurrent;
mod eviction;
mod format;
mod full_disk;
mod inside;
mod inspect;
mod limits;
mod locks;
mod log_folders;
mod opening;
mod power;
mod power_cuts;
mod racing_removals;
mod reopen;
mod retired;
mod room;
mod scopes;
mod snapshot_limits;
mod snapshots;
mod sorted_sets;
mod spread_columns;
mod thinning;
mod views;
