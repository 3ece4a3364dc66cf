//! Tests of the store through its public interface, in one program.
//!
//! `cargo test -p skein-store --test suite reopen` runs one module. Tests with their own program
//! have a reason: `memory_count` counts the memory of the allocator, `planted` is built with bugs.

#[path = "../common/mod.rs"]
mod common;

mod api;
mod checkpoint;
mod concurrent;
mod copies;
mod eviction;
mod failing_disk;
mod file_copies;
mod folder_locks;
mod format;
mod freed_values;
mod full_disk;
mod inspect;
mod log_folders;
mod making_room;
mod nested_writes;
mod open_batches;
mod open_progress;
mod packed_members;
mod packing;
mod power_cut_harness;
mod power_failures;
mod racing_removals;
mod reopen;
mod sets;
mod size_limits;
mod snapshot_collections;
mod snapshot_history;
mod snapshot_limits;
mod snapshots;
mod sorted_sets;
mod spread_columns;
mod thinning;
mod views;
