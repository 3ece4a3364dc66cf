//! Our own indexes, through the contract that all of them keep.

use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::masstree::variant::{
    WITHOUT_HUGE_PAGES, WITHOUT_INTEGERS, WITHOUT_PERMUTATION, WITHOUT_PREFETCH,
};
use skein_index::wormhole::variant as worm;
use skein_index::{Collector, Cursor, Inline, LocalGuard, Masstree, OrderedIndex, Wormhole};

use super::{Can, Contender, ENTRIES, Entry};

#[distributed_slice(ENTRIES)]
static MASSTREE: Entry = Entry::shared::<Ours<MasstreeOf<15>>>(0);

#[distributed_slice(ENTRIES)]
static TWIN: Entry = Entry::shared::<Ours<MasstreeOf<15>>>(1).as_twin("skein-masstree, again");

#[distributed_slice(ENTRIES)]
static WORMHOLE: Entry = Entry::shared::<Ours<WormholeOf<128>>>(2);

// What Wormhole's figure 11 adds, one after the other.
#[distributed_slice(ENTRIES)]
static BASE: Entry = Entry::shared::<Ours<WormholeOf<BASE_WORMHOLE>>>(210).as_step_of("skein-wormhole");

#[distributed_slice(ENTRIES)]
static TAGS: Entry = Entry::shared::<Ours<WormholeOf<WITH_TAGS>>>(211).as_step_of("skein-wormhole");

#[distributed_slice(ENTRIES)]
static INCREMENTAL: Entry =
    Entry::shared::<Ours<WormholeOf<WITH_INCREMENTAL>>>(212).as_step_of("skein-wormhole");

#[distributed_slice(ENTRIES)]
static LEAF_TAGS: Entry = Entry::shared::<Ours<WormholeOf<WITH_LEAF_TAGS>>>(213).as_step_of("skein-wormhole");

// What we add to the paper's, each against the index as it comes.
#[distributed_slice(ENTRIES)]
static MIDDLE: Entry = Entry::shared::<Ours<WormholeOf<{ 128 | worm::WITHOUT_SHORT_ANCHORS }>>>(214)
    .as_step_of("skein-wormhole");

#[distributed_slice(ENTRIES)]
static PROBES_2: Entry =
    Entry::shared::<Ours<WormholeOf<{ 128 | worm::PROBES_2 }>>>(215).as_step_of("skein-wormhole");

#[distributed_slice(ENTRIES)]
static PROBES_4: Entry =
    Entry::shared::<Ours<WormholeOf<{ 128 | worm::PROBES_4 }>>>(216).as_step_of("skein-wormhole");

/// What locks and versions cost.
#[distributed_slice(ENTRIES)]
static ALONE: Entry = Entry::alone::<Ours<WormholeAlone>>(217).as_step_of("skein-wormhole");

const WITH_LEAF_TAGS: usize = 128 | worm::WITHOUT_POSITION;
const WITH_INCREMENTAL: usize = WITH_LEAF_TAGS | worm::WITHOUT_LEAF_TAGS;
const WITH_TAGS: usize = WITH_INCREMENTAL | worm::WITHOUT_INCREMENTAL_HASH;
const BASE_WORMHOLE: usize = WITH_TAGS | worm::WITHOUT_TAGS;

// What figure 8 takes away from the tree.
#[distributed_slice(ENTRIES)]
static PLAIN: Entry = Entry::shared::<Ours<MasstreeOf<PLAIN_NODES>>>(203).as_step_of("skein-masstree");

#[distributed_slice(ENTRIES)]
static NO_PERMUTATION: Entry =
    Entry::shared::<Ours<MasstreeOf<{ 15 | WITHOUT_PERMUTATION }>>>(204).as_step_of("skein-masstree");

#[distributed_slice(ENTRIES)]
static NO_PREFETCH: Entry =
    Entry::shared::<Ours<MasstreeOf<{ 15 | WITHOUT_PREFETCH }>>>(205).as_step_of("skein-masstree");

#[distributed_slice(ENTRIES)]
static NO_INTEGERS: Entry =
    Entry::shared::<Ours<MasstreeOf<{ 15 | WITHOUT_INTEGERS }>>>(206).as_step_of("skein-masstree");

