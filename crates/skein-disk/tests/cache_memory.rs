//! The memory of the cache, in a program with the system's allocator. A test of its own process: it
//! counts all memory of the process.

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, PAGE};

/// Returns the memory of the process that no file backs, in bytes.
fn anonymous() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Incident: pages were boxes of 4 KiB, aligned to 4 KiB, which glibc gives 8 KiB. Consequence: the
/// cache took twice its size in programs that use the library. Fix: pages lie side by side in
/// chunks that are mapped from the system (`page_arena.rs`).
#[test]
fn a_full_cache_takes_its_size() {
    const CACHE: usize = 8_192;
    let folder = tempfile::tempdir().unwrap();
    let options = DiskOptions {
        cache_pages: CACHE,
        durability: Durability::None,
        checkpoint_bytes: 0,
        ..DiskOptions::default()
    };
    let store = DiskStore::open(folder.path(), options).unwrap();
    for part in 0..100_u32 {
        store
            .write::<_, DiskError>(|transaction| {
                for number in 0..400_u32 {
                    let key = (part * 400 + number).wrapping_mul(0x9e37_79b9).to_be_bytes();
                    transaction.set(&key, &[7; 1_000])?;
                }
                Ok(())
            })
            .unwrap();
    }
    store.checkpoint().unwrap();
    assert!(store.pages_in_use() > CACHE + CACHE / 4, "{} pages", store.pages_in_use());
    // Shrinks the cache, so that the growth that follows is that of a full one.
    store.resize_cache(16).unwrap();
    let before = anonymous();
    store.resize_cache(CACHE).unwrap();
    let mut cursor = store.cursor().unwrap();
    let mut keys = 0;
    while cursor.next().unwrap().is_some() {
        keys += 1;
    }
    assert_eq!(keys, 40_000);
    let (cache, grown) = (CACHE * PAGE, anonymous().saturating_sub(before));
    let stats = store.stats().buffer;
    println!(
        "a cache of {cache} bytes, {} of {CACHE} pages resident, takes {grown} bytes more",
        stats.resident
    );
    assert!(stats.resident > CACHE * 9 / 10 && stats.resident <= CACHE, "{stats:?}");
    assert!(grown > cache / 2, "{grown} bytes: the cache must be measured");
    assert!(grown < cache + cache / 4, "{grown} bytes for a cache of {cache}");
    store.resize_cache(16).unwrap();
    let left = anonymous().saturating_sub(before);
    println!("{left} bytes are left after the cache has shrunk");
    assert!(left < cache / 4, "{left} bytes of a cache of {cache} stay");
}
