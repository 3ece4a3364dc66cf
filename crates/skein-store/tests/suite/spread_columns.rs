//! Spread columns, which are too many for a row: how they begin and end, every function that reads
//! or writes columns, reopening, readers beside writers, and power cuts.

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{LEVELS, StoreTestRng, copy, open, options};
use crate::power_cut_harness::{CutHistory, cut_everywhere};
use skein_store::{
    Batch, CollectionReads as _, Durability, Error, MEMBER_BYTES_MAX, ROW_COLUMNS_MAX, RowChange,
    RowWriter as _, ScanDirection, Session, Store, StoreLimits, StoreOptions, Writer,
};

type ColumnMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns a session that spreads columns when it writes.
fn session(store: &Store) -> Session {
    let mut session = store.session();
    session.spread_columns(true);
    session
}

fn write<R>(session: &mut Session, write: impl FnOnce(&mut Writer<'_>) -> Result<R, Error>) -> R {
    session.write(write).unwrap().0.unwrap()
}

/// Returns the columns of a key, and whether they are in its row; `None` if it is absent. Checks
/// that all ways to read them agree.
fn read(session: &Session, key: &[u8]) -> Option<(ColumnMap, bool)> {
    session.get_with(key, |row| {
        let columns = row?.read_columns().expect("columns");
        let found = columns.to_vec();
        assert_eq!(found.len(), columns.len());
        assert!(found.is_sorted_by(|a, b| a.0 < b.0));
        for (name, value) in &found {
            assert_eq!(columns.get(name), Some(&value[..]));
        }
        assert_eq!(columns.get(b"no such column"), None);
        if let Some((middle, _)) = found.get(found.len() / 2) {
            let mut after = 0;
            columns.walk(Some(middle), |_, _| {
                after += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(after, found.len() - found.len() / 2 - 1);
        }
        Some((found.into_iter().collect(), columns.in_row()))
    })
}

fn name(number: u64) -> Vec<u8> {
    format!("column {number:03}").into_bytes()
}

/// Returns columns with these numbers as names, which all hold `value`.
fn columns(numbers: std::ops::Range<u64>, value: &[u8]) -> ColumnMap {
    numbers.map(|number| (name(number), value.to_vec())).collect()
}

fn put(session: &mut Session, key: &[u8], columns: &ColumnMap) -> usize {
    let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    write(session, |writer| writer.put_columns(key, &columns))
}

fn remove(session: &mut Session, key: &[u8], names: &[Vec<u8>]) -> usize {
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    write(session, |writer| writer.remove_columns(key, &names))
}

#[test]
fn columns_are_spread_beyond_the_limit_and_end_with_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = session(&store);
    let most = ROW_COLUMNS_MAX as u64;
    for number in 0..most + 10 {
        assert_eq!(put(&mut session, b"k", &columns(number..number + 1, b"v")), 1);
        let expected = columns(0..number + 1, b"v");
        assert_eq!(read(&session, b"k"), Some((expected, number < most)), "{number}");
    }
    let all = columns(0..most + 10, b"v");
    assert_eq!(put(&mut session, b"k", &all), 0);
    assert_eq!(store.get_columns(b"k", None).unwrap().len(), all.len());
    assert_eq!(store.get_entry(b"k").unwrap().columns.len(), all.len());
    let named = store.get_columns(b"k", Some(&[&name(70), b"nope", &name(0)])).unwrap();
    assert_eq!(named.iter().filter(|(_, value)| value.is_some()).count(), 2);
    assert!(matches!(store.get(b"k"), Err(Error::WrongKind { found: "columns", .. })));
    for number in (0..most + 10).rev() {
        assert_eq!(remove(&mut session, b"k", &[name(number), name(number)]), 1);
        let expected = columns(0..number, b"v");
        assert_eq!(read(&session, b"k"), (number > 0).then_some((expected, false)));
    }
    assert_eq!((store.len(), store.get_entry(b"k")), (0, None));
    assert_eq!(remove(&mut session, b"k", &[name(0)]), 0);
    // It begins again, in a row.
    put(&mut session, b"k", &columns(0..3, b"w"));
    assert_eq!(read(&session, b"k"), Some((columns(0..3, b"w"), true)));
}

/// A write to the columns of the key `k`.
type WriteToK = fn(&mut Writer<'_>) -> Result<(), Error>;

#[test]
fn old_rows_are_spread_by_the_next_spreading_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let (mut plain, mut session) = (store.session(), session(&store));
    let writes: [WriteToK; 3] = [
        |writer| writer.put_columns(b"k", &[(b"column 000", b"v")]).map(drop),
        |writer| writer.remove_columns(b"k", &[b"column 499"]).map(drop),
        |writer| writer.update_column::<Error>(b"k", b"column 000", |_| Ok(Some(b"v".to_vec()))).map(drop),
    ];
    for (at, with) in writes.into_iter().enumerate() {
        let all = columns(0..500, b"v");
        put(&mut plain, b"k", &all);
        write(&mut plain, |writer| writer.expire(b"k", Some(1 << 50)).map(drop));
        assert_eq!(read(&plain, b"k"), Some((all, true)));
        let version = store.get_entry(b"k").unwrap().version;
        write(&mut session, with);
        let expected = columns(0..if at == 1 { 499 } else { 500 }, b"v");
        assert_eq!(read(&plain, b"k"), Some((expected, false)));
        let entry = store.get_entry(b"k").unwrap();
        assert_eq!((entry.version, entry.expires_at), (version + 1, Some(1 << 50)));
        // A session that does not spread can write to spread columns, too.
        assert_eq!(put(&mut plain, b"k", &columns(490..510, b"w")), if at == 1 { 11 } else { 10 });
        assert_eq!(write(&mut plain, |writer| writer.increment_column(b"k", b"n", 3)), 3);
        assert_eq!(write(&mut plain, |writer| writer.increment_column(b"k", b"n", 4)), 7);
        assert_eq!(remove(&mut plain, b"k", &[name(490), b"n".to_vec(), name(999)]), 2);
        assert_eq!(read(&plain, b"k").unwrap().0.len(), 509);
        write(&mut plain, |writer| writer.remove(b"k"));
    }
    // A write that changes nothing does not spread.
    put(&mut plain, b"k", &columns(0..500, b"v"));
    assert_eq!(remove(&mut session, b"k", &[name(999)]), 0);
    write(&mut session, |writer| writer.update_column::<Error>(b"k", b"a", |_| Ok(None)));
    assert!(read(&plain, b"k").unwrap().1);
}

#[test]
fn batches_and_updates_handle_spread_columns() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = session(&store);
    put(&mut session, b"k", &columns(0..100, b"v"));
    let mut batch = Batch::new();
    batch.put_columns("k", &[(b"column 000", b"batch"), (b"new", b"batch")]).put("other", "value");
    store.apply(&batch).unwrap();
    let (found, in_row) = read(&session, b"k").unwrap();
    assert_eq!((found.len(), &found[&name(0)][..], in_row), (101, &b"batch"[..], false));
    let mut batch = Batch::new();
    batch.put_columns("k", &[(&vec![b'x'; MEMBER_BYTES_MAX + 1], b"")]).put("other", "not this");
    assert!(matches!(store.apply(&batch), Err(Error::ColumnNameTooLong { .. })));
    assert_eq!(store.get(b"other").unwrap().unwrap(), b"value", "all or nothing");
    // A key that is removed, replaced or expired has no spread columns left.
    let mut batch = Batch::new();
    batch.remove("k").put_columns("k", &[(b"a", b"1")]);
    store.apply(&batch).unwrap();
    assert_eq!(read(&session, b"k").unwrap().0.len(), 1);
    put(&mut session, b"k", &columns(0..100, b"v"));
    write(&mut session, |writer| writer.put(b"k", b"value"));
    assert_eq!(store.get(b"k").unwrap().unwrap(), b"value");
    write(&mut session, |writer| {
        writer.update::<Error>(b"k", |_, _| Ok(RowChange::Remove))?;
        writer.expire(b"k", Some(1))
    });
    put(&mut session, b"k", &columns(0..100, b"v"));
    write(&mut session, |writer| writer.expire(b"k", Some(1)));
    assert_eq!(read(&session, b"k"), None);
    assert_eq!(put(&mut session, b"k", &columns(50..150, b"w")), 100);
    assert_eq!(read(&session, b"k"), Some((columns(50..150, b"w"), false)));
    let wrong = session.write(|writer| writer.change_set::<_, Error>(b"k", true, |set| set.put(b"a", 1.0)));
    assert!(matches!(wrong.unwrap().0, Err(Error::WrongKind { found: "columns", .. })));
}

#[test]
fn limits_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = session(&store);
    let long = vec![b'x'; MEMBER_BYTES_MAX + 1];
    // A row with a name that is too long is not spread.
    put(&mut session, b"row", &ColumnMap::from([(long.clone(), b"1".to_vec())]));
    put(&mut session, b"row", &columns(0..100, b"v"));
    assert_eq!(read(&session, b"row").map(|(columns, in_row)| (columns.len(), in_row)), Some((101, true)));
    remove(&mut session, b"row", std::slice::from_ref(&long));
    assert_eq!(read(&session, b"row"), Some((columns(0..100, b"v"), false)));
    // A spread hash rejects it, with all other columns of the write.
    let refused = session.write(|writer| writer.put_columns(b"row", &[(b"new", b"1"), (&long, b"1")]));
    assert_eq!(
        refused.unwrap().0.unwrap_err().to_string(),
        "a column's name of 65528 bytes is longer than the limit of 65527 bytes where a key has more than 64 columns; \
         shorten it or hash its tail"
    );
    assert_eq!(read(&session, b"row"), Some((columns(0..100, b"v"), false)));
    assert_eq!(put(&mut session, b"row", &ColumnMap::from([(long[1..].to_vec(), b"1".to_vec())])), 1);
}

