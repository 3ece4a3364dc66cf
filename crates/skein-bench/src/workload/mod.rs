//! Workloads: what is asked of an index, prepared before the clock starts.
//!
//! ```text
//!   a generator (ycsb.rs, mix.rs, …)  ──►  Script: operations, and their keys one after the other  ──►  run.rs: one loop
//! ```
//!
//! A script is made once and given to every contender, so all see the same keys in the same order. Its keys lie in the order of
//! their use: reading them costs no miss, and what is timed is the index.

pub mod run;
mod script;

pub use script::{Expect, Kind, Op, Script, value_of};
