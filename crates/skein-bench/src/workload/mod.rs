//! Workloads: what is asked of an index, prepared before the clock starts.
//!
//! ```text
//!   a generator (lookup.rs, ycsb.rs, …)  ──►  Script: operations, and their keys one after the other  ──►  run.rs: one loop
//! ```
//!
//! A script is made once and given to every contender, so all see the same keys in the same order. Its keys lie in the order of
//! their use: reading them costs no miss, and what is timed is the index.

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
