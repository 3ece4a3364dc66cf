//! The matrix of failing disks: each fault × each command that touches files × each end of the
//! process, at `buffered` and `sync`, and then a restart.
//!
//! In every cell
//!
//! 1. a write that was acknowledged is there after the restart, and again after a power cut;
//! 2. a write that was refused, or never promised, is there whole or not at all;
//! 3. when the fault ends, writes continue by themselves, unless a sync has failed;
//! 4. an opening that the fault refuses says so, and calls no file damaged.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::options;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::{Durability, Error, FileCopyTarget, OpenProgress, Store, StoreOptions};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskFault {
    FullDisk,
    FullLogDisk,
    NoRoomForSegments,
    NoDescriptors,
    FailedSync,
    SlowDisk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileCommand {
    Nothing,
    Save,
    SaveTwice,
    Bgsave,
    BgsaveTwice,
    SaveThenBgsave,
    Backup,
    BackupThenSave,
    /// FLUSHALL.
    RemoveAll,
    /// FUNCTION LOAD, to the store: one long value.
    LongValue,
    /// The wait of SHUTDOWN and `sync`.
    Flush,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessEnd {
    Stop,
    Kill,
    PowerCut,
    RoomThenStop,
    RoomThenKill,
    RoomThenPowerCut,
}

const COMMANDS: [FileCommand; 11] = [
    FileCommand::Nothing,
    FileCommand::Save,
    FileCommand::SaveTwice,
    FileCommand::Bgsave,
    FileCommand::BgsaveTwice,
    FileCommand::SaveThenBgsave,
    FileCommand::Backup,
    FileCommand::BackupThenSave,
    FileCommand::RemoveAll,
    FileCommand::LongValue,
    FileCommand::Flush,
];
const ENDS: [ProcessEnd; 6] = [
    ProcessEnd::Stop,
    ProcessEnd::Kill,
    ProcessEnd::PowerCut,
    ProcessEnd::RoomThenStop,
    ProcessEnd::RoomThenKill,
    ProcessEnd::RoomThenPowerCut,
];

/// The bytes of the whole disk, or of that of the logs: some segments of 64 KiB.
const DISK_BYTES: u64 = 500 << 10;
/// Keys are overwritten, so that a checkpoint is smaller than the logs.
const KEYS: u32 = 20;
const VALUE_BYTES: usize = 3_000;
/// Writes before the fault, if the fault does not stop them.
const WRITES: u32 = 40;
/// A store that does not continue after this time never will.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy)]
struct Cell {
    fault: DiskFault,
    durability: Durability,
    command: FileCommand,
    end: ProcessEnd,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, durability, command, end } = self;
        write!(f, "{fault:?} × {command:?} × {end:?} at {durability:?}")
    }
}

/// A value that a key may have; `None` is an absent key.
#[derive(Clone)]
struct AllowedValue {
    value: Option<Vec<u8>>,
    /// The write returned `Ok`. Otherwise it may have been done.
    done: bool,
}

/// The values that each key may have: the last one that is promised, then those written since.
type AllowedValues = BTreeMap<Vec<u8>, Vec<AllowedValue>>;

/// Removes the values before the last write that was done: that write is promised.
fn promise(values: &mut Vec<AllowedValue>) {
    if let Some(last) = values.iter().rposition(|value| value.done) {
        values.drain(..last);
    }
}

/// A run of one cell.
struct CellRun {
    cell: Cell,
    disk: SimStorage,
    allowed: AllowedValues,
    writes: u32,
}

impl CellRun {
    fn new(cell: Cell) -> Self {
        Self { cell, disk: SimStorage::new(), allowed: BTreeMap::new(), writes: 0 }
    }

    /// The logs have a disk of their own; the backups, too.
    fn try_open(&self) -> Result<Store, Error> {
        let options = StoreOptions {
            storage: self.disk.share(),
            log_folders: vec!["/store/logs".into()],
            ..options(self.cell.durability)
        };
        Store::open("/store/data", options)
    }

    fn open(&self) -> Store {
        self.try_open().unwrap_or_else(|error| panic!("{}: {error}", self.cell))
    }

