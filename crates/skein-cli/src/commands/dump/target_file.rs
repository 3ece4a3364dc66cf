//! The output file of a dump: complete, or absent.
//!
//! ```text
//!   FILE.PID.part ─► rows ─► sync ─► named FILE ─► sync of the folder
//! ```
//!
//! A path that is not a regular file (a device, a pipe) is written in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::exit::Failure;

/// The destination of a dump.
pub enum DumpTarget {
    /// Standard output, or a path that is written in place.
    Stream(Box<dyn Write>),
    /// A file that appears only when it is complete.
    New(NewFile),
}

/// A file that is written under a temporary name. It is removed unless it is finished.
pub struct NewFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
    replaces: bool,
    finished: bool,
}

impl DumpTarget {
    /// Opens the destination of a dump; without a file it is standard output. An existing file is
    /// replaced only with `force`.
    pub fn open(file: Option<&Path>, force: bool) -> Result<Self, Failure> {
        let Some(file) = file else { return Ok(Self::Stream(Box::new(io::stdout().lock()))) };
        let failed = |error| cannot_write(file, &error);
        match fs::metadata(file) {
            Ok(found) if found.is_dir() => Err(failed(ErrorKind::IsADirectory.into())),
            Ok(found) if !found.is_file() => {
                let stream = OpenOptions::new().write(true).open(file).map_err(failed)?;
                Ok(Self::Stream(Box::new(stream)))
            }
            Ok(_) if !force => Err(exists(file)),
            Ok(found) => {
                // If the path is a symbolic link, the target is replaced, not the link.
                let path = fs::canonicalize(file).map_err(failed)?;
                let new = NewFile::create(path, true)?;
                new.file.set_permissions(found.permissions()).map_err(failed)?;
                Ok(Self::New(new))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                NewFile::create(file.to_owned(), false).map(Self::New)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes the output durable, under its name.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stream(_) => Ok(()),
            Self::New(file) => file.finish(),
        }
    }
}

impl Write for DumpTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.write(bytes),
            Self::New(new) => new.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            Self::New(new) => new.file.flush(),
        }
    }
}

impl NewFile {
    fn create(path: PathBuf, replaces: bool) -> Result<Self, Failure> {
        let mut name = path.clone().into_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(name);
        // Only users with the right to read the data may read a copy of it.
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600);
        let file = new.open(&part).map_err(|error| cannot_write(&part, &error))?;
        Ok(Self { file, part, path, replaces, finished: false })
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.file.sync_all().map_err(|error| cannot_write(&self.part, &error))?;
        self.rename().map_err(|error| match error.kind() {
            // Another program created it while the dump was written.
            ErrorKind::AlreadyExists => exists(&self.path),
            _ => cannot_write(&self.path, &error),
        })?;
        self.finished = true;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        synced.map_err(|error| {
            Failure::during(format_args!("cannot sync the folder of {}", self.path.display()), &error)
        })
    }

    fn rename(&self) -> io::Result<()> {
        if self.replaces {
            return fs::rename(&self.part, &self.path);
        }
        match renameat_with(CWD, &self.part, CWD, &self.path, RenameFlags::NOREPLACE) {
            // The file system does not support it. A hard link does not replace a file either.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(&self.part, &self.path)?;
                fs::remove_file(&self.part)
            }
            renamed => Ok(renamed?),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.finished {
            // If it cannot be removed, its name shows its purpose.
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    Failure::during(format_args!("cannot write {}", file.display()), error)
}

fn exists(file: &Path) -> Failure {
    Failure::new(format!("{} already exists; name another file, or replace it with --force", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path, force: bool, text: &str) -> Result<(), Failure> {
        let mut target = DumpTarget::open(Some(path), force)?;
        target.write_all(text.as_bytes()).expect("it is written");
        target.finish()
    }

    #[test]
    fn a_file_is_there_only_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all.tsv");
        let mut target = DumpTarget::open(Some(&path), false).expect("a file");
        target.write_all(b"half").expect("it is written");
        assert!(!path.exists());
        drop(target);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
        written(&path, false, "whole").expect("a file");
        assert_eq!(fs::read_to_string(&path).expect("text"), "whole");
    }

    #[test]
    fn only_force_replaces_a_file_which_keeps_its_mode() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("all.tsv"), folder.path().join("link"));
        fs::write(&path, "precious").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        symlink(&path, &link).expect("a link");
        let refused = written(&path, false, "new").expect_err("it is there");
        assert!(refused.message.contains("--force"), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("text"), "precious");
        written(&link, true, "new").expect("it is replaced");
        assert_eq!(fs::read_to_string(&path).expect("text"), "new");
        assert!(link.is_symlink(), "the link was replaced");
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_comes_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all.tsv");
        let target = DumpTarget::open(Some(&path), false).expect("a file");
        fs::write(&path, "another's").expect("a file");
        let refused = target.finish().expect_err("it is there");
        assert!(refused.message.contains("--force"), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("text"), "another's");
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1, "nothing else is left");
    }
}
