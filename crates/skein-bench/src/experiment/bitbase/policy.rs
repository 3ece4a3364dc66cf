//! Our own experiment on the buffer manager: replacement policies and ways to read pages, under
//! reads that are uniform, skewed, and skewed with scans in between.
//!
//! All data is written once, and the cache has a tenth of its pages. The system caches the file
//! too. So if its memory is large enough, a page that is read is in memory, and the experiment
//! compares the engine's work and the number of pages that it reads.

use std::path::Path;

use skein_disk::{CACHE_LEAST, DiskOptions, DiskStore, PAGE, ReadMode, ReplacementPolicy};

use super::requests::KeyRequests;
use super::series::{GET, MAPPING, MISSES, bytes_in_use, failed, of_each, options, set, thousands};
use super::{LINKED, count, memory};
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, Experiment, Findings, Judgement};
use crate::keyset::SeededRandom;
use crate::keyset::distribution::Scrambled;
use crate::result::AxisPoint;
use crate::sys::pinned;
use crate::{Error, Result};

const KEYS: &str = "intkey(9223372036854775808)";
/// The exponent that YCSB uses.
const THETA: f64 = 0.99;
/// The keys of a scan, and the gets between two scans.
const SCAN: usize = 1_000;
const BETWEEN: usize = 1_000;
/// The cache holds one page in this many.
const PART: usize = 10;
/// The greatest number of gets in a loop.
const GETS_MOST: usize = 1_000_000;

/// The variants, the defaults first: policy, way of reading, and name.
const WAYS: [(ReplacementPolicy, ReadMode, &str); 4] = [
    (ReplacementPolicy::S3Fifo, ReadMode::Calls, "S3-FIFO, pread"),
    (ReplacementPolicy::S3Fifo, MAPPING, "S3-FIFO, mmap"),
    (ReplacementPolicy::Lru, ReadMode::Calls, "LRU, pread"),
    (ReplacementPolicy::Lru, MAPPING, "LRU, mmap"),
];

/// The reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccessPattern {
    Uniform,
    Skewed,
    WithScans,
}

const ACCESSES: [(AccessPattern, &str); 3] = [
    (AccessPattern::Uniform, "uniform"),
    (AccessPattern::Skewed, "zipfian 0.99"),
    (AccessPattern::WithScans, "zipfian 0.99, scans between"),
];

/// "No more pages" allows this factor, the difference of two equal runs.
const AS_MANY: f64 = 1.02;
/// The least fraction of the best variant's rate that our defaults must reach.
const NEAR: f64 = 0.9;

pub static CACHE: Experiment = Experiment {
    name: "bitbase-cache",
    title: "gets with a cache of a tenth of the file: LRU and S3-FIFO, pread and mmap, uniform, \
            skewed, with scans",
    source: "this project's aims; Xie (BitBase), sections 2.1 and 2.2",
    claim: "S3-FIFO reads no more pages than LRU if reads are skewed, with scans in between; the \
            defaults, S3-FIFO and pread, reach at least 0.9 of the best variant's rate",
    memory: |plan| memory(plan, [KEYS], count(plan) * 100 / PAGE),
    steps: |plan| plan.rounds * ACCESSES.len() * WAYS.len() + 1,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let asked = KeyRequests::new(KEYS, count(&bench.plan), bench.plan.seed)?;
    let scratch = bench.scratch()?;
    bench.step("filling the file");
    let (folder, pages) = fill(bench, &scratch, &asked)?;
    bench.set("keys", asked.distinct);
    bench.set("cache pages", pages);
    for (_, _, way) in WAYS {
        bench.findings.contender(way, "skein_disk::DiskStore, linked trie");
    }
    for round in 0..bench.plan.rounds {
        for (access, label) in ACCESSES {
            let numbers = numbers(access, asked.len(), bench.plan.seed.wrapping_add(round as u64));
            for (policy, reading, way) in WAYS {
                bench.step(&format!("round {}, {label}, {way}", round + 1));
                let options = DiskOptions { policy, reading, ..options(LINKED, pages) };
                let turn = PolicyTurn { way, access, asked: &asked, numbers: &numbers };
                turn.measure(bench, &folder, options, &AxisPoint::name("reads", label))?;
            }
        }
    }
    Ok(())
}

/// Fills a folder with all keys; returns it and a tenth of its number of pages.
fn fill(bench: &Bench, scratch: &Scratch, asked: &KeyRequests) -> Result<(std::path::PathBuf, usize)> {
    let folder = scratch.fresh("disk")?;
    let store = DiskStore::open(&folder, options(LINKED, 1 << 16)).map_err(failed)?;
    set(&store, asked, 0..asked.len(), bench.plan.clock)?;
    store.checkpoint().map_err(failed)?;
    let pages = bytes_in_use(&store) as usize / PAGE;
    store.close().map_err(failed)?;
    Ok((folder, (pages / PART).max(CACHE_LEAST)))
}

