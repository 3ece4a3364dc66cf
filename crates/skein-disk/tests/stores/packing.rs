//! Packing by a compaction: the bytes of a row, and writes after it.

use std::time::{Duration, Instant};

use skein_disk::{DiskOptions, DiskStore, Durability, PAGE, Result, TrieShape};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

/// Rows of a transaction.
const BATCH: u64 = 100;

fn options(cache_pages: usize) -> DiskOptions {
    DiskOptions { durability: Durability::Buffered, cache_pages, ..DiskOptions::default() }
}

/// Returns a key that looks random.
fn key(at: u64) -> [u8; 8] {
    let number = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes()
}

/// Sets rows with values of the given length.
fn set(store: &DiskStore, rows: impl Iterator<Item = u64>, len: impl Fn(u64) -> usize) {
    let rows: Vec<u64> = rows.collect();
    for batch in rows.chunks(BATCH as usize) {
        let written = store.write(|transaction| -> Result<()> {
            batch.iter().try_for_each(|at| transaction.set(&key(*at), &vec![*at as u8; len(*at)]).map(|_| ()))
        });
        written.unwrap();
    }
}

fn bytes_of_a_row(store: &DiskStore, rows: u64) -> u64 {
    ((store.pages_in_use() * PAGE) as u64).div_ceil(rows)
}

/// Without packing, rows of random keys of 8 bytes and values of 100 bytes took 173 bytes each
/// after `compact`, because pages split in the middle.
#[test]
fn rows_of_100_bytes_take_at_most_160_bytes_each() {
    const ROWS: u64 = 50_000;
    let store = DiskStore::open_on(SimStorage::new().share(), "/db", options(4_000)).unwrap();
    set(&store, 0..ROWS, |_| 100);
    let before = bytes_of_a_row(&store, ROWS);
    let report = store.compact().unwrap();
    let after = bytes_of_a_row(&store, ROWS);
    println!("{before} bytes of pages a row, then {after}, {report:?}");
    assert!(after <= 160, "{after} bytes of pages a row");
    // The file has the pages, their maps, and less than two steps of its growth.
    let used = store.pages_in_use();
    let file = store.stats().buffer.file_pages as usize;
    assert!(file <= used + 2 * 1024, "a file of {file} pages, {used} in use");
    let again = store.compact().unwrap();
    assert!(again.pages_merged * 200 <= used, "{again:?}");
    assert_eq!(store.check().unwrap().main.keys as u64, ROWS);
    for at in 0..ROWS {
        assert_eq!(store.get(&key(at)).unwrap(), Some(vec![at as u8; 100]));
    }
}

/// Rows of other lengths need no more pages after a compaction than without one, and few of them
/// split a page.
#[test]
fn writes_after_a_compaction_split_few_pages() {
    const ROWS: u64 = 30_000;
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }] {
        let open = || {
            let options = DiskOptions { shape, ..options(4_000) };
            let store = DiskStore::open_on(SimStorage::new().share(), "/db", options).unwrap();
            set(&store, 0..ROWS, |_| 100);
            store
        };
        let (packed, other) = (open(), open());
        packed.compact().unwrap();
        let pages = packed.pages_in_use();
        for store in [&packed, &other] {
            set(store, (0..ROWS).step_by(10), |at| 75 + at as usize % 51);
        }
        let split = packed.pages_in_use() - pages;
        println!("{shape}: {pages} pages packed, {split} more now; {} otherwise", other.pages_in_use());
        assert!(split * 10 <= pages, "{shape}: {split} pages were split, of {pages}");
        // New rows split pages as they do everywhere.
        for store in [&packed, &other] {
            set(store, ROWS..ROWS + ROWS / 5, |_| 100);
            store.check().unwrap();
        }
        println!("{shape}: {} pages, {} otherwise", packed.pages_in_use(), other.pages_in_use());
        assert!(packed.pages_in_use() * 20 <= other.pages_in_use() * 21, "{shape}");
    }
}

/// Prints bytes of a row, and the time of writes after a compaction, divided by the time without
/// one. Two stores do the same writes in turns.
#[test]
#[ignore = "prints figures; takes a minute in a release build"]
fn figures_of_a_million_rows() {
    const ROWS: u64 = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let [packed, other] = ["packed", "other"].map(|name| {
        let store = DiskStore::open(folder.path().join(name), options(100_000)).unwrap();
        set(&store, 0..ROWS, |_| 100);
        store
    });
    println!("{} bytes of pages a row", bytes_of_a_row(&packed, ROWS));
    let begin = Instant::now();
    let report = packed.compact().unwrap();
    println!(
        "compact took {:?}: {} bytes of pages a row, {} of file",
        begin.elapsed(),
        bytes_of_a_row(&packed, ROWS),
        report.bytes_after / ROWS
    );
    let in_turns = |about: &str, rows: std::ops::Range<u64>, len: &dyn Fn(u64) -> usize| {
        let mut times = [Duration::ZERO; 2];
        for first in rows.clone().step_by(10_000) {
            for (store, time) in [&packed, &other].into_iter().zip(&mut times) {
                let begin = Instant::now();
                for at in first..(first + 10_000).min(rows.end) {
                    store.set(&key(at), &vec![at as u8; len(at)]).unwrap();
                }
                *time += begin.elapsed();
            }
        }
        let ratio = times[0].as_secs_f64() / times[1].as_secs_f64();
        let pages = [&packed, &other].map(DiskStore::pages_in_use);
        println!("{about}: {ratio:.2} of the time without a compaction, {pages:?} pages");
    };
    in_turns("values of the same length", 0..300_000, &|_| 100);
    in_turns("values of 75 to 125 bytes", 300_000..600_000, &|at| 75 + at as usize % 51);
    in_turns("once more", 600_000..900_000, &|at| 75 + at as usize % 51);
    in_turns("a tenth more rows", ROWS..ROWS + ROWS / 10, &|_| 100);
    in_turns("once more", ROWS + ROWS / 10..ROWS + ROWS / 5, &|_| 100);
}