#[distributed_slice(ENTRIES)]
static NO_HUGE_PAGES: Entry =
    Entry::shared::<Ours<MasstreeOf<{ 15 | WITHOUT_HUGE_PAGES }>>>(207).as_step_of("skein-masstree");

const PLAIN_NODES: usize = 15 | WITHOUT_PREFETCH | WITHOUT_PERMUTATION;

/// An index of ours, for the bench's words.
trait Named: 'static {
    type Index: OrderedIndex<Inline<u64>> + 'static;
    const NAME: &'static str;
    const ABOUT: &'static str;

    fn empty() -> Self::Index;
}

struct MasstreeOf<const W: usize>;

impl<const W: usize> Named for MasstreeOf<W> {
    type Index = Masstree<Inline<u64>, W>;
    const NAME: &'static str = match W {
        PLAIN_NODES => "masstree - prefetch - permutation",
        _ if W & WITHOUT_PREFETCH != 0 => "masstree - prefetch",
        _ if W & WITHOUT_PERMUTATION != 0 => "masstree - permutation",
        _ if W & WITHOUT_INTEGERS != 0 => "masstree - integers",
        _ if W & WITHOUT_HUGE_PAGES != 0 => "masstree - huge pages",
        _ => "skein-masstree",
    };
    const ABOUT: &'static str = "Masstree<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        Masstree::with_width(Arc::new(Collector::new()))
    }
}

struct WormholeOf<const W: usize>;

impl<const W: usize> Named for WormholeOf<W> {
    type Index = Wormhole<Inline<u64>, W>;
    const NAME: &'static str = match W {
        BASE_WORMHOLE => "wormhole, base",
        WITH_TAGS => "wormhole + tags",
        WITH_INCREMENTAL => "wormhole + tags + incremental hash",
        WITH_LEAF_TAGS => "wormhole + tags + incremental hash + leaf tags",
        _ if W & worm::WITHOUT_SHORT_ANCHORS != 0 => "wormhole - short anchors",
        _ if W & worm::PROBES_2 != 0 => "wormhole, 2 probes",
        _ if W & worm::PROBES_4 != 0 => "wormhole, 4 probes",
        _ => "skein-wormhole",
    };
    const ABOUT: &'static str = "Wormhole<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        Wormhole::with_variant(Arc::new(Collector::new()))
    }
}

struct WormholeAlone;

impl Named for WormholeAlone {
    type Index = Wormhole<Inline<u64>, { 128 | worm::ALONE }>;
    const NAME: &'static str = "wormhole, one thread";
    const ABOUT: &'static str = "Wormhole without locks and versions";

    fn empty() -> Self::Index {
        // SAFETY: registered as a contender for one thread; the bench's scans end before it writes.
        unsafe { Wormhole::alone(Arc::new(Collector::new())) }
    }
}

/// One of our indexes as a contender.
struct Ours<N: Named>(N::Index);

impl<N: Named> Contender for Ours<N> {
    const NAME: &'static str = N::NAME;
    const ABOUT: &'static str = N::ABOUT;
    const CAN: Can = Can { batches: true, scan: true, scan_back: true, lower_bound: true, remove: true };
    const KEY_BYTES: (usize, usize) = (0, skein_index::index::MAX_KEY_LEN);
    type Pin<'a> = LocalGuard<'a>;

    fn new(_expected: usize) -> Self {
        Self(N::empty())
    }

    fn pin(&self) -> Self::Pin<'_> {
        self.0.collector().enter()
    }

    #[inline(always)]
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64) {
        self.0.insert(key, Inline(value), pin).expect("the bench's keys are short enough");
    }

    #[inline(always)]
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64> {
        self.0.get(key, pin)
    }

    #[inline(always)]
    fn get_many<'a>(&'a self, pin: &Self::Pin<'a>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.0.get_many(keys, pin, found);
    }

    #[inline(always)]
    fn remove<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> bool {
        self.0.remove(key, pin).is_some()
    }

    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek(from);
        for _ in 0..count {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = cursor.next();
        }
    }

    fn scan_back<'a>(
        &'a self,
        pin: &Self::Pin<'a>,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], u64),
    ) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek_back(from);
        for _ in 0..count {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = cursor.prev();
        }
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        let memory = self.0.memory();
        vec![("nodes", memory.nodes), ("keys", memory.keys)]
    }
}
