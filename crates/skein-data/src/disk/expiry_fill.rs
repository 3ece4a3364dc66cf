//! Fills the expiry index of a folder that an older program made.
//!
//! Older folders have rows that expire and no expiry index. [`COMPLETE`] in the index says that all
//! these rows have their entries. A store gets the mark when it is opened by an engine for the first
//! time. If that is interrupted, the next opening fills the index again: an entry that is there
//! already changes nothing.

use std::ops::Bound;

use skein_disk::{DiskStore, KeySpace, ScanEntries, ScanRequest, WalkDirection};
use skein_store::{RowBuffer, RowRef};

use super::expiry_entries::{COMPLETE, ExpiryEntries as _};
use super::keys::expiry_key;
use crate::Result;

/// Rows that are read at once.
const ROWS: usize = 256;
const ROW_BYTES: usize = 1 << 20;

/// Adds missing entries to the expiry index, unless it is marked as complete. Takes O(n) once.
///
/// # Errors
/// A page cannot be read or is damaged, or a write fails. Then the mark is missing.
pub(super) fn fill(mut store: &DiskStore) -> Result<()> {
    if store.is_complete()? {
        return Ok(());
    }
    let mut after: Option<Vec<u8>> = None;
    loop {
        let found = store.walk(&ScanRequest {
            lower: after.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
            upper: Bound::Unbounded,
            direction: WalkDirection::Forward,
            keys: ROWS,
            bytes: ROW_BYTES,
            values: true,
        })?;
        add_entries(store, &found)?;
        match found.entries.into_iter().next_back().filter(|_| found.more) {
            Some(last) => after = Some(last.key),
            None => break,
        }
    }
    let mut transaction = store.begin();
    transaction.insert_key(KeySpace::Expiry, COMPLETE)?;
    transaction.commit()?;
    Ok(())
}

/// Adds the entries of those rows that expire.
fn add_entries(store: &DiskStore, found: &ScanEntries) -> Result<()> {
    let (mut row, mut entry) = (RowBuffer::default(), Vec::new());
    let mut transaction = store.begin();
    for stored in &found.entries {
        // A value that is no row does not expire.
        let expires = row.read(stored.version, &stored.value).and_then(RowRef::expires_at);
        let Some(at) = expires else { continue };
        transaction.insert_key(KeySpace::Expiry, expiry_key(&mut entry, at, &stored.key))?;
        if transaction.is_full() {
            transaction.commit()?;
            transaction = store.begin();
        }
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use skein_disk::{DiskOptions, TrieShape, Values};
    use skein_log::storage::Storage;
    use skein_log::storage::sim::SimStorage;
    use skein_store::{ExpiryClock, StoreLimits};

    use super::*;
    use crate::{DiskEngine, Engine};

    fn open_store(disk: &SimStorage, shape: TrieShape) -> DiskStore {
        let options = DiskOptions { shape, values: Values::Rows, cache_pages: 64, ..DiskOptions::default() };
        DiskStore::open_on(disk.share(), "/data", options).expect("a store")
    }

    fn engine_of(store: DiskStore, clock: &ExpiryClock) -> Engine {
        DiskEngine::with_clock(store, StoreLimits::default(), clock.clone()).expect("an engine").into()
    }

    /// Makes the expiry index what it is in a folder of an older program: empty.
    fn forget_index(store: &DiskStore) {
        let all = store.keys_from(KeySpace::Expiry, 0, WalkDirection::Forward, 10_000).expect("keys");
        let mut transaction = store.begin();
        for entry in &all {
            transaction.remove_key(KeySpace::Expiry, entry).expect("a removal");
        }
        transaction.commit().expect("a commit");
    }

    /// Incident: keys that an older program had given a time were hidden when they expired, and never
    /// removed. Consequence: DBSIZE counted them for ever, and their space was lost. Fix: the index
    /// is filled when the folder is opened.
    #[test]
    fn an_older_folder_gets_its_expiry_index() {
        for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
            let (disk, clock) = (Arc::new(SimStorage::new()), ExpiryClock::manual(1_000_000));
            let engine = engine_of(open_store(&disk, shape), &clock);
            let (done, _) = engine.session().write(|writer| {
                for number in 0..1000u32 {
                    let until = engine.now() + if number % 2 == 0 { 10 } else { 1_000_000 };
                    writer.put_until(format!("expires {number}").as_bytes(), &[7; 50], until)?;
                    writer.put(format!("stays {number}").as_bytes(), &[7; 50])?;
                    writer.publish_if_many()?;
                }
                crate::Result::<(), crate::Error>::Ok(())
            });
            done.expect("a batch").expect("writes");
            engine.close().expect("a close");
            drop(engine);
            let store = open_store(&disk, shape);
            forget_index(&store);
            assert_eq!((&store).count().expect("a count"), 0);
            let engine = engine_of(store, &clock);
            assert_eq!(engine.stats().expires, 1000, "{shape}");
            clock.advance(Duration::from_millis(11));
            let since = Instant::now();
            while engine.stats().expires > 500 {
                assert!(since.elapsed() < Duration::from_secs(60), "{shape}: expired keys stay");
                clock.advance(Duration::from_millis(10));
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(engine.len(), 1500, "{shape}");
            engine.close().expect("a close");
        }
    }
}
