//! Measures SkeinDB against its rivals, and re-runs the figures of the papers that it is built from.
//!
//! ```text
//!   keyset    which keys          ─┐
//!   workload  what is asked        ├─►  experiment   a figure or a table: what it compares, and what is claimed
//!   rival     who is asked        ─┘        │
//!   machine, probe   where                  ▼
//!                               result  lines of JSON  ──►  report   tables, charts, comparisons
//! ```
//!
//! A figure is a ratio within one run: contenders take turns for several rounds, and the median and the spread are reported.
//! Every answer is checked, and a wrong one ends the run. `docs/benchmarks/` says what each part does and how to repeat what is recorded
//! there.

pub mod counting;
mod error;
pub mod experiment;
pub mod keyset;
pub mod machine;
mod nearest;
pub mod probe;
pub mod report;
pub mod result;
pub mod rival;
pub mod sys;
pub mod workload;

pub use error::{Error, Result};
pub use nearest::{did_you_mean, nearest};
