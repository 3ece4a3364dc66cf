//! The contract of the engines, as one suite that every engine passes: the engine in memory over
//! each index, and the disk engine over each trie. A hash trie passes all tests that need no order.
//!
//! ```text
//!   operation ─┬─► EngineKeys   ─► answer, contents ─┐
//!              └─► State, a map ─► answer, contents ─┴─ must be equal
//! ```
//!
//! Read in this order:
//!
//! - `engines` opens each engine on a simulated disk.
//! - `contents` reads an engine in every way that the contract has.
//! - `operations` has the operations, once for the engine and once for the map.
//! - `random` does random operations, checkpoints, reopenings and snapshots.
//! - `power_cuts` and `io_errors` fail each operation of the disk.
//! - `keyspaces` compares the numbers of keys of databases with those of a scan.
//! - `refusals`, `large_writes`, `short_ranges`, `stream_chunks` and `visibility`
//!   check single promises.

mod contents;
mod engines;
mod io_errors;
mod keyspaces;
mod large_writes;
mod list_operations;
mod operations;
mod power_cuts;
mod random;
mod refusals;
mod short_ranges;
mod stream_chunks;
mod stream_operations;
mod visibility;
