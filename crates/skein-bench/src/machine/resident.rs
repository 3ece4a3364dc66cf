//! The resident memory of this process, as the system counts it.

use std::fs::{read_to_string, write};

use super::free::field;
use crate::{Error, Result};

/// The memory that is resident now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentBytes {
    /// All resident bytes.
    pub bytes: u64,
    /// The bytes of them on transparent huge pages.
    pub huge_bytes: u64,
}

impl ResidentBytes {
    /// Counts the pages of this process.
    ///
    /// # Errors
    /// If the system does not report them (Linux before 4.14).
    pub fn now() -> Result<Self> {
        let path = "/proc/self/smaps_rollup";
        let text = read_to_string(path).map_err(|error| Error::io("read", path.as_ref(), error))?;
        let of = |name| named(&text, name, path);
        Ok(Self { bytes: of("Rss:")?, huge_bytes: of("AnonHugePages:")? })
    }
}

/// The peak of resident memory since a given moment.
#[derive(Debug)]
pub struct PeakResident {
    before: u64,
}

impl PeakResident {
    /// Starts now.
    ///
    /// # Errors
    /// If the system does not let a process reset its peak.
    pub fn begin() -> Result<Self> {
        let path = "/proc/self/clear_refs";
        // Writing 5 resets the peak to the memory that is resident now.
        write(path, "5").map_err(|error| Error::io("write to", path.as_ref(), error))?;
        Ok(Self { before: Self::most()? })
    }

    /// Returns by how many bytes the peak exceeds the resident memory at the start.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn above(&self) -> Result<u64> {
        Ok(Self::most()?.saturating_sub(self.before))
    }

    fn most() -> Result<u64> {
        let path = "/proc/self/status";
        let text = read_to_string(path).map_err(|error| Error::io("read", path.as_ref(), error))?;
        named(&text, "VmHWM:", path)
    }
}

fn named(text: &str, name: &str, path: &str) -> Result<u64> {
    field(text, name).ok_or_else(|| Error::Failed(format!("{path} has no line {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_is_resident_and_freed_memory_in_the_peak() {
        const SIZE: usize = 64 << 20;
        let (before, peak) = (ResidentBytes::now().expect("Linux"), PeakResident::begin().expect("Linux"));
        let block = std::hint::black_box(vec![1_u8; SIZE]);
        let during = ResidentBytes::now().expect("Linux");
        // Other tests may free or allocate some memory meanwhile.
        assert!(during.bytes > before.bytes + SIZE as u64 / 2, "{before:?}, {during:?}");
        drop(block);
        assert!(peak.above().expect("Linux") > SIZE as u64 / 2);
    }

    #[test]
    fn a_missing_line_is_named() {
        let error = named("Rss: 1 kB\n", "Pss:", "/proc/x").expect_err("no such line").to_string();
        assert!(error.contains("/proc/x") && error.contains("Pss:"), "{error}");
    }
}
