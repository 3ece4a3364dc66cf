//! Log folders outside the data folder: the store remembers them, needs them, and reports a missing
//! one.
//!
//! Incident: a store was started with a relative log folder, and again without the option. Its path
//! was looked for below the data folder, a fresh log was made there, and acknowledged writes were
//! lost. The same happened when the disk with the logs was not mounted, and when all segments were
//! removed. Fix: every log folder has a segment manifest, and the identity has the absolute paths
//! of the folders. The files that both name must be present.

use std::path::{Path, PathBuf};

use crate::common::options;
use skein_log::storage::OsStorage;
use skein_store::{Durability, Error, Store, StoreOptions, inspect};

/// A data folder, and a parent for log folders next to it.
struct LogFolderTree {
    root: tempfile::TempDir,
}

impl LogFolderTree {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn options(names: &[PathBuf]) -> StoreOptions {
        StoreOptions { log_folders: names.to_vec(), ..options(Durability::Sync) }
    }

    /// Opens with these log folders; without names, as a user who omits the option.
    fn try_open(&self, names: &[&str]) -> Result<Store, Error> {
        let names: Vec<PathBuf> = names.iter().map(|name| self.at(name)).collect();
        Store::open(self.at("data"), Self::options(&names))
    }

    fn open(&self, names: &[&str]) -> Store {
        self.try_open(names).unwrap()
    }

    fn open_giving_up(&self, names: &[&str]) -> Result<Store, Error> {
        let give_up_log_folders = names.iter().map(|name| self.at(name)).collect();
        Store::open(self.at("data"), StoreOptions { give_up_log_folders, ..options(Durability::Sync) })
    }

    /// Returns the damage that `skein check` would report.
    fn damage(&self) -> Vec<Error> {
        inspect(self.at("data"), &OsStorage).unwrap().damage
    }

    fn segments(&self, folder: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.at(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "skl")).collect()
    }
}

/// Writes `keys` to all logs in rotation.
fn put(store: &Store, keys: std::ops::Range<u8>) {
    let mut sessions = [store.session(), store.session()];
    for key in keys {
        let session = &mut sessions[usize::from(key) % 2];
        session.write(|w| w.put(&[key], b"kept")).unwrap().0.unwrap();
    }
    store.flush().unwrap();
}

fn assert_missing(error: &Error, folder: &Path) {
    assert!(matches!(error, Error::LogFolderMissing { path, .. } if path == folder), "{error}");
    assert!(error.to_string().contains("mount"), "no way out in: {error}");
}

/// Returns `folder` relative to the current folder.
fn relative(folder: &Path) -> PathBuf {
    let up = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect::<PathBuf>();
    up.join(folder.strip_prefix("/").unwrap())
}

#[test]
fn a_relative_log_folder_is_found_again_without_the_option() {
    let place = LogFolderTree::new();
    let typed = relative(&place.at("logs"));
    assert!(typed.is_relative());
    for run in 0..4u8 {
        let names = if run % 2 == 0 { vec![typed.clone()] } else { Vec::new() };
        let store = Store::open(place.at("data"), LogFolderTree::options(&names)).unwrap();
        assert_eq!(store.len(), usize::from(run) * 10, "run {run}");
        put(&store, run * 10..run * 10 + 10);
        drop(store);
        assert!(!place.at("data/log").exists(), "run {run} made a folder of its own");
        let found = place.damage();
        assert!(found.is_empty(), "run {run}: {found:?}");
    }
    // The same folder by other names: below the data folder, with a dot, through a link.
    std::os::unix::fs::symlink(place.at("logs"), place.at("link")).unwrap();
    for other in ["./logs", "link", "data/../logs"] {
        assert_eq!(place.open(&[other]).len(), 40, "{other}");
        assert!(place.damage().is_empty(), "{other}");
    }
    let error = place.try_open(&["logs", "link"]).unwrap_err();
    assert!(matches!(error, Error::BadOption { name: "log_folders", .. }), "{error}");
}

/// The path of a folder in the data folder is stored relative to it, so the data folder may be
/// moved.
#[test]
fn a_data_folder_may_move_with_the_logs_in_it() {
    let place = LogFolderTree::new();
    put(&place.open(&["data/a", "data/b"]), 0..10);
    std::fs::rename(place.at("data"), place.at("moved")).unwrap();
    std::fs::rename(place.at("moved"), place.at("data")).unwrap();
    assert_eq!(place.open(&[]).len(), 10);
    std::fs::rename(place.at("data"), place.at("moved")).unwrap();
    let store = Store::open(place.at("moved"), options(Durability::Sync)).unwrap();
    assert_eq!(store.len(), 10);
    assert!(!place.at("data").exists());
}

