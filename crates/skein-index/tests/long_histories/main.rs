//! Linearizability of long histories, over every index. Threads run operations of all kinds on a
//! few keys; every value is written once. For each key there must be an order of all its operations
//! that explains every answer and respects real time.
//!
//! ```text
//!   round.rs     fill ─► threads work ─► read all keys ─► explain each key's history
//!                ─► empty the index, check its structure, count the values that were not dropped
//!   worker.rs    one thread's operations; each adds events to the keys that it concerns
//!   record.rs    values, clock, notes
//!   search.rs    the search for the order
//!   flawed.rs    indexes with deliberate flaws
//! ```
//!
//! Point operations, `compute` and `get_many` are linearizable key by key. A scan or a
//! `remove_range` is not one moment. But each key that it returned, or should have returned, was
//! present or absent at some moment of it. `indexes/linearizability.rs` has small histories of
//! several keys at once.
//!
//! `.ci/linearizability MINUTES` runs for that long over each index; a plain run takes some
//! seconds. A failure names the seed. `SKEIN_SEED` repeats the random choices, but not the timing.
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
use skein_index::cuckoo_trie::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use skein_index::index::MAX_KEY_LEN;
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeVariant};
use skein_index::mlp_index::variant::{MlpBucketPerKey, MlpCrowded, MlpIndexVariant};
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeVariant};
use skein_index::skip_list::variant::{BareSkipListOf, SkipListOf, SkipListVariant};
use skein_index::wormhole::variant::{WormholeOfWidth, WormholeVariant};
use skein_index::{
    Boxed, Collector, CuckooTrie, Masstree, MlpIndex, PageTree, SkipList, Wormhole, mlp_index,
};

/// The number of rounds for each variant of an index in a plain run.
const ROUNDS: u64 = 100;

/// The number of rounds after which an index is dropped and a new one is made.
const ROUNDS_PER_INDEX: u64 = 9;

/// The number of rounds within which a flaw must be noticed; most take fewer than ten.
const ROUNDS_MAX: u64 = 100_000;

fn collector() -> Arc<Collector> {
    // Small batches, so that retired objects are freed soon.
    Arc::new(Collector::new().batch_size(4))
}

/// How long a variant of an index is tested.
#[derive(Clone, Copy)]
enum TrialLimit {
    Rounds(u64),
    Time(Instant),
}

impl TrialLimit {
    /// Returns the limit from the environment. The variants share its time equally.
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

/// Prints the seed and the counts when a check fails.
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

/// Tests an index until a check fails or the limit is reached.
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
        assert_eq!(shared.living(), 0, "values were not dropped");
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

// A node of width 3 has no room for more than three keys of one slice, which differ in trailing
// zeros.
variants! {
    masstree, 3 {
        MasstreeVariant<HistorySlot, MasstreeOfWidth<3>>, MAX_KEY_LEN, false, with_variant;
        MasstreeVariant<HistorySlot, MasstreeOfWidth<10>>, MAX_KEY_LEN, true, with_variant;
        Masstree<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    wormhole, 2 {
        WormholeVariant<HistorySlot, WormholeOfWidth<4>>, MAX_KEY_LEN, true, with_variant;
        Wormhole<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    cuckoo_trie, 2 {
        CuckooTrieVariant<HistorySlot, CuckooOfLeastBits<1>>, MAX_KEY_LEN, true, with_variant;
        CuckooTrie<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    mlp, 3 {
        MlpIndexVariant<HistorySlot, MlpCrowded>, mlp_index::MAX_LEN, true, with_variant;
        MlpIndexVariant<HistorySlot, MlpBucketPerKey>, mlp_index::MAX_LEN, true, with_variant;
        MlpIndex<HistorySlot>, mlp_index::MAX_LEN, true, with_collector;
    }
    skip_list, 3 {
        SkipListVariant<HistorySlot, SkipListOf<2, 0>>, MAX_KEY_LEN, true, with_variant;
        SkipListVariant<HistorySlot, BareSkipListOf<2, 0>>, MAX_KEY_LEN, true, with_variant;
        SkipList<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
    page_tree, 2 {
        PageTreeVariant<HistorySlot, PageTreeOfWidth<4>>, MAX_KEY_LEN, true, with_variant;
        PageTree<HistorySlot>, MAX_KEY_LEN, true, with_collector;
    }
}

/// Checks the checker: it must reject the histories of every flaw.
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
        assert!(caught, "the checker did not notice {flaw:?}");
    }
}