#[test]
fn a_full_store_accepts_writes_that_do_not_add() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { memory_bytes: Some(64 << 20), ..StoreLimits::default() };
    let store = Store::open(folder.path(), StoreOptions { limits, ..options(Durability::Buffered) }).unwrap();
    let mut session = session(&store);
    put(&mut session, b"spread", &columns(0..100, b"value"));
    let mut plain = store.session();
    put(&mut plain, b"row", &columns(0..100, b"value"));
    let filler = vec![0; 1 << 20];
    let refused = (0..200u32).find_map(|number| {
        session.write(|writer| writer.put(&number.to_be_bytes(), &filler)).unwrap().0.err()
    });
    assert!(matches!(refused, Some(Error::OverBudget { .. })), "{refused:?}");
    let mut put_one = |name: &[u8], value: &[u8]| {
        session
            .write(|writer| writer.put_columns(b"spread", &[(b"column 001", b"v"), (name, value)]))
            .unwrap()
            .0
    };
    assert!(matches!(put_one(b"new", b""), Err(Error::OverBudget { .. })));
    assert!(matches!(put_one(b"column 000", b"longer"), Err(Error::OverBudget { .. })));
    assert_eq!(read(&plain, b"spread"), Some((columns(0..100, b"value"), false)), "all or nothing");
    assert_eq!(put_one(b"column 000", b"short").unwrap(), 0);
    assert_eq!(remove(&mut session, b"spread", &[name(99)]), 1);
    // With memory used up, no row is spread.
    assert_eq!(remove(&mut session, b"row", &[name(99)]), 1);
    assert_eq!(read(&session, b"row"), Some((columns(0..99, b"value"), true)));
}

