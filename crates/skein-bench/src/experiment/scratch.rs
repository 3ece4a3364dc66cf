//! A folder for one run. It is removed when its value is dropped, also after errors.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// A folder of the bench.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a new folder in `parent`.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(parent: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Relaxed: the number only has to be unique; it orders no other memory.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("skein-bench-{}-{number}", std::process::id()));
        make(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns an empty folder of this name; removes an older one first.
    ///
    /// # Errors
    /// If the older folder cannot be removed, or if the new one cannot be created.
    pub fn fresh(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(|error| Error::io("empty", &path, error))?;
        }
        make(&path)?;
        Ok(path)
    }
}

/// Creates a folder that only its owner may enter, as data folders are.
fn make(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Error::io("make", path, error))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed stays. The error of the run matters more.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_removed() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let scratch = Scratch::new(parent.path()).expect("made");
        let place = scratch.fresh("store").expect("made");
        std::fs::write(place.join("file"), "text").expect("written");
        assert!(!scratch.fresh("store").expect("emptied").join("file").exists());
        drop(scratch);
        assert_eq!(std::fs::read_dir(parent.path()).expect("there").count(), 0);
        assert!(Scratch::new(&parent.path().join("x\0y")).is_err());
    }
}
