//! Calls within a write to the same store that would wait for their own caller.

use crate::common::{LEVELS, open};
use skein_store::{Batch, Durability, Error, RowChange, RowWriter as _, Store};

fn is_refused<T>(done: Result<T, Error>) {
    match done {
        Err(Error::InsideWrite { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was done"),
    }
}

/// Calls every function of the store that writes or waits for a write.
fn try_all(store: &Store) {
    is_refused(store.put(b"k", b"v"));
    is_refused(store.remove(b"k"));
    is_refused(store.increment(b"n", 1));
    is_refused(store.put_columns(b"c", &[(b"c", b"v")]));
    is_refused(store.apply(Batch::new().put("k", "v")));
    is_refused(store.remove_range((std::ops::Bound::Unbounded, std::ops::Bound::Unbounded)));
    let mut session = store.session();
    is_refused(session.write(|_| ()));
    is_refused(session.open_batch());
    is_refused(session.put_all(&[(b"k", b"v")]));
    is_refused(store.flush());
    is_refused(store.checkpoint());
    is_refused(store.close());
    is_refused(store.snapshot());
}

/// Incident: a put within a write, at `sync`, waited for an epoch that its own caller kept open. It
/// hung for ever, and so did `checkpoint`, `close` and others. Fix: all of them are rejected, at
/// each durability, and the outer write is unaffected.
#[test]
fn calls_that_wait_for_their_own_write_are_refused() {
    for durability in LEVELS {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path(), durability);
        let other = open(other.path(), durability);
        let mut session = store.session();
        let (done, ticket) = session
            .write(|writer| {
                writer.put(b"before", b"1")?;
                try_all(&store);
                assert_eq!(store.get(b"before")?.as_deref(), Some(&b"1"[..]), "reads work");
                other.put(b"another", b"1")?;
                other.checkpoint()?;
                writer.update::<Error>(b"within", |_, rows| {
                    try_all(&store);
                    Ok(RowChange::Put(rows.value(&[b"2"])?))
                })?;
                writer.change_set::<_, Error>(b"set", true, |set| {
                    try_all(&store);
                    set.put(b"member", 1.0)
                })
            })
            .unwrap();
        done.unwrap();
        store.wait_durable(ticket).unwrap();
        let mut batch = session.open_batch().unwrap();
        batch.writer().put(b"batch", b"3").unwrap();
        try_all(&store);
        let ticket = batch.commit().unwrap();
        store.wait_durable(ticket).unwrap();
        // A write that panicked has ended, too.
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            session.write(|_| std::panic::resume_unwind(Box::new("on purpose")))
        }));
        assert!(panicked.is_err());
        // Other threads were never affected.
        session.write(|_| std::thread::scope(|scope| drop(scope.spawn(|| store.get(b"k"))))).unwrap();
        store.put(b"after", b"4").unwrap();
        store.checkpoint().unwrap();
        assert_eq!(store.len(), 5);
        store.close().unwrap();
    }
}

/// A ticket that is already durable makes no thread wait.
#[test]
fn calls_that_do_not_wait_work_within_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Sync);
    let before = store.snapshot().unwrap();
    let mut session = store.session();
    let (_, durable) = session.write(|writer| writer.put(b"a", b"1").map(drop)).unwrap();
    store.wait_durable(durable).unwrap();
    let (seen, _) = session
        .write(|writer| {
            store.wait_durable(durable)?;
            writer.put(b"b", b"2")?;
            Ok::<_, Error>(before.get_entry(b"b")?.is_some())
        })
        .unwrap();
    assert!(!seen.unwrap());
    assert!(store.snapshot().unwrap().get_entry(b"b").unwrap().is_some());
}
