//! MlpIndex's figures 1, 2, 9 and 10 and its tables 2 and 3.
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | `fig1.rs` | `mlpindex-fig1`, `-fig2` | memory itself: independent reads |
//! | `fig9.rs` | `mlpindex-fig9`, `-fig10` | its two key distributions, with table 3's figures |
//! | `table2.rs` | `mlpindex-table2` | operations in memory reads |
//! | `targets.rs` | `mlpindex-targets` | this project's targets |
//!
//! The paper's table 1 is about its skip list: `experiment/skip_list.rs`.

pub mod fig1;
pub mod fig9;
pub mod table2;
pub mod targets;

use super::BenchPlan;
use super::grid::{Grid, over_key_sets};
use super::loops::{GridLoop, LOOKUP_80, LOWER_BOUND};
use super::participants::Participants;

/// The paper's distributions A and B.
const A: &str = "mlp-a";
const B: &str = "mlp-b";

/// The paper's loop: each operation waits for the answer to the one before.
const LOOKUP_ALONE: GridLoop = LOOKUP_80.dependent("lookup, 80 % hits, dependent");
const BOUND_ALONE: GridLoop = LOWER_BOUND.dependent("lower bound, 15 % hits, dependent");

/// Returns the number of keys; the paper has 80 million.
fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([300_000, 5_000_000, 20_000_000, 80_000_000])
}

/// Returns a grid over key sets on one thread, with absent keys of the same kind.
fn over_sets(
    plan: &BenchPlan,
    sets: &[&str],
    loops: &'static [GridLoop],
    takes: Participants,
) -> Grid<'static> {
    Grid::new(over_key_sets(plan.sets_or(sets), count(plan), count(plan) / 4), loops, takes)
}