#[test]
fn a_missing_log_folder_is_an_error_named_or_not() {
    let gone: [fn(&Path); 3] = [
        |folder| std::fs::remove_dir_all(folder).unwrap(),
        |folder| {
            std::fs::remove_dir_all(folder).unwrap();
            std::fs::create_dir(folder).unwrap();
        },
        |folder| std::fs::remove_file(folder.join("log.roster")).unwrap(),
    ];
    for (case, go) in gone.into_iter().enumerate() {
        for names in [&["disk 1", "disk 2"][..], &["data/log"], &[]] {
            let place = LogFolderTree::new();
            put(&place.open(names), 0..20);
            let lost = place.at(names.last().unwrap_or(&"data/log"));
            let kept = place.at("kept");
            crate::common::copy(&lost, &kept);
            go(&lost);
            for option in [names, &[]] {
                assert_missing(&place.try_open(option).unwrap_err(), &lost);
            }
            let found = place.damage();
            assert_eq!(found.len(), 1, "case {case}: {found:?}");
            assert_missing(&found[0], &lost);
            // With the disk mounted again, the store opens.
            let _ = std::fs::remove_dir_all(&lost);
            std::fs::rename(&kept, &lost).unwrap();
            assert!(place.damage().is_empty());
            assert_eq!(place.open(&[]).len(), 20, "case {case}");
        }
    }
}

/// Missing segments are detected: all or one, of one log or of all.
#[test]
fn a_missing_segment_is_damage() {
    for names in [Some(&[][..]), Some(&["disk 1", "disk 2"]), None] {
        let place = LogFolderTree::new();
        // In the last round the folder is as a kill leaves it.
        let folder = if names.is_some() { "data" } else { "running" };
        let named: Vec<PathBuf> = names.iter().copied().flatten().map(|name| place.at(name)).collect();
        let store = Store::open(place.at(folder), LogFolderTree::options(&named)).unwrap();
        put(&store, 0..20);
        if names.is_none() {
            crate::common::copy(&place.at(folder), &place.at("data"));
        }
        drop(store);
        let folders = names.filter(|names| !names.is_empty()).unwrap_or(&["data/log"]);
        // Without segments that were just made, because they are empty.
        let used = |path: &PathBuf| std::fs::read(path).unwrap().iter().skip(64).any(|byte| *byte != 0);
        let all: Vec<PathBuf> =
            folders.iter().flat_map(|folder| place.segments(folder)).filter(used).collect();
        assert!(all.len() >= 2);
        let each = all.iter().map(std::slice::from_ref);
        for lost in each.chain([&all[..]]) {
            let kept: Vec<Vec<u8>> = lost.iter().map(|path| std::fs::read(path).unwrap()).collect();
            for path in lost {
                std::fs::remove_file(path).unwrap();
            }
            let error = place.try_open(&[]).unwrap_err();
            assert!(matches!(&error, Error::Damaged { path, .. } if lost.contains(path)), "{error}");
            assert!(error.to_string().contains("missing"), "{error}");
            assert_eq!(place.damage().len(), 1);
            for (path, bytes) in lost.iter().zip(kept) {
                std::fs::write(path, bytes).unwrap();
            }
        }
        assert_eq!(place.open(&[]).len(), 20);
    }
}

/// A missing checkpoint is damage, even if the logs are empty: after a checkpoint and a restart, or
/// at `none`.
#[test]
fn a_missing_checkpoint_is_damage() {
    for level in crate::common::LEVELS {
        let place = LogFolderTree::new();
        let store = Store::open(place.at("data"), options(level)).unwrap();
        store.put(b"k", b"v").unwrap();
        store.checkpoint().unwrap();
        drop(store);
        drop(Store::open(place.at("data"), options(level)).unwrap());
        let entries = std::fs::read_dir(place.at("data")).unwrap().map(|entry| entry.unwrap().path());
        let checkpoint = entries
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("checkpoint-"))
            .collect::<Vec<_>>();
        assert_eq!(checkpoint.len(), 1);
        std::fs::rename(&checkpoint[0], place.at("kept")).unwrap();
        let error = Store::open(place.at("data"), options(level)).unwrap_err();
        assert!(
            matches!(&error, Error::Damaged { path, .. } if path.starts_with(&checkpoint[0])),
            "{level:?}: {error}"
        );
        assert!(!place.damage().is_empty());
        std::fs::rename(place.at("kept"), &checkpoint[0]).unwrap();
        assert_eq!(Store::open(place.at("data"), options(level)).unwrap().len(), 1);
    }
}

