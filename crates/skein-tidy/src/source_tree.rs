//! The files of the repository as paths and texts.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Folders with Rust of ours.
const FOLDERS: &[&str] = &["crates", "examples", "fuzz", "clients"];

/// Source files by their paths from the root, with `/` between folders.
#[derive(Debug, Default)]
pub struct SourceTree {
    files: BTreeMap<String, String>,
}

impl SourceTree {
    /// Reads all Rust files below `root`, except those in target folders.
    ///
    /// # Errors
    ///
    /// The first I/O error. A file that is not UTF-8 is one.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        let mut folders: Vec<_> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() && !path.ends_with("target") {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(root).map_err(io::Error::other)?.to_string_lossy();
                    tree.files.insert(name.into_owned(), fs::read_to_string(&path)?);
                }
            }
        }
        Ok(tree)
    }

    /// Returns a tree of these paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_string(), (*text).to_string());
        Self { files: files.iter().map(owned).collect() }
    }

    /// Returns the paths and texts of all files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the names of the crates: the folders in `crates` that hold a `src`.
    pub(crate) fn crates(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.files.keys().filter_map(|path| crate_of_source(path)).collect();
        names.dedup();
        names
    }
}

/// Returns the name of the crate that has this file in its `src`.
pub(crate) fn crate_of_source(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_folders_with_sources() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/b.rs", ""),
            ("crates/a/tests/b.rs", ""),
            ("crates/c/tests/d.rs", ""),
            ("fuzz/src/lib.rs", ""),
        ]);
        assert_eq!(tree.crates(), ["a"]);
    }
}