/// Applies random changes to some keys, and the same to a model. Columns are added and removed, so
/// that keys cross the limit in both directions.
fn churn(
    session: &mut Session,
    random: &mut StoreTestRng,
    model: &mut BTreeMap<Vec<u8>, ColumnMap>,
    steps: u32,
) {
    for _ in 0..steps {
        let key = vec![b'k', random.below(3) as u8];
        let first = random.below(150);
        let some = columns(first..first + random.below(60) + 1, &[b'v'; 12][..random.below(12) as usize]);
        let held = model.entry(key.clone()).or_default();
        match random.below(40) {
            0 => {
                write(session, |writer| writer.remove(&key));
                held.clear();
            }
            1 => {
                write(session, |writer| writer.put(&key, b"value"));
                write(session, |writer| writer.remove(&key));
                held.clear();
            }
            2..=16 => {
                let names: Vec<Vec<u8>> = some.keys().cloned().collect();
                let gone = names.iter().filter(|name| held.remove(*name).is_some()).count();
                assert_eq!(remove(session, &key, &names), gone);
            }
            17..=20 => {
                let present = held.get(&name(first)).map(Vec::len);
                write(session, |writer| {
                    writer.update_column::<Error>(&key, &name(first), |value| {
                        assert_eq!(value.map(<[u8]>::len), present);
                        Ok(Some(b"updated".to_vec()))
                    })
                });
                held.insert(name(first), b"updated".to_vec());
            }
            21 => drop(write(session, |writer| writer.expire(&key, Some(1 << 50)))),
            _ => {
                let new = some.keys().filter(|name| !held.contains_key(*name)).count();
                assert_eq!(put(session, &key, &some), new);
                held.extend(some);
            }
        }
        model.retain(|_, held| !held.is_empty());
    }
}