#[test]
fn folders_are_added_moved_and_removed() {
    let place = LogFolderTree::new();
    put(&place.open(&[]), 0..10);
    // Added: the first folder is still read, but gets no new segments.
    let before = place.segments("data/log");
    put(&place.open(&["disk 1"]), 10..20);
    assert_eq!(place.segments("data/log"), before);
    // Without the option new segments are made in the folders of the last run.
    put(&place.open(&[]), 20..30);
    assert_eq!(place.segments("data/log"), before);
    put(&place.open(&["disk 1", "disk 2"]), 30..40);
    // Moved: named at its new place.
    std::fs::rename(place.at("disk 1"), place.at("disk 3")).unwrap();
    assert_missing(&place.try_open(&[]).unwrap_err(), &place.at("disk 1"));
    assert_missing(&place.try_open(&["disk 2"]).unwrap_err(), &place.at("disk 1"));
    assert_eq!(place.open(&["disk 3", "disk 2"]).len(), 40);
    assert!(place.damage().is_empty());
    // A copy next to it is rejected.
    crate::common::copy(&place.at("disk 3"), &place.at("copy"));
    let error = place.try_open(&["copy", "disk 2"]).unwrap_err();
    assert!(matches!(error, Error::BadOption { name: "log_folders", .. }), "{error}");
    // Removed: omitted; empty after a checkpoint; forgotten by the opening after that.
    let store = place.open(&["disk 3"]);
    store.checkpoint().unwrap();
    drop(store);
    assert!(place.segments("disk 2").is_empty());
    drop(place.open(&[]));
    std::fs::remove_dir_all(place.at("disk 2")).unwrap();
    std::fs::remove_dir_all(place.at("data/log")).unwrap();
    assert_eq!(place.open(&[]).len(), 40);
    assert_eq!(inspect(place.at("data"), &OsStorage).unwrap().log_folders, [place.at("disk 3")]);
}

/// Giving up a lost folder leaves the contents of the checkpoint, and a store that works.
#[test]
fn a_lost_folder_can_be_given_up() {
    let place = LogFolderTree::new();
    let store = place.open(&["disk 1", "disk 2"]);
    put(&store, 0..10);
    store.checkpoint().unwrap();
    put(&store, 10..30);
    let epoch = store.durable_epoch();
    drop(store);
    // A present folder cannot be given up.
    let error = place.open_giving_up(&["disk 2"]).unwrap_err();
    assert!(matches!(error, Error::BadOption { name: "give_up_log_folders", .. }), "{error}");
    std::fs::rename(place.at("disk 2"), place.at("lost")).unwrap();
    // Naming another folder does not help.
    assert_missing(&place.open_giving_up(&["disk 9"]).unwrap_err(), &place.at("disk 2"));
    let store = place.open_giving_up(&["disk 2"]).unwrap();
    assert_eq!(store.len(), 10);
    assert_eq!(store.recovery().log_folders_given_up, [place.at("disk 2")]);
    put(&store, 30..40);
    assert!(store.durable_epoch() > epoch, "epochs rise");
    drop(store);
    assert!(place.damage().is_empty());
    // Left in a start script, the option does no harm.
    let store = place.open_giving_up(&["disk 2"]).unwrap();
    assert_eq!((store.len(), store.recovery().log_folders_given_up.len()), (20, 0));
    drop(store);
    // The folder is found again: its contents are outdated.
    std::fs::rename(place.at("lost"), place.at("disk 2")).unwrap();
    let error = place.try_open(&["disk 1", "disk 2"]).unwrap_err();
    assert!(matches!(error, Error::BadOption { name: "log_folders", .. }), "{error}");
    assert_eq!(place.open(&["disk 1"]).len(), 20);
}

#[test]
fn a_folder_named_twice_or_of_another_store_is_refused() {
    let place = LogFolderTree::new();
    for names in [&["a", "a"], &["a", "./a"]] {
        let error = place.try_open(names).unwrap_err();
        assert!(matches!(error, Error::BadOption { name: "log_folders", .. }), "{error}");
    }
    put(&place.open(&["a"]), 0..1);
    let error = Store::open(place.at("other"), LogFolderTree::options(&[place.at("a")])).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(place.open(&[]).len(), 1);
}
