//! Foreign files: a store must not be created among the files of others, such as those of a home
//! folder that was named by mistake.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use skein_disk::is_disk_folder;
use skein_store::is_data_folder;

/// Names that an empty folder may contain. A new file system has one of them. A first start leaves
/// the other three behind if it ends before the data folder is complete; the next start replaces
/// them.
const HARMLESS: [&str; 4] = ["lost+found", "lock", "identity.tmp", "data.skein.new"];
/// How many of the found files are named.
const NAMED: usize = 3;

/// Names the first files of a folder that has files and is not a store's: "a, b, c and 2 more".
/// Returns `None` if a store may be created or opened there. A path that is missing, that is no
/// folder, or that cannot be read is left to the stores, which report it themselves.
#[must_use]
pub fn foreign_files(folder: &Path) -> Option<String> {
    if is_data_folder(folder) || is_disk_folder(folder) {
        return None;
    }
    let mut found: Vec<OsString> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name()).collect();
    found.retain(|name| !HARMLESS.iter().any(|harmless| name == OsStr::new(harmless)));
    found.sort();
    let first: Vec<String> = found.iter().take(NAMED).map(|name| name.display().to_string()).collect();
    match found.len().saturating_sub(NAMED) {
        _ if found.is_empty() => None,
        0 => Some(first.join(", ")),
        more => Some(format!("{} and {more} more", first.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_nothing_of_others_is_fine() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(foreign_files(&folder.path().join("none")), None);
        assert_eq!(foreign_files(folder.path()), None);
        for harmless in HARMLESS {
            fs::create_dir(folder.path().join(harmless)).expect("a folder");
        }
        assert_eq!(foreign_files(folder.path()), None);
        for ours in ["identity", "data.skein"] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join("notes.txt"), "").expect("a file");
            fs::write(folder.path().join(ours), "").expect("a file");
            assert_eq!(foreign_files(folder.path()), None, "{ours}");
        }
    }

    /// Incident: a kill in the first start of the disk engine left `data.skein.new`. Consequence:
    /// the next start called the folder another's. Fix: the name is harmless, and the engine
    /// removes it.
    #[test]
    fn a_first_start_that_was_killed_can_be_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let left = folder.path().join("data.skein.new");
        fs::write(&left, "half a header").expect("a file");
        assert_eq!(foreign_files(folder.path()), None);
        let store = skein_disk::DiskStore::open(folder.path(), skein_disk::DiskOptions::default());
        store.expect("the folder opens").close().expect("the store closes");
        assert!(!left.exists());
    }

    #[test]
    fn found_files_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["e", "d", "c", "b", "a"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        assert_eq!(foreign_files(folder.path()).as_deref(), Some("a, b, c and 2 more"));
    }
}
