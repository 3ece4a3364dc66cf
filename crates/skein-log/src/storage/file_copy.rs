//! Copies of files for backups: the beginning of a file, or a second name of an equal one.
//!
//! If an earlier backup already has an equal file, a copy costs no space: both backups then have a
//! name of one file. So nobody may write to such a file in place. The caller knows which files
//! these are, and the copier compares all bytes, because an equal name and length prove nothing.

use std::io;
use std::path::Path;

use super::{Storage, StorageFile};
use crate::{LogError, OpenProgress, Result};

/// The number of bytes per read.
const PIECE: usize = 1 << 20;

/// Copies files to another folder, maybe of another file system.
#[derive(Debug)]
pub struct FileCopier<'c> {
    from: &'c dyn Storage,
    to: &'c dyn Storage,
    progress: &'c OpenProgress,
    copied: u64,
    shared: u64,
}

impl<'c> FileCopier<'c> {
    /// Creates a copier that reads `from` one file system and writes `to` another, or the same.
    /// `progress` counts all bytes that were copied or shared, and may cancel the copy.
    pub fn new(from: &'c dyn Storage, to: &'c dyn Storage, progress: &'c OpenProgress) -> Self {
        Self { from, to, progress, copied: 0, shared: 0 }
    }

    /// Returns the file system that is read.
    pub fn source(&self) -> &'c dyn Storage {
        self.from
    }

    /// Returns the file system that is written.
    pub fn target(&self) -> &'c dyn Storage {
        self.to
    }

    /// Returns the bytes that were written.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// Returns the bytes of files that got a second name instead.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// Makes a new file of the first `len` bytes of another one, and of `tail`. It is durable
    /// when this returns, and its name is once the folder is synced.
    ///
    /// # Errors
    /// A file operation failed, the source is shorter, or the copy was cancelled.
    pub fn copy(&mut self, source: &Path, len: u64, tail: &[u8], target: &Path) -> Result<()> {
        self.copy_from(source, len, tail, target, 0)
    }

    /// Gives `earlier`, a file in the target's file system, a second name if it equals the first
    /// `len` bytes of `source`. Copies these bytes otherwise, and if the file system refuses the
    /// name.
    ///
    /// REQUIRES: no process writes to `earlier` in place, now or later.
    ///
    /// # Errors
    /// As for [`copy`](Self::copy).
    pub fn share_or_copy(
        &mut self,
        earlier: Option<&Path>,
        source: &Path,
        len: u64,
        target: &Path,
    ) -> Result<()> {
        let Some(earlier) = earlier else { return self.copy(source, len, &[], target) };
        let equal = self.equal_bytes(earlier, source, len)?;
        if equal == Some(len) {
            match self.link(earlier, target) {
                Ok(()) => {
                    self.shared += len;
                    return Ok(());
                }
                Err(error) => tracing::debug!("{} is copied: {error}", earlier.display()),
            }
        }
        self.copy_from(source, len, &[], target, equal.unwrap_or(0))
    }

    /// Gives a file a second name. Its bytes are synced once more, because a copy that somebody
    /// made by hand may have never been.
    fn link(&self, earlier: &Path, target: &Path) -> io::Result<()> {
        self.to.open(earlier, false)?.sync_data()?;
        self.to.link(earlier, target)
    }

    /// Compares files, and returns the number of equal bytes from the start; `None` if `earlier` is
    /// absent, unreadable or of another length.
    fn equal_bytes(&self, earlier: &Path, source: &Path, len: u64) -> Result<Option<u64>> {
        let Ok(earlier) = self.to.open(earlier, false) else { return Ok(None) };
        if !earlier.len().is_ok_and(|found| found == len) {
            return Ok(None);
        }
        let file = self.open(source)?;
        let (mut own, mut other, mut at) = (vec![0; PIECE], vec![0; PIECE], 0);
        while at < len {
            let want = (len - at).min(PIECE as u64) as usize;
            read(&*file, source, &mut own[..want], at)?;
            match earlier.read_at(&mut other[..want], at) {
                Ok(read) if read == want && own[..want] == other[..want] => {}
                // A damaged earlier file is not shared, and harms nobody.
                Ok(_) | Err(_) => break,
            }
            at += want as u64;
            self.tell(want as u64)?;
        }
        Ok(Some(at))
    }

    /// Copies a file. The progress already includes `told` bytes of it.
    fn copy_from(&mut self, source: &Path, len: u64, tail: &[u8], target: &Path, told: u64) -> Result<()> {
        let file = self.open(source)?;
        let failed = |doing| move |error: io::Error| LogError::io(doing, target, &error);
        let made = self.to.create(target).map_err(failed("create"))?;
        let (mut piece, mut at) = (vec![0; PIECE], 0);
        while at < len {
            let want = (len - at).min(PIECE as u64) as usize;
            read(&*file, source, &mut piece[..want], at)?;
            made.write_at(&piece[..want], at).map_err(failed("write"))?;
            at += want as u64;
            self.tell(at.saturating_sub(told).min(want as u64))?;
        }
        if !tail.is_empty() {
            made.write_at(tail, len).map_err(failed("write"))?;
        }
        self.copied += len + tail.len() as u64;
        made.sync_data().map_err(failed("sync"))
    }

    fn open(&self, source: &Path) -> Result<Box<dyn StorageFile>> {
        self.from.open(source, false).map_err(|error| LogError::io("open", source, &error))
    }

    fn tell(&self, bytes: u64) -> Result<()> {
        if self.progress.advance(bytes, 0) { Ok(()) } else { Err(LogError::Cancelled) }
    }
}

