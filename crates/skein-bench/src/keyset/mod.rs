//! Key sets: the keys that an index holds.
//!
//! ```text
//!   "az1", "intkey(1000)", "file:paths.txt"
//!        │  name.rs: a family, with checked parameters
//!        ▼
//!   family/*.rs ──► KeySource: one key after another, from a seed
//!        ▼
//!   generate.rs ──► KeySet: distinct keys, and absent ones
//!                     ├─► sort.rs        their order
//!                     └─► statistics.rs  their lengths and shared prefixes
//! ```
//!
//! A family of key sets is one file, and two lines in `family/mod.rs`: `mod` and one in `ALL`. The
//! seed decides every key. So all contenders of a run, and all runs, see the same keys in the same
//! order. `docs/benchmarks/key-sets.md` describes each family exactly. Read the files in the order
//! of the picture.
//!
//! Below `generate.rs`: `random` and `permutation` (draws from the seed), `distribution` (Zipf),
//! `seen_keys` (drops duplicates), `packed_keys` (many keys in two allocations), `memory` (an
//! estimate before the draw). `listing` prints `skein bench keysets`.

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
pub use memory::{estimated_bytes, greatest};
pub use name::open;
pub use packed_keys::PackedKeys;
pub use permutation::NumberPermutation;
pub use random::{SeededRandom, mix};
pub use sort::sorted;
pub use statistics::KeyStatistics;
