//! Tests that every method does what its documentation says, at every durability level.

mod refusals;

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::ControlFlow;
use std::time::Duration;

use crate::common::{LEVELS, index, open, options};
use skein_store::{
    Batch, Durability, Error, IndexKind, KEY_BYTES_MAX, RowWriter as _, ScanDirection, Store, VALUE_BYTES_MAX,
};

/// Runs `test` on a fresh store of each level.
fn at_every_level(test: impl Fn(&Store)) {
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), level);
        test(&store);
        store.close().unwrap();
    }
}

#[test]
fn put_get_remove() {
    at_every_level(|store| {
        assert_eq!(store.get(b"a").unwrap(), None);
        assert_eq!(store.put(b"a", b"1").unwrap(), 1);
        assert_eq!(store.put(b"a", b"2").unwrap(), 2);
        assert_eq!(store.get(b"a").unwrap().as_deref(), Some(&b"2"[..]));
        assert!(store.remove(b"a").unwrap());
        assert!(!store.remove(b"a").unwrap());
        assert_eq!(store.put(b"a", b"again").unwrap(), 4, "the removal took version 3");
        store.put(b"", b"the empty key").unwrap();
        store.put(b"\0", b"").unwrap();
        assert_eq!(store.get(b"").unwrap().as_deref(), Some(&b"the empty key"[..]));
        assert_eq!(store.get(b"\0").unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(store.len(), 3);
    });
}

#[test]
fn columns_carry_over_and_the_key_ends_with_the_last() {
    at_every_level(|store| {
        assert_eq!(store.put_columns(b"k", &[(b"b", b"1"), (b"a", b"2")]).unwrap(), 2);
        assert_eq!(store.put_columns(b"k", &[(b"b", b"3"), (b"c", b"4")]).unwrap(), 1);
        let found = |name: &[u8], value: &[u8]| (name.to_vec(), Some(value.to_vec()));
        let all = [found(b"a", b"2"), found(b"b", b"3"), found(b"c", b"4")];
        assert_eq!(store.get_columns(b"k", None).unwrap(), all);
        let some = store.get_columns(b"k", Some(&[b"c", b"x"])).unwrap();
        assert_eq!(some, [found(b"c", b"4"), (b"x".to_vec(), None)]);
        assert_eq!(store.remove_columns(b"k", &[b"a", b"x", b"b"]).unwrap(), 2);
        assert_eq!(store.remove_columns(b"k", &[b"x"]).unwrap(), 0);
        assert_eq!(store.get_entry(b"k").unwrap().version, 3);
        assert_eq!(store.remove_columns(b"k", &[b"c"]).unwrap(), 1);
        assert_eq!(store.get_entry(b"k"), None);
        assert_eq!(store.get_columns(b"k", Some(&[b"c"])).unwrap(), [(b"c".to_vec(), None)]);
        assert_eq!(store.put_columns(b"k", &[]).unwrap(), 0);
        assert!(store.is_empty());
    });
}

#[test]
fn values_and_columns_are_told_apart() {
    at_every_level(|store| {
        store.put(b"value", b"1").unwrap();
        store.put_columns(b"columns", &[(b"a", b"1")]).unwrap();
        assert!(matches!(store.get(b"columns"), Err(Error::WrongKind { .. })));
        assert!(matches!(store.get_columns(b"value", None), Err(Error::WrongKind { .. })));
        assert!(matches!(store.put_columns(b"value", &[(b"a", b"1")]), Err(Error::WrongKind { .. })));
        assert!(matches!(store.remove_columns(b"value", &[b"a"]), Err(Error::WrongKind { .. })));
        assert!(matches!(store.increment(b"columns", 1), Err(Error::WrongKind { .. })));
        store.put(b"columns", b"a put replaces all contents").unwrap();
        assert!(store.get(b"columns").unwrap().is_some());
    });
}

#[test]
fn compare_and_swap_by_version_and_by_value() {
    at_every_level(|store| {
        assert_eq!(store.compare_and_swap(b"k", 1, b"x").unwrap(), Err(0));
        assert_eq!(store.compare_and_swap(b"k", 0, b"x").unwrap(), Ok(1));
        assert_eq!(store.compare_and_swap(b"k", 0, b"y").unwrap(), Err(1));
        assert_eq!(store.compare_and_swap(b"k", 1, b"y").unwrap(), Ok(2));
        assert!(!store.compare_value_and_swap(b"k", Some(b"x"), b"z").unwrap());
        assert!(store.compare_value_and_swap(b"k", Some(b"y"), b"z").unwrap());
        assert!(!store.compare_value_and_swap(b"k", None, b"w").unwrap());
        assert!(store.compare_value_and_swap(b"new", None, b"w").unwrap());
        assert!(!store.put_if_absent(b"new", b"v").unwrap());
        assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"z"[..]));
    });
}