fn same(session: &Session, model: &BTreeMap<Vec<u8>, ColumnMap>) {
    for key in 0..3 {
        let key = vec![b'k', key];
        assert_eq!(read(session, &key).map(|(columns, _)| columns).as_ref(), model.get(&key));
    }
}

#[test]
fn columns_survive_a_restart() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let (mut random, mut model) = (StoreTestRng(11), BTreeMap::new());
        for round in 0..6 {
            let store = open(folder.path(), durability);
            // In every third run the session does not spread.
            let mut session = if round % 3 == 2 { store.session() } else { session(&store) };
            same(&session, &model);
            churn(&mut session, &mut random, &mut model, 200);
            if round % 3 == 1 {
                store.checkpoint().unwrap();
            }
            churn(&mut session, &mut random, &mut model, 100);
            same(&session, &model);
            assert_eq!(store.len(), model.len());
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn spread_columns_are_a_map(seed in 1u64.., rounds in 1u32..4) {
        let folder = tempfile::tempdir().unwrap();
        let (mut random, mut model) = (StoreTestRng(seed), BTreeMap::new());
        for _ in 0..rounds {
            let store = open(folder.path(), Durability::Buffered);
            let mut session = session(&store);
            same(&session, &model);
            churn(&mut session, &mut random, &mut model, 60);
            same(&session, &model);
        }
    }
}

/// Writes columns that all hold one value, concurrently with readers that check this, until `stop`.
fn write_whole(store: &Store, writer: u64, stop: &AtomicBool) {
    let (mut session, mut random) = (session(store), StoreTestRng(writer + 1));
    while !stop.load(Ordering::Relaxed) {
        let key = [b'k', random.below(2) as u8];
        let value = random.below(1 << 40).to_be_bytes();
        match random.below(30) {
            0 => drop(write(&mut session, |writer| writer.remove(&key))),
            1..=4 => _ = remove(&mut session, &key, &[name(100 + random.below(40))]),
            _ => {
                // The first hundred columns are always set together.
                let mut all = columns(0..100, &value);
                all.insert(name(100 + random.below(40)), Vec::new());
                put(&mut session, &key, &all);
            }
        }
    }
}

/// Returns the value of the first hundred columns, if the key has them.
fn whole(columns: &ColumnMap) -> Option<Vec<u8>> {
    let first = columns.get(&name(0))?;
    assert!((0..100).all(|number| columns.get(&name(number)) == Some(first)), "a part of a write");
    Some(first.clone())
}

