//! The count of memory against what the allocators really hold: the arenas by their spans, and this program's global allocator, which counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::options;
use skein_store::{Durability, IndexKind, Store, StoreLimits, StoreOptions};

/// The system's allocator, with a counter.
struct CountingSystemAllocator;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// With what the system's allocator adds to a block.
fn size(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

// SAFETY: everything is passed on; counting touches no block.
unsafe impl GlobalAlloc for CountingSystemAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(size(layout), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on, here and below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(size(layout), Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingSystemAllocator = CountingSystemAllocator;

/// Bytes of a span, in which objects of one size lie.
const SPAN: usize = 64 << 10;

/// Counters are the program's, so its tests take turns.
static ALONE: Mutex<()> = Mutex::new(());

/// What is counted, and what is held: beyond what an empty store has.
struct MemoryScale {
    store: Store,
    counted: usize,
    held: usize,
    /// Rows are no objects of the arenas.
    large: bool,
    _folder: tempfile::TempDir,
}

impl MemoryScale {
    fn new(index: IndexKind, large: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let limits = StoreLimits { memory_bytes: Some(1 << 40), ..StoreLimits::default() };
        let store =
            Store::open(folder.path(), StoreOptions { index, limits, ..options(Durability::None) }).unwrap();
        let mut scale = Self { store, counted: 0, held: 0, large, _folder: folder };
        let (counted, held) = scale.look();
        (scale.counted, scale.held) = (counted, held);
        scale
    }

    fn look(&self) -> (usize, usize) {
        let memory = self.store.stats().memory;
        assert!(memory.total() <= memory.held + 4096, "{memory:?}");
        // The orders and the logs' buffers are the global allocator's, and so are large rows.
        let spans = if self.large { 0 } else { memory.held - memory.orders - memory.buffers };
        (memory.total() - self.counted, spans + LIVE.load(Ordering::Relaxed) - self.held)
    }

    /// Waits until what was removed has gone: on the way there any count is passed.
    fn settles(&self) {
        let begin = Instant::now();
        let mut steady = (self.look().0, 0);
        while steady.1 < 10 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
            let counted = self.look().0;
            steady = if counted == steady.0 { (counted, steady.1 + 1) } else { (counted, 0) };
        }
    }

    /// What is counted is what lives, to within 5 %; after a while, since readers that see what has gone go, too.
    fn agrees(&self, what: &str, (least, slack): (usize, usize), lives: impl Fn() -> usize) {
        let begin = Instant::now();
        loop {
            let (counted, lives) = (self.look().0, lives());
            if counted.abs_diff(lives) <= lives / 20 + slack && lives >= least {
                return;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(5),
                "{what}: {counted} bytes are counted, {lives} live; {:?}",
                self.store.stats().memory
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Fills a store, takes two thirds of its keys away, and fills it again. In each state what is counted is what lives, to within 5 %: where nothing was removed that is
/// what the allocators hold; after a removal they hold spans that are not full any more, and what lives is what they hold for a store that never had the rest, but for
/// the last span of each of some sizes, which is not full yet.
fn weighed(index: IndexKind, what: &str, keys: u32, fill: impl Fn(&mut skein_store::Session, u32, &[u8])) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = |i: u32| format!("{what}:{i:08}").into_bytes();
    let filled = |session: &mut skein_store::Session, from: u32| {
        session.spread_columns(true);
        (from..keys).for_each(|i| fill(session, i, &key(i)));
    };
    let removed = keys / 3 * 2;
    // What the thread keeps for its next writes is not the store's: it is there before anything is looked at.
    fill(&mut MemoryScale::new(index, false).store.session(), 0, &key(0));
    let rest = MemoryScale::new(index, what == "large");
    filled(&mut rest.store.session(), removed);
    let lives = rest.look().1;
    drop(rest);
    let scale = MemoryScale::new(index, what == "large");
    let mut session = scale.store.session();
    filled(&mut session, 0);
    scale.agrees(what, (5 << 20, 0), || scale.look().1);
    for i in 0..removed {
        session.write(|writer| writer.remove(&key(i))).unwrap().0.unwrap();
    }
    scale.settles();
    let what_is_left = format!("a third of {what}");
    if index == IndexKind::default() {
        scale.agrees(&what_is_left, (1 << 20, 4 * SPAN), || lives);
    } else {
        // Tables that have grown stay so, and with more sizes there are more such spans.
        scale.agrees(&what_is_left, (1 << 20, lives / 8), || scale.look().1);
    }
    (0..removed).for_each(|i| fill(&mut session, i, &key(i)));
    scale.agrees(&format!("all of {what} again"), (5 << 20, 0), || scale.look().1);
}

#[test]
fn values_are_weighed() {
    for index in IndexKind::ALL {
        if index == IndexKind::Mlp {
            continue;
        }
        weighed(index, "short", 300_000, |session, _, key| {
            session.write(|writer| writer.put(key, b"12345678")).unwrap().0.unwrap();
        });
    }
    weighed(IndexKind::default(), "long", 2_000, |session, i, key| {
        session.write(|writer| writer.put(key, &vec![7; 5_000 + i as usize % 5_000])).unwrap().0.unwrap();
    });
    weighed(IndexKind::default(), "large", 200, |session, i, key| {
        session.write(|writer| writer.put(key, &vec![7; 90_000 + i as usize])).unwrap().0.unwrap();
    });
    weighed(IndexKind::default(), "expiring", 300_000, |session, i, key| {
        let expires = session.now() + 1_000_000 + u64::from(i);
        session.write(|writer| writer.put_until(key, b"12345678", expires)).unwrap().0.unwrap();
    });
}

#[test]
fn collections_are_weighed() {
    use skein_store::RowWriter as _;
    let columns = |session: &mut skein_store::Session, key: &[u8], count: u32| {
        let names: Vec<String> = (0..count).map(|column| format!("column:{column}")).collect();
        let columns: Vec<(&[u8], &[u8])> =
            names.iter().map(|name| (name.as_bytes(), &b"a value of some bytes"[..])).collect();
        session.write(|writer| writer.put_columns(key, &columns)).unwrap().0.unwrap();
    };
    weighed(IndexKind::default(), "small hashes", 80_000, |session, _, key| columns(session, key, 10));
    weighed(IndexKind::default(), "large hashes", 200, |session, _, key| columns(session, key, 3_000));
    let members = |session: &mut skein_store::Session, key: &[u8], count: u32| {
        let put = session.write(|writer| {
            writer.change_set::<_, skein_store::Error>(key, true, |set| {
                (0..count).try_for_each(|member| {
                    set.put(format!("member:{member}").as_bytes(), f64::from(member * 7 % count)).map(drop)
                })
            })
        });
        put.unwrap().0.unwrap();
    };
    weighed(IndexKind::default(), "mixed", 20_000, |session, i, key| match i % 10 {
        0 => columns(session, key, 100),
        1 => members(session, key, 50),
        2 => drop(session.write(|writer| writer.put(key, &[7; 4_000])).unwrap().0.unwrap()),
        3..6 => columns(session, key, 5),
        _ => drop(session.write(|writer| writer.put(key, b"a value of some bytes")).unwrap().0.unwrap()),
    });
    weighed(IndexKind::default(), "small sets", 60_000, |session, _, key| members(session, key, 3));
    weighed(IndexKind::default(), "large sets", 50, |session, _, key| members(session, key, 8_000));
}
