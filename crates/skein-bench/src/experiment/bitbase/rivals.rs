//! Other engines for more data than their cache holds, compared with ours: the same rows, the same
//! cache, the same durability.
//!
//! One turn of one engine:
//!
//! 1. An empty folder is loaded in batches and forced to disk once.
//! 2. Rows are read, set and incremented at random, each write in its own transaction. If the
//!    engine can run without a log, it does, and a crash may lose all writes since the last force.
//! 3. The folder is opened again so that each set survives a power cut, and some sets are timed.
//!
//! | engine | without a log | durable |
//! | --- | --- | --- |
//! | ours | `none`; forced by a checkpoint | `sync` |
//! | LMDB | `NO_SYNC`, `WRITE_MAP`; `force_sync` | default flags |
//! | redb | `Durability::None`; one immediate commit | `Durability::Immediate` |
//! | `RocksDB` | no write-ahead log; a flush | the log with `sync` |
//! | bf-tree | no log; nothing forces it | not possible: it is restored from snapshots only |

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use super::super::store::{contenders, contenders_count, count_right, krows_per_s, named, put_all};
use super::series::{of_each, rate};
use crate::experiment::findings::MeasureSpec;
use crate::experiment::setting::{BATCH, GETS, SYNC_PUTS};
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::machine::ResidentBytes;
use crate::result::AxisPoint;
use crate::rival::store::{
    BenchRows, DISK_LINKED, DurabilityLevel, INTEGER_BYTES, RegisteredStore, StoreContender, StoreResult,
    StoreRole, StoreSetup, TRIES,
};
use crate::sys::pinned;
use crate::{Error, Result};

const LOAD: MeasureSpec<'_> = rate("load");
const GET: MeasureSpec<'_> = rate("get");
const GET_ONE: MeasureSpec<'_> = rate("get, each by itself");
const SET: MeasureSpec<'_> = rate("set");
const SET_MANY: MeasureSpec<'_> = rate("set, 100 at once");
const INC: MeasureSpec<'_> = rate("inc");
const DURABLE: MeasureSpec<'_> = rate("set, durable");
pub(super) const ON_DISK: MeasureSpec<'_> = MeasureSpec::less("on disk", "B/key");
/// The resident memory of the whole process. It includes memory left over from earlier turns and,
/// for LMDB, the pages of the file.
const MEMORY: MeasureSpec<'_> = MeasureSpec::less("resident, whole process", "MiB");

/// The bytes of values: integers, and others.
const VALUES: [usize; 2] = [INTEGER_BYTES, 100];
/// A small cache holds one byte of the data in this many, but at least `CACHE_LEAST` bytes.
const PART: u64 = 10;
const CACHE_LEAST: u64 = 1 << 20;
/// The number of sets in a batch.
const MANY: usize = 100;
/// The least fraction of the best other engine's rate that the store over the linked trie must
/// reach.
const AIM: f64 = 0.5;

/// The share of the data that an engine caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheShare {
    /// All of it.
    All,
    /// A tenth of it.
    Tenth,
}

impl CacheShare {
    const EACH: [Self; 2] = [Self::All, Self::Tenth];

    fn bytes(self, rows: &BenchRows) -> Option<u64> {
        (self == Self::Tenth).then(|| (rows.bytes() / PART).max(CACHE_LEAST))
    }

    fn label(self, value_bytes: usize) -> String {
        let words = if self == Self::All { "in cache" } else { "cache of a tenth" };
        format!("{value_bytes} B, {words}")
    }
}

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([100_000, 1_000_000, 1_000_000, 10_000_000])
}

fn operations(plan: &BenchPlan) -> usize {
    plan.setting(&GETS, count(plan).min(1_000_000))
}

fn durable_sets(plan: &BenchPlan) -> usize {
    plan.setting(&SYNC_PUTS, plan.size.pick([300, 1000, 1000, 2000]))
}

pub static RIVALS: Experiment = Experiment {
    name: "bitbase-rivals",
    title: "load, get, set and inc beside LMDB, redb, bf-tree and RocksDB: integers and 100-byte \
            values, all in cache and with a cache of a tenth",
    source: "this project's aims",
    claim: "the store over the linked trie has at least half of the rate of the best other engine \
            on get with all data in cache, and on set at equal durability",
    memory: |plan| {
        let [.., longest] = VALUES;
        Ok(count(plan) as u64 * (3 * (longest as u64 + 8) + 100) + 16 * operations(plan) as u64)
    },
    steps: |plan| plan.rounds * VALUES.len() * CacheShare::EACH.len() * contenders_count(StoreRole::Pages),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let entries = contenders(bench, StoreRole::Pages)?;
    let plan = bench.plan.clone();
    bench.set("rows", format!("{} of 8 random key bytes", count(&plan)));
    bench.set("operations of a loop", operations(&plan));
    bench.set("durable sets", durable_sets(&plan));
    bench.findings.note(format!(
        "a cache of a tenth holds a tenth of the bytes of keys and values, but at least {} MiB; \
         the system caches files too",
        CACHE_LEAST >> 20
    ));
    let scratch = bench.scratch()?;
    for value_bytes in VALUES {
        let rows = BenchRows::new(count(&plan), value_bytes, plan.seed);
        for round in 0..plan.rounds {
            for (cache, entry) in
                CacheShare::EACH.into_iter().flat_map(|cache| entries.iter().map(move |entry| (cache, entry)))
            {
                let label = cache.label(value_bytes);
                bench.step(&format!("{label}: round {}, {}", round + 1, entry.name));
                let folder = scratch.fresh("store")?;
                let at = AxisPoint::name("data", &label);
                EngineTurn { entry, rows: &rows, cache: cache.bytes(&rows), folder: &folder, at }
                    .measure(bench, value_bytes == INTEGER_BYTES)?;
            }
        }
    }
    Ok(())
}

