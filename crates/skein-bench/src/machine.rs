//! The machine that a figure is from.

use std::fmt::Write as _;
use std::fs::read_to_string;
use std::hint::black_box;
use std::time::Instant;

use skein_index::memory::{Arena, Part};

use crate::keyset::Random;

fn first_line(path: &str) -> Option<String> {
    Some(read_to_string(path).ok()?.trim().to_owned())
}

fn processor() -> String {
    let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = named("model name").unwrap_or_else(|| "unknown processor".to_owned());
    let (family, number) = (named("cpu family").unwrap_or_default(), named("model\t").unwrap_or_default());
    format!("{model} (family {family}, model {number})")
}

fn caches() -> String {
    let mut text = String::new();
    for index in 0..8 {
        let read =
            |file: &str| first_line(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"));
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else {
            break;
        };
        if kind != "Instruction" {
            let _ = write!(text, "{}L{level} {size}", if text.is_empty() { "" } else { ", " });
        }
    }
    if text.is_empty() { "caches unknown".to_owned() } else { text }
}

/// One line: processor, cores, caches, memory, huge pages, kernel.
pub fn line() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).map_or("?", str::trim);
    let huge = first_line("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_else(|| "?".to_owned());
    let kernel = first_line("/proc/sys/kernel/osrelease").unwrap_or_else(|| "?".to_owned());
    format!(
        "{}; {cores} cores; {}; memory {total}; transparent huge pages {huge}; Linux {kernel}",
        processor(),
        caches()
    )
}

/// The time of a random read that depends on the one before, in `bytes` of huge pages, in nanoseconds.
pub fn read_latency(bytes: usize) -> f64 {
    const LINE: usize = 64;
    const BLOCK: usize = 8192;
    let arena = Arena::new();
    // Lines of blocks of an arena, linked in one random cycle.
    let blocks: Vec<_> = (0..bytes / BLOCK).map(|_| arena.alloc(BLOCK, Part::Nodes)).collect();
    let lines = blocks.len() * (BLOCK / LINE);
    let line = |n: usize| {
        let block = blocks[n / (BLOCK / LINE)];
        // SAFETY: `n` is below `lines`, so the block holds this line.
        unsafe { block.add(n % (BLOCK / LINE) * LINE) }.cast::<usize>()
    };
    let mut order: Vec<usize> = (0..lines).collect();
    Random::new(7).shuffle(&mut order);
    for pair in order.windows(2) {
        // SAFETY: both lines lie in live blocks.
        unsafe { line(pair[0]).write(line(pair[1]).as_ptr().expose_provenance()) };
    }
    // SAFETY: as above; this closes the cycle.
    unsafe { line(order[lines - 1]).write(line(order[0]).as_ptr().expose_provenance()) };
    let steps = 1_000_000;
    let mut at = line(order[0]).as_ptr().expose_provenance();
    let start = Instant::now();
    for _ in 0..steps {
        // SAFETY: every line of the cycle holds the address of the next.
        at = unsafe { std::ptr::with_exposed_provenance::<usize>(at).read() };
    }
    let spent = start.elapsed();
    black_box(at);
    // SAFETY: the blocks are not used any more.
    unsafe { arena.discard() };
    spent.as_secs_f64() * 1e9 / f64::from(steps)
}

/// The line, and the latency of a random read in several footprints.
pub fn describe() -> String {
    let mut text = line();
    for megabytes in [1, 16, 64, 256, 1024] {
        let latency = read_latency(megabytes << 20);
        let _ = write!(text, "\ndependent random read in {megabytes:>4} MiB: {latency:6.1} ns");
    }
    text
}
