//! A folder for one run, gone with the value: after errors too.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// A folder of the bench's own.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder in this one.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(parent: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only that numbers differ matters.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("skein-bench-{}-{number}", std::process::id()));
        make(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// An empty folder in it; what was there under this name is gone.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn fresh(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(|error| Error::io("empty", &path, error))?;
        }
        make(&path)?;
        Ok(path)
    }
}

/// Makes a folder for the owner alone, as data folders are.
fn make(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Error::io("make", path, error))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays; the run's own outcome says more than this would.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stays() {
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
