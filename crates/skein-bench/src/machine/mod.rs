//! The machine that a figure was measured on, as the system describes it. [`crate::probe`] measures
//! the rest. `free` has the memory that a run may take, `resident` that of this process, and
//! `huge_pages` the settings of the system.

mod free;
mod huge_pages;
mod resident;

use std::fmt;
use std::fs::read_to_string;

pub use free::free_memory;
pub use huge_pages::HugePages;
pub use resident::{PeakResident, ResidentBytes};

use crate::result::Machine;

/// A data cache of the first core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuCache {
    /// The level; 1 is next to the core.
    pub level: u32,
    /// The size.
    pub bytes: u64,
}

/// Describes this machine. Values that the system does not report are empty or 0. The probe's part
/// is not filled in.
pub fn describe() -> Machine {
    Machine {
        processor: processor(&read_to_string("/proc/cpuinfo").unwrap_or_default()),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        caches: caches().iter().map(CpuCache::to_string).collect(),
        memory_bytes: free::field(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:")
            .unwrap_or(0),
        huge_pages: HugePages::of_this_machine().enabled.unwrap_or_default(),
        kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        probe: None,
    }
}

/// Returns the data caches that the system reports, smallest first.
pub fn caches() -> Vec<CpuCache> {
    let of = |index: u32| {
        let read =
            |file: &str| first_line(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"));
        Some((read("type")?, read("level")?, read("size")?))
    };
    (0..8)
        .map_while(of)
        .filter(|(kind, ..)| kind != "Instruction")
        .filter_map(|(_, level, size)| {
            Some(CpuCache { level: level.parse().ok()?, bytes: kibibytes(&size)? })
        })
        .collect()
}

/// Parses a size as the system writes it, `1024K`.
fn kibibytes(size: &str) -> Option<u64> {
    size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

fn processor(info: &str) -> String {
    let named = |name: &str| {
        let of = |line: &str| {
            line.split_once(':')
                .filter(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        info.lines().find_map(of)
    };
    let model = named("model name").unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH));
    match (named("cpu family"), named("model")) {
        (Some(family), Some(number)) => format!("{model} (family {family}, model {number})"),
        _ => model,
    }
}

fn first_line(path: &str) -> Option<String> {
    Some(read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

impl CpuCache {
    /// Parses the text form in results, `L2 1024K`.
    pub fn parse(text: &str) -> Option<Self> {
        let (level, size) = text.strip_prefix('L')?.split_once(' ')?;
        Some(Self { level: level.parse().ok()?, bytes: kibibytes(size)? })
    }
}

impl fmt::Display for CpuCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "L{} {}K", self.level, self.bytes >> 10)
    }
}

/// Formats one line: processor, cores, caches, memory, huge pages, kernel.
impl fmt::Display for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
        write!(
            out,
            "{}; {} {}; caches {}; memory {} MiB; transparent huge pages {}; Linux {}",
            or_unknown(&self.processor),
            self.cores,
            if self.cores == 1 { "core" } else { "cores" },
            or_unknown(&self.caches.join(", ")),
            self.memory_bytes >> 20,
            or_unknown(&self.huge_pages),
            or_unknown(&self.kernel),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_the_systems_name() {
        let x86 = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2 \
             GHz\nstepping\t: 7\n";
        assert_eq!(processor(x86), "Some CPU @ 2 GHz (family 6, model 85)");
        assert!(processor("processor\t: 0\nBogoMIPS\t: 50.00\n").starts_with("unknown "));
    }

    #[test]
    fn a_line_has_everything() {
        let caches = [CpuCache { level: 1, bytes: 48 << 10 }, CpuCache { level: 2, bytes: 2 << 20 }];
        let machine = Machine {
            processor: "Some CPU".into(),
            cores: 2,
            caches: caches.iter().map(CpuCache::to_string).collect(),
            memory_bytes: 1 << 30,
            huge_pages: "madvise".into(),
            kernel: "6.1".into(),
            probe: None,
        };
        assert_eq!(
            machine.to_string(),
            "Some CPU; 2 cores; caches L1 48K, L2 2048K; memory 1024 MiB; transparent huge pages \
             madvise; Linux 6.1"
        );
        assert!(Machine::default().to_string().starts_with("unknown; 0 cores"));
    }

    #[test]
    fn caches_are_read_back() {
        let cache = CpuCache { level: 3, bytes: 36_608 << 10 };
        assert_eq!(CpuCache::parse(&cache.to_string()), Some(cache));
        for odd in ["", "L3", "3 1K", "L3 1M", "Lx 1K"] {
            assert_eq!(CpuCache::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn this_machine_is_described() {
        let machine = describe();
        assert!(machine.cores >= 1 && machine.memory_bytes > 0 && !machine.kernel.is_empty(), "{machine}");
    }
}
