//! Transactions are atomic for readers, after crashes and after failures.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_log::{Durability, Ticket};

use super::groups::{group_key, groups, set_group};
use super::{DiskStore, FOLDER, SHAPES, cut_power_at_each, fail_at_each, open, open_as, open_options};
use crate::store::{DiskOptions, RangeRemoval, UpdateAction, UpdateOutcome};
use crate::trie::{ScanRequest, TrieShape};
use crate::{DiskError, Values};

fn script(store: &DiskStore) -> usize {
    for number in 0..12 {
        if set_group(store, number).is_err() {
            return number;
        }
        if number == 4 {
            // A failed checkpoint is not a failed write.
            _ = store.checkpoint();
        }
    }
    12
}

fn assert_whole(store: &DiskStore, acknowledged: usize, about: &str) {
    let left = groups(store);
    assert!(left == acknowledged || left == acknowledged + 1, "{about}: {left} of {acknowledged}");
}

#[test]
fn a_power_cut_leaves_transactions_whole() {
    let stores = SHAPES.map(|shape| (shape, Values::Bytes));
    for (shape, values) in stores.into_iter().chain([(SHAPES[2], Values::Rows)]) {
        let open = |storage: &SimStorage| {
            let options = DiskOptions { values, ..open_options(shape, Durability::Sync) };
            DiskStore::open_on(storage.share(), FOLDER, options)
        };
        cut_power_at_each((1, 12), open, script, assert_whole);
    }
}

#[test]
fn an_error_leaves_transactions_whole() {
    fail_at_each(&(1..80), script, assert_whole);
}

#[test]
fn readers_see_all_of_a_transaction_or_nothing() {
    let storage = SimStorage::new();
    let store = open_as(&storage, TrieShape::Linked, Durability::Buffered).unwrap();
    set_group(&store, 0).unwrap();
    let done = AtomicBool::new(false);
    let keys: Vec<Vec<u8>> = (0..3).map(group_key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let found = store.get_many(&keys, 1 << 20).unwrap();
                    let first = found.get(0).unwrap().1;
                    assert!((1..3).all(|at| found.get(at).unwrap().1 == first), "half a transaction");
                    let versions = store.versions(&keys).unwrap();
                    assert_eq!(versions[2].unwrap() - versions[0].unwrap(), 2, "of two transactions");
                }
            });
        }
        for number in 1..400 {
            set_group(&store, number).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(groups(&store), 400);
    let error = store.get_many(&keys, 2).unwrap_err();
    assert!(matches!(error, DiskError::ReadTooLong { len: 3.., limit: 2 }), "{error}");
}

#[test]
fn a_callers_error_or_a_drop_changes_nothing() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open_as(&storage, shape, Durability::Sync).unwrap();
        store.set(b"kept", b"7").unwrap();
        let before = (store.stats().sequence, store.check().unwrap());
        let refused = store.write(|transaction| {
            transaction.set(b"a", &[1; 5_000])?;
            transaction.remove(b"kept")?;
            transaction.inc(b"a", 1)
        });
        assert!(matches!(refused, Err(DiskError::NotAnInteger { .. })));
        let mut dropped = store.begin();
        dropped.set(b"kept", b"8").unwrap();
        assert_eq!(dropped.get(b"kept").unwrap(), Some(b"8".to_vec()), "it sees its own writes");
        assert_eq!(store.get(b"kept").unwrap(), Some(b"7".to_vec()), "other readers do not");
        drop(dropped);
        assert_eq!((store.stats().sequence, store.check().unwrap()), before);
        assert_eq!((store.get(b"a").unwrap(), store.len()), (None, 1));
        let nothing = store.begin();
        assert!(nothing.is_empty());
        assert_eq!(nothing.commit().unwrap(), Ticket::default());
    }
}

/// A write that was refused before it began does not prevent the rest of the transaction. A write
/// that failed half-way does.
#[test]
fn a_failed_write_breaks_a_transaction_a_refused_one_does_not() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    for number in 0..400 {
        store.set(format!("key/{number}").as_bytes(), &[3; 100]).unwrap();
    }
    store.close().unwrap();
    let store = open(&storage).unwrap();
    let mut transaction = store.begin();
    assert!(transaction.set(&vec![0; 70_000], b"").is_err());
    assert!(matches!(transaction.cas(b"key/1", None, b""), Err(DiskError::VersionDiffers { .. })));
    transaction.set(b"a", b"1").unwrap();
    transaction.commit().unwrap();
    assert_eq!(store.get(b"a").unwrap(), Some(b"1".to_vec()));
    drop(store);
    let store = open(&storage).unwrap();
    let mut transaction = store.begin();
    storage.fail_at(storage.operations() + 3, SimError::Io, true);
    let mut failed = None;
    for number in 0..400 {
        failed = failed.or(transaction.set(format!("key/{number}").as_bytes(), b"new").err());
        if failed.is_some() {
            break;
        }
    }
    assert!(matches!(failed, Some(DiskError::Io { .. })), "{failed:?}");
    storage.no_faults();
    assert!(transaction.is_broken());
    assert!(matches!(transaction.set(b"b", b""), Err(DiskError::Io { .. })));
    assert!(matches!(transaction.commit(), Err(DiskError::Io { .. })));
    assert_eq!(store.get(b"key/0").unwrap(), Some(vec![3; 100]));
    store.check().unwrap();
}

