//! Replaced and removed memory is freed soon, however large it is: it does not wait for more of its
//! kind.

use std::time::{Duration, Instant};

use crate::common::{indexes, options};
use skein_store::{Durability, Error, IndexKind, RowWriter as _, Session, Store, StoreOptions};

/// The memory that a thread may keep before it retires it, and the live rows.
const MOST: usize = 2 << 20;

/// Bytes of the largest values.
const LARGE: usize = 600_000;

/// Returns the bytes of rows, including those that wait to be freed.
fn rows(store: &Store) -> usize {
    let memory = store.stats().memory;
    memory.rows + memory.unreclaimed
}

/// Runs `change` some dozens of times on a thread, and checks the memory after the thread has
/// ended.
fn comes_back(index: IndexKind, change: impl Fn(&mut Session, usize) -> Result<(), Error> + Sync) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions { index, ..options(Durability::None) }).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = store.session();
            session.spread_columns(true);
            (0..60).for_each(|i| change(&mut session, i).unwrap());
        });
    });
    // Background threads of the store may have seen some of it.
    let began = Instant::now();
    while rows(&store) > MOST {
        assert!(began.elapsed() < Duration::from_secs(5), "{index}: {:?}", store.stats());
        std::thread::yield_now();
    }
}

#[test]
fn large_replaced_values_are_freed_without_others() {
    for index in indexes().into_iter().filter(|index| *index != IndexKind::Mlp) {
        comes_back(index, |session, _| {
            session.write(|writer| writer.put(b"key", &vec![7; LARGE]))?.0.map(drop)
        });
    }
    comes_back(IndexKind::default(), |session, i| {
        session
            .write(|writer| {
                writer.put(&[i as u8], &vec![7; LARGE])?;
                writer.remove(&[i as u8])
            })?
            .0
            .map(drop)
    });
    comes_back(IndexKind::default(), |session, _| {
        session.write(|writer| writer.put_columns(b"key", &[(b"column", &vec![7; LARGE])]))?.0.map(drop)
    });
}

#[test]
fn large_members_are_freed_without_others() {
    comes_back(IndexKind::default(), |session, _| {
        let value = vec![7; 20_000];
        let names: Vec<String> = (0..70).map(|i| format!("column{i}")).collect();
        let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &value[..])).collect();
        session.write(|writer| writer.put_columns(b"key", &columns))?.0.map(drop)
    });
}

#[test]
fn a_long_write_frees_removed_rows_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), options(Durability::None)).unwrap();
    let most = store.session().write(|writer| {
        let mut most = 0;
        for i in 0..60_u8 {
            writer.put(&[i], &vec![7; LARGE]).unwrap();
            writer.remove(&[i]).unwrap();
            most = most.max(rows(&store));
        }
        most
    });
    assert!(most.unwrap().0 < 2 * MOST, "{:?}", store.stats());
}
