//! Power cuts and failing disks, on a simulated file system: at every operation of a small workload
//! with checkpoints, and again during the recovery from it.

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::path::Path;

use crate::common::options;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::{
    Batch, Durability, Error, RowRef, RowWriter as _, ScanDirection, Session, Store, StoreOptions, Ticket,
};

const FOLDER: &str = "/data";

fn sim_options(disk: &SimStorage, durability: Durability) -> StoreOptions {
    StoreOptions { storage: disk.share(), ..options(durability) }
}

fn open(disk: &SimStorage, durability: Durability) -> Result<Store, Error> {
    Store::open(FOLDER, sim_options(disk, durability))
}

/// The value of each key, with its version and its time of expiry.
type VersionedRows = BTreeMap<Vec<u8>, (u64, Vec<u8>, Option<u64>)>;

fn state_of(store: &Store) -> VersionedRows {
    let entries = store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
    let flat = |entry: skein_store::KeyEntry| {
        let columns = entry.columns.into_iter().flat_map(|(name, value)| [name, value]);
        let contents = entry.value.unwrap_or_else(|| columns.flatten().collect());
        (entry.key, (entry.version, contents, entry.expires_at))
    };
    entries.into_iter().map(flat).collect()
}

/// The history of a run of the workload: the contents after each step, and how many steps were
/// acknowledged.
#[derive(Default)]
struct PowerHistory {
    states: Vec<VersionedRows>,
    acknowledged: usize,
    /// The greatest version of each key that was seen, acknowledged or not.
    versions: BTreeMap<Vec<u8>, u64>,
}

impl PowerHistory {
    fn note(&mut self, store: &Store) {
        let state = state_of(store);
        for (key, (version, ..)) in &state {
            let last = self.versions.entry(key.clone()).or_default();
            *last = (*last).max(*version);
        }
        self.states.push(state);
    }
}

/// Writes an open batch with more writes than one entry into the epoch allows; they depend on its
/// reads.
fn in_an_open_batch(session: &mut Session, key: &[u8]) -> Result<(Result<(), Error>, Ticket), Error> {
    let mut batch = session.open_batch()?;
    let before = batch.writer().increment(b"in batch", 0)?;
    for _ in 0..300 {
        batch.writer().increment(b"in batch", 1)?;
    }
    let so_far = batch.get_with(b"in batch", |row| row.and_then(RowRef::value).map(<[u8]>::to_vec));
    assert_eq!(so_far, Some((before + 300).to_string().into_bytes()), "an open batch reads its own writes");
    batch.writer().remove(key)?;
    batch.put_all(&[(b"s1", &so_far.unwrap()), (b"s2", key)])?;
    batch.commit().map(|ticket| (Ok(()), ticket))
}

/// The writes of one thread, through both logs in rotation, with checkpoints in between. Stops at
/// the first error.
fn workload(store: &Store, history: &mut PowerHistory) -> Result<(), Error> {
    history.note(store);
    let mut sessions = [store.session(), store.session()];
    for step in 0..24u32 {
        let key = [b'k', (step % 5) as u8];
        let value = vec![step as u8; 20];
        let session = &mut sessions[step as usize % 2];
        let done = match step % 8 {
            0 => in_an_open_batch(session, &key),
            // Times of expiry: one in the future, and a past one. The key with the past one is in
            // no state.
            1 => session.write(|w| w.put_until(&key, &value, if step < 12 { u64::MAX } else { 1 }).map(drop)),
            2 => session.write(|w| w.expire(b"columns", Some(u64::MAX - u64::from(step))).map(drop)),
            3 => session.write(|w| w.remove(&key).map(drop)),
            5 => session.write(|w| w.put_columns(b"columns", &[(&key, &value), (b"last", &value)]).map(drop)),
            6 => {
                let mut batch = Batch::new();
                batch
                    .put("b1", &value[..])
                    .put("b2", &value[..])
                    .put_columns("columns", &[(b"in batch", &value)]);
                session.apply(&batch).map(|ticket| (Ok(()), ticket))
            }
            7 => session.write(|w| w.increment(b"n", 1).map(drop)),
            _ => session.write(|w| w.put(&key, &value).map(drop)),
        };
        // A failed write may have changed memory. That state is not noted: no crash may leave it
        // whole, although parts of it may be in the log.
        if let Ok((result, _)) = &done {
            result.clone()?;
        }
        history.note(store);
        let (_, ticket) = done?;
        if store.durability() == Durability::Sync {
            store.wait_durable(ticket)?;
            history.acknowledged = history.states.len();
        } else if step % 9 == 4 {
            store.flush()?;
            history.acknowledged = history.states.len();
        }
        if step % 10 == 9 {
            store.checkpoint()?;
            history.acknowledged = history.states.len();
        }
    }
    Ok(())
}