/// A transaction may change more pages than the cache has. It is whole for readers and after a
/// crash, and one that is dropped leaves nothing. A caller that need not be atomic commits in
/// parts.
#[test]
fn a_transaction_larger_than_the_cache_is_spilled() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    let key = |number: u32| number.wrapping_mul(2_654_435_769).to_be_bytes();
    let fill = |count, value: &[u8]| {
        let mut transaction = store.begin();
        (0..count).for_each(|number| _ = transaction.set(&key(number), value).unwrap());
        transaction.set(b"long", &vec![7; 300_000]).unwrap();
        for number in (0..count).step_by(97) {
            assert_eq!(transaction.get(&key(number)).unwrap().as_deref(), Some(value));
        }
        transaction
    };
    drop(fill(3_000, &[1; 50]));
    assert!(store.is_empty());
    store.check().unwrap();
    let large = fill(3_000, &[1; 50]);
    assert!(store.is_empty() && large.is_full());
    large.commit().unwrap();
    assert_eq!((store.check().unwrap().main.keys, store.len()), (3_001, 3_001));
    assert_eq!(store.get(b"long").unwrap(), Some(vec![7; 300_000]));
    let (mut transaction, mut commits) = (store.begin(), 0);
    for number in 0..3_000 {
        if transaction.is_full() {
            transaction.commit().unwrap();
            (transaction, commits) = (store.begin(), commits + 1);
        }
        assert!(transaction.remove(&key(number)).unwrap());
    }
    transaction.commit().unwrap();
    assert!(commits > 10 && store.len() == 1, "{commits}");
    // Writes made with a large cache are replayed with a small one.
    drop(store);
    let options = |cache_pages| DiskOptions {
        cache_pages,
        durability: Durability::Sync,
        checkpoint_bytes: 0,
        ..DiskOptions::default()
    };
    let storage = SimStorage::new();
    let store = DiskStore::open_on(storage.share(), FOLDER, options(10_000)).unwrap();
    store
        .write(|transaction| {
            (0..3_000).try_for_each(|number| transaction.set(&key(number), &[2; 50]).map(|_| ()))
        })
        .unwrap();
    storage.reboot(1);
    drop(store);
    let store = DiskStore::open_on(storage.share(), FOLDER, options(16)).unwrap();
    assert_eq!((store.check().unwrap().main.keys, store.stats().replayed), (3_000, 3_000));
}

#[test]
fn an_update_sees_the_value_and_decides() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open_as(&storage, shape, Durability::Buffered).unwrap();
        let update = |change: UpdateAction| store.update::<DiskError>(b"key", |_| Ok(change));
        let nothing = UpdateOutcome { existed: false, changed: false, version: 0 };
        assert_eq!(update(UpdateAction::Keep).unwrap(), nothing);
        assert_eq!(update(UpdateAction::Remove).unwrap(), nothing);
        let set = update(UpdateAction::Set(b"1".to_vec())).unwrap();
        assert!(set.changed && !set.existed && set.version > 0);
        let seen = store.update::<DiskError>(b"key", |found| {
            assert_eq!(found, Some((set.version, &b"1"[..])));
            Ok(UpdateAction::Keep)
        });
        assert_eq!(seen.unwrap(), UpdateOutcome { existed: true, changed: false, version: set.version });
        let removed = update(UpdateAction::Remove).unwrap();
        assert!(removed.changed && removed.existed && removed.version > set.version);
        assert!(
            update(UpdateAction::Set(Vec::new())).unwrap().version > removed.version,
            "a version is never reused"
        );
    }
}

