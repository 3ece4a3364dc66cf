//! Snapshots of a store against a history of models, with long values, closing and damage.
//! `property` draws random steps, and `faults` lets operations fail.

mod faults;
mod property;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{FOLDER, SHAPES, StoreModel, cached_options as options, key, open_cached as open};
use crate::store::{DiskOptions, DiskSnapshot, DiskStore, FILE};
use crate::trie::{ScanEntries, ScanRequest, TrieShape, WalkDirection};
use crate::{DiskError, PAGE, Result};

/// Reads all entries in requests of a few keys each, in both directions if the trie has an order.
fn contents(snapshot: &DiskSnapshot, is_ordered: bool) -> Result<StoreModel> {
    let forward = read_all(WalkDirection::Forward, |request| snapshot.walk(request))?;
    if is_ordered {
        let backward = read_all(WalkDirection::Backward, |request| snapshot.range(request))?;
        assert_eq!(forward, backward);
    }
    Ok(forward)
}

fn read_all(
    direction: WalkDirection,
    mut read: impl FnMut(&ScanRequest<'_>) -> Result<ScanEntries>,
) -> Result<StoreModel> {
    let (mut all, mut last) = (StoreModel::new(), None::<Vec<u8>>);
    loop {
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let found = read(&ScanRequest { keys: 7, ..ScanRequest::from_bound(from, direction) })?;
        last = found.entries.last().map(|entry| entry.key.clone());
        all.extend(found.entries.into_iter().map(|entry| (entry.key, entry.value)));
        if !found.more {
            return Ok(all);
        }
    }
}

/// A live snapshot, with the contents that it must show.
struct ModelSnapshot {
    snapshot: DiskSnapshot,
    model: StoreModel,
    is_ordered: bool,
}

impl ModelSnapshot {
    fn take(store: &DiskStore, model: &StoreModel) -> Self {
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.sequence(), store.stats().sequence);
        Self { snapshot, model: model.clone(), is_ordered: store.shape().is_ordered() }
    }

    fn check(&self) {
        assert_eq!(contents(&self.snapshot, self.is_ordered).unwrap(), self.model);
        assert_eq!(self.snapshot.check().unwrap().keys, self.model.len());
        assert_eq!(self.snapshot.len(), self.model.len() as u64);
    }

    fn check_many(&self, at: &[usize]) {
        let keys: Vec<_> = at.iter().map(|at| key(*at)).collect();
        let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        let found = self.snapshot.get_many(&keys, 1 << 20).unwrap();
        for (at, key) in keys.iter().enumerate() {
            let value = found.get(at).map(|(_, value)| value);
            assert_eq!(value, self.model.get(*key).map(|value| &value[..]));
        }
    }
}

/// Applies a transaction to the store, and to the model if it is committed.
fn write(store: &DiskStore, model: &mut StoreModel, writes: &[(usize, Option<Vec<u8>>)]) {
    let mut changed = model.clone();
    let written = store.write::<_, DiskError>(|transaction| {
        for (at, value) in writes {
            match value {
                Some(value) => {
                    transaction.set(&key(*at), value)?;
                    changed.insert(key(*at), value.clone());
                }
                None => assert_eq!(transaction.remove(&key(*at))?, changed.remove(&key(*at)).is_some()),
            }
        }
        Ok(())
    });
    written.unwrap();
    *model = changed;
}

fn long(number: usize) -> Vec<u8> {
    (0..120_000).map(|at| (at / 9 + number) as u8).collect()
}

