//! Copies of a running store's files that share files with earlier copies.

mod faults;

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use skein_log::storage::{OsStorage, Storage};
use skein_store::{
    Batch, Durability, Error, FileCopyReport, FileCopyTarget, OpenProgress, ScanDirection, Store,
    StoreOptions, inspect, is_data_folder,
};

use crate::common::{LEVELS, StopWritersOnDrop, StoreTestRng, copy as by_hand, files, open, options};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(store: &Store) -> Rows {
    let mut found = Rows::new();
    store.session().scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        found.insert(key.to_vec(), row.value().unwrap_or_default().to_vec());
        ControlFlow::Continue(())
    });
    found
}

fn copy_on(
    store: &Store,
    storage: Arc<dyn Storage>,
    folder: &Path,
    earlier: Option<&Path>,
) -> Result<FileCopyReport, Error> {
    let target = FileCopyTarget { storage, folder, earlier };
    store.copy_files_to(&target, &OpenProgress::default())
}

fn copy(store: &Store, folder: &Path, earlier: Option<&Path>) -> FileCopyReport {
    let report = copy_on(store, Arc::new(OsStorage), folder, earlier).expect("a copy");
    let found = inspect(folder, &OsStorage).expect("a store");
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    let torn = found.logs.map_or(0, |logs| logs.torn_tails.len() + logs.voided_epochs.len());
    assert_eq!(torn, 0, "nothing lies behind the cut");
    report
}

/// Writes random rows in several sessions, with a checkpoint now and then, and returns the
/// contents.
fn write_some(store: &Store, rng: &mut StoreTestRng, model: &mut Rows) {
    let mut sessions: Vec<_> = (0..3).map(|_| store.session()).collect();
    for _ in 0..400 {
        let key = (rng.below(500) as u32).to_be_bytes().to_vec();
        let value = vec![rng.next() as u8; rng.below(600) as usize];
        let session = rng.below(3) as usize;
        if rng.below(4) == 0 {
            model.remove(&key);
            sessions[session].write(|writer| writer.remove(&key).map(drop)).unwrap().0.unwrap();
        } else {
            sessions[session].write(|writer| writer.put(&key, &value).map(drop)).unwrap().0.unwrap();
            model.insert(key, value);
        }
    }
    if rng.below(3) == 0 {
        store.checkpoint().unwrap();
    }
}

/// All copies are opened after the last one was made, are changed, and do not change each other.
#[test]
fn a_chain_of_copies_has_each_moment_and_shares_nothing_that_changes() {
    for (seed, durability) in (1..).zip(LEVELS) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (mut rng, mut model, mut moments) = (StoreTestRng(seed * 77), Rows::new(), Vec::new());
        let mut store = open(&at("store"), durability);
        let mut shared = 0;
        for number in 0..10 {
            write_some(&store, &mut rng, &mut model);
            if number == 6 {
                store.close().unwrap();
                store = open(&at("store"), durability);
            }
            let earlier = (number > 0).then(|| at(&format!("copy-{}", number - 1)));
            let report = copy(&store, &at(&format!("copy-{number}")), earlier.as_deref());
            shared += report.shared_bytes;
            moments.push(model.clone());
        }
        if durability != Durability::None {
            assert!(shared > 0, "{durability:?}");
        }
        drop(store);
        let mut order: Vec<usize> = (0..10).collect();
        for place in (1..10).rev() {
            order.swap(place, rng.below(place as u64 + 1) as usize);
        }
        // Twice: an opening, its writes and its checkpoint change no other copy.
        let mut added = Rows::new();
        for round in 0..2 {
            for number in &order {
                let path = at(&format!("copy-{number}"));
                assert!(inspect(&path, &OsStorage).unwrap().damage.is_empty(), "{number}");
                let copied = open(&path, durability);
                let expected: Rows = moments[*number].clone().into_iter().chain(added.clone()).collect();
                assert!(rows(&copied) == expected, "{durability:?}, copy {number}, round {round}");
                for turn in 0..50_u32 {
                    copied.put(&[b"new ", &turn.to_be_bytes()[..]].concat(), &[*number as u8; 900]).unwrap();
                }
                if *number % 2 == 0 {
                    copied.checkpoint().unwrap();
                }
                for turn in 0..50_u32 {
                    copied.put(&[b"new ", &turn.to_be_bytes()[..]].concat(), b"same").unwrap();
                }
                copied.close().unwrap();
            }
            added = (0..50_u32)
                .map(|turn| ([b"new ", &turn.to_be_bytes()[..]].concat(), b"same".to_vec()))
                .collect();
        }
    }
}

