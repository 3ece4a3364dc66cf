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
//! key, so all contenders of a run, and all runs, see the same ones in the same order. `docs/benchmarks.md` describes each
//! exactly.

pub mod distribution;
pub mod family;
mod keys;
mod make;
mod memory;
mod name;
mod order;
mod permutation;
mod random;
mod seen;
mod show;
mod statistics;
#[cfg(test)]
mod tests;

pub use family::{Family, Request, Source};
pub use keys::Keys;
pub use make::{KeySet, make};
pub use memory::estimated_bytes;
pub use name::open;
pub use order::sorted;
pub use permutation::Permutation;
pub use random::{Random, mix};
pub use show::{describe, list};
pub use statistics::Statistics;