/// After a cut, the contents must be one of the states of the history, and not older than the last
/// acknowledged one.
fn check(after: &Store, history: &PowerHistory, context: &str) {
    let found = state_of(after);
    let Some(at) = history.states.iter().rposition(|state| *state == found) else {
        panic!("{context}: a state that never was: {found:?}")
    };
    assert!(
        at + 1 >= history.acknowledged,
        "{context}: state {at} of {}, {} acknowledged",
        history.states.len(),
        history.acknowledged
    );
}

/// Runs the workload several times, each time with its own log folders; an empty list means those
/// of the last run. Stops at the first error.
fn workloads(
    disk: &SimStorage,
    durability: Durability,
    runs: &[&[&str]],
    history: &mut PowerHistory,
) -> Result<(), Error> {
    for folders in runs {
        let log_folders = folders.iter().map(Into::into).collect();
        let store = Store::open(FOLDER, StoreOptions { log_folders, ..sim_options(disk, durability) })?;
        let ran = workload(&store, history);
        store.close()?;
        ran?;
        history.acknowledged = history.states.len();
    }
    Ok(())
}

/// Cuts the power at every operation and recovers. For some cuts, cuts the power again during the
/// recovery.
fn cut_everywhere(durability: Durability, runs: &[&[&str]], stride: usize) {
    let disk = SimStorage::new();
    workloads(&disk, durability, runs, &mut PowerHistory::default()).unwrap();
    let total = disk.operations();
    let mut cuts = 0;
    // Each round makes other random choices of the bytes that survive a cut.
    for (round, at) in
        (0..2).flat_map(|round| (1..=total + 1).step_by(stride).map(move |at| (round, at + round)))
    {
        let disk = SimStorage::new();
        disk.cut_power_at(at);
        let mut history = PowerHistory::default();
        let _ = workloads(&disk, durability, runs, &mut history);
        history.states.push(VersionedRows::new()); // nothing at all, if nothing was acknowledged
        history.states.rotate_right(1);
        history.acknowledged += usize::from(history.acknowledged > 0);
        cuts += 1;
        disk.reboot(at * 31 + round);
        // A second cut during the recovery, at varying operations, and then a third recovery
        // without a cut.
        if at % 3 == 0 {
            disk.cut_power_at(disk.operations() + 1 + at / 3 % 60);
            let _ = open(&disk, durability);
            disk.reboot(at * 17 + 3);
        }
        let after = open(&disk, durability).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        check(&after, &history, &format!("{durability:?}, cut at {at} of {total}"));
        // The store accepts writes, and they are durable.
        after.put(b"after", b"1").unwrap();
        after.flush().unwrap();
        let expected = state_of(&after);
        drop(after);
        disk.reboot(at);
        assert_eq!(state_of(&open(&disk, durability).unwrap()), expected, "cut at {at}, second run");
    }
    assert!(cuts > 100, "the workload has {cuts} operations only");
}

#[test]
fn power_cuts_at_sync_lose_nothing_that_was_acknowledged() {
    cut_everywhere(Durability::Sync, &[&[]], 1);
}

#[test]
fn power_cuts_at_buffered_leave_a_prefix() {
    cut_everywhere(Durability::Buffered, &[&[]], 1);
}