#[test]
fn only_what_was_written_since_is_copied() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let folder = tempfile::tempdir().unwrap();
        let [store, first, second, third] = ["store", "1", "2", "3"].map(|name| folder.path().join(name));
        let store = open(&store, durability);
        for number in 0..2000_u32 {
            store.put(&number.to_be_bytes(), &[7; 500]).unwrap();
        }
        store.checkpoint().unwrap();
        for number in 0..1000_u32 {
            store.put(&number.to_be_bytes(), &[8; 500]).unwrap();
        }
        let whole = copy(&store, &first, None);
        assert_eq!(whole.shared_bytes, 0);
        store.put(b"more", b"rows").unwrap();
        let more = copy(&store, &second, Some(&first));
        assert!(more.shared_bytes > whole.copied_bytes / 2, "{more:?} after {whole:?}");
        // The last segment of each of two logs has up to 64 KiB.
        assert!(more.copied_bytes <= 2 * (64 << 10) + 4096, "{more:?}");
        std::fs::remove_dir_all(&first).unwrap();
        // A third copy shares the same files with the second as the second shared with the first.
        let rest = copy(&store, &third, Some(&second));
        assert_eq!(rest.shared_bytes, more.shared_bytes);
        assert_eq!(rows(&open(&third, durability)), rows(&open(&second, durability)));
    }
}

/// An opened copy has segments and checkpoints of its own, with numbers that the store uses too.
#[test]
fn files_of_the_same_name_and_other_contents_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let [path, first, second] = ["store", "1", "2"].map(|name| folder.path().join(name));
    let store = open(&path, Durability::Sync);
    let fill = |store: &Store, byte: u8| {
        for number in 0..600_u32 {
            store.put(&number.to_be_bytes(), &[byte; 500]).unwrap();
        }
    };
    fill(&store, 1);
    copy(&store, &first, None);
    for (copied, byte) in [(open(&first, Durability::Sync), 2), (store.clone(), 3)] {
        fill(&copied, byte);
        copied.checkpoint().unwrap();
        fill(&copied, byte + 10);
    }
    let of_first = rows(&open(&first, Durability::Sync));
    copy(&store, &second, Some(&first));
    assert!(rows(&open(&second, Durability::Sync)) == rows(&store));
    assert!(rows(&open(&first, Durability::Sync)) == of_first);
}

/// The earlier folder is a database that was copied by hand, and a mark of its end is missing. So
/// its opening cuts a segment that the store has too, and wholly. The copy must not share this
/// segment.
#[test]
fn a_segment_that_the_earlier_folder_may_cut_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let [path, earlier, to] = ["store", "earlier", "copy"].map(|name| folder.path().join(name));
    let write = |store: &Store, byte: u8| {
        let mut sessions = [store.session(), store.session()];
        for number in 0..20_u32 {
            let session = &mut sessions[number as usize % 2];
            let put = session.write(|writer| writer.put(&number.to_be_bytes(), &[byte; 100]).map(drop));
            put.unwrap().0.unwrap();
        }
        store.flush().unwrap();
    };
    let store = open(&path, Durability::Sync);
    write(&store, 1);
    store.close().unwrap();
    by_hand(&path, &earlier);
    // The last record is the mark of the clean close, with two participants.
    let segment = earlier.join("log/log-0001-00000001.skl");
    let file = std::fs::File::options().write(true).open(&segment).unwrap();
    let cut_off = file.metadata().unwrap().len() - 104;
    file.set_len(cut_off).unwrap();

    let store = open(&path, Durability::Sync);
    write(&store, 2);
    copy(&store, &to, Some(&earlier));
    let other = earlier.join("log/log-0000-00000001.skl");
    let before = std::fs::metadata(&other).unwrap().len();
    open(&earlier, Durability::Sync).close().unwrap();
    let after = std::fs::metadata(&other).unwrap().len();
    assert_eq!(after, before - 104, "the opening has cut the other log, too");
    assert!(inspect(&to, &OsStorage).unwrap().damage.is_empty());
    assert!(rows(&open(&to, Durability::Sync)) == rows(&store));
}

#[test]
fn logs_in_several_folders_are_copied_into_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let log_folders = ["disk 1", "disk 2", "disk 3"].map(at).to_vec();
    let options = StoreOptions { logs: 5, log_folders, ..options(Durability::Buffered) };
    let store = Store::open(at("store"), options.clone()).unwrap();
    let (mut rng, mut model) = (StoreTestRng(5), Rows::new());
    let mut earlier = None;
    for number in 0..4 {
        write_some(&store, &mut rng, &mut model);
        let to = at(&format!("copy {number}"));
        copy(&store, &to, earlier.as_deref());
        earlier = Some(to);
    }
    store.close().unwrap();
    for name in ["disk 1", "disk 2", "disk 3", "store"] {
        std::fs::remove_dir_all(at(name)).unwrap();
    }
    assert!(rows(&open(&at("copy 3"), Durability::Buffered)) == model);
    // Fewer logs than before, and logs of earlier runs, are copied too.
    let store = Store::open(at("copy 3"), StoreOptions { logs: 1, ..options }).unwrap();
    store.put(b"more", b"rows").unwrap();
    copy(&store, &at("last"), Some(&at("copy 2")));
    assert!(rows(&open(&at("last"), Durability::Buffered)) == rows(&store));
}

