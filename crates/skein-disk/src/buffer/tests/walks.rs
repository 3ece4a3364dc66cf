//! Walks that are longer than the cache.

use skein_log::storage::sim::SimStorage;

use super::{change, checkpoint, make_all, number_in, open};
use crate::buffer::{BufferManager, PageReader};
use crate::page::PageId;

const PAGES: usize = 100;

/// Returns a buffer manager with all pages in the file, and their ids.
fn cold(storage: &SimStorage) -> (BufferManager, Vec<PageId>) {
    let buffer = open(storage, 16).unwrap();
    let ids = make_all(&buffer, 0..PAGES as u64).unwrap();
    checkpoint(&buffer, 2).unwrap();
    drop(buffer);
    (open(storage, 16).unwrap(), ids)
}

/// A walk goes on after it has loaded a page, and a restart finds the pages that were loaded
/// before, although the cache had no room for them.
#[test]
fn a_walk_that_writes_restart_loads_each_page_once() {
    const WRITES: u64 = 5;
    let storage = SimStorage::new();
    let (buffer, ids) = cold(&storage);
    let before = buffer.stats().misses;
    let (mut walks, mut written) = (0, 0);
    let last = buffer.read_pages(|pages| {
        walks += 1;
        let mut sum = 0;
        for (id, at) in ids.iter().zip(1..) {
            sum += number_in(*id, pages.page(*id))?;
            if written < WRITES && at == 15 * (written + 1) {
                written += 1;
                change(&buffer, &ids[..1], 1_000 * written);
            }
        }
        Ok(sum)
    });
    let sum = (0..PAGES as u64).sum::<u64>();
    assert_eq!(last.unwrap(), sum + 1_000 * WRITES, "the walk sees the last write");
    let loads = buffer.stats().misses - before;
    println!("{walks} walks, {loads} loads");
    assert!(walks <= 1 + WRITES && loads <= PAGES as u64 + WRITES, "{walks} walks, {loads} loads");
}

/// Incident: a reader kept the writer away from long values only. Consequence: a writer that
/// changed a page of a path for each page that the reader loaded starved it, if the path did not
/// fit the cache. Fix: the reader counts such loads, too.
#[test]
fn a_long_walk_ends_although_a_write_is_published_during_each() {
    let storage = SimStorage::new();
    let (buffer, ids) = cold(&storage);
    let mut walks = 0;
    let seen = buffer.read_pages(|pages| {
        walks += 1;
        assert!(walks < 5_000, "the walk never ends");
        // At the end the reader keeps the writer away.
        if buffer.writing.try_lock().is_ok() {
            change(&buffer, &[ids[walks % PAGES]], walks as u64);
        }
        for id in &ids {
            number_in(*id, pages.page(*id))?;
        }
        Ok(())
    });
    assert!(seen.is_ok(), "{seen:?} after {walks} walks");
}
