//! The array that the probe reads: one mapping on huge pages or on pages of 4 KiB, filled with
//! linked lines.
//!
//! ```text
//!   line, 64 bytes:  [next: the address of another line][value: random][unused]
//! ```
//!
//! The links form one cycle through all filled lines, in random order: each new line is linked
//! behind a random earlier one, which makes every cycle equally likely. So the array grows from
//! footprint to footprint, and each line is written once. The values are the numbers that the
//! paper's loops add up.
//!
//! # Invariants
//! Safety comments here and in `loops.rs` cite these by number.
//!
//! 1. The mapping holds `capacity` lines from `base` on, readable and writable, for as long as the
//!    array lives. Nothing else refers to them, and only `fill` writes them.
//! 2. The first `filled` lines are initialised, and the `next` of each is the address of one of
//!    them.

use std::fs::read_to_string;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use serde::{Deserialize, Serialize};

use crate::keyset::SeededRandom;
use crate::{Error, Result};

/// The bytes of a cache line on the processors that we know.
pub(super) const LINE: u64 = 64;
/// The bytes of a huge page; mappings are aligned to it.
const HUGE: usize = 2 << 20;

/// The kind of pages that a mapping asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// Huge pages of 2 MiB.
    Huge,
    /// Small pages of 4 KiB.
    Small,
}

/// A line of the array.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct ArrayLine {
    pub next: *const ArrayLine,
    pub value: u64,
}

const _: () = assert!(size_of::<ArrayLine>() as u64 == LINE);

/// The array. See the head of this module.
#[derive(Debug)]
pub(super) struct Array {
    /// The mapping, with the slack that aligns the array in it.
    mapping: NonNull<u8>,
    mapped: usize,
    base: NonNull<ArrayLine>,
    capacity: usize,
    filled: usize,
    random: SeededRandom,
}

impl Array {
    /// Maps an array of `bytes` bytes. The system allocates pages as it is filled.
    pub fn map(bytes: u64, pages: PageKind) -> Result<Self> {
        let size = bytes as usize;
        let refused = |doing: &str, error: rustix::io::Errno| {
            Error::Failed(format!(
                "cannot {doing} {} MiB of memory: {}; take a smaller footprint",
                bytes >> 20,
                std::io::Error::from(error)
            ))
        };
        let mapped = size + 2 * HUGE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a private anonymous mapping at an address that the system chooses overlaps
        // nothing.
        let address = unsafe { mmap_anonymous(null_mut(), mapped, access, MapFlags::PRIVATE) };
        let address = address.map_err(|error| refused("map", error))?;
        let Some(mapping) = NonNull::new(address.cast::<u8>()) else {
            return Err(refused("map", rustix::io::Errno::NOMEM));
        };
        // At least one page of slack at either end, so that the kernel does not merge the array
        // with a neighbour of the same advice. So its lines in `smaps` count the array only.
        let lead = (mapping.addr().get() + 1).next_multiple_of(HUGE) - mapping.addr().get();
        // SAFETY: `lead` is at most HUGE, so the array ends inside the mapping.
        let base = unsafe { mapping.add(lead) }.cast::<ArrayLine>();
        let array = Self {
            mapping,
            mapped,
            base,
            capacity: size / size_of::<ArrayLine>(),
            filled: 0,
            random: SeededRandom::new(bytes),
        };
        let advice = match pages {
            PageKind::Huge => Advice::LinuxHugepage,
            PageKind::Small => Advice::LinuxNoHugepage,
        };
        // SAFETY: the advice changes no contents. A kernel without huge pages refuses it;
        // `huge_bytes` reports the result later.
        let _ = unsafe { madvise(base.as_ptr().cast(), size, advice) };
        Ok(array)
    }

    /// Fills the array up to this footprint, at most its size.
    pub fn fill(&mut self, bytes: u64) {
        let lines = ((bytes / LINE) as usize).min(self.capacity);
        for at in self.filled..lines {
            let value = self.random.next();
            // SAFETY: `at` is below the capacity (1); each line before it is initialised and links
            // to an initialised one (2).
            unsafe {
                let line = self.base.add(at);
                let next = if at == 0 {
                    line.as_ptr().cast_const()
                } else {
                    let before = self.base.add(self.random.below(at)).as_ptr();
                    std::mem::replace(&mut (*before).next, line.as_ptr())
                };
                line.write(ArrayLine { next, value });
            }
        }
        self.filled = self.filled.max(lines);
    }

    /// Returns the filled lines.
    pub fn lines(&self) -> &[ArrayLine] {
        // SAFETY: they are initialised (2), and nothing writes them while `self` is borrowed (1).
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.filled) }
    }

    /// Returns how many bytes of the array lie on huge pages, according to the system.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn huge_bytes(&self) -> Result<u64> {
        let maps = read_to_string("/proc/self/smaps")
            .map_err(|error| Error::io("read", "/proc/self/smaps".as_ref(), error))?;
        let from = self.base.addr().get() as u64;
        Ok(huge_bytes_between(&maps, from, from + self.capacity as u64 * LINE))
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the array owns the whole mapping (1). The call cannot fail; a failure would only
        // leak address space.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

/// Returns the sum of `AnonHugePages` over the mappings between two addresses.
fn huge_bytes_between(maps: &str, from: u64, to: u64) -> u64 {
    let mut inside = false;
    let mut sum = 0;
    for line in maps.lines() {
        if let Some((start, end)) = range(line) {
            inside = from <= start && end <= to;
        } else if let Some(size) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            sum += size.trim().trim_end_matches(" kB").parse().unwrap_or(0) << 10;
        }
    }
    sum
}

/// Parses the addresses in the first line of a mapping: `7f0000000000-7f0000200000 rw-p ...`.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_are_one_cycle_at_every_footprint() {
        let mut array = Array::map(1 << 20, PageKind::Small).expect("a mebibyte");
        for bytes in [LINE, 2 * LINE, 1000 * LINE, 1 << 20, 1 << 30] {
            array.fill(bytes);
            let lines = array.lines();
            assert_eq!(lines.len() as u64, bytes.min(1 << 20) / LINE);
            let base = lines.as_ptr().addr();
            let mut seen = vec![false; lines.len()];
            let mut at = 0;
            for _ in 0..lines.len() {
                assert!(!std::mem::replace(&mut seen[at], true), "line {at} twice of {}", lines.len());
                at = (lines[at].next.addr() - base) / size_of::<ArrayLine>();
            }
            assert_eq!(at, 0, "the cycle closes");
        }
        assert_eq!(array.huge_bytes().expect("the system says"), 0);
    }

    #[test]
    fn refused_memory_is_an_error() {
        let error = Array::map(1 << 50, PageKind::Huge).expect_err("no machine has it").to_string();
        assert!(error.contains("1073741824 MiB") && error.contains("smaller footprint"), "{error}");
    }

    #[test]
    fn huge_pages_are_counted_within_the_array_alone() {
        let maps = "\
1000-2000 rw-p 00000000 00:00 0 [heap]
Size:                  4 kB
AnonHugePages:      2048 kB
200000-600000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
VmFlags: rd wr hg
600000-800000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
800000-a00000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
";
        assert_eq!(huge_bytes_between(maps, 0x20_0000, 0x80_0000), 4 << 20);
        assert_eq!(huge_bytes_between(maps, 0xb0_0000, 0xc0_0000), 0);
        assert_eq!(huge_bytes_between("", 0, u64::MAX), 0);
    }
}
