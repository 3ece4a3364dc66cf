//! Stores through the public interface. The tests are one program, which links the engine once.
//!
//! - `faults`: faults of the medium, and wrong uses.
//! - `storage_faults`: full and failing disks, in all key spaces.
//! - `snapshots` and `resize`: beside readers, writers and checkpoints.
//! - `compact`, `packing` and `removal`: pages are given back.
//! - `paper_layout`: tries in the paper's layout.

mod compact;
mod faults;
mod packing;
mod paper_layout;
mod removal;
mod resize;
mod snapshots;
mod storage_faults;
