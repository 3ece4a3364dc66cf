//! Open batches: reads and writes of a session that form one group. Their crashes are tested in
//! `power_failures`.

use std::ops::Bound::Unbounded;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::open;
use skein_store::{Durability, Error, RowRef, RowWriter as _, ScanDirection};

/// Reads of all kinds see the writes before them. A rejected write is not done, and the writes
/// before it stay.
#[test]
fn an_open_batch_reads_its_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    store.put(b"a", b"1").unwrap();
    let mut session = store.session();
    let mut batch = session.open_batch().unwrap();
    batch.writer().put(b"b", b"2").unwrap();
    batch.writer().remove(b"a").unwrap();
    assert_eq!(
        batch.get_with(b"b", |row| row.and_then(RowRef::value).map(<[u8]>::to_vec)),
        Some(b"2".to_vec())
    );
    batch.put_all(&[(b"c", b"3"), (b"d", b"4")]).unwrap();
    let long = vec![0; 70_000];
    let refused = batch.put_all(&[(b"e", b"5"), (&long, b"too long a key")]);
    assert!(matches!(refused, Err(Error::KeyTooLong { .. })), "{refused:?}");
    // The next write is checked as usual.
    let refused = batch.writer().put(&long, b"too long a key");
    assert!(matches!(refused, Err(Error::KeyTooLong { .. })), "{refused:?}");
    let mut found = Vec::new();
    batch.get_many(&[b"a", b"b", b"c", b"e"], |at, row| found.push((at, row.is_some())));
    assert_eq!(found, [(0, false), (1, true), (2, true), (3, false)]);
    let mut keys = Vec::new();
    batch.scan((Unbounded, Unbounded), ScanDirection::Forward, |key, _| {
        keys.push(key.to_vec());
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(keys, [b"b", b"c", b"d"]);
    let ticket = batch.commit().unwrap();
    store.wait_durable(ticket).unwrap();
    // A dropped batch keeps its writes.
    let mut batch = session.open_batch().unwrap();
    batch.writer().increment(b"n", 1).unwrap();
    drop(batch);
    store.close().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    assert_eq!(store.get(b"n").unwrap(), Some(b"1".to_vec()));
    assert_eq!(store.len(), 4);
    store.close().unwrap();
    assert!(matches!(store.session().open_batch(), Err(Error::Closed)));
}

/// A snapshot contains an open batch whole or not at all.
#[test]
fn no_snapshot_is_taken_within_an_open_batch() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut session = store.session();
            for _ in 0..3000 {
                let mut batch = session.open_batch().unwrap();
                for key in [b"a", b"m", b"z"] {
                    batch.writer().increment(key, 1).unwrap();
                }
                batch.commit().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let snapshot = store.snapshot().unwrap();
            let entries = snapshot.range((Unbounded, Unbounded), ScanDirection::Forward, 10).unwrap();
            let values: Vec<_> = entries.iter().map(|entry| entry.value.clone().unwrap()).collect();
            assert!(values.iter().all(|value| *value == values[0]), "a part of a batch: {values:?}");
        }
    });
    assert_eq!(store.get(b"z").unwrap(), Some(b"3000".to_vec()));
}