#[test]
fn increments_are_checked() {
    at_every_level(|store| {
        assert_eq!(store.increment(b"n", 5).unwrap(), 5);
        assert_eq!(store.increment(b"n", -7).unwrap(), -2);
        store.put(b"n", i64::MAX.to_string().as_bytes()).unwrap();
        assert!(matches!(store.increment(b"n", 1), Err(Error::Overflow { value: i64::MAX, by: 1 })));
        assert_eq!(store.increment(b"n", -1).unwrap(), i64::MAX - 1);
        store.put(b"n", b"12 ").unwrap();
        assert!(matches!(store.increment(b"n", 1), Err(Error::NotAnInteger)));
        let mut session = store.session();
        let sums = session.write(|w| (w.increment_column(b"h", b"c", 2), w.increment_column(b"h", b"c", 3)));
        assert!(matches!(sums.unwrap().0, (Ok(2), Ok(5))));
    });
}

#[test]
fn one_column_is_updated_from_what_it_holds() {
    at_every_level(|store| {
        store.put_columns(b"h", &[(b"a", b"1"), (b"b", b"2")]).unwrap();
        store.put(b"v", b"value").unwrap();
        let mut session = store.session();
        let append = |more: &'static [u8]| {
            move |now: Option<&[u8]>| Ok::<_, Error>(now.map(|now| [now, more].concat()))
        };
        let (changed, _) = session.write(|w| w.update_column(b"h", b"a", append(b"x"))).unwrap();
        assert!(changed.unwrap().changed);
        let columns = store.get_columns(b"h", None).unwrap();
        let expected = [(b"a".to_vec(), Some(b"1x".to_vec())), (b"b".to_vec(), Some(b"2".to_vec()))];
        assert_eq!(columns, expected, "the others carry over");
        // Without a decision nothing is made.
        for (key, column) in [(&b"h"[..], &b"c"[..]), (b"nope", b"a")] {
            let (kept, _) = session.write(|w| w.update_column(key, column, append(b"x"))).unwrap();
            assert!(!kept.unwrap().changed);
        }
        assert!(store.get(b"nope").unwrap().is_none());
        let (refused, _) = session.write(|w| w.update_column(b"v", b"a", append(b"x"))).unwrap();
        assert!(matches!(refused, Err(Error::WrongKind { .. })));
    });
}

