//! Workloads: operations on an index or a server, prepared before the clock starts.
//!
//! ```text
//!   generator (lookup, mix, scan, ycsb) ──► Script: operations and keys in order ──► run.rs: a loop
//! ```
//!
//! A script is made once and given to every contender, so all see the same keys in the same order.
//! The keys of a script lie in the order of their use. So reading them causes no cache miss, and
//! the time is the index's.
//!
//! Order of reading: `script.rs`, `ranked_key_set.rs`, one generator, then `run.rs`, the timed
//! loops. Requests of servers are in `requests.rs`.

pub mod lookup;
pub mod mix;
mod ranked_key_set;
pub mod requests;
pub mod run;
pub mod scan;
mod script;
#[cfg(test)]
pub(crate) mod tests;
pub mod ycsb;

pub use ranked_key_set::{RankedKeySet, ThreadShare};
pub use script::{OpKind, ScanExpectation, Script, ScriptOp, value_of};
