//! Measures SkeinDB against its rivals, and repeats the figures of the papers that SkeinDB is built
//! from.
//!
//! ```text
//!   keyset    which keys          ─┐
//!   workload  which operations     ├─►  experiment   a figure or a table of a paper, and its claim
//!   rival     the contenders      ─┘        │
//!   machine, probe   the hardware           ▼
//!                              result  lines of JSON  ──►  report   tables, charts, comparisons
//! ```
//!
//! Every figure is a ratio within one run: the contenders take turns for several rounds, and the
//! report shows the median and the spread. Every answer is checked. A wrong answer ends the run.
//!
//! Beside the picture: `counting` counts live bytes, `sys` pins threads and starts processes,
//! `error` has the errors of a run, and `nearest` suggests names for misspelt ones.
//!
//! `docs/benchmarks/` documents every field and how to repeat the recorded figures. Design:
//! `docs/design/bench.md`.

#![expect(clippy::cast_precision_loss, reason = "figures are quotients of counts far below 2^52")]

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
