//! Refused writes: limits, closures that fail, impossible options.

use std::ops::Bound::{Excluded, Included};

use super::at_every_level;
use crate::common::{index, options};
use skein_store::{Batch, Durability, Error, KEY_BYTES_MAX, RowChange, RowWriter as _, Store};

#[test]
fn an_update_may_keep_put_remove_or_fail() {
    at_every_level(|store| {
        let mut session = store.session();
        let (done, _) = session
            .write(|w| {
                let absent = w.update::<Error>(b"k", |row, _| {
                    assert!(row.is_none());
                    Ok(RowChange::Remove)
                });
                assert!(matches!(absent, Ok(done) if !done.existed && !done.changed && done.version == 0));
                w.update::<Error>(b"k", |_, rows| Ok(RowChange::Put(rows.value(&[b"a", b"b"])?))).unwrap();
                let failed = w.update(b"k", |_, _| Err(Error::NotAnInteger));
                assert!(matches!(failed, Err(Error::NotAnInteger)));
                let kept = w.update::<Error>(b"k", |row, _| {
                    assert_eq!(row.unwrap().value(), Some(&b"ab"[..]));
                    Ok(RowChange::Keep)
                });
                assert!(matches!(kept, Ok(done) if done.existed && !done.changed && done.version == 1));
                w.update::<Error>(b"k", |_, _| Ok(RowChange::Remove)).unwrap()
            })
            .unwrap();
        assert!(done.existed && done.changed && done.version == 2);
        assert!(store.is_empty());
    });
}

#[test]
fn a_panic_in_a_write_leaves_a_working_store() {
    at_every_level(|store| {
        let mut session = store.session();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = session.write(|w| {
                w.put(b"before", b"1").unwrap();
                panic!("the caller's own");
            });
        }));
        assert!(caught.is_err());
        assert!(store.get(b"before").unwrap().is_some());
        store.put(b"after", b"1").unwrap();
        store.flush().unwrap();
    });
}

#[test]
fn writes_over_a_limit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = options(Durability::Buffered);
    small.limits.value_bytes = 100;
    small.limits.memory_bytes = Some(8 << 20);
    let store = Store::open(folder.path(), small).unwrap();
    let longest = index().key_bytes_max();
    let key = vec![1; longest + 1];
    let refused = store.put(&key, b"").unwrap_err();
    assert!(matches!(refused, Error::KeyTooLong { len, limit } if (len, limit) == (longest + 1, longest)));
    // No such key can exist: like a read, a removal finds nothing, unless no store allows a key of
    // that length.
    match store.remove(&key) {
        Err(Error::KeyTooLong { limit, .. }) => assert_eq!((limit, longest), (KEY_BYTES_MAX, KEY_BYTES_MAX)),
        removed => assert!(longest < KEY_BYTES_MAX && !removed.unwrap()),
    }
    assert_eq!(store.get(&key).unwrap(), None);
    store.put(&key[1..], b"just fits").unwrap();
    assert!(matches!(store.put(b"k", &[0; 101]), Err(Error::ValueTooLong { len: 101, limit: 100 })));
    store.put_columns(b"h", &[(b"a", &[0; 60])]).unwrap();
    assert!(matches!(store.put_columns(b"h", &[(b"b", &[0; 60])]), Err(Error::ValueTooLong { .. })));
    assert_eq!(store.get_columns(b"h", None).unwrap().len(), 1);

    let refused = (0..1_000_000u32).find_map(|i| store.put(&i.to_be_bytes(), &[0; 100]).err());
    let Some(Error::OverBudget { used, budget }) = refused else { panic!("{refused:?}") };
    assert!(used >= budget);
    assert!(store.get(&0u32.to_be_bytes()).unwrap().is_some(), "reads still work");
    let gone = store.remove_range((Included(&[0]), Excluded(&[1]))).unwrap();
    assert!(gone > 10_000, "removals work over the limit; {gone}");
    // Memory is freed when readers have finished: then the next writes are accepted again.
    let fits = (0..10_000).any(|_| store.put(b"again", b"1").is_ok());
    assert!(fits, "{:?}", store.stats());
}

/// Incident: with memory used up, the removal of one of three columns was rejected. Consequence:
/// users who free memory, as the error tells them, were rejected too. Fix: only writes that add
/// memory are rejected.
#[test]
fn writes_that_do_not_add_go_on_over_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = options(Durability::Buffered);
    small.limits.memory_bytes = Some(8 << 20);
    let store = Store::open(folder.path(), small).unwrap();
    store.put_columns(b"h", &[(b"a", b"11"), (b"b", b"22"), (b"c", &[3; 40])]).unwrap();
    store.put(b"n", b"10").unwrap();
    store.put(b"empty", b"").unwrap();
    assert!((0..1_000_000u32).any(|i| store.put(&i.to_be_bytes(), &[0; 100]).is_err()));

    assert_eq!(store.remove_columns(b"h", &[b"b", b"no such"]).unwrap(), 1);
    assert_eq!(store.increment(b"n", 5).unwrap(), 15);
    assert!(!store.put_columns(b"h", &[(b"a", b"12")]).is_ok_and(|new| new != 0));
    store.put(b"n", b"99").unwrap();
    let mut batch = Batch::new();
    batch.put("n", "7").put_columns("h", &[(b"c", b"short")]).remove("empty");
    store.apply(&batch).unwrap();
    assert_eq!(store.get(b"n").unwrap().as_deref(), Some(&b"7"[..]));

    let over =
        |result: Result<(), Error>| assert!(matches!(result, Err(Error::OverBudget { .. })), "{result:?}");
    over(store.put(b"new", b"").map(drop));
    over(store.put(b"n", b"100").map(drop));
    over(store.increment(b"n", 993).map(drop));
    over(store.put_columns(b"h", &[(b"d", b"")]).map(drop));
    over(store.put_columns(b"h", &[(b"a", b"123")]).map(drop));
    let mut batch = Batch::new();
    batch.put("n", "8").put_columns("h", &[(b"a", b"1234")]);
    over(store.apply(&batch).map(drop));
    assert_eq!(store.get(b"n").unwrap().as_deref(), Some(&b"7"[..]), "nothing of a batch that is refused");
}

/// Incident: a batch that made a row too long, by its columns together with the former ones, was
/// rejected after its earlier writes were done. Consequence: the batch was half applied. Fix: the
/// resulting rows are computed before anything is written.
#[test]
fn a_batch_that_makes_a_row_too_long_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = options(Durability::Buffered);
    small.limits.value_bytes = 100;
    let store = Store::open(folder.path(), small).unwrap();
    store.put_columns(b"h", &[(b"a", &[0; 60])]).unwrap();
    let mut batch = Batch::new();
    batch.put("x", "1").put_columns("h", &[(b"b", &[0; 30])]).put_columns("h", &[(b"c", &[0; 30])]);
    assert!(matches!(store.apply(&batch), Err(Error::ValueTooLong { len: 123, limit: 100 })));
    assert_eq!((store.get(b"x").unwrap(), store.get_columns(b"h", None).unwrap().len()), (None, 1));
    // Replaced columns count once, and columns that the batch removes do not count.
    let mut batch = Batch::new();
    batch
        .put_columns("h", &[(b"a", &[1; 99])])
        .remove("h")
        .put_columns("h", &[(b"b", &[2; 90]), (b"b", &[3; 9])]);
    batch.put_columns("h", &[(b"a", &[4; 80])]);
    store.apply(&batch).unwrap();
    assert_eq!(store.get_entry(b"h").unwrap().columns.len(), 2);
}
