//! Compares the count of memory with the memory that the allocators hold: the arenas by their
//! spans, and this program's global allocator, which counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::options;
use skein_store::{Durability, IndexKind, Store, StoreLimits, StoreOptions};

/// The system's allocator with a counter.
struct CountingSystemAllocator;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns the size of a block, including the overhead of the system's allocator.
fn size(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

// SAFETY: all calls are passed on; counting touches no block.
unsafe impl GlobalAlloc for CountingSystemAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(size(layout), Ordering::Relaxed);
        // SAFETY: the caller's guarantee is passed on, here and below.
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

/// Bytes of a span, which holds objects of one size.
const SPAN: usize = 64 << 10;

/// The counters belong to the process, so its tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A store, with the counted and the held bytes of an empty store to subtract.
struct MemoryScale {
    store: Store,
    counted: usize,
    held: usize,
    /// The rows are too large for the arenas.
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
        // Score indexes, log buffers and large rows are in the global allocator.
        let spans = if self.large { 0 } else { memory.held - memory.orders - memory.buffers };
        (memory.total() - self.counted, spans + LIVE.load(Ordering::Relaxed) - self.held)
    }

    /// Waits until removed memory is freed: on the way there the count takes any value.
    fn settles(&self) {
        let begin = Instant::now();
        let mut steady = (self.look().0, 0);
        while steady.1 < 10 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
            let counted = self.look().0;
            steady = if counted == steady.0 { (counted, steady.1 + 1) } else { (counted, 0) };
        }
    }

    /// Checks that counted and live bytes agree within 5 %. This may take a while, until the
    /// readers of removed memory have finished.
    fn agrees(&self, what: &str, least: usize, slack: usize, lives: impl Fn() -> usize) {
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

/// Fills a store, removes two thirds of its keys, and fills it again. In each state the counted
/// bytes must match the live bytes within 5 %. Without removals, the live bytes are the bytes that
/// the allocators hold. After a removal the allocators hold partly empty spans. Then the live bytes
/// are those of a store that never had the removed keys, except for partly filled spans of the
/// sizes that it uses, and of those that the rows of a large hash had before it was spread.
fn weighed(index: IndexKind, what: &str, keys: u32, fill: impl Fn(&mut skein_store::Session, u32, &[u8])) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = |i: u32| format!("{what}:{i:08}").into_bytes();
    let filled = |session: &mut skein_store::Session, from: u32| {
        session.spread_columns(true);
        (from..keys).for_each(|i| fill(session, i, &key(i)));
    };
    let removed = keys / 3 * 2;
    // The memory that the thread keeps for its next writes does not belong to the store, so it is
    // allocated first.
    fill(&mut MemoryScale::new(index, false).store.session(), 0, &key(0));
    let rest = MemoryScale::new(index, what == "large");
    filled(&mut rest.store.session(), removed);
    let lives = rest.look().1;
    drop(rest);
    let scale = MemoryScale::new(index, what == "large");
    let mut session = scale.store.session();
    filled(&mut session, 0);
    // The pages and nodes of a page tree have a dozen sizes, each with a span that is partly
    // filled. The expiry index is one.
    let slack = if index == IndexKind::PageTree || what == "expiring" { 16 * SPAN } else { 0 };
    scale.agrees(what, 5 << 20, slack, || scale.look().1);
    for i in 0..removed {
        session.write(|writer| writer.remove(&key(i))).unwrap().0.unwrap();
    }
    scale.settles();
    let third = format!("a third of {what}");
    if index == IndexKind::default() {
        scale.agrees(&third, 1 << 20, 6 * SPAN + slack, || lives);
    } else {
        // Tables do not shrink after they have grown, and with more sizes there are more partly
        // filled spans.
        scale.agrees(&third, 1 << 20, lives / 8 + slack, || scale.look().1);
    }
    (0..removed).for_each(|i| fill(&mut session, i, &key(i)));
    scale.agrees(&format!("all of {what} again"), 5 << 20, slack, || scale.look().1);
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