/// One engine's turn at one point.
pub(super) struct EngineTurn<'a> {
    pub entry: &'a RegisteredStore,
    pub rows: &'a BenchRows,
    pub cache: Option<u64>,
    pub folder: &'a Path,
    pub at: AxisPoint,
}

impl EngineTurn<'_> {
    fn measure(&self, bench: &mut Bench, are_integers: bool) -> Result<()> {
        let plan = bench.plan.clone();
        let mut opened = self.open(DurabilityLevel::None)?;
        let store = opened.as_mut();
        self.load(bench, store)?;
        let asked = self.rows.sample(operations(&plan));
        self.get(bench, store, GET, &asked, asked.len())?;
        self.get(bench, store, GET_ONE, &asked, 1)?;
        self.timed(bench, SET, asked.len(), || asked.iter().try_for_each(|&n| store.put(self.rows, n)))?;
        let batches = asked.iter().step_by(MANY).map(|&n| n.min(self.rows.len().saturating_sub(MANY)));
        let batches: Vec<usize> = batches.collect();
        let many = MANY.min(self.rows.len());
        self.timed(bench, SET_MANY, batches.len() * many, || {
            batches.iter().try_for_each(|&n| store.put_batch(self.rows, n..n + many))
        })?;
        if are_integers {
            self.timed(bench, INC, asked.len(), || asked.iter().try_for_each(|&n| store.inc(self.rows, n)))?;
            self.check_sums(store, &asked)?;
        }
        bench.add(MEMORY, self.entry.name, Some(&self.at), of_each(ResidentBytes::now()?.bytes, 1 << 20))?;
        self.named(opened.close())?;
        if self.entry.durable { self.durable(bench) } else { Ok(()) }
    }

    /// Loads all rows, measures the files, and reads some rows back.
    pub(super) fn measure_space(&self, bench: &mut Bench) -> Result<()> {
        let mut opened = self.open(DurabilityLevel::None)?;
        self.load(bench, opened.as_mut())?;
        let asked = self.rows.sample(self.rows.len().min(10_000));
        self.get(bench, opened.as_mut(), GET, &asked, asked.len())?;
        self.named(opened.close())
    }

    /// Times durable sets, if the store can be opened again.
    fn durable(&self, bench: &mut Bench) -> Result<()> {
        let mut store = self.open(DurabilityLevel::Sync)?;
        let asked = self.rows.sample(durable_sets(&bench.plan));
        self.timed(bench, DURABLE, asked.len(), || asked.iter().try_for_each(|&n| store.put(self.rows, n)))?;
        self.named(store.close())
    }

    /// Adds the engine's name to its error.
    fn named<T>(&self, done: StoreResult<T>) -> Result<T> {
        named(self.entry.name, done)
    }

    fn open(&self, level: DurabilityLevel) -> Result<Box<dyn StoreContender>> {
        let setup = StoreSetup { folder: self.folder, level, bytes: self.rows.bytes(), cache: self.cache };
        self.named((self.entry.open)(&setup))
    }

    /// Times `operations` operations on one core.
    fn timed(
        &self,
        bench: &mut Bench,
        place: MeasureSpec<'_>,
        operations: usize,
        work: impl FnOnce() -> StoreResult<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        let done = pinned(0, work)?;
        let figure = krows_per_s(operations, begun);
        self.named(done)?;
        bench.add(place, self.entry.name, Some(&self.at), figure)
    }

    /// Loads all rows and forces them to disk; the force is included in the time.
    fn load(&self, bench: &mut Bench, store: &mut dyn StoreContender) -> Result<()> {
        let (rows, batch) = (self.rows, bench.plan.setting(&BATCH, 1000));
        self.timed(bench, LOAD, rows.len(), || put_all(store, rows, batch))?;
        if !self.entry.durable {
            return Ok(());
        }
        let bytes = bytes_on_disk(self.folder)?;
        bench.add(ON_DISK, self.entry.name, Some(&self.at), of_each(bytes, rows.len() as u64))
    }

    /// Reads these rows, several per transaction, and checks every value.
    fn get(
        &self,
        bench: &mut Bench,
        store: &mut dyn StoreContender,
        place: MeasureSpec<'_>,
        asked: &[usize],
        at_once: usize,
    ) -> Result<()> {
        let mut right = 0;
        self.timed(bench, place, asked.len(), || {
            asked.chunks(at_once.max(1)).try_for_each(|numbers| {
                right += count_right(store, self.rows, numbers)?;
                Ok(())
            })
        })?;
        Error::check_answers(self.entry.name, place.measure, asked.len() - right)
    }

    /// Checks that each integer is its first value plus the number of its increments.
    fn check_sums(&self, store: &mut dyn StoreContender, counted: &[usize]) -> Result<()> {
        let mut times = HashMap::<usize, u64>::new();
        for &n in counted {
            *times.entry(n).or_default() += 1;
        }
        let numbers: Vec<usize> = times.keys().copied().collect();
        let mut right = 0;
        let read = store.get_each(self.rows, &numbers, &mut |n, value| {
            let sum = (BenchRows::integer(n) + times[&n]).to_string();
            right += usize::from(value == Some(sum.as_bytes()));
        });
        self.named(read)?;
        Error::check_answers(self.entry.name, INC.measure, numbers.len() - right)
    }
}

