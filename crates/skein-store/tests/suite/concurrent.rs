//! The states that readers may see while writers run.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{StoreTestRng, open};
use skein_store::{Batch, Durability, RowWriter as _};

const ROUNDS: u64 = 20_000;

/// A reader of a row sees all columns of a put or none.
#[test]
fn a_put_of_several_columns_is_atomic() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    // Once as a small row, once as a row with its columns in blocks.
    for padding in [0, 3000] {
        let key = format!("pad {padding}").into_bytes();
        store.put_columns(&key, &[(b"a", b"0"), (b"m", &vec![0; padding]), (b"z", b"0")]).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2u64 {
                let (store, key, done) = (&store, &key, &done);
                scope.spawn(move || {
                    let mut session = store.session();
                    for i in 0..ROUNDS {
                        let text = (i * 2 + thread).to_string();
                        let text = text.as_bytes();
                        session
                            .write(|w| w.put_columns(key, &[(b"a", text), (b"z", text)]))
                            .unwrap()
                            .0
                            .unwrap();
                    }
                    done.store(true, Ordering::Relaxed);
                });
            }
            let session = store.session();
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                session.get_with(&key, |row| {
                    let row = row.unwrap();
                    assert_eq!(row.column(b"a"), row.column(b"z"));
                    assert_eq!(row.column(b"m").map(<[u8]>::len), Some(padding));
                    assert!(row.version() >= last, "versions rise");
                    last = row.version();
                });
            }
        });
        assert_eq!(
            store.get_entry(&key).unwrap().version,
            1 + 2 * ROUNDS,
            "every put took a version of its own"
        );
    }
}

/// Increments from several threads are all counted, for single keys and for columns.
#[test]
fn no_increment_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = store.session();
                for _ in 0..2500 {
                    let add = session.write(|w| (w.increment(b"n", 1), w.increment_column(b"h", b"n", 2)));
                    assert!(matches!(add.unwrap().0, (Ok(_), Ok(_))));
                }
            });
        }
    });
    assert_eq!(store.get(b"n").unwrap().as_deref(), Some(&b"10000"[..]));
    assert_eq!(store.get_columns(b"h", None).unwrap()[0].1, Some(b"20000".to_vec()));
    store.close().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    assert_eq!(store.get(b"n").unwrap().as_deref(), Some(&b"10000"[..]));
}

/// A reader of several keys never sees half a batch, whether keys are inserted, removed or changed.
#[test]
fn a_batch_is_all_or_nothing_for_readers_of_several_keys() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let keys: Vec<Vec<u8>> = (0..8).map(|i| format!("key {i}").into_bytes()).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (store, keys, done) = (&store, &keys, &done);
            scope.spawn(move || {
                let mut session = store.session();
                let mut random = StoreTestRng(thread + 1);
                for i in 0..ROUNDS / 4 {
                    let mut batch = Batch::new();
                    let value = format!("{thread} {i}");
                    let remove = random.below(4) == 0;
                    for key in keys {
                        if remove {
                            batch.remove(&key[..])
                        } else {
                            batch.put(&key[..], value.as_bytes())
                        };
                    }
                    session.apply(&batch).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
        }
        let session = store.session();
        let refs: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        while !done.load(Ordering::Relaxed) {
            let mut seen = Vec::new();
            session.get_many_atomic(&refs, |_, row| {
                seen.push(row.and_then(|row| row.value().map(<[u8]>::to_vec)));
            });
            assert!(seen.iter().all(|value| *value == seen[0]), "half a batch: {seen:?}");
        }
    });
}

/// Writers, scans, removals, checkpoints and a close run concurrently. In the end the contents are
/// those that the writers left.
#[test]
fn a_checkpoint_under_load_loses_nothing() {
    for level in crate::common::LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), level);
        let models: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2u64)
                .map(|thread| {
                    let store = &store;
                    scope.spawn(move || {
                        let mut session = store.session();
                        let (mut random, mut model) =
                            (StoreTestRng(thread + 9), std::collections::BTreeMap::new());
                        for i in 0..ROUNDS {
                            // The keys of the threads are interleaved.
                            let key = format!("{:04} {thread}", random.below(2000)).into_bytes();
                            if random.below(5) == 0 {
                                session.write(|w| w.remove(&key)).unwrap().0.unwrap();
                                model.remove(&key);
                            } else {
                                let value = format!("{thread} {i}").into_bytes();
                                session.write(|w| w.put(&key, &value)).unwrap().0.unwrap();
                                model.insert(key, value);
                            }
                        }
                        model
                    })
                })
                .collect();
            // Incident: on an idle machine all checkpoints were finished before a writer had
            // started. Consequence: the test failed because no checkpoint had rows. Fix: the first
            // one waits for a key.
            while store.is_empty() {
                std::thread::yield_now();
            }
            for _ in 0..3 {
                store.checkpoint().unwrap();
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        store.close().unwrap();
        drop(store);
        let store = open(folder.path(), level);
        assert!(store.recovery().checkpoint_rows > 0);
        for model in &models {
            for (key, value) in model {
                assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{level:?}");
            }
        }
        assert_eq!(store.len(), models.iter().map(std::collections::BTreeMap::len).sum::<usize>());
    }
}
