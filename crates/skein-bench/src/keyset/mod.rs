//! Key sets: which keys an index holds.
//!
//! ```text
//!   "az1", "intkey(1000)", "file:paths.txt"
//!        │  name.rs: one family, its parameters checked
//!        ▼
//!   family/*.rs ──►  Source: keys one by one, from a seed, nothing held ──►  make.rs: KeySet, distinct keys and absent ones
//!                                                                               ├─►  order.rs       their order
//!                                                                               └─►  statistics.rs  what they are like
//! ```
//!
//! A family of key sets is one file and one line in `family/mod.rs`; the file registers itself. The seed decides every
//! key, so all contenders of a run, and all runs, see the same ones in the same order. `docs/benchmarks/` describes each
//! exactly.

pub mod distribution;
pub mod family;
mod generate;
mod listing;
mod memory;
mod name;
mod packed_keys;
mod permutation;
mod random;
mod seen_keys;
mod sort;
mod statistics;
#[cfg(test)]
mod tests;

pub use family::{KeyFamily, KeyRequest, KeySource};
pub use generate::{KeySet, make};
pub use listing::{describe, list};
pub use memory::estimated_bytes;
pub use name::open;
pub use packed_keys::PackedKeys;
pub use permutation::NumberPermutation;
pub use random::{SeededRandom, mix};
pub use sort::sorted;
pub use statistics::KeyStatistics;
