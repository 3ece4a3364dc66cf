//! Snapshots beside writers, checkpoints and compactions: each shows one moment.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use skein_disk::{DiskError, DiskOptions, DiskSnapshot, DiskStore, Durability, ReadMode, ScanRequest};
use skein_disk::{TrieShape, WalkDirection};
use skein_log::storage::sim::SimStorage;
use skein_log::storage::{OsStorage, Storage};

const ACCOUNTS: u64 = 300;
const SUM: i64 = 0;

fn account(number: u64) -> Vec<u8> {
    format!("account/{}/{number}", number % 7).into_bytes()
}

/// A value with its amount at the front, and a length that changes with it.
fn value(amount: i64) -> Vec<u8> {
    let mut value = amount.to_le_bytes().to_vec();
    value.resize(8 + amount.unsigned_abs() as usize * 37 % 700, 1);
    value
}

fn amount(value: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&value[..8]);
    i64::from_le_bytes(bytes)
}

/// Moves an amount from one account to another, and removes accounts without an amount.
fn transfer(store: &DiskStore, from: u64, to: u64, by: i64) {
    let done = store.write::<_, DiskError>(|transaction| {
        for (number, by) in [(from, -by), (to, by)] {
            let before = transaction.get(&account(number))?.map_or(0, |value| amount(&value));
            if before + by == 0 {
                transaction.remove(&account(number))?;
            } else {
                transaction.set(&account(number), &value(before + by))?;
            }
        }
        Ok(())
    });
    done.unwrap();
}

/// Returns the amounts by key, read in requests of a few keys.
fn read_all(snapshot: &DiskSnapshot) -> Vec<(Vec<u8>, i64)> {
    let (mut all, mut last) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (upper, direction) = (Bound::Unbounded, WalkDirection::Forward);
        let request = ScanRequest { lower, upper, direction, keys: 20, bytes: 1 << 20, values: true };
        let found = snapshot.walk(&request).unwrap();
        last = found.entries.last().map(|entry| entry.key.clone());
        all.extend(found.entries.into_iter().map(|entry| (entry.key, amount(&entry.value))));
        if !found.more {
            return all;
        }
    }
}

/// Checks that the snapshot shows one moment by each kind of read. Returns its rows.
fn assert_one_moment(snapshot: &DiskSnapshot) -> Vec<(Vec<u8>, i64)> {
    let all = read_all(snapshot);
    assert_eq!(all.iter().map(|entry| entry.1).sum::<i64>(), SUM);
    assert_eq!(all.len() as u64, snapshot.len());
    let keys: Vec<&[u8]> = all.iter().map(|entry| &entry.0[..]).collect();
    let found = snapshot.get_many(&keys, 1 << 24).unwrap();
    let mut single = Vec::new();
    for (at, (key, expected)) in all.iter().enumerate() {
        assert_eq!(found.get(at).map(|(_, value)| amount(value)), Some(*expected));
        if at % 5 == 0 {
            assert!(snapshot.get_into(key, &mut single).unwrap().unwrap() <= snapshot.sequence());
            assert_eq!(amount(&single), *expected);
        }
    }
    all
}

fn stress(storage: Arc<dyn Storage>, folder: &str, options: DiskOptions) {
    let store = DiskStore::open_on(storage, folder, options).unwrap();
    let (done, shown) = (AtomicBool::new(false), AtomicU64::new(0));
    let until_done = |body: &mut dyn FnMut()| {
        while !done.load(Ordering::Relaxed) {
            body();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                until_done(&mut || {
                    let snapshot = store.snapshot().unwrap();
                    let first = assert_one_moment(&snapshot);
                    // Another thread may read it, too.
                    std::thread::scope(|scope| {
                        scope.spawn(|| assert_eq!(assert_one_moment(&snapshot), first));
                    });
                    let mut release = snapshot.release();
                    while release.step(10) {}
                    shown.fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        scope.spawn(|| {
            // An old snapshot beside the young ones.
            until_done(&mut || {
                let snapshot = store.snapshot().unwrap();
                let first = read_all(&snapshot);
                (0..5).for_each(|_| assert_eq!(assert_one_moment(&snapshot), first));
            });
        });
        scope.spawn(|| until_done(&mut || store.checkpoint().unwrap()));
        scope.spawn(|| until_done(&mut || _ = store.compact().unwrap()));
        let writers: Vec<_> = (0..2_u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    for step in 0..2_500_u64 {
                        let mixed = (step * 2 + writer).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                        let by = (mixed % 50).cast_signed() - 20;
                        transfer(store, mixed % ACCOUNTS, mixed / ACCOUNTS % ACCOUNTS, by);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        for ended in ended {
            ended.unwrap();
        }
    });
    assert!(shown.load(Ordering::Relaxed) > 0);
    let stats = store.stats();
    assert_eq!((stats.snapshots, stats.kept_in_memory, stats.kept_in_file), (0, 0, 0));
    assert_one_moment(&store.snapshot().unwrap());
    store.check().unwrap();
}

fn options(shape: TrieShape, cache_pages: usize) -> DiskOptions {
    let durability = Durability::Buffered;
    DiskOptions { shape, cache_pages, durability, checkpoint_bytes: 100_000, ..DiskOptions::default() }
}

#[test]
fn a_snapshot_shows_one_moment_beside_everything_else() {
    for (shape, cache) in [(TrieShape::Linked, 16), (TrieShape::Hash { n: 16 }, 20)] {
        stress(SimStorage::new().share(), "/db", options(shape, cache));
    }
}

#[test]
fn a_snapshot_shows_one_moment_on_real_files() {
    // SAFETY: the test's own folder.
    for reading in [ReadMode::Calls, unsafe { ReadMode::mapping() }] {
        let folder = tempfile::tempdir().unwrap();
        let options = DiskOptions { reading, ..options(TrieShape::Classical { n: 16 }, 40) };
        stress(Arc::new(OsStorage), folder.path().to_str().unwrap(), options);
    }
}

/// A snapshot may be sent to another thread, and many may read it.
#[test]
fn a_snapshot_is_send_and_sync() {
    fn assert_shared<T: Send + Sync + 'static>() {}
    assert_shared::<DiskSnapshot>();
    assert_shared::<skein_disk::DiskSnapshotRelease>();
}