#[test]
fn readers_see_each_write_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2u64 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || write_whole(store, writer, stop));
        }
        let session = store.session();
        let mut seen = 0;
        while seen < 1_500 {
            let found = read(&session, &[b'k', seen as u8 % 2]);
            seen += usize::from(found.is_some_and(|(columns, _)| whole(&columns).is_some()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    // A restart finds the same contents.
    let before: Vec<_> = (0..2).map(|key| read(&store.session(), &[b'k', key])).collect();
    drop(store);
    let session = open(folder.path(), Durability::Buffered).session();
    let after: Vec<_> = (0..2).map(|key| read(&session, &[b'k', key])).collect();
    assert_eq!(before, after);
}

#[test]
fn a_copy_made_beside_writers_opens_with_whole_writes() {
    let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for durability in [Durability::Buffered, Durability::None] {
        let path = folder.path().join(format!("{durability:?}"));
        let store = open(&path, durability);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| write_whole(&store, 1, &stop));
            for round in 0..6 {
                let to = copied.path().join(format!("{durability:?}{round}"));
                store.flush().unwrap();
                if round % 2 == 0 || durability == Durability::None {
                    store.checkpoint().unwrap();
                }
                copy(&path, &to);
                read_copy(&to, durability);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// At level `none` a checkpoint that is written concurrently with writers has parts of commands,
/// but no damage.
fn read_copy(path: &Path, durability: Durability) {
    let store = open(path, durability);
    for key in 0..2 {
        let found = read(&store.session(), &[b'k', key]);
        if let (Some((columns, _)), Durability::Buffered) = (found, durability) {
            whole(&columns);
        }
    }
}

/// All keys of a store; a value counts as no columns.
type ColumnsByKey = BTreeMap<Vec<u8>, ColumnMap>;

fn state_of(store: &Store) -> ColumnsByKey {
    let mut state = ColumnsByKey::new();
    store.session().scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        let columns = row.read_columns().map(|columns| columns.to_vec()).unwrap_or_default();
        state.insert(key.to_vec(), columns.into_iter().collect());
        ControlFlow::Continue(())
    });
    state
}

/// Rows are spread, changed, replaced and removed, with checkpoints in between. Stops at the first
/// error.
fn workload(store: &Store, history: &mut CutHistory<ColumnsByKey>) -> Result<(), Error> {
    let mut sessions = [session(store), session(store)];
    for step in 0..16u64 {
        let key = [b'k', (step % 2) as u8];
        let some = columns(step * 8..step * 8 + 60, &step.to_be_bytes());
        let some: Vec<(&[u8], &[u8])> = some.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let names: Vec<Vec<u8>> = (0..200).map(name).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let done = sessions[step as usize % 3 % 2].write(|w| match step % 9 {
            7 => w.remove(&key).map(drop),
            5 => w.remove_columns(&key, &names).map(drop),
            6 => w.remove_columns(&key, &names[..60]).map(drop),
            8 => w.put(&key, b"value").and_then(|_| w.remove(&key)).map(drop),
            _ => w.put_columns(&key, &some).map(drop),
        });
        if let Ok((result, _)) = &done {
            result.clone()?;
        }
        // This one consists of two writes.
        if step % 9 == 8 {
            let mut between = history.states[history.states.len() - 1].clone();
            between.insert(key.to_vec(), ColumnMap::new());
            history.states.push(between);
        }
        history.note(store, state_of(store), done.map(|(_, ticket)| ticket))?;
        if step % 6 == 5 {
            store.checkpoint()?;
        }
    }
    Ok(())
}

#[test]
fn power_cuts_leave_commands_whole() {
    cut_everywhere(workload, state_of, |store| {
        let mut session = session(store);
        put(&mut session, b"new", &columns(0..70, b"v"));
        assert_eq!(read(&session, b"new"), Some((columns(0..70, b"v"), false)));
    });
}

/// At level `none` only a checkpoint survives. If members were read before their keys, or
/// concurrently, it could have a key that stands for columns without any of them.
#[test]
fn a_checkpoint_without_a_log_keeps_rows_spread_meanwhile() {
    const KEYS: u32 = 4_000;
    for round in 0..3 {
        let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path(), Durability::None);
        let mut session = session(&store);
        put(&mut session, b"before", &columns(0..70, b"v"));
        for key in 0..KEYS {
            put(&mut session, &key.to_be_bytes(), &columns(0..4, b"v"));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // In the direction opposite to the reader, so that the reader meets keys that were
                // spread while it read.
                for key in (0..KEYS).rev() {
                    put(&mut session, &key.to_be_bytes(), &columns(4..70, b"v"));
                }
            });
            store.checkpoint().unwrap();
        });
        copy(folder.path(), copied.path());
        let found = open(copied.path(), Durability::None);
        assert_eq!(found.len(), KEYS as usize + 1, "round {round}");
        for key in 0..KEYS {
            let (found, in_row) = read(&found.session(), &key.to_be_bytes()).unwrap();
            let expected = columns(0..if in_row { 4 } else { 70 }, b"v");
            assert!(found == expected, "round {round}: {key} has {} columns", found.len());
        }
    }
}