#[test]
fn ranges_and_prefixes_in_both_directions() {
    at_every_level(|store| {
        let key = |i: u32| format!("k {i:05}").into_bytes();
        for i in 0..3000 {
            store.quick_put(&key(i));
        }
        let keys = |entries: Vec<skein_store::KeyEntry>| {
            entries.into_iter().map(|entry| entry.key).collect::<Vec<_>>()
        };
        let all = keys(store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX));
        assert_eq!(all, (0..3000).map(key).collect::<Vec<_>>());
        let back = keys(store.range((Unbounded, Unbounded), ScanDirection::Backward, usize::MAX));
        assert_eq!(back, (0..3000).rev().map(key).collect::<Vec<_>>());
        let (from, to) = (key(10), key(13));
        for (bounds, expected) in [
            ((Included(&from[..]), Included(&to[..])), 10..14),
            ((Excluded(&from[..]), Excluded(&to[..])), 11..13),
            ((Included(&from[..]), Excluded(&to[..])), 10..13),
        ] {
            let expected: Vec<_> = expected.map(key).collect();
            assert_eq!(keys(store.range(bounds, ScanDirection::Forward, usize::MAX)), expected);
            let back: Vec<_> = expected.into_iter().rev().collect();
            assert_eq!(keys(store.range(bounds, ScanDirection::Backward, usize::MAX)), back);
        }
        assert!(store.range((Included(&to), Included(&from)), ScanDirection::Forward, 9).is_empty());
        assert_eq!(
            keys(store.prefix(b"k 0012", ScanDirection::Forward, 3)),
            (120..123).map(key).collect::<Vec<_>>()
        );
        assert_eq!(store.prefix(b"k 0012", ScanDirection::Backward, usize::MAX).len(), 10);
        assert_eq!(store.prefix(b"", ScanDirection::Backward, 1)[0].key, key(2999));
        assert!(store.range((Unbounded, Unbounded), ScanDirection::Forward, 0).is_empty());

        assert_eq!(store.remove_range((Included(&from), Unbounded)).unwrap(), 2990);
        assert_eq!(store.len(), 10);
    });
}

/// A put that does not wait, so that many puts are fast at every level.
trait QuickPut {
    fn quick_put(&self, key: &[u8]);
}

impl QuickPut for Store {
    fn quick_put(&self, key: &[u8]) {
        self.session().write(|w| w.put(key, b"v")).unwrap().0.unwrap();
    }
}

