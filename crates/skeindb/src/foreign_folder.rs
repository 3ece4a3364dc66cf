//! Folders of others: a command that makes a data folder makes none among other people's files.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use skein_disk::is_disk_folder;
use skein_store::is_data_folder;

use crate::exit::Failure;

/// What an empty folder may have: what a new file system has, and what a first start leaves that
/// ended before the folder was a data folder.
const HARMLESS: [&str; 3] = ["lost+found", "lock", "identity.tmp"];
/// How many of the files that were found are named.
const NAMED: usize = 3;

/// Refuses a folder that has files and is no data folder of ours. A folder that is not there is
/// fine, and a file is left to the stores, which have their own words for it.
pub fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    if is_data_folder(folder) || is_disk_folder(folder) {
        return Ok(());
    }
    // Whoever opens the folder next says why it cannot be read.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut found: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    found.retain(|name| !HARMLESS.iter().any(|harmless| name == OsStr::new(harmless)));
    found.sort();
    if found.is_empty() {
        return Ok(());
    }
    let name = folder.display();
    Err(Failure::usage(format!(
        "{name} is no data folder, and not empty: it has {}; name an empty folder, or one that is not there yet, as {}",
        named(&found),
        folder.join("skein-data").display()
    )))
}

/// The first names, and how many there are besides.
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

    #[test]
    fn what_was_found_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["e", "d", "c", "b", "a"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let message = refuse_foreign(folder.path()).expect_err("it is another's").message;
        assert!(message.contains("it has a, b, c and 2 more; "), "{message}");
    }
}
