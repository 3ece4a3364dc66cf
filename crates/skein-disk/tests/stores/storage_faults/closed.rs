//! After a store was closed, another process may use the folder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, ReadMode, Result};
use skein_log::LogError;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{StorageFaultModel, assert_has, key, options, set};

fn mapping() -> ReadMode {
    // SAFETY: the test's own folder.
    unsafe { ReadMode::mapping() }
}

fn fill(store: &DiskStore, value: &[u8]) -> StorageFaultModel {
    let mut model = StorageFaultModel::new();
    (0..500).for_each(|number| set(store, &mut model, number, value));
    model
}

/// Incident: `checkpoint` and `compact` of a closed store wrote to a file after its lock was
/// released. Consequence: everything that another process had made durable there meanwhile was
/// lost. Fix: a closed page file refuses reads and writes.
#[test]
fn a_closed_store_leaves_the_folder_to_others() {
    type Use = fn(&DiskStore) -> Result<()>;
    let uses: [(&str, Use); 5] = [
        ("checkpoint", |store| store.checkpoint()),
        ("compact", |store| store.compact().map(|_| ())),
        ("set", |store| store.set(&key(1), b"by the closed one").map(|_| ())),
        ("get", |store| store.get(&key(1)).map(|_| ())),
        ("check", |store| store.check().map(|_| ())),
    ];
    for durability in [Durability::None, Durability::Sync] {
        for (name, use_it) in uses {
            let storage = SimStorage::new();
            let closed = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
            fill(&closed, b"old");
            closed.close().unwrap();
            let other = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
            let model = fill(&other, b"new");
            other.checkpoint().unwrap();
            let error = use_it(&closed).unwrap_err();
            assert!(matches!(error, DiskError::Closed { .. }), "{name}: {error}");
            storage.reboot(1);
            drop((closed, other));
            let store = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
            assert_has(&store, &model, name);
            store.check().unwrap();
        }
    }
}

/// Incident: `close` unlocked the folder while another thread read the mapped file. Consequence:
/// another store could write there, under bytes that the reader's code takes for constant, which is
/// undefined behaviour. Fix: the folder of a store that maps its file is locked until the store is
/// dropped.
#[test]
fn a_mapped_folder_is_locked_until_the_store_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let open = |reading| {
        let lock_wait = Duration::ZERO;
        DiskStore::open(folder.path(), DiskOptions { reading, lock_wait, ..options(Durability::None) })
    };
    let store = open(mapping()).unwrap();
    let model = fill(&store, b"kept");
    store.close().unwrap();
    store.close().unwrap();
    let refused = open(ReadMode::Calls).map(drop).unwrap_err();
    assert!(matches!(refused, DiskError::Log(LogError::Locked { .. })), "{refused:?}");
    assert!(is_closed(store.get(&key(1)).as_ref().err()));
    drop(store);
    let store = open(ReadMode::Calls).unwrap();
    assert_has(&store, &model, "after the drop");
    store.close().unwrap();
    open(ReadMode::Calls).unwrap();
}

/// As above, with concurrent operations: they end, and all earlier acknowledged writes are there.
#[test]
fn closing_during_other_operations_loses_nothing() {
    for reading in [ReadMode::Calls, mapping()] {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let options = DiskOptions { reading, cache_pages: 32, ..options(Durability::None) };
            DiskStore::open(folder.path(), options).unwrap()
        };
        for round in 0..6_u8 {
            let store = open();
            let mut model = fill(&store, &[round; 700]);
            let begun = AtomicBool::new(false);
            let written = std::thread::scope(|scope| {
                scope.spawn(|| {
                    begun.store(true, Ordering::SeqCst);
                    assert!(is_closed(
                        std::iter::repeat_with(|| store.compact().map(|_| ())).find_map(Result::err).as_ref()
                    ));
                });
                scope.spawn(|| {
                    let error = std::iter::repeat_with(|| store.get(&key(3))).find_map(Result::err);
                    assert!(is_closed(error.as_ref()));
                });
                let writer = scope.spawn(|| {
                    let set = |number: u32| store.set(&key(number), b"late").map(|_| number);
                    let mut written = Vec::new();
                    for number in (1_000..).map(set) {
                        match number {
                            Ok(number) => written.push(number),
                            Err(error) => {
                                assert!(is_closed(Some(&error)));
                                break;
                            }
                        }
                    }
                    written
                });
                while !begun.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                (0..u32::from(round) * 20).for_each(|_| std::thread::yield_now());
                store.close().unwrap();
                writer.join().unwrap()
            });
            model.extend(written.into_iter().map(|number| (key(number), b"late".to_vec())));
            // A mapped file's folder stays locked until then.
            drop(store);
            let other = open();
            assert_has(&other, &model, &format!("{reading:?}, round {round}"));
            other.check().unwrap();
        }
    }
}

fn is_closed(error: Option<&DiskError>) -> bool {
    matches!(error, Some(DiskError::Closed { .. }))
}
