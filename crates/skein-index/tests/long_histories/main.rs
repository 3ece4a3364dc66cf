//! Linearizability of long histories, over every index: threads do operations of all kinds on a few keys, every value is written once, and for each key
//! there must be an order of all that was done with it which explains every answer and respects real time.
//!
//! ```text
//!   round.rs     fill ─► threads work ─► look ─► explain each key's history ─► empty, check the structure, count what was not dropped
//!   work.rs      one thread's operations, each noted as what it says of its keys        record.rs    values, clock, notes
//!   search.rs    the search for the order                                               flawed.rs    indexes that are wrong on purpose
//! ```
//!
//! Point operations, `compute` and `get_many` are linearizable key by key. Scans and `remove_range` are not one moment, but each key that they met, or
//! should have met, was there, or absent, at some moment of them. Histories of several keys at once, in small, are in `indexes/linearizability.rs`.
//!
//! `.ci/linearizability MINUTES` runs so long over each index; a plain run takes some seconds. A failure names the seed; `SKEIN_SEED` repeats the
//! random choices, not the machine's timing.
#![cfg(not(skein_loom))]

mod flawed;
mod keys;
#[path = "../support/planted.rs"]
mod planted;
#[path = "../support/random.rs"]
mod random;
mod record;
mod round;
mod search;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flawed::{Flaw, Flawed};
use keys::{HistoryKeySet, sets};
use random::TestRandom;
use record::{HistoryIndex, HistoryRecorder, UniqueValue};
use round::{HistoryTally, round};
use skein_index::index::MAX_KEY_LEN;
use skein_index::mlp_index::variant::{BUCKET_PER_KEY, CROWDED, WITHOUT_HUGE_PAGES};
use skein_index::skip_list::variant::BARE;
use skein_index::{Boxed, Collector, CuckooTrie, Masstree, MlpIndex, SkipList, Wormhole, mlp_index};

/// Rounds for each variant of an index in a plain run.
const ROUNDS: u64 = 100;

/// Rounds after which an index goes, and another one comes.
const ROUNDS_PER_INDEX: u64 = 9;

/// Rounds by which a flaw must have been noticed; most are within ten.
const ROUNDS_MAX: u64 = 100_000;

fn collector() -> Arc<Collector> {
    // Small batches: what is retired goes soon.
    Arc::new(Collector::new().batch_size(4))
}

/// How long a variant of an index is tried.
#[derive(Clone, Copy)]
enum TrialLimit {
    Rounds(u64),
    Time(Instant),
}

impl TrialLimit {
    /// What the environment says, of which each of so many variants has a share.
    fn of(variants: u32) -> Self {
        let minutes = std::env::var("SKEIN_LINEARIZABILITY_MINUTES").ok();
        minutes.map_or(Self::Rounds(ROUNDS), |minutes| {
            let minutes: u64 = minutes.parse().expect("a number of minutes");
            Self::Time(Instant::now() + Duration::from_secs(60 * minutes) / variants)
        })
    }

    fn is_over(self, rounds: u64) -> bool {
        match self {
            Self::Rounds(all) => rounds >= all,
            Self::Time(end) => Instant::now() >= end,
        }
    }
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    std::env::var("SKEIN_SEED").map_or_else(|_| now(), |seed| seed.parse().expect("a number"))
}

/// Says what was tried when a check fails.
struct TrialContext<'t> {
    name: &'t str,
    seed: u64,
    tally: HistoryTally,
}

impl Drop for TrialContext<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: SKEIN_SEED={}, after {:?}", self.name, self.seed, self.tally);
        }
    }
}

/// Tries an index until a check fails, or it is over.
fn explore<I: HistoryIndex>(
    name: &str,
    make: impl Fn() -> I,
    verify: impl Fn(&mut I),
    sets: &[HistoryKeySet],
    until: TrialLimit,
) {
    let seed = seed();
    let mut random = TestRandom::new(seed);
    let mut context = TrialContext { name, seed, tally: HistoryTally::default() };
    while !until.is_over(context.tally.rounds) {
        let (mut index, shared) = (make(), HistoryRecorder::default());
        for _ in 0..ROUNDS_PER_INDEX {
            let keys = &sets[random.below(sets.len())];
            round(&index, keys, &shared, &mut random, &mut context.tally);
            verify(&mut index);
        }
        drop(index);
        assert_eq!(shared.living(), 0, "values that nobody dropped");
    }
    println!("{name}: {:?}", context.tally);
}

macro_rules! variants {
    ($($test:ident, $count:literal { $($index:ty, $longest:expr, $zero_tails:expr, $make:ident;)* })*) => {$(
        #[test]
        fn $test() {
            $(explore(
                stringify!($index),
                || <$index>::$make(collector()),
                |index| _ = index.check().unwrap(),
                &sets($longest, $zero_tails),
                TrialLimit::of($count),
            );)*
        }
    )*};
}

type HistorySlot = Boxed<UniqueValue>;

// A node of width 3 has no place for more than three keys of one slice, which differ in trailing zeros.
variants! {
    masstree, 3 {
        Masstree<HistorySlot, 3>, MAX_KEY_LEN, false, with_width;
        Masstree<HistorySlot, 10>, MAX_KEY_LEN, true, with_width;
        Masstree<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    wormhole, 2 {
        Wormhole<HistorySlot, 4>, MAX_KEY_LEN, true, with_variant;
        Wormhole<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    cuckoo_trie, 2 {
        CuckooTrie<HistorySlot, 1>, MAX_KEY_LEN, true, with_variant;
        CuckooTrie<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    mlp, 3 {
        MlpIndex<HistorySlot, { CROWDED | WITHOUT_HUGE_PAGES }>, mlp_index::MAX_LEN, true, with_variant;
        MlpIndex<HistorySlot, { BUCKET_PER_KEY | WITHOUT_HUGE_PAGES }>, mlp_index::MAX_LEN, true, with_variant;
        MlpIndex<HistorySlot>, mlp_index::MAX_LEN, true, with_collector;
    }
    skip_list, 3 {
        SkipList<HistorySlot, 2>, MAX_KEY_LEN, true, with_variant;
        SkipList<HistorySlot, { 2 | BARE }>, MAX_KEY_LEN, true, with_variant;
        SkipList<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
}

/// The checker bites: it finds no order for what each flaw does, however long it takes.
#[test]
fn flawed_indexes_are_noticed() {
    let flaws = [
        Flaw::LateDecision,
        Flaw::SecondRemoval,
        Flaw::LateAnswer,
        Flaw::RangeNamesTooMany,
        Flaw::OneAnswerForAll,
    ];
    for flaw in flaws {
        let caught = planted::caught(&["no order explains this history\nImpossible"], || {
            let make = || Flawed { inner: Wormhole::with_collector(collector()), flaw };
            explore(
                &format!("{flaw:?}"),
                make,
                |_| {},
                &sets(MAX_KEY_LEN, true),
                TrialLimit::Rounds(ROUNDS_MAX),
            );
        });
        assert!(caught, "nobody noticed {flaw:?}");
    }
}
