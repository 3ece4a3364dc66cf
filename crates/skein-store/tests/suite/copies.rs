//! Copies of a running store: all contents of one moment, and a store like any other.

use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{StopWritersOnDrop, each_index, over};
use skein_store::{
    Batch, CollectionKind, CollectionReads as _, Durability, Error, OpenProgress, RowWriter as _,
    ScanDirection, Store, is_data_folder,
};

/// A key with its version, time of expiry and contents; the members of a set are its contents.
type KeyState = (Vec<u8>, u64, Option<u64>, Vec<u8>);

fn state(store: &Store) -> Vec<KeyState> {
    let mut found = Vec::new();
    store.session().scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        let mut contents = row.value().map_or_else(Vec::new, <[u8]>::to_vec);
        contents.extend(row.columns().flat_map(|(name, value)| [name, value].concat()));
        if let Some(set) = row.set_of(CollectionKind::SortedSet) {
            set.read().members_after(None, |member, score| {
                contents.extend([member, &score.to_le_bytes()].concat());
                ControlFlow::Continue(())
            });
        }
        found.push((key.to_vec(), row.version(), row.expires_at(), contents));
        ControlFlow::Continue(())
    });
    found
}

fn version(store: &Store, key: &[u8]) -> Option<u64> {
    store.session().get_with(key, |row| row.map(skein_store::RowRef::version))
}

fn fill(store: &Store) {
    let later = store.options().clock.now() + 3_600_000;
    let mut session = store.session();
    session.spread_columns(true);
    let names: Vec<[u8; 4]> = (0..200_u32).map(u32::to_be_bytes).collect();
    let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &b"value"[..])).collect();
    let written = session.write(|writer| {
        for number in 0..30_000_u32 {
            writer.put(&number.to_be_bytes(), &number.to_le_bytes())?;
        }
        for number in (0..30_000_u32).step_by(3) {
            writer.remove(&number.to_be_bytes())?;
        }
        writer.put_until(b"expires", b"later", later)?;
        writer.put_columns(b"few", &columns[..3])?;
        writer.put_columns(b"many", &columns)?;
        writer.change_set::<_, Error>(b"set", true, |set| {
            names.iter().try_for_each(|name| set.put(name, 0.5).map(drop))
        })
    });
    written.unwrap().0.unwrap();
}

#[test]
fn a_copy_has_all_contents_and_goes_on() {
    each_index(|folder, index| {
        let (path, copy) = (folder.join("store"), folder.join("copy"));
        let store = Store::open(path, over(index, Durability::Buffered)).unwrap();
        fill(&store);
        let removed = 3_u32.to_be_bytes();
        store.put(&removed, b"again").unwrap();
        let before = version(&store, &removed);
        store.remove(&removed).unwrap();
        let progress = OpenProgress::default();
        let report = store.copy_to(&copy, &progress).unwrap();
        let seen = progress.seen();
        assert_eq!((seen.records, seen.bytes), (report.rows, report.bytes), "{index}");
        assert!(store.copy_to(&copy, &progress).unwrap_err().to_string().contains("has contents"));

        let copied = Store::open(&copy, over(index, Durability::Buffered)).unwrap();
        assert_eq!(state(&copied), state(&store), "{index}");
        // No version is used twice for a key, also of keys that were removed before the copy.
        copied.put(&removed, b"again").unwrap();
        let (removal, after) = (before.map(|before| before + 1), version(&copied, &removed));
        assert!(after > removal, "{index}: {after:?} is not after {removal:?}");
        copied.put(b"more", b"rows").unwrap();
        let all = state(&copied);
        copied.close().unwrap();
        let again = Store::open(&copy, over(index, Durability::Sync)).unwrap();
        assert_eq!(state(&again), all, "{index}");
    });
}

/// Each batch writes the same number to the first and to the last key.
#[test]
fn a_copy_beside_writers_is_of_one_moment() {
    each_index(|folder, index| {
        let store = Store::open(folder.join("store"), over(index, Durability::Buffered)).unwrap();
        fill(&store);
        let (first, last, stop) = (&b"\0"[..], &b"\xff"[..], AtomicBool::new(false));
        let numbers = |store: &Store| [first, last].map(|key| store.get(key).unwrap());
        let write = |number: u32| {
            let mut batch = Batch::new();
            batch.put(first, number.to_le_bytes()).put(last, number.to_le_bytes());
            store.apply(&batch).map(drop)
        };
        write(0).unwrap();
        std::thread::scope(|scope| {
            let _stop = StopWritersOnDrop(&stop);
            scope.spawn(|| (1..).take_while(|_| !stop.load(Ordering::Relaxed)).try_for_each(write).unwrap());
            for number in 0..3 {
                let copy = folder.join(format!("copy-{number}"));
                store.copy_to(&copy, &OpenProgress::default()).unwrap();
                let [first, last] = numbers(&Store::open(&copy, over(index, Durability::Buffered)).unwrap());
                assert!(first.is_some() && first == last, "{index}: {first:?} and {last:?}");
            }
        });
    });
}

#[test]
fn a_cancelled_copy_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Store::open(folder.path().join("store"), over(crate::common::index(), Durability::None)).unwrap();
    fill(&store);
    let copy = folder.path().join("copy");
    let cancelled = store.copy_to(&copy, &OpenProgress::watched(OpenProgress::cancel));
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    assert!(!is_data_folder(&copy));
}