/// Long values are replaced and removed, and their pages are used by other values.
#[test]
fn long_values_stay_in_a_snapshot() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open(&storage, shape, 64);
        let mut snapshots = Vec::new();
        let mut model = StoreModel::new();
        for round in 0..12 {
            for at in 0..4 {
                let (key, value) = (key(at), long(round * 10 + at));
                store.set(&key, &value).unwrap();
                model.insert(key, value);
            }
            if round % 3 == 0 {
                store.remove(&key(round % 4)).unwrap();
                model.remove(&key(round % 4));
                store.checkpoint().unwrap();
            }
            snapshots.push(ModelSnapshot::take(&store, &model));
        }
        for snapshot in &snapshots {
            snapshot.check();
            snapshot.check_many(&[0, 1, 2, 3, 4]);
        }
        let limited = snapshots[5].snapshot.get_many(&[&key(0), &key(1)], 200_000).unwrap_err();
        assert!(matches!(limited, DiskError::ReadTooLong { limit: 200_000, .. }), "{limited}");
        // From the middle, so that versions move to older snapshots.
        while !snapshots.is_empty() {
            snapshots.remove(snapshots.len() / 2);
            snapshots.iter().for_each(ModelSnapshot::check);
            store.shared.buffer.check_places();
        }
    }
}

/// After the last snapshot has ended, a compaction makes the file as short as without snapshots.
#[test]
fn the_space_comes_back_after_the_last_snapshot() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, 64);
    let fill = |round: usize| {
        for at in 0..4_000_usize {
            store.set(format!("key {at}").as_bytes(), &vec![(at + round) as u8; 1_000]).unwrap();
        }
    };
    fill(0);
    store.compact().unwrap();
    let pages = || store.stats().buffer.file_pages;
    let before = pages();
    let old = store.snapshot().unwrap();
    fill(1);
    let young = store.snapshot().unwrap();
    fill(2);
    store.checkpoint().unwrap();
    let kept = store.stats();
    assert!(kept.kept_in_file > 2_000 && kept.kept_in_memory <= 16, "{kept:?}");
    assert!(kept.oldest_snapshot.is_some() && kept.snapshots == 2);
    // The kept places are not cut off, wherever they are.
    store.compact().unwrap();
    store.shared.buffer.check_places();
    for (snapshot, round) in [(&old, 0), (&young, 1)] {
        for at in [0_usize, 1_999, 3_999] {
            let value = snapshot.get(format!("key {at}").as_bytes()).unwrap();
            assert_eq!(value, Some(vec![(at + round) as u8; 1_000]));
        }
    }
    assert!(pages() > before);
    let mut release = young.release();
    let mut steps = 0;
    while release.step(100) {
        steps += 1;
    }
    assert!(steps > 5, "{steps} steps");
    drop(old);
    store.compact().unwrap();
    assert_eq!(pages(), before);
    assert_eq!((store.stats().kept_in_file, store.stats().kept_in_memory), (0, 0));
    store.shared.buffer.check_places();
}

#[test]
fn a_snapshot_of_a_closed_store_reports_it() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, 16);
    store.set(b"goose", b"grey").unwrap();
    let snapshot = store.snapshot().unwrap();
    store.close().unwrap();
    let request = ScanRequest { keys: 1, ..ScanRequest::default() };
    let closed = [
        snapshot.get(b"goose").map(drop),
        snapshot.get_many(&[b"goose"], 10).map(drop),
        snapshot.range(&request).map(drop),
        snapshot.walk(&request).map(drop),
        snapshot.check().map(drop),
        store.snapshot().map(drop),
    ];
    for result in closed {
        let error = result.unwrap_err();
        assert!(matches!(error, DiskError::Closed { .. }), "{error}");
    }
    // The files can be opened again while the snapshot still exists.
    let again = open(&storage, TrieShape::Linked, 16);
    assert_eq!(again.get(b"goose").unwrap().as_deref(), Some(&b"grey"[..]));
    drop(store);
    assert!(matches!(snapshot.get(b"goose"), Err(DiskError::Closed { .. })));
}