/// Log folders are made, added, omitted and removed, with cuts at any operation. A later opening
/// without log folder options finds all of them.
#[test]
fn power_cuts_while_log_folders_change() {
    let runs: [&[&str]; 4] = [&[], &["/disk 1", "/disk 2"], &["/disk 2", "/disk 3"], &[]];
    cut_everywhere(Durability::Sync, &runs, 9);
    cut_everywhere(Durability::Buffered, &runs[1..], 9);
}

/// A lost folder is given up, with cuts at any operation. Afterwards it is given up, or can be
/// given up again, and then the contents are those of the checkpoint.
#[test]
fn power_cuts_while_a_log_folder_is_given_up() {
    let prepare = || {
        let disk = SimStorage::new();
        let log_folders = vec!["/disk 1".into(), "/disk 2".into()];
        let store = Store::open(FOLDER, StoreOptions { log_folders, ..sim_options(&disk, Durability::Sync) })
            .unwrap();
        store.put(b"k", b"checkpoint").unwrap();
        store.checkpoint().unwrap();
        let expected = state_of(&store);
        let mut sessions = [store.session(), store.session()];
        for i in 0..20u8 {
            sessions[usize::from(i) % 2].write(|w| w.put(&[i], &[0; 9000])).unwrap().0.unwrap();
        }
        store.flush().unwrap();
        drop(sessions);
        store.close().unwrap();
        let storage: &dyn Storage = &disk;
        for entry in storage.list("/disk 2".as_ref()).unwrap() {
            storage.remove(&Path::new("/disk 2").join(entry.name)).unwrap();
        }
        storage.sync_dir("/disk 2".as_ref()).unwrap();
        (disk, expected)
    };
    let give_up = |disk: &SimStorage| {
        let give_up_log_folders = vec!["/disk 2".into()];
        Store::open(FOLDER, StoreOptions { give_up_log_folders, ..sim_options(disk, Durability::Sync) })
    };
    let (disk, _) = prepare();
    let before = disk.operations();
    drop(give_up(&disk).unwrap());
    let total = disk.operations() - before;
    assert!(total > 40, "{total} operations");
    for at in 1..=total {
        let (disk, expected) = prepare();
        disk.cut_power_at(disk.operations() + at);
        drop(give_up(&disk));
        disk.reboot(at);
        match open(&disk, Durability::Sync) {
            Ok(store) => assert_eq!(state_of(&store), expected, "cut at {at}"),
            Err(error) => {
                assert!(matches!(error, Error::LogFolderMissing { .. }), "cut at {at}: {error}");
                let store = give_up(&disk).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
                assert_eq!(state_of(&store), expected, "cut at {at}, again");
            }
        }
    }
}

#[test]
fn a_failing_disk_stops_writes_and_reads_go_on() {
    let disk = SimStorage::new();
    let store = open(&disk, Durability::Sync).unwrap();
    workload(&store, &mut PowerHistory::default()).unwrap();
    drop(store);
    let total = disk.operations();
    for (error, lasting) in [(SimError::Io, false), (SimError::Io, true), (SimError::NoSpace, true)] {
        for at in 1..=total {
            let disk = SimStorage::new();
            disk.fail_at(at, error, lasting);
            let mut history = PowerHistory::default();
            history.states.push(VersionedRows::new());
            let store = match open(&disk, Durability::Sync) {
                Ok(store) => store,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    continue;
                }
            };
            let failed = workload(&store, &mut history);
            if store.writes_stopped().is_some() {
                let stopped = |result: Result<(), Error>| {
                    matches!(result, Err(Error::WritesStopped { .. } | Error::NoRoomOnDisk { .. }))
                };
                assert!(stopped(store.put(b"k", b"v").map(drop)), "at {at}");
                assert!(stopped(store.flush().map(drop)), "at {at}");
            } else if failed.is_err() && !lasting {
                // A failed checkpoint does not affect writes.
                store.put(b"k", b"v").unwrap_or_else(|error| panic!("at {at}: {error}"));
                history.note(&store);
                history.acknowledged = history.states.len();
            }
            let _ = state_of(&store);
            drop(store);
            disk.no_faults();
            disk.reboot(at);
            let after = open(&disk, Durability::Sync).unwrap_or_else(|error| panic!("at {at}: {error}"));
            check(&after, &history, &format!("{error:?}, lasting {lasting}, at {at} of {total}"));
        }
    }
}

