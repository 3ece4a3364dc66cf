//! The process that holds a lock which this process could not get.

use std::fmt;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockHolder {
    /// This process.
    Own,
    /// Another process: its id, and its name if it is known.
    Process {
        /// The process id.
        pid: u32,
        /// The program's name, as the system shortens it.
        name: Option<String>,
    },
    /// Unknown: the holder is in another container or on another machine, or the system has no list
    /// of locks.
    Unknown,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("this process, which has already opened it"),
            Self::Process { pid, name: Some(name) } => write!(f, "process {pid} ({name})"),
            Self::Process { pid, name: None } => write!(f, "process {pid} (name unknown)"),
            Self::Unknown => f.write_str("another process (the system does not say which one)"),
        }
    }
}

impl LockHolder {
    /// Returns how to get the lock, as a part of an error's text.
    ///
    /// ```
    /// use skein_log::storage::LockHolder;
    ///
    /// assert_eq!(LockHolder::Unknown.way_out(), "stop that process");
    /// assert!(LockHolder::Own.way_out().starts_with("close it first"));
    /// ```
    #[must_use]
    pub fn way_out(&self) -> &'static str {
        match self {
            Self::Own => "close it first, use what is open",
            Self::Process { .. } | Self::Unknown => "stop that process",
        }
    }

    /// Returns the holder of an `flock` on a file, from `/proc/locks`.
    #[cfg(target_os = "linux")]
    pub(super) fn of(path: &Path) -> Self {
        let Ok(found) = std::fs::metadata(path) else { return Self::Unknown };
        let Ok(locks) = std::fs::read_to_string("/proc/locks") else { return Self::Unknown };
        let holder = locks.lines().find_map(|line| parse(line).filter(|held| held.inode == found.ino()));
        match holder {
            Some(HeldFlock { pid, .. }) if pid == std::process::id() => Self::Own,
            Some(HeldFlock { pid, .. }) if pid > 0 => Self::Process { pid, name: name_of(pid) },
            _ => Self::Unknown,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_path: &Path) -> Self {
        Self::Unknown
    }
}

/// A held `flock`. The device is not compared, because on some file systems it differs from the
/// device in the list.
#[cfg(any(target_os = "linux", test))]
#[derive(Debug, PartialEq, Eq)]
struct HeldFlock {
    pid: u32,
    inode: u64,
}

/// Parses a line like `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`. A lock that a process
/// waits for has `->` after its number and is skipped.
#[cfg(any(target_os = "linux", test))]
fn parse(line: &str) -> Option<HeldFlock> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let inode = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some(HeldFlock { pid, inode })
}

#[cfg(target_os = "linux")]
fn name_of(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list_of_locks_are_read() {
        let held = parse("12: FLOCK  ADVISORY  WRITE 4711 fd:01:8913 0 EOF");
        assert_eq!(held, Some(HeldFlock { pid: 4711, inode: 8913 }));
        for other in [
            "12: POSIX  ADVISORY  WRITE 4711 fd:01:8913 0 EOF",
            "12: -> FLOCK  ADVISORY  WRITE 4712 fd:01:8913 0 EOF",
            "12: FLOCK  ADVISORY  WRITE -1 fd:01:8913 0 EOF",
            "12: FLOCK",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn holders_are_named() {
        let named = LockHolder::Process { pid: 7, name: Some("skein".into()) };
        assert_eq!(named.to_string(), "process 7 (skein)");
        assert!(LockHolder::Unknown.to_string().contains("does not say"));
    }
}