/// Returns the requests for the keys that are read.
fn numbers(access: AccessPattern, count: usize, seed: u64) -> Vec<usize> {
    let mut random = SeededRandom::new(seed);
    let skewed = Scrambled::new(count as u64, THETA, seed);
    let number = |_| match access {
        AccessPattern::Uniform => random.below(count),
        AccessPattern::Skewed | AccessPattern::WithScans => skewed.item(&mut random) as usize,
    };
    (0..count.min(GETS_MOST)).map(number).collect()
}

/// One variant's turn at one point.
struct PolicyTurn<'a> {
    way: &'static str,
    access: AccessPattern,
    asked: &'a KeyRequests,
    numbers: &'a [usize],
}

impl PolicyTurn<'_> {
    fn measure(&self, bench: &mut Bench, folder: &Path, options: DiskOptions, at: &AxisPoint) -> Result<()> {
        let store = DiskStore::open(folder, options).map_err(failed)?;
        // The first gets fill the cache and are not timed.
        let (warm_up, timed) = self.numbers.split_at(self.numbers.len() / 5);
        let warm = pinned(0, || self.get(&store, warm_up))?;
        warm.map_err(failed)?;
        let (before, clock) = (store.stats().buffer, bench.plan.clock);
        let begun = clock.now();
        let wrong = pinned(0, || self.get(&store, timed))?;
        let seconds = clock.since(begun).as_secs_f64();
        Error::check_answers(self.way, GET.measure, wrong.map_err(failed)?)?;
        let after = store.stats().buffer;
        let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
        bench.add(GET, self.way, Some(at), thousands(timed.len(), seconds))?;
        bench.add(MISSES, self.way, Some(at), 100.0 * of_each(misses, hits + misses))?;
        store.close().map_err(failed)
    }

    /// Gets these keys, with scans in between if wanted. Returns the number of wrong values.
    fn get(&self, store: &DiskStore, numbers: &[usize]) -> skein_disk::Result<usize> {
        let mut wrong = 0;
        for (nth, &number) in numbers.iter().enumerate() {
            let key = self.asked.keys.get(number);
            let value = store.get(key)?;
            wrong += usize::from(value.as_deref() != Some(&self.asked.value_in_the_end(number)[..]));
            if self.access == AccessPattern::WithScans && nth % BETWEEN == BETWEEN - 1 {
                scan(store, self.asked.keys.get(nth))?;
            }
        }
        Ok(wrong)
    }
}

/// Reads [`SCAN`] keys from a given one on.
fn scan(store: &DiskStore, from: &[u8]) -> skein_disk::Result<()> {
    let mut cursor = store.cursor()?;
    let mut entry = cursor.seek(from)?;
    for _ in 1..SCAN {
        if entry.is_none() {
            break;
        }
        entry = cursor.next()?;
    }
    Ok(())
}

fn judge(findings: &Findings) -> Judgement {
    let default = WAYS[0].2;
    let skewed = findings.ratios_at(MISSES.measure, default, WAYS[2].2, |label| label != ACCESSES[0].1);
    let best = |label: &str| {
        let rates = WAYS.iter().filter_map(|(.., way)| findings.median(GET.measure, way, Some(label)));
        let best = rates.max_by(f64::total_cmp)?;
        Some((label.to_owned(), findings.median(GET.measure, default, Some(label))? / best))
    };
    let near: Vec<_> = ACCESSES.iter().filter_map(|(_, label)| best(label)).collect();
    Judgement::at_most(AS_MANY, "pages read, S3-FIFO / LRU", &skewed).alongside(Judgement::at_least(
        NEAR,
        &format!("get, {default} / the best way"),
        &near,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn pages_and_rates_are_judged_by_themselves() {
        let judged = |pages: [f64; 2], rates: [f64; 2]| {
            let mut findings = Findings::default();
            for (label, more) in [("uniform", 2.0), ("zipfian 0.99", 1.0)] {
                let at = AxisPoint::name("reads", label);
                findings.add(MISSES, WAYS[0].2, Some(&at), more * pages[0]);
                findings.add(MISSES, WAYS[2].2, Some(&at), pages[1]);
                findings.add(GET, WAYS[0].2, Some(&at), rates[0]);
                findings.add(GET, WAYS[1].2, Some(&at), rates[1]);
            }
            judge(&findings).answers()
        };
        assert_eq!(judged([1.0, 1.1], [1.0, 1.1]), [Holds, Holds]);
        assert_eq!(judged([1.2, 1.1], [1.0, 1.2]), [DoesNotHold, DoesNotHold]);
        assert_eq!(judge(&Findings::default()).answer, CannotBeTested);
    }

    #[test]
    fn skewed_reads_are_for_few_keys() {
        let different = |access| {
            let mut numbers = numbers(access, 10_000, 7);
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        assert!(different(AccessPattern::Uniform) > 6_000);
        assert!(different(AccessPattern::Skewed) < 5_000);
    }
}