/// Each batch writes the same number to the first and to the last key, through several logs.
#[test]
fn copies_beside_writers_have_whole_batches_and_all_acknowledged_writes() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("store"), durability);
        let (first, last, stop) = (&b"\0"[..], &b"\xff"[..], AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _stop = StopWritersOnDrop(&stop);
            for writer in 0..3_u8 {
                let (store, stop) = (&store, &stop);
                scope.spawn(move || {
                    for number in (0_u32..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                        let mut batch = Batch::new();
                        for key in [first, last] {
                            batch.put(
                                [key, &[writer]].concat(),
                                [&number.to_le_bytes()[..], &[7; 300]].concat(),
                            );
                        }
                        store.apply(&batch).unwrap();
                        std::thread::sleep(Duration::from_micros(100));
                    }
                });
            }
            let mut earlier = None;
            for number in 0..6_u8 {
                store.put(b"acked", &[number]).unwrap();
                let to = folder.path().join(format!("copy {number}"));
                copy(&store, &to, earlier.as_deref());
                if number % 2 == 0 {
                    store.checkpoint().unwrap();
                }
                earlier = Some(to);
            }
        });
        for number in 0..6_u8 {
            let copied = open(&folder.path().join(format!("copy {number}")), durability);
            assert_eq!(copied.get(b"acked").unwrap().as_deref(), Some(&[number][..]), "{durability:?}");
            for writer in 0..3_u8 {
                let [a, b] = [first, last].map(|key| copied.get(&[key, &[writer]].concat()).unwrap());
                assert!(a == b, "{durability:?}, copy {number}: half of a batch");
            }
        }
    }
}

/// Checkpoints continue while files are copied, and remove no file of the copy before its end.
#[test]
fn checkpoints_during_a_copy_leave_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"), Durability::Buffered);
    for number in 0..3000_u32 {
        store.put(&number.to_be_bytes(), &[7; 500]).unwrap();
        if number == 1000 {
            store.checkpoint().unwrap();
        }
    }
    let before = rows(&store);
    let manifests = {
        let path = folder.path().join("store");
        move || files(&path).into_keys().filter(|path| path.ends_with("manifest")).count()
    };
    let (writer, checkpoints) = (store.clone(), Arc::new(AtomicBool::new(false)));
    let (seen, present) = (checkpoints.clone(), manifests.clone());
    let progress = OpenProgress::watched(move |_| {
        if !checkpoints.swap(true, Ordering::Relaxed) {
            for _ in 0..3 {
                writer.put(b"during", b"1").unwrap();
                writer.checkpoint().unwrap();
                assert_eq!(present(), 2, "that of the copy, and the newest");
            }
        }
    });
    let to = folder.path().join("copy");
    let target = FileCopyTarget { storage: Arc::new(OsStorage), folder: &to, earlier: None };
    store.copy_files_to(&target, &progress).unwrap();
    assert!(seen.load(Ordering::Relaxed));
    assert!(rows(&open(&to, Durability::Buffered)) == before);
    // The end of the copy has removed the files that the checkpoint left.
    assert_eq!(manifests(), 1);
    assert!(store.stats().log_segments <= 2, "{:?}", store.stats());
}

/// A store that is closed during its copy may be opened by others, so the copy is given up.
#[test]
fn a_copy_ends_with_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"), Durability::Buffered);
    store.put(b"goose", &[7; 5000]).unwrap();
    let closes = store.clone();
    let progress = OpenProgress::watched(move |_| _ = closes.close());
    let to = folder.path().join("copy");
    let target = FileCopyTarget { storage: Arc::new(OsStorage), folder: &to, earlier: None };
    assert!(matches!(store.copy_files_to(&target, &progress), Err(Error::Closed)));
    assert!(!is_data_folder(&to));
    let again = folder.path().join("again");
    assert!(matches!(copy_on(&store, Arc::new(OsStorage), &again, None), Err(Error::Closed)));
}

#[test]
fn other_folders_share_nothing_and_full_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (store, other) = (open(&at("store"), Durability::Sync), open(&at("other"), Durability::Sync));
    for store in [&store, &other] {
        store.put(b"goose", b"grey").unwrap();
        store.checkpoint().unwrap();
    }
    copy(&other, &at("of other"), None);
    assert_eq!(copy(&store, &at("1"), Some(&at("of other"))).shared_bytes, 0);
    // An earlier copy may be removed while it is read.
    assert_eq!(copy(&store, &at("2"), Some(folder.path())).shared_bytes, 0);
    let full = copy_on(&store, Arc::new(OsStorage), &at("1"), None).unwrap_err();
    assert!(full.to_string().contains("exist"), "{full}");
}