#[test]
fn ranges_are_removed_in_parts() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open_as(&storage, shape, Durability::Buffered).unwrap();
        let has_order = !matches!(shape, TrieShape::Hash { .. });
        for number in 0..500 {
            store.set(format!("{number:03}").as_bytes(), b"").unwrap();
        }
        let mut lower = if has_order { Bound::Included(b"100".to_vec()) } else { Bound::Unbounded };
        let upper = if has_order { Bound::Excluded(&b"400"[..]) } else { Bound::Unbounded };
        let (mut total, mut rounds) = (0, 0);
        loop {
            let bounds = (lower.as_ref().map(Vec::as_slice), upper);
            let RangeRemoval { count, rest } =
                store.write(|transaction| transaction.remove_range(bounds, 64)).unwrap();
            assert!(count <= 64);
            (total, rounds) = (total + count, rounds + 1);
            match rest {
                Some(rest) => lower = rest,
                None => break,
            }
        }
        assert!(rounds > 4, "{rounds}");
        assert_eq!(total, if has_order { 300 } else { 500 });
        assert_eq!(store.len(), 500 - total as u64);
        store.check().unwrap();
        let some = (Bound::Included(&b"1"[..]), Bound::Unbounded);
        let removed = store.write(|transaction| transaction.remove_range(some, 9));
        assert_eq!(matches!(removed, Err(DiskError::NoOrder)), !has_order);
    }
}

/// Reads within a transaction see its writes, including counts of keys; other readers do not. Its
/// reads do not use up its room, however many there are.
#[test]
fn a_transaction_reads_what_it_wrote() {
    let key_of = |number: usize| format!("key/{number}").into_bytes();
    for shape in SHAPES {
        let store = open_as(&SimStorage::new(), shape, Durability::Buffered).unwrap();
        for number in 0..400 {
            store.set(&key_of(number), &[b'v'; 300]).unwrap();
        }
        let mut transaction = store.begin();
        transaction.set(b"a", b"new").unwrap();
        assert!(transaction.remove(&key_of(0)).unwrap());
        transaction.set(b"b", b"new").unwrap();
        assert_eq!((transaction.keys(), store.len()), (401, 400));
        // Several times the cache.
        for _ in 0..5 {
            for number in 0..400 {
                assert_eq!(transaction.get(&key_of(number)).unwrap().is_some(), number > 0);
            }
        }
        let request = ScanRequest { upper: Bound::Excluded(&b"c"[..]), keys: 9, ..ScanRequest::default() };
        match transaction.range(&request) {
            Ok(found) => {
                let found: Vec<_> = found.entries.iter().map(|entry| &entry.key[..]).collect();
                assert_eq!(found, [&b"a"[..], b"b"]);
            }
            Err(error) => assert!(matches!(error, DiskError::NoOrder) && !shape.is_ordered(), "{error}"),
        }
        transaction.set(b"c", b"new").unwrap();
        transaction.commit().unwrap();
        assert_eq!(store.len(), 402, "{shape:?}");
        store.check().unwrap();
    }
}

/// A ticket becomes durable later; the writer does not wait.
#[test]
fn tickets_are_acknowledged_later() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    store.on_durable(move || _ = sender.send(()));
    let mut transaction = store.begin();
    transaction.set(b"key", b"value").unwrap();
    let ticket = transaction.commit().unwrap();
    assert!(ticket.epoch > 0);
    store.request_durable(ticket);
    while store.durable_epoch() < ticket.epoch {
        receiver.recv().unwrap();
    }
    assert!(store.writes_stopped().is_none());
    storage.fail_at(storage.operations() + 1, SimError::Io, true);
    assert!(store.set(b"key", b"lost").is_err());
    assert!(store.writes_stopped().is_some());
    assert_eq!(store.get(b"key").unwrap(), Some(b"lost".to_vec()), "reads continue");
}

/// Incident: the disk engine parsed counters with the standard library. Consequence: INCR counted
/// on from "007" and "-0", which Redis and the engine in memory refuse. Fix: one parser for all.
#[test]
fn a_counter_must_have_the_form_that_redis_prints() {
    let store = open_as(&SimStorage::new(), SHAPES[0], Durability::Sync).unwrap();
    for value in ["007", "-0", "+7", " 7", "7 ", "", "-", "0x7", "9223372036854775808"] {
        store.set(b"count", value.as_bytes()).unwrap();
        let refused = store.inc(b"count", 1);
        assert!(matches!(refused, Err(DiskError::NotAnInteger { .. })), "{value:?}: {refused:?}");
    }
    for (value, sum) in [("0", 1), ("-1", 0), ("-9223372036854775808", i64::MIN + 1)] {
        store.set(b"count", value.as_bytes()).unwrap();
        assert_eq!(store.inc(b"count", 1).unwrap(), sum);
    }
}
