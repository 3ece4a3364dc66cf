//! Protects other people's folders: a command that creates a data folder must not do so among
//! foreign files.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use skein_disk::is_disk_folder;
use skein_log::storage::OsStorage;
use skein_store::{check_no_identity_lost, is_data_folder};

use crate::exit::Failure;
use crate::target::store_failure;

/// Names that an empty folder may contain: one of a new file system, and three that a first start
/// leaves behind if it ends before the data folder is complete. The next start replaces them.
const HARMLESS: [&str; 4] = ["lost+found", "lock", "identity.tmp", "data.skein.new"];
/// How many of the found files the message names.
const NAMED: usize = 3;

/// Rejects a folder that contains files and is not a SkeinDB data folder. A missing folder is fine.
/// A path that is a file is left to the stores, which report it themselves.
pub fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    if is_data_folder(folder) || is_disk_folder(folder) {
        return Ok(());
    }
    check_no_identity_lost(&OsStorage, folder).map_err(|error| store_failure(&error))?;
    // The next code that opens the folder reports why it cannot be read.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut found: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    found.retain(|name| !HARMLESS.iter().any(|harmless| name == OsStr::new(harmless)));
    found.sort();
    if found.is_empty() {
        return Ok(());
    }
    let name = folder.display();
    Err(Failure::usage(format!(
        "{name} is neither a data folder nor empty: it has {}; name an empty folder, or a new one such as {}",
        named(&found),
        folder.join("skein-data").display()
    )))
}

/// Returns the first names, and how many more there are.
fn named(found: &[OsString]) -> String {
    let first: Vec<String> = found.iter().take(NAMED).map(|name| format!("{}", name.display())).collect();
    match found.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_nothing_of_others_is_fine() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(refuse_foreign(&folder.path().join("none")).is_ok());
        assert!(refuse_foreign(folder.path()).is_ok());
        for harmless in HARMLESS {
            fs::create_dir(folder.path().join(harmless)).expect("a folder");
        }
        assert!(refuse_foreign(folder.path()).is_ok());
        for ours in ["identity", "data.skein"] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join("notes.txt"), "").expect("a file");
            fs::write(folder.path().join(ours), "").expect("a file");
            assert!(refuse_foreign(folder.path()).is_ok(), "{ours}");
        }
    }

    /// Incident: a kill in the first start of the disk engine left `data.skein.new`. Consequence: the
    /// next start called the folder another's. Fix: the name is harmless, and the engine removes it.
    #[test]
    fn a_first_start_that_was_killed_can_be_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let left = folder.path().join("data.skein.new");
        fs::write(&left, "half a header").expect("a file");
        assert!(refuse_foreign(folder.path()).is_ok());
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
        let message = refuse_foreign(folder.path()).expect_err("it is another's").message;
        assert!(message.contains("it has a, b, c and 2 more; "), "{message}");
    }
}