/// A mapped file stays locked until its snapshots are dropped, because they may read the mapping.
#[test]
fn a_snapshot_of_a_mapped_file_keeps_the_folder_locked() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        // SAFETY: the test's own folder.
        let reading = unsafe { crate::ReadMode::mapping() };
        let lock_wait = std::time::Duration::ZERO;
        let options = DiskOptions { reading, lock_wait, ..options(TrieShape::Linked, 16) };
        DiskStore::open(folder.path(), options)
    };
    let store = open().unwrap();
    let mut model = StoreModel::new();
    for at in 0..40 {
        write(&store, &mut model, &[(at, Some(vec![at as u8; 2_000]))]);
    }
    store.checkpoint().unwrap();
    let snapshot = ModelSnapshot::take(&store, &model);
    for at in 0..40 {
        write(&store, &mut model, &[(at, Some(vec![7; 2_000]))]);
    }
    store.checkpoint().unwrap();
    snapshot.check();
    drop(store);
    assert!(open().is_err(), "the snapshot still has the lock");
    drop(snapshot);
    assert_eq!(open().unwrap().len(), 40);
}

/// A snapshot is taken, and then read, while a transaction is open on the same thread.
#[test]
fn a_snapshot_waits_for_no_open_transaction() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, 16);
    store.set(b"goose", b"grey").unwrap();
    let mut transaction = store.begin();
    transaction.set(b"goose", b"bean").unwrap();
    let before = store.snapshot().unwrap();
    transaction.commit().unwrap();
    let after = store.snapshot().unwrap();
    assert_eq!(before.get(b"goose").unwrap().as_deref(), Some(&b"grey"[..]));
    assert_eq!(after.get(b"goose").unwrap().as_deref(), Some(&b"bean"[..]));
    assert_eq!(after.sequence(), before.sequence() + 1);
}

/// A damaged page that only a snapshot needs is an error of that snapshot, which names the page.
#[test]
fn a_damaged_kept_page_is_an_error() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, 16);
    let mut model = BTreeMap::new();
    for at in 0..40 {
        write(&store, &mut model, &[(at, Some(vec![1; 1_500]))]);
    }
    store.checkpoint().unwrap();
    let snapshot = store.snapshot().unwrap();
    for at in 0..40 {
        write(&store, &mut model, &[(at, Some(vec![2; 1_500]))]);
    }
    store.checkpoint().unwrap();
    assert!(store.stats().kept_in_file > 5);
    let kept = store.shared.buffer.kept_places();
    let places: Vec<_> = kept.into_iter().filter(|kept| !kept.1).filter_map(|kept| kept.0).collect();
    for place in &places {
        storage.damage(&Path::new(FOLDER).join(FILE), u64::from(place.0) * PAGE as u64 + 100, &[4]);
    }
    let error = contents(&snapshot, true).unwrap_err();
    let DiskError::Damaged { offset, .. } = error else { panic!("{error}") };
    assert!(places.iter().any(|place| u64::from(place.0) * PAGE as u64 == offset), "{error}");
    assert_eq!(super::contents(&store).unwrap(), model, "the store does not need these pages");
}

#[test]
fn a_limit_of_snapshots_out_of_its_range_is_refused() {
    for (snapshots, is_valid) in [(0, false), (1, true), (65_536, true), (65_537, false)] {
        let checked = DiskOptions { snapshots, ..DiskOptions::default() }.check();
        match checked {
            Ok(()) => assert!(is_valid),
            Err(error) => {
                assert!(!is_valid);
                let expected = format!("the option `snapshots` cannot be {snapshots}: it can be 1 to 65536");
                assert_eq!(error.to_string(), expected);
            }
        }
    }
    let storage = SimStorage::new();
    let options = DiskOptions { snapshots: 1, ..options(TrieShape::Linked, 16) };
    let store = DiskStore::open_on(storage.share(), FOLDER, options).unwrap();
    let first = store.snapshot().unwrap();
    let error = store.snapshot().unwrap_err();
    assert!(matches!(error, DiskError::TooManySnapshots { live: 1, limit: 1 }), "{error}");
    drop(first);
    drop(store.snapshot().unwrap());
}
