//! Random operations on whole stores, against a `BTreeMap`.
//!
//! ```text
//!   seed ─► plan.rs         shape, spaces, cache, durability, style of keys, faults
//!    │
//!    ├─► sequence.rs        one thread on the simulated storage: power cuts, I/O errors, full disks
//!    │     reads.rs         its reads
//!    │     oracle.rs        the possible states after a crash
//!    │     snapshots.rs     live snapshots, with their contents
//!    └─► crowd.rs           writers and readers with checkpoints and compactions, on real files
//!                           (both read modes) and on the simulated storage
//! ```
//!
//! The normal tests run a slice of the seeds. `.ci/disk-model [MINUTES]` continues with others. A
//! failure prints its seed, and `SKEIN_SEED=N .ci/disk-model` repeats it: exactly for a sequence
//! without a background checkpoint, otherwise as far as the timing allows.

mod crowd;
mod oracle;
mod plan;
mod random;
mod reads;
mod sequence;
mod snapshots;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Seeds of the normal tests, and of each round of the long test.
const SLICE: u64 = 24;
/// A crowd takes as long as several sequences.
const CROWDS: u64 = 6;

/// Crowds in which the count of reasons to keep a place overflowed when it had 8 bits.
const WRAPPED: [u64; 2] = [15, 30];

/// Runs a seed. If it fails, prints the seed.
fn run(name: &str, seed: u64, body: impl FnOnce(u64)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(seed))) {
        eprintln!("{name}: seed {seed} failed; SKEIN_SEED={seed} .ci/disk-model repeats it");
        resume_unwind(panic);
    }
}

/// Returns the seed to repeat, if there is one.
fn repeated() -> Option<u64> {
    let seed = std::env::var("SKEIN_SEED").ok()?;
    Some(seed.parse().expect("SKEIN_SEED is a number"))
}

fn sequences(seeds: impl IntoIterator<Item = u64>) {
    seeds.into_iter().for_each(|seed| run("a sequence", seed, sequence::run));
}

fn crowds(seeds: impl IntoIterator<Item = u64>) {
    seeds.into_iter().for_each(|seed| run("a crowd", seed, crowd::run));
}

#[test]
fn a_store_is_a_sorted_map_through_power_cuts_and_errors() {
    sequences(0..SLICE);
}

#[test]
fn a_crowd_sees_whole_transactions() {
    crowds((0..CROWDS).chain(WRAPPED));
}

#[test]
#[ignore = "runs for SKEIN_MODEL_MINUTES; `.ci/disk-model` runs it"]
fn random_operations_for_minutes() {
    if let Some(seed) = repeated() {
        sequences([seed]);
        crowds([seed]);
        return;
    }
    let minutes = std::env::var("SKEIN_MODEL_MINUTES").map_or(1, |text| text.parse().expect("a number"));
    let (begun, mut done) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(60 * minutes) {
        sequences(done * SLICE..(done + 1) * SLICE);
        crowds(done * CROWDS..(done + 1) * CROWDS);
        done += 1;
        eprintln!("{} s: {} sequences, {} crowds", begun.elapsed().as_secs(), done * SLICE, done * CROWDS);
    }
}
