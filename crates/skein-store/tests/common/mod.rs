//! Shared helpers of the tests.
#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use skein_store::{Durability, IndexKind, Store, StoreOptions};

pub const LEVELS: [Durability; 3] = [Durability::None, Durability::Buffered, Durability::Sync];

/// Returns the index that the environment variable `SKEIN_TEST_INDEX` names, or the default: all
/// tests can run over each index.
pub fn index() -> IndexKind {
    std::env::var("SKEIN_TEST_INDEX").map_or(IndexKind::default(), |name| name.parse().expect("an index"))
}

/// Returns whether to skip a test over the index of the environment, because that index allows only
/// short keys, or starts with much memory. Prints the reason.
pub fn skipped(reason: &str) -> bool {
    let skips = index() == IndexKind::Mlp;
    if skips {
        eprintln!("skipped over {}: {reason}", index());
    }
    skips
}

/// Options for small stores: no automatic checkpoints, two logs, small segments.
pub fn options(durability: Durability) -> StoreOptions {
    StoreOptions {
        durability,
        logs: 2,
        recovery_threads: 2,
        checkpoint_threads: 2,
        segment_bytes: 64 << 10,
        checkpoint_log_bytes: None,
        checkpoint_interval: None,
        index: index(),
        ..StoreOptions::default()
    }
}

/// The same over another index.
pub fn over(index: IndexKind, durability: Durability) -> StoreOptions {
    StoreOptions { index, ..options(durability) }
}

/// Returns the indexes for a test that visits all of them. With `SKEIN_TEST_INDEX` it returns that
/// index alone, because the run without the variable has visited all.
pub fn indexes() -> Vec<IndexKind> {
    if std::env::var_os("SKEIN_TEST_INDEX").is_some() { vec![index()] } else { IndexKind::ALL.to_vec() }
}

/// Runs a test over each index, in a fresh folder. Keys of these tests have at most 8 bytes.
pub fn each_index(test: impl Fn(&Path, IndexKind)) {
    for index in indexes() {
        eprintln!("over {index}");
        test(tempfile::tempdir().unwrap().path(), index);
    }
}

pub fn open(path: &Path, durability: Durability) -> Store {
    Store::open(path, options(durability)).unwrap()
}

/// Tells the writers to stop when dropped, also after a failed assertion.
pub struct StopWritersOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopWritersOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Copies the folder of a store that may be open, as a kill would leave it. Segment manifests are
/// copied first: the segments that they name exist by then, and a segment that is made meanwhile is
/// in no copied manifest.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = std::fs::read_dir(from).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(|entry| entry.file_name() != "log.roster");
    for entry in entries {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.path().extension().is_none_or(|extension| extension != "tmp") {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns all files below a folder, with their bytes.
pub fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// A small random number generator with a fixed sequence per seed.
pub struct StoreTestRng(pub u64);

impl StoreTestRng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