/// Returns the bytes of the blocks of all files in a folder, so holes in files do not count.
fn bytes_on_disk(folder: &Path) -> Result<u64> {
    let failed = |error| Error::io("look at", folder, error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let data = entry.metadata().map_err(failed)?;
        bytes += if data.is_dir() { bytes_on_disk(&entry.path())? } else { 512 * data.blocks() };
    }
    Ok(bytes)
}

fn judge(findings: &Findings) -> Judgement {
    let is_ours = |name: &str| TRIES.iter().any(|trie| trie.name == name);
    let others: Vec<&str> =
        findings.contenders.iter().map(|it| &*it.name).filter(|name| !is_ours(name)).collect();
    let judge_measure = |place: MeasureSpec<'_>, wanted: &dyn Fn(&str) -> bool| {
        let ratio = |label: &str| {
            let rate = |name: &str| findings.median(place.measure, name, Some(label));
            let best = others.iter().filter_map(|name| Some((*name, rate(name)?)));
            let (name, best) = best.max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some((format!("{label}, {name}"), rate(DISK_LINKED)? / best))
        };
        let labels = findings.labels(place.measure).into_iter().flatten().filter(|label| wanted(label));
        let ratios: Vec<_> = labels.filter_map(ratio).collect();
        Judgement::at_least(AIM, &format!("{}, linked trie / the best other", place.measure), &ratios)
    };
    let in_cache = |label: &str| VALUES.iter().any(|&bytes| label == CacheShare::All.label(bytes));
    judge_measure(GET, &in_cache)
        .alongside(judge_measure(GET_ONE, &in_cache))
        .alongside(judge_measure(SET, &|_| true))
        .alongside(judge_measure(DURABLE, &|_| true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn the_best_other_counts_and_our_other_tries_do_not() {
        let judged = |get: f64, missing: f64| {
            let mut findings = Findings::default();
            for (name, times) in [(DISK_LINKED, 1.0), (TRIES[1].name, 9.0), ("lmdb", 2.0), ("redb", 1.0)] {
                findings.contender(name, "");
                for (cache, rate) in [(CacheShare::All, get), (CacheShare::Tenth, missing)] {
                    let rate = if name == DISK_LINKED { rate } else { times };
                    let at = AxisPoint::name("data", &cache.label(100));
                    findings.add(GET, name, Some(&at), rate);
                    findings.add(SET, name, Some(&at), rate);
                }
            }
            judge(&findings).answers()
        };
        assert_eq!(judged(1.1, 1.0), [Holds, CannotBeTested, Holds, CannotBeTested]);
        assert_eq!(judged(1.1, 0.9), [Holds, CannotBeTested, DoesNotHold, CannotBeTested]);
        assert_eq!(judged(0.9, 1.1), [DoesNotHold, CannotBeTested, DoesNotHold, CannotBeTested]);
    }

    #[test]
    fn a_small_cache_has_its_least() {
        assert_eq!(CacheShare::All.bytes(&BenchRows::new(1000, 4, 1)), None);
        assert_eq!(CacheShare::Tenth.bytes(&BenchRows::new(1000, 4, 1)), Some(1 << 20));
        assert_eq!(CacheShare::Tenth.bytes(&BenchRows::new(1_000_000, 100, 1)), Some(10_800_000));
    }

    #[test]
    fn folders_within_folders_count() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("made");
        std::fs::write(inner.join("file"), vec![1; 100_000]).expect("written");
        assert!(bytes_on_disk(folder.path()).expect("there") >= 100_000);
    }
}