#[test]
fn batches_are_applied_in_their_order_or_not_at_all() {
    at_every_level(|store| {
        store.put(b"value", b"1").unwrap();
        let mut batch = Batch::new();
        batch.put("a", "1").put("a", "2").put_columns("b", &[(b"x", b"y")]).remove("value").remove("absent");
        batch.put_columns("value", &[(b"now", b"columns")]);
        store.apply(&batch).unwrap();
        assert_eq!(store.get(b"a").unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(
            store.get_columns(b"value", None).unwrap(),
            [(b"now".to_vec(), Some(b"columns".to_vec()))]
        );

        let mut bad = Batch::new();
        bad.put("c", "1").put_columns("a", &[(b"x", b"y")]);
        assert!(matches!(store.apply(&bad), Err(Error::WrongKind { .. })));
        let mut bad = Batch::new();
        bad.put("c", "1").put(vec![7; 70_000], "x");
        assert!(matches!(store.apply(&bad), Err(Error::KeyTooLong { len: 70_000, .. })));
        assert_eq!(store.get(b"c").unwrap(), None);
        store.apply(&Batch::new()).unwrap();
    });
}

#[test]
fn a_session_reads_in_place_and_writes_together() {
    at_every_level(|store| {
        let mut session = store.session();
        let (versions, ticket) = session
            .write(|w| {
                let puts: Vec<u64> =
                    (0..1000u32).map(|i| w.put(&i.to_be_bytes(), b"v").unwrap().version).collect();
                assert!(w.remove(&7u32.to_be_bytes()).unwrap().existed);
                w.get_with(&7u32.to_be_bytes(), |row| assert!(row.is_none()));
                puts
            })
            .unwrap();
        assert!(versions.iter().all(|version| *version == 1));
        store.wait_durable(ticket).unwrap();
        if store.durability() != Durability::None {
            assert!(store.durable_epoch() >= ticket.epoch);
        }

        let keys: Vec<[u8; 4]> = (0..9000u32).map(u32::to_be_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut found = vec![None; keys.len()];
        session.get_many(&keys, |i, row| found[i] = Some(row.is_some()));
        assert!(found.iter().enumerate().all(|(i, there)| *there == Some(i < 1000 && i != 7)));
        let mut order = Vec::new();
        session.get_many_atomic(&keys[..20], |i, row| order.push((i, row.is_some())));
        assert_eq!(order, (0..20).map(|i| (i, i != 7)).collect::<Vec<_>>());

        let mut seen = 0;
        session.scan((Unbounded, Unbounded), ScanDirection::Forward, |_, row| {
            assert_eq!(row.value(), Some(&b"v"[..]));
            seen += 1;
            if seen == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen, 100);

        let ticket = session.put_all(&[(b"x", b"1"), (b"y", b"2")]).unwrap();
        store.wait_durable(ticket).unwrap();
        assert_eq!(store.get(b"y").unwrap().as_deref(), Some(&b"2"[..]));
    });
}

/// Integers as names: bytes of one width, in numeric order, also next to names that are words, and
/// in large rows.
#[test]
fn integers_are_names_of_columns() {
    at_every_level(|store| {
        for i in [300u32, 7, 70_000, 0, u32::MAX, 255, 256] {
            store.put_columns(b"k", &[(&i.to_be_bytes(), i.to_string().as_bytes())]).unwrap();
        }
        store.put_columns(b"k", &[(b"a word", b"w"), (&[7], b"a small one")]).unwrap();
        let numbers: Vec<u32> = store
            .get_columns(b"k", None)
            .unwrap()
            .iter()
            .filter(|(name, _)| name.len() == 4)
            .map(|(_, value)| String::from_utf8(value.clone().unwrap()).unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers, [0, 7, 255, 256, 300, 70_000, u32::MAX]);
        for i in 0..2000u32 {
            store.put_columns(b"large", &[(&(i * 7 % 2000).to_be_bytes(), &i.to_be_bytes())]).unwrap();
        }
        let columns = store.get_columns(b"large", None).unwrap();
        assert!(
            columns
                .iter()
                .map(|(name, _)| name)
                .eq(&(0..2000u32).map(|i| i.to_be_bytes().to_vec()).collect::<Vec<_>>())
        );
    });
}

/// Replaces and removes rows of all kinds: all of their memory is freed.
#[test]
fn memory_of_rows_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let (rows, index) = (store.stats().row_bytes, store.stats().index_bytes);
    for round in 0..3u8 {
        for i in 0..3000u32 {
            let key = i.to_be_bytes();
            match i % 3 {
                0 => drop(store.put(&key, &vec![round; i as usize % 500]).unwrap()),
                1 => drop(store.put_columns(&key, &[(b"a", &[round; 30]), (&[round], b"")]).unwrap()),
                // One row that grows to many blocks.
                _ => drop(store.put_columns(b"large", &[(&key, &[round; 100])]).unwrap()),
            }
        }
        assert!(store.stats().row_bytes > rows + 300_000);
        let end = [0xff; 8];
        let all = (Included(&b""[..]), Excluded(&end[..]));
        assert_eq!(store.remove_range(all).unwrap(), 2001, "round {round}");
        // Memory that readers may still see is freed a little later, by any write.
        let freed = (0..100_000u32).any(|_| {
            store.put(b"x", b"").unwrap();
            store.remove(b"x").unwrap();
            store.stats().row_bytes <= rows + 64
        });
        assert!(freed, "round {round}: {} bytes of rows, {rows} at the start", store.stats().row_bytes);
        assert!(store.stats().index_bytes <= index + 1024, "round {round}: {:?}", store.stats());
    }
}

/// After a limit was lowered between two runs, existing keys can still be read and removed.
#[test]
fn keys_over_a_lowered_limit_can_be_read_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let length = index().key_bytes_max().min(30);
    let lowered = length * 2 / 3;
    let long: Vec<Vec<u8>> = (0..3).map(|i| vec![b'a' + i; length]).collect();
    for key in &long {
        store.put(key, b"old").unwrap();
    }
    store.close().unwrap();
    let mut small = options(Durability::Buffered);
    small.limits.key_bytes = lowered;
    let store = Store::open(folder.path(), small).unwrap();
    assert_eq!(store.get(&long[0]).unwrap().as_deref(), Some(&b"old"[..]));
    for refused in [
        store.put(&long[0], b"new").err(),
        store.put_columns(&vec![b'1'; lowered + 1], &[(b"a", b"b")]).err(),
        store.increment(&vec![b'9'; lowered + 1], 1).err(),
    ] {
        let Some(Error::KeyTooLong { len, limit }) = refused else { panic!("{refused:?}") };
        assert!(len > limit && limit == lowered);
    }
    store.put(&long[0][..lowered], b"just fits").unwrap();
    assert!(store.remove(&long[0]).unwrap());
    let mut batch = Batch::new();
    batch.remove(long[1].clone());
    store.apply(&batch).unwrap();
    assert_eq!(store.remove_range((Included(&long[2]), Unbounded)).unwrap(), 1);
    assert_eq!(store.len(), 1);
}

#[test]
fn options_that_cannot_work_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let bad = |change: &dyn Fn(&mut skein_store::StoreOptions)| {
        let mut options = options(Durability::Buffered);
        change(&mut options);
        match Store::open(&data, options) {
            Err(Error::BadOption { name, .. }) => name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(bad(&|o| o.limits.key_bytes = KEY_BYTES_MAX + 1), "limits.key_bytes");
    assert_eq!(bad(&|o| o.limits.key_bytes = 0), "limits.key_bytes");
    assert_eq!(bad(&|o| o.limits.value_bytes = VALUE_BYTES_MAX + 1), "limits.value_bytes");
    assert_eq!(bad(&|o| o.recovery_threads = 0), "recovery_threads");
    assert_eq!(bad(&|o| o.checkpoint_threads = 0), "checkpoint_threads");
    // The number of parts is computed from it; that overflowed.
    assert_eq!(bad(&|o| o.checkpoint_threads = usize::MAX), "checkpoint_threads");
    assert_eq!(bad(&|o| o.logs = 1025), "logs");
    assert_eq!(bad(&|o| o.logs = 0), "logs");
    assert_eq!(bad(&|o| o.segment_bytes = 1), "segment_bytes");
    assert_eq!(bad(&|o| o.checkpoint_log_bytes = Some(0)), "checkpoint_log_bytes");
    assert_eq!(bad(&|o| o.checkpoint_interval = Some(Duration::ZERO)), "checkpoint_interval");
    assert_eq!(bad(&|o| o.expiry_interval = Some(Duration::ZERO)), "expiry_interval");
    assert_eq!(bad(&|o| o.pack_interval = Some(Duration::ZERO)), "pack_interval");
    assert!(!data.exists(), "options that cannot work made a folder");
    let error = "b-tree".parse::<IndexKind>().unwrap_err();
    assert!(error.to_string().contains("b-tree") && error.to_string().contains("masstree"), "{error}");
    for kind in IndexKind::ALL {
        assert_eq!(kind.to_string().parse::<IndexKind>().unwrap(), kind);
    }
}

#[test]
fn a_closed_store_reads_and_does_not_write() {
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), level);
        let mut session = store.session();
        store.put(b"k", b"v").unwrap();
        store.close().unwrap();
        assert!(matches!(store.close(), Err(Error::Closed)));
        assert!(matches!(store.put(b"k", b"w"), Err(Error::Closed)));
        assert!(matches!(session.write(|w| w.put(b"k", b"w").is_ok()), Err(Error::Closed)));
        assert!(matches!(store.checkpoint(), Err(Error::Closed)));
        assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
        // The folder is free again although handles exist.
        let again = open(folder.path(), level);
        assert_eq!(again.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
}
