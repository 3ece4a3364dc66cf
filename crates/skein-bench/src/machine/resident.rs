//! How much of this process lies in memory, as the system counts it.

use std::fs::{read_to_string, write};

use super::free::field;
use crate::{Error, Result};

/// What lies in memory now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentBytes {
    /// All of it.
    pub bytes: u64,
    /// What of it is on transparent huge pages.
    pub huge_bytes: u64,
}

impl ResidentBytes {
    /// Of this process, page by page.
    ///
    /// # Errors
    /// If the system does not say: Linux before 4.14.
    pub fn now() -> Result<Self> {
        let path = "/proc/self/smaps_rollup";
        let text = read_to_string(path).map_err(|error| Error::io("read", path.as_ref(), error))?;
        let of = |name| named(&text, name, path);
        Ok(Self { bytes: of("Rss:")?, huge_bytes: of("AnonHugePages:")? })
    }
}

/// The most that lay in memory at once, from a moment on.
#[derive(Debug)]
pub struct PeakResident {
    before: u64,
}

impl PeakResident {
    /// From now on.
    ///
    /// # Errors
    /// If the system does not let a process forget its peak so far.
    pub fn begin() -> Result<Self> {
        let path = "/proc/self/clear_refs";
        // 5 sets the peak to what is resident now.
        write(path, "5").map_err(|error| Error::io("write to", path.as_ref(), error))?;
        Ok(Self { before: Self::most()? })
    }

    /// How much more than at the beginning lay in memory at most.
    ///
    /// # Errors
    /// If the system does not say.
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
    fn what_is_touched_is_resident_and_what_was_is_in_the_peak() {
        const SIZE: usize = 64 << 20;
        let (before, peak) = (ResidentBytes::now().expect("Linux"), PeakResident::begin().expect("Linux"));
        let block = std::hint::black_box(vec![1_u8; SIZE]);
        let during = ResidentBytes::now().expect("Linux");
        // Other tests may give back or take some meanwhile.
        assert!(during.bytes > before.bytes + SIZE as u64 / 2, "{before:?}, {during:?}");
        drop(block);
        assert!(peak.above().expect("Linux") > SIZE as u64 / 2);
    }

    #[test]
    fn a_line_that_is_not_there_is_named() {
        let error = named("Rss: 1 kB\n", "Pss:", "/proc/x").expect_err("no such line").to_string();
        assert!(error.contains("/proc/x") && error.contains("Pss:"), "{error}");
    }
}
