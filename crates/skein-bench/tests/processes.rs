//! Independent processes start each phase together, keep a state each, and end when they should.
//!
//! A separate program without the test harness, because the harness has threads, and a process with
//! threads must not fork.

use std::time::Duration;

use rustix::process::WaitOptions;
use skein_bench::sys::{LoopClock, in_processes};

const PROCESSES: usize = 3;

fn main() {
    phases_begin_together_and_states_stay();
    one_that_panics_ends_the_call();
    println!("independent processes: 2 tests passed");
}

fn phases_begin_together_and_states_stay() {
    let parent = f64::from(std::process::id());
    let found = in_processes(
        PROCESSES,
        2,
        |number| vec![number as u32],
        |state, _| {
            let began = LoopClock::Wall.now();
            // Later children are slower.
            std::thread::sleep(Duration::from_millis(40 * u64::from(state[0])));
            state.push(state.len() as u32);
            let seconds = |at: Duration| at.as_secs_f64();
            [
                f64::from(*state.last().expect("it has its number")),
                f64::from(std::process::id()),
                seconds(began),
                seconds(LoopClock::Wall.now()),
            ]
        },
    )
    .expect("one thread, and a machine that forks");
    assert_eq!(found.len(), 2);
    let mut ids = vec![parent];
    for (nth, of_phase) in (1u32..).zip(&found) {
        assert_eq!(of_phase.len(), PROCESSES);
        for [pushed, id, ..] in of_phase {
            assert_eq!(
                f64::to_bits(*pushed),
                f64::to_bits(nth.into()),
                "each has its own state, and keeps it"
            );
            ids.push(*id);
        }
    }
    ids.sort_by(f64::total_cmp);
    ids.dedup();
    assert_eq!(ids.len(), 1 + PROCESSES, "the same processes in both phases, none of them this one: {ids:?}");
    let slowest = found[0].iter().map(|figures| figures[3]).fold(0.0, f64::max);
    assert!(found[1].iter().all(|figures| figures[2] >= slowest), "{found:?}");
    assert_no_children();
}

fn one_that_panics_ends_the_call() {
    std::panic::set_hook(Box::new(|_| {}));
    let work = |number: &mut usize, _| {
        assert_ne!(*number, 1, "this one fails");
        std::thread::sleep(Duration::from_secs(u64::from(*number == 2) * 60));
        [0.0]
    };
    let refused = in_processes(PROCESSES, 1, |number| number, work).expect_err("one panics");
    let _ = std::panic::take_hook();
    assert!(refused.to_string().contains("ended before it sent its figures"), "{refused}");
    assert_no_children();
}

/// Checks that no child is left, not even one that still sleeps for a minute.
fn assert_no_children() {
    let child = rustix::process::waitpid(None, WaitOptions::NOHANG);
    assert_eq!(child.err(), Some(rustix::io::Errno::CHILD));
}
