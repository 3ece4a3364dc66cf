//! Removals that race with other writes of the same key, over every index: each answer and each
//! record in the log must belong to a change that happened.
//!
//! Incident: over `mlp` an index called the closure of `compute` again after the closure had
//! decided on a removal that could not be made. The store kept its notes of the first answer.
//! Consequence: a removal that did not happen was answered and logged, with the version of a put
//! that did. Acknowledged puts were lost after reopening, and two GETDELs returned one value. Fix:
//! an index calls the closure once (`docs/design/compute-asks-once.md`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{indexes, options};
use skein_store::{
    Durability, Error, IndexKind, RowChange, RowUpdate, RowWriter as _, Session, Store, StoreOptions,
};

/// The number of keys on which two threads race: before the fix one in five showed the incident.
const KEYS: u64 = 8_000;

fn open(path: &std::path::Path, index: IndexKind) -> Store {
    Store::open(path, StoreOptions { index, ..options(Durability::Buffered) }).unwrap()
}

/// Runs `each` on every index, with a store that has the keys.
fn over_each_index(each: impl Fn(IndexKind, &std::path::Path, &Store)) {
    for index in indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        let mut session = store.session();
        for key in 0..KEYS {
            session.write(|w| w.put(&key.to_be_bytes(), b"first")).unwrap().0.unwrap();
        }
        drop(session);
        each(index, folder.path(), &store);
    }
}

/// Runs two threads through the keys; both begin each key together. Returns their results, key by
/// key.
fn race<A: Send, B: Send>(
    store: &Store,
    first: impl Fn(&mut Session, &[u8]) -> A + Sync,
    second: impl Fn(&mut Session, &[u8]) -> B + Sync,
) -> Vec<(A, B)> {
    let (a, b) = (AtomicU64::new(0), AtomicU64::new(0));
    let meet = |own: &AtomicU64, other: &AtomicU64, key: u64| {
        own.store(key + 1, Ordering::SeqCst);
        let mut turns = 0_u64;
        while other.load(Ordering::SeqCst) <= key {
            turns += 1;
            if turns.is_multiple_of(2_000) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut session = store.session();
            let one = |key: u64| {
                meet(&a, &b, key);
                first(&mut session, &key.to_be_bytes())
            };
            (0..KEYS).map(one).collect::<Vec<A>>()
        });
        let second = scope.spawn(|| {
            let mut session = store.session();
            let one = |key: u64| {
                meet(&b, &a, key);
                // Sometimes starts a little later, so that the threads meet at every step.
                (0..key % 40).for_each(|_| std::hint::spin_loop());
                second(&mut session, &key.to_be_bytes())
            };
            (0..KEYS).map(one).collect::<Vec<B>>()
        });
        first.join().unwrap().into_iter().zip(second.join().unwrap()).collect()
    })
}

/// Takes the value of a key, as GETDEL does. Returns whether there was one, and the result of the
/// write.
fn take(session: &mut Session, key: &[u8]) -> (bool, RowUpdate) {
    let mut was_there = false;
    let decide = |row: Option<skein_store::RowRef<'_>>, _: &_| {
        was_there = row.is_some();
        Ok::<_, Error>(if was_there { RowChange::Remove } else { RowChange::Keep })
    };
    let done = session.write(|w| w.update(key, decide)).unwrap().0.unwrap();
    (was_there, done)
}

#[test]
fn no_put_is_lost_to_a_removal_that_raced_with_it() {
    over_each_index(|index, path, store| {
        let put = |session: &mut Session, key: &[u8]| {
            session.write(|w| w.put(key, b"second")).unwrap().0.unwrap().version
        };
        let done = race(store, take, put);
        let shared = done.iter().filter(|((_, taken), put)| taken.changed && taken.version == *put).count();
        assert_eq!(shared, 0, "{index}: keys of which one version is of the put and of the removal");
        store.flush().unwrap();
        let held = |store: &Store| -> Vec<_> {
            (0..KEYS).map(|key| store.get(&key.to_be_bytes()).unwrap()).collect()
        };
        let before = held(store);
        for (key, (((_, taken), put), value)) in done.iter().zip(&before).enumerate() {
            let put_was_last = !taken.changed || *put > taken.version;
            assert_eq!(value.is_some(), put_was_last, "{index}: key {key}, removal {taken:?}, put {put}");
        }
        let copy = tempfile::tempdir().unwrap();
        crate::common::copy(path, copy.path());
        let differing = held(&open(copy.path(), index)).iter().zip(&before).filter(|(a, b)| a != b).count();
        assert_eq!(differing, 0, "{index}: keys that are others after reopening");
    });
}

#[test]
fn one_of_two_takers_gets_a_key() {
    over_each_index(|index, _, store| {
        for (key, ((first, by_first), (second, by_second))) in race(store, take, take).iter().enumerate() {
            assert!(first != second, "{index}: key {key} was given to both or to neither");
            assert_eq!((*first, *second), (by_first.changed, by_second.changed), "{index}: key {key}");
        }
        assert_eq!(store.len(), 0, "{index}");
    });
}

#[test]
fn one_of_two_removals_finds_a_key() {
    over_each_index(|index, _, store| {
        let remove =
            |session: &mut Session, key: &[u8]| session.write(|w| w.remove(key)).unwrap().0.unwrap().existed;
        for (key, (first, second)) in race(store, remove, remove).iter().enumerate() {
            assert!(first != second, "{index}: key {key} was removed {first} and {second}");
        }
    });
}

/// A key is inserted and removed repeatedly: as many removals find it as puts find it absent.
#[test]
fn removals_and_puts_of_one_key_take_turns() {
    for index in indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        let (created, removed) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..KEYS {
                        let put = store.put_if_absent(b"key", b"value").unwrap();
                        created.fetch_add(put.into(), Ordering::Relaxed);
                        let existed = store.remove(b"key").unwrap();
                        removed.fetch_add(existed.into(), Ordering::Relaxed);
                    }
                });
            }
        });
        let left = created.load(Ordering::Relaxed) - removed.load(Ordering::Relaxed);
        assert_eq!(left, store.len() as u64, "{index}");
    }
}
