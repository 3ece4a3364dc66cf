//! The progress of an opening, and its cancellation.

use std::sync::{Arc, Mutex};

use skein_store::{Error, OpenProgress, Store, StoreOptions};

const KEYS: u64 = 5000;

fn open(folder: &std::path::Path, progress: OpenProgress) -> (skein_store::Result<Store>, Arc<OpenProgress>) {
    let progress = Arc::new(progress);
    let options = StoreOptions { progress: progress.clone(), ..StoreOptions::default() };
    (Store::open(folder, options), progress)
}

fn fill(store: &Store, kind: &str) {
    for n in 0..KEYS {
        store.put(format!("{kind}:{n}").as_bytes(), b"value").expect("it is written");
    }
}

/// Incident: an opening reported nothing before it was done, and ended only with its process.
/// Consequence: users could not decide whether to wait. Fix: it counts the bytes that it reads, and
/// checks whether it was cancelled. After a cancelled opening the next one finds everything.
#[test]
fn an_opening_reports_progress_and_can_be_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, new) = open(folder.path(), OpenProgress::default());
    let store = store.expect("a store");
    assert_eq!(new.seen().records, 0, "the folder was empty");
    fill(&store, "checkpoint");
    store.checkpoint().expect("a checkpoint");
    fill(&store, "log");
    store.close().expect("closed");

    // Cancels it while loading the checkpoint, and while replaying the log.
    for part in [1, KEYS + 100] {
        let ends = OpenProgress::watched(move |progress| {
            if progress.seen().records >= part {
                progress.cancel();
            }
        });
        let (ended, progress) = open(folder.path(), ends);
        assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
        let seen = progress.seen();
        assert!(seen.records >= part && seen.bytes < seen.bytes_total, "{seen:?}");
    }

    let (store, progress) = open(folder.path(), OpenProgress::default());
    let (store, seen) = (store.expect("a store"), progress.seen());
    assert_eq!(store.len() as u64, 2 * KEYS);
    assert_eq!((seen.records, seen.percent()), (2 * KEYS, 100), "{seen:?}");
    assert!(seen.bytes_total > 2 * KEYS * 10, "{seen:?}");
    store.close().expect("closed");
}

/// Incident: the logs are read twice, and the first reading, which finds the durable end, reported
/// no progress and could not be cancelled. Consequence: with many gigabytes of logs a start showed
/// 0 % for a minute, and a stop had to wait. Fix: both readings announce and count their bytes, and
/// both can be cancelled.
#[test]
fn the_first_log_reading_reports_progress_and_cancels() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = open(folder.path(), OpenProgress::default());
    let store = store.expect("a store");
    fill(&store, "log");
    store.close().expect("closed");

    let ends = OpenProgress::watched(|progress| {
        if progress.seen().bytes > 0 {
            progress.cancel();
        }
    });
    let (ended, progress) = open(folder.path(), ends);
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    let seen = progress.seen();
    assert_eq!(seen.records, 0, "nothing was replayed yet: {seen:?}");
    assert!(0 < seen.bytes && 2 * seen.bytes <= seen.bytes_total, "{seen:?}");

    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let watched = OpenProgress::watched(move |progress| {
        let mut told = tell.lock().expect("nobody panicked");
        let seen = progress.seen();
        told.push((seen.percent(), seen.records));
    });
    let (store, progress) = open(folder.path(), watched);
    let store = store.expect("a store");
    assert_eq!((store.len() as u64, progress.seen().percent()), (KEYS, 100));
    let told = told.lock().expect("nobody panicked");
    assert!(told.is_sorted(), "progress never falls: {told:?}");
    assert!(told.iter().any(|(percent, records)| *percent > 0 && *records == 0), "{told:?}");
    drop(store.close());
}