/// After a cut, no version appears again with other contents, except for writes that a `buffered`
/// crash dropped.
#[test]
fn versions_rise_over_power_cuts_at_sync() {
    let disk = SimStorage::new();
    let mut last = 0;
    for round in 0..20 {
        let store = open(&disk, Durability::Sync).unwrap();
        let version = store.put(b"k", b"v").unwrap();
        assert!(version > last, "round {round}: {version} after {last}");
        last = version;
        if round % 3 == 1 {
            store.remove(b"k").unwrap();
            last += 1;
        }
        if round % 4 == 2 {
            store.checkpoint().unwrap();
        }
        disk.reboot(round);
    }
}

fn number(store: &Store, key: &[u8]) -> u64 {
    let value = store.get(key).unwrap();
    value.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()))
}

/// Counts on its own key; [`follow`] reads each count.
fn lead(store: &Store) -> Result<(), Error> {
    let mut session = store.session();
    for i in 1..400u64 {
        session.write(|w| w.put(b"leader", &i.to_le_bytes()))?.0?;
        if i % 50 == 0 {
            store.flush()?;
        }
    }
    Ok(())
}

/// Writes the count of the leader that it read, through another log.
fn follow(store: &Store) -> Result<(), Error> {
    let mut session = store.session();
    for i in 1..400u64 {
        let seen = number(store, b"leader");
        session.write(|w| w.put(b"follower", &seen.to_le_bytes()))?.0?;
        if i % 70 == 0 {
            store.flush()?;
        }
    }
    Ok(())
}

/// No gaps: if a thread wrote after it had seen another thread's write, its write never survives
/// without that one.
#[test]
fn a_write_does_not_survive_without_its_causes() {
    for durability in [Durability::Buffered, Durability::Sync] {
        for at in (30..260).step_by(3) {
            let disk = SimStorage::new();
            disk.cut_power_at(at);
            if let Ok(store) = open(&disk, durability) {
                std::thread::scope(|scope| {
                    scope.spawn(|| lead(&store));
                    scope.spawn(|| follow(&store));
                    // A checkpoint in between moves the start of the replay.
                    let _ = store.checkpoint();
                });
            }
            disk.reboot(at);
            let store = open(&disk, durability).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
            let (leader, follower) = (number(&store, b"leader"), number(&store, b"follower"));
            assert!(follower <= leader, "{durability:?}, cut at {at}: {follower} was seen, {leader} is left");
        }
    }
}

/// Moves between two keys, with so many writes in between that the records of a batch reach the log
/// in parts.
fn move_in_batches(store: &Store) -> Result<(), Error> {
    let mut session = store.session();
    for _ in 0..60 {
        let mut batch = session.open_batch()?;
        batch.writer().increment(b"from", -1)?;
        for i in 0..300u32 {
            batch.writer().put(&i.to_be_bytes(), b"in between")?;
        }
        batch.writer().increment(b"to", 1)?;
        batch.commit()?;
    }
    Ok(())
}

/// An open batch is whole or absent, although other threads flush all the time.
#[test]
fn an_open_batch_is_whole_while_others_flush() {
    for durability in [Durability::Buffered, Durability::Sync] {
        for at in (20..400).step_by(5) {
            let disk = SimStorage::new();
            disk.cut_power_at(at);
            if let Ok(store) = open(&disk, durability) {
                let ended = std::sync::atomic::AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let mut session = store.session();
                        while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                            let written = session.write(|w| w.increment(b"other", 1));
                            if written.is_err() || store.flush().is_err() {
                                break;
                            }
                        }
                    });
                    let _ = move_in_batches(&store);
                    ended.store(true, std::sync::atomic::Ordering::Relaxed);
                });
            }
            disk.reboot(at);
            let store = open(&disk, durability).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
            let sum =
                |store: &Store| Ok::<_, Error>(store.increment(b"from", 0)? + store.increment(b"to", 0)?);
            assert_eq!(sum(&store).unwrap(), 0, "{durability:?}, cut at {at}: half of a batch");
        }
    }
}