    /// Puts a value. Returns whether the write was done.
    fn put(&mut self, store: &Store, key: &[u8], bytes: usize) -> Result<(), Error> {
        self.writes += 1;
        let mut value = vec![(self.writes % 251) as u8; bytes];
        value[..4].copy_from_slice(&self.writes.to_be_bytes());
        let absent = || vec![AllowedValue { value: None, done: true }];
        let values = self.allowed.entry(key.to_vec()).or_insert_with(absent);
        let written = store.put(key, &value).map(drop);
        values.push(AllowedValue { value: Some(value), done: written.is_ok() });
        if written.is_ok() && self.cell.durability == Durability::Sync {
            promise(values);
        }
        written
    }

    /// Notes that all writes that were done are promised.
    fn promised(&mut self) {
        self.allowed.values_mut().for_each(promise);
    }

    fn next_key(&self) -> [u8; 4] {
        (self.writes % KEYS).to_be_bytes()
    }

    /// Writes until the fault stops it, or for a while.
    fn write_some(&mut self, store: &Store) {
        let until_full = matches!(
            self.cell.fault,
            DiskFault::FullDisk | DiskFault::FullLogDisk | DiskFault::NoRoomForSegments
        );
        let mut more = WRITES;
        while more > 0 && self.put(store, &self.next_key(), VALUE_BYTES).is_ok() {
            more -= u32::from(!until_full);
        }
    }

    fn begin_fault(&self) {
        let disk = &self.disk;
        match self.cell.fault {
            DiskFault::FullDisk => disk.limit(Path::new("/store"), Some(DISK_BYTES)),
            DiskFault::FullLogDisk => disk.limit(Path::new("/store/logs"), Some(DISK_BYTES)),
            DiskFault::NoRoomForSegments => disk.refuse_new_files(&["log-"]),
            DiskFault::NoDescriptors => disk.fail_at(disk.operations() + 1, SimError::TooManyFiles, true),
            DiskFault::FailedSync => disk.fail_syncs(),
            DiskFault::SlowDisk => disk.slow_down(Duration::from_micros(200)),
        }
    }

    fn end_fault(&self) {
        self.disk.limit(Path::new("/"), None);
        self.disk.refuse_new_files(&[]);
        self.disk.no_faults();
        self.disk.slow_down(Duration::ZERO);
    }

    fn save(&mut self, store: &Store) {
        if let Ok(report) = store.checkpoint() {
            let keys = store.len() as u64;
            assert_eq!(report.rows, keys, "{}: the checkpoint lacks writes", self.cell);
            self.promised();
        }
    }

