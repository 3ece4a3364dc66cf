//! The bench counts the allocations of contenders in C++ in the same way as those in Rust.
//!
//! A separate test program with one test, because the counter includes the allocations of all
//! threads.
#![cfg(feature = "rivals")]
#![expect(clippy::cast_precision_loss, reason = "some millions of bytes")]

use skein_bench::counting::{LiveByteAllocator, weigh};
use skein_bench::keyset;
use skein_bench::rival::index::{self, DynIndex};
use skein_bench::sys::LoopClock;

#[global_allocator]
static ALLOCATOR: LiveByteAllocator = LiveByteAllocator;

const KEYS: usize = 1_000_000;

#[test]
fn memory_of_cpp_is_counted_in_small_and_large_blocks() {
    let set = keyset::make("rand-8", KEYS, 0, 1).expect("a good name");
    let fill = |entry: &index::RegisteredIndex| -> Box<dyn DynIndex> {
        let index = (entry.make)(KEYS);
        index.fill(&set.keys, 0, 1, LoopClock::Wall);
        index
    };
    // Bytes per key. A node of the map has 48 bytes, in a block of 64. The tables are single
    // blocks, which the system maps. Google's has two to four slots of 16 bytes per key.
    // libcuckoo's has buckets of four keys with their metadata, at least half full.
    let known = [("std-map", 64.0..65.0), ("dense-hash-map", 32.0..64.5), ("libcuckoo", 17.0..64.0)];
    for (name, wanted) in known {
        let takes = |entry: &&index::RegisteredIndex| entry.name == name && entry.key_bytes == (8, 8);
        let Some(entry) = index::all().into_iter().find(takes) else {
            assert!(index::absent().iter().any(|(absent, _)| *absent == name), "{name}");
            continue;
        };
        let (index, live) = weigh(|| fill(entry));
        drop(index);
        let per_key = live as f64 / KEYS as f64;
        assert!(wanted.contains(&per_key), "{name}: {per_key} bytes per key");
        let ((), left) = weigh(|| drop(fill(entry)));
        assert!((left as f64) < 0.1 * KEYS as f64, "{name}: {left} bytes are left of an index that is gone");
    }
}
