//! Enters and drops a guard many times, to count instructions:
//!
//! `cargo build --release -p skein-sync --example guard_cost`, then `valgrind --tool=callgrind
//! target/release/examples/guard_cost local 1000000`.
//!
//! Count twice with different numbers of rounds: the difference excludes the start of the program.

use std::hint::black_box;

use skein_sync::reclaim::{Collector, Guard};

/// The place where a program would read. By reference, because moving a guard costs as much as
/// taking one.
fn look_at(guard: &impl Guard) {
    black_box(guard);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (kind, rounds) = match &arguments[..] {
        [_, kind, rounds] => (kind.as_str(), rounds.parse::<u64>().expect("a number of rounds")),
        _ => panic!("usage: guard_cost local|nested|owned|refresh ROUNDS"),
    };
    let collector = Collector::new();
    let mut outer = (kind != "local").then(|| collector.enter());
    for _ in 0..rounds {
        match kind {
            "local" | "nested" => look_at(&black_box(&collector).enter()),
            "owned" => look_at(&black_box(&collector).enter_owned()),
            "refresh" => outer.as_mut().expect("entered above").refresh(),
            other => panic!("unknown kind of guard: {other}"),
        }
    }
}