    fn bgsave(&self, store: &Store) {
        let finished = store.stats().checkpoints;
        store.checkpoint_in_background();
        let began = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(2));
            let stats = store.stats();
            let failed = stats.last_checkpoint_failure.is_some() && !stats.checkpoint_running;
            if stats.checkpoints > finished || failed {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{}: the checkpoint does not end", self.cell);
        }
    }

    fn backup(&self, store: &Store) {
        let folder = PathBuf::from("/backup");
        let target = FileCopyTarget { storage: self.disk.share(), folder: &folder, earlier: None };
        let _ = store.copy_files_to(&target, &OpenProgress::default());
    }

    fn remove_all(&mut self, store: &Store) {
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let removed = store.remove_range(all);
        for values in self.allowed.values_mut() {
            values.push(AllowedValue { value: None, done: removed.is_ok() });
        }
        if removed.is_ok() && self.cell.durability == Durability::Sync {
            self.promised();
        }
    }

    fn command(&mut self, store: &Store) {
        match self.cell.command {
            FileCommand::Nothing => {}
            FileCommand::Save => self.save(store),
            FileCommand::SaveTwice => (0..2).for_each(|_| self.save(store)),
            FileCommand::Bgsave => self.bgsave(store),
            FileCommand::BgsaveTwice => (0..2).for_each(|_| self.bgsave(store)),
            FileCommand::SaveThenBgsave => {
                self.save(store);
                self.bgsave(store);
            }
            FileCommand::Backup => self.backup(store),
            FileCommand::BackupThenSave => {
                self.backup(store);
                self.save(store);
            }
            FileCommand::RemoveAll => self.remove_all(store),
            FileCommand::LongValue => _ = self.put(store, b"long", 20 * VALUE_BYTES),
            FileCommand::Flush => {
                if store.flush().is_ok() {
                    self.promised();
                }
            }
        }
    }

    /// Ends the fault, and waits until writes continue. A thread that met the fault may stop them
    /// only after its end, so a refusal may still follow a write that was taken.
    fn room_again(&mut self, store: &Store) {
        self.end_fault();
        let began = Instant::now();
        loop {
            let written = self.put(store, b"after", VALUE_BYTES).and_then(|()| store.flush());
            match written {
                Ok(()) => return self.promised(),
                Err(Error::NoRoomOnDisk { .. }) => {}
                Err(error) => {
                    assert_eq!(self.cell.fault, DiskFault::FailedSync, "{}: {error}", self.cell);
                    return;
                }
            }
            assert!(began.elapsed() < PATIENCE, "{}: writes do not continue", self.cell);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(&mut self, store: &Store) {
        use ProcessEnd::{Kill, PowerCut, RoomThenKill, RoomThenPowerCut, RoomThenStop, Stop};
        if matches!(self.cell.end, RoomThenStop | RoomThenKill | RoomThenPowerCut) {
            self.room_again(store);
        }
        match self.cell.end {
            Stop | RoomThenStop => {
                if store.close().is_ok() {
                    self.promised();
                }
            }
            Kill | RoomThenKill => self.disk.kill(),
            PowerCut | RoomThenPowerCut => self.disk.reboot(u64::from(self.writes)),
        }
    }

    /// Opens the store while the fault lasts. The opening may be refused.
    fn restart_in_the_fault(&self) {
        self.begin_fault();
        match self.try_open() {
            Ok(store) => self.check(&store, "with the fault"),
            Err(error) => {
                assert!(!matches!(error, Error::Damaged { .. }), "{}: {error}", self.cell);
            }
        }
        self.end_fault();
    }

    fn check(&self, store: &Store, when: &str) {
        for (key, values) in &self.allowed {
            let found = store.get(key).unwrap();
            let number = |value: &Option<Vec<u8>>| value.as_ref().map(|value| value[..4].to_vec());
            assert!(
                values.iter().any(|allowed| allowed.value == found),
                "{}, {when}: key {key:?} has {:?}, of {:?}",
                self.cell,
                number(&found),
                values.iter().map(|allowed| (number(&allowed.value), allowed.done)).collect::<Vec<_>>()
            );
        }
    }

    fn run(mut self) {
        let store = self.open();
        self.put(&store, b"first", VALUE_BYTES).unwrap();
        store.flush().unwrap();
        self.promised();
        self.begin_fault();
        self.write_some(&store);
        self.command(&store);
        let _ = self.put(&store, b"last", VALUE_BYTES);
        self.end(&store);
        drop(store);
        self.restart_in_the_fault();
        let store = self.open();
        self.check(&store, "after the restart");
        drop(store);
        let store = self.open();
        self.disk.reboot(u64::from(self.writes) / 4);
        drop(store);
        let store = self.open();
        self.check(&store, "after the power cut");
        self.put(&store, b"again", VALUE_BYTES).unwrap_or_else(|error| panic!("{}: {error}", self.cell));
        store.close().unwrap_or_else(|error| panic!("{}: {error}", self.cell));
    }
}

/// Runs all cells of a fault.
fn run_cells(fault: DiskFault) {
    for durability in [Durability::Buffered, Durability::Sync] {
        for command in COMMANDS {
            for end in ENDS {
                CellRun::new(Cell { fault, durability, command, end }).run();
            }
        }
    }
}

#[test]
fn a_full_disk() {
    run_cells(DiskFault::FullDisk);
}

#[test]
fn a_full_log_disk() {
    run_cells(DiskFault::FullLogDisk);
}

#[test]
fn no_room_for_segments() {
    run_cells(DiskFault::NoRoomForSegments);
}

#[test]
fn no_descriptors() {
    run_cells(DiskFault::NoDescriptors);
}

#[test]
fn failed_syncs() {
    run_cells(DiskFault::FailedSync);
}

#[test]
fn a_slow_disk() {
    run_cells(DiskFault::SlowDisk);
}
