//! Scans and compactions over pages in which two pointers lead to one record, so that paths are
//! endless.

use std::ops::Bound;

use skein_log::storage::sim::SimStorage;

use super::open;
use crate::store::{DiskStore, DiskTransaction};
use crate::trie::ScanRequest;
use crate::trie::tests::shared::SharedLayers;
use crate::{DiskError, Result};

/// Nodes with this many keys.
const LAYERS: usize = 18;
const KEYS: usize = 1 << LAYERS;

/// Layouts in which nothing can be merged: nodes in one page, in some, and in full ones of their
/// own.
const LAYOUTS: [SharedLayers; 3] = [
    SharedLayers { layers: LAYERS, pages: 1, leaves: 0 },
    SharedLayers { layers: LAYERS, pages: 6, leaves: 5 },
    SharedLayers { layers: LAYERS, pages: LAYERS, leaves: 14 },
];

fn damaged(layout: SharedLayers) -> DiskStore {
    let store = open(&SimStorage::new()).unwrap();
    let mut writer = store.shared.buffer.write();
    layout.lay_out(&mut writer, store.shared.spaces.main());
    writer.publish().unwrap();
    store
}

fn names_the_page(error: &DiskError) {
    let text = error.to_string();
    assert!(matches!(error, DiskError::Damaged { .. }) && text.contains("two pointers lead to it"), "{text}");
}

/// Reads all keys in several requests, as `skein dump` and a server do.
fn scan(mut read: impl FnMut(&ScanRequest<'_>, u64) -> Result<(Vec<Vec<u8>>, bool)>) -> Result<u64> {
    let (mut last, mut seen) = (None::<Vec<u8>>, 0);
    loop {
        let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let request = ScanRequest { lower, keys: 100, ..ScanRequest::default() };
        let (mut keys, more) = read(&request, seen)?;
        seen += keys.len() as u64;
        last = keys.pop();
        if !more {
            return Ok(seen);
        }
    }
}

fn scan_store(store: &DiskStore) -> Result<u64> {
    scan(|request, before| {
        let found = store.walk(request)?;
        store.check_scanned(before, before + found.entries.len() as u64)?;
        Ok((found.entries.into_iter().map(|entry| entry.key).collect(), found.more))
    })
}

fn scan_in(transaction: &mut DiskTransaction<'_>) -> Result<u64> {
    scan(|request, before| {
        let found = transaction.range(request)?;
        transaction.check_scanned(before, before + found.entries.len() as u64)?;
        Ok((found.entries.into_iter().map(|entry| entry.key).collect(), found.more))
    })
}

/// Incident: in a file with correct checksums, two pointers led from each node to the next, and
/// `dump` returned 2^n keys from n nodes. Consequence: it filled the disk and did not end. Fix:
/// when a scan has returned more keys than the pages can hold, it checks the whole trie, which
/// names the record.
#[test]
fn a_scan_in_requests_ends_on_endless_paths() {
    for layout in LAYOUTS {
        let store = damaged(layout);
        names_the_page(&scan_store(&store).unwrap_err());
        names_the_page(&scan_in(&mut store.begin()).unwrap_err());
        let mut cursor = store.cursor().unwrap();
        names_the_page(&std::iter::repeat_with(|| cursor.next()).take(KEYS).find_map(Result::err).unwrap());
        let mut cursor = store.cursor().unwrap();
        cursor.seek_back(&[255]).unwrap();
        names_the_page(&std::iter::repeat_with(|| cursor.prev()).take(KEYS).find_map(Result::err).unwrap());
    }
}

#[test]
fn a_valid_scan_in_requests_reaches_its_end() {
    let store = open(&SimStorage::new()).unwrap();
    for key in 0..5_000_u32 {
        store.set(&key.to_be_bytes(), b"").unwrap();
    }
    assert_eq!(scan_store(&store).unwrap(), 5_000);
    assert_eq!(scan_in(&mut store.begin()).unwrap(), 5_000);
}

/// Incident: as above with `compact`, which walks over all paths. Consequence: it did not end, and
/// if the nodes lay in one page, it blocked writers all the time. Fix: a step notices a record that
/// it has visited before. A walk that does more than the pages can hold checks the whole trie.
#[test]
fn a_compaction_ends_on_endless_paths() {
    for layout in LAYOUTS {
        let store = damaged(layout);
        names_the_page(&store.compact().unwrap_err());
    }
}