/// Fills a buffer from a file that must be long enough.
fn read(file: &dyn StorageFile, path: &Path, into: &mut [u8], at: u64) -> Result<()> {
    match file.read_at(into, at) {
        Ok(read) if read == into.len() => Ok(()),
        Ok(read) => Err(LogError::damaged(path, at + read as u64, "the file ends before its known length")),
        Err(error) => Err(LogError::io("read", path, &error)),
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::storage::OsStorage;
    use crate::storage::sim::{SimError, SimStorage};

    const LEN: usize = PIECE + 1000;

    fn write(disk: &dyn Storage, path: &str, bytes: &[u8]) {
        disk.create(Path::new(path)).unwrap().write_at(bytes, 0).unwrap();
    }

    fn disk() -> (SimStorage, Vec<u8>) {
        let disk = SimStorage::new();
        disk.create_dir_all(Path::new("/d")).unwrap();
        let bytes: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
        write(&disk, "/d/source", &bytes);
        (disk, bytes)
    }

    fn share(disk: &SimStorage, earlier: &str, to: &str) -> (u64, u64, u64) {
        let progress = OpenProgress::default();
        let mut copier = FileCopier::new(disk, disk, &progress);
        let [earlier, source, to] = [earlier, "/d/source", to].map(Path::new);
        copier.share_or_copy(Some(earlier), source, LEN as u64, to).unwrap();
        (copier.copied(), copier.shared(), progress.seen().bytes)
    }

    #[test]
    fn equal_files_are_shared_and_others_copied() {
        let (disk, bytes) = disk();
        let mut late = bytes.clone();
        late[LEN - 1] ^= 1;
        write(&disk, "/d/equal", &bytes);
        write(&disk, "/d/late", &late);
        write(&disk, "/d/longer", &[&bytes[..], b"!"].concat());
        let len = LEN as u64;
        assert_eq!(share(&disk, "/d/equal", "/d/1"), (0, len, len));
        for (number, other) in ["/d/late", "/d/longer", "/d/absent"].into_iter().enumerate() {
            let to = format!("/d/copy-{number}");
            assert_eq!(share(&disk, other, &to), (len, 0, len), "{other}");
            assert!(disk.contents(Path::new(&to)) == bytes, "{other}");
        }
        // A write in place would be seen by both names, and by no copy.
        disk.open(Path::new("/d/equal"), true).unwrap().write_at(b"XX", 0).unwrap();
        assert_eq!(disk.contents(Path::new("/d/1"))[..2], *b"XX");
        assert_eq!(disk.contents(Path::new("/d/copy-0"))[..2], bytes[..2]);
    }

    #[test]
    fn a_refused_link_is_copied() {
        let (disk, bytes) = disk();
        write(&disk, "/d/equal", &bytes);
        let before = disk.operations();
        share(&disk, "/d/equal", "/d/1");
        // The link is the last operation of sharing.
        let link = disk.operations() - before;
        disk.fail_at(disk.operations() + link, SimError::Io, false);
        assert_eq!(share(&disk, "/d/equal", "/d/2"), (LEN as u64, 0, LEN as u64));
        assert!(disk.contents(Path::new("/d/2")) == bytes);
    }

    /// A second name of a symbolic link would be no copy: it ends with the other file.
    #[test]
    fn symbolic_links_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let [source, link, to] = ["source", "link", "to"].map(|name| folder.path().join(name));
        std::fs::write(&source, "geese").unwrap();
        std::os::unix::fs::symlink(&source, &link).unwrap();
        let progress = OpenProgress::default();
        let mut copier = FileCopier::new(&OsStorage, &OsStorage, &progress);
        copier.share_or_copy(Some(&link), &source, 5, &to).unwrap();
        assert_eq!((copier.copied(), copier.shared(), progress.seen().bytes), (5, 0, 5));
        std::fs::remove_file(&source).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), b"geese");
    }

    #[test]
    fn a_beginning_is_copied_with_its_tail() {
        let (disk, bytes) = disk();
        let progress = OpenProgress::default();
        let mut copier = FileCopier::new(&disk, &disk, &progress);
        copier.copy(Path::new("/d/source"), 700, b"tail", Path::new("/d/1")).unwrap();
        assert_eq!(disk.contents(Path::new("/d/1")), [&bytes[..700], b"tail"].concat());
        let short = copier.copy(Path::new("/d/source"), LEN as u64 + 1, b"", Path::new("/d/2"));
        assert!(matches!(short, Err(LogError::Damaged { offset, .. }) if offset == LEN as u64), "{short:?}");
        progress.cancel();
        let ended = copier.copy(Path::new("/d/source"), 700, b"", Path::new("/d/3"));
        assert!(matches!(ended, Err(LogError::Cancelled)), "{ended:?}");
    }
}
