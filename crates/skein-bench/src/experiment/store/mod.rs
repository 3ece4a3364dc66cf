//! Embedded stores: ours compared with those that a user would otherwise choose, and at different
//! settings.
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | here | `store` | load, reads, durable puts of all stores |
//! | `levels.rs` | `store-levels` | our puts by level of durability, and during a checkpoint |
//! | `masstree_sec5.rs` | `masstree-sec5` | our checkpoint and recovery, beside the paper's |
//! | `transactions.rs` | `transactions` | transactions of one and two threads, with few and many conflicts |
//!
//! `own_store` has the operations on our store that several of them need.
//!
//! A round of one contender of `store`:
//!
//! 1. An empty folder is loaded in batches, each all or nothing, and forced to disk once at the
//!    end. The force is included in the time.
//! 2. Rows are read at random.
//! 3. The store is opened again so that every commit is durable, and single puts are timed.

pub mod levels;
pub mod masstree_sec5;
mod own_store;
pub mod transactions;

use std::path::Path;
use std::time::Instant;

use hdrhistogram::Histogram;

use super::findings::MeasureSpec;
use super::setting::{BATCH, GETS, SYNC_PUTS, VALUE_BYTES};
use super::{Bench, BenchPlan, Experiment, Findings, Judgement, latency};
use crate::rival::store::{
    self, BenchRows, DurabilityLevel, OURS, RegisteredStore, StoreContender, StoreResult, StoreRole,
    StoreSetup,
};
use crate::sys::pinned;
use crate::{Error, Result};

/// Returns the bytes of a value.
fn value_bytes(plan: &BenchPlan) -> usize {
    plan.setting(&VALUE_BYTES, 100)
}

/// Returns the number of rows in a batch.
fn batch(plan: &BenchPlan) -> usize {
    plan.setting(&BATCH, 1000)
}

const LOAD: MeasureSpec<'_> = rate("load");
const GET: MeasureSpec<'_> = rate("get");
const PUT: MeasureSpec<'_> = MeasureSpec::less("sync put, latency", "us");
const PUT_P99: MeasureSpec<'_> = MeasureSpec::less("sync put, p99", "us");

/// Returns a measure of thousands of rows per second.
const fn rate(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::more(measure, "krows/s")
}

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([200_000, 1_000_000, 2_000_000, 20_000_000])
}

fn gets(plan: &BenchPlan) -> usize {
    plan.setting(&GETS, count(plan).min(1_000_000))
}

fn sync_puts(plan: &BenchPlan) -> usize {
    plan.setting(&SYNC_PUTS, plan.size.pick([100, 300, 500, 1000]))
}

/// Returns the rows of a run.
fn rows(bench: &mut Bench, count: usize) -> BenchRows {
    let value_bytes = value_bytes(&bench.plan);
    bench.set("rows", format!("{count} of 8 random key bytes and {value_bytes} value bytes"));
    bench.set("batch", batch(&bench.plan));
    BenchRows::new(count, value_bytes, bench.plan.seed)
}

/// Returns the memory that a store takes at most: rows with their index, and a cache that holds as
/// much again.
fn memory(plan: &BenchPlan, rows: usize) -> u64 {
    rows as u64 * (3 * (value_bytes(plan) as u64 + 8) + 100)
}

pub static STORE: Experiment = Experiment {
    name: "store",
    title: "load, reads and durable puts of embedded stores",
    source: "this project's aims",
    claim: "ours loads at 3 times the rate of the best other store and reads at 2 times, and the \
            median of a durable put is at most 1.3 times the best",
    memory: |plan| Ok(memory(plan, count(plan)) + 8 * gets(plan) as u64),
    steps: |plan| plan.rounds * contenders_count(StoreRole::Rows),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let entries = contenders(bench, StoreRole::Rows)?;
    let rows = rows(bench, count(&bench.plan));
    bench.set("gets", gets(&bench.plan));
    bench.set("durable puts", sync_puts(&bench.plan));
    let scratch = bench.scratch()?;
    let mut latencies: Vec<_> = entries.iter().map(|_| latency::histogram()).collect();
    for round in 0..bench.plan.rounds {
        for (entry, latencies) in entries.iter().zip(&mut latencies) {
            bench.step(&format!("round {}, {}", round + 1, entry.name));
            let folder = scratch.fresh("store")?;
            StoreTurn { entry, rows: &rows, folder: &folder }.measure(bench, latencies)?;
        }
    }
    Ok(())
}

/// Returns the number of stores that could take part.
pub fn contenders_count(part: StoreRole) -> usize {
    store::ALL.iter().filter(|entry| entry.part.takes(part)).count()
}

/// Returns those stores of this role that the user wants. Notes the stores that this build lacks.
pub fn contenders(bench: &mut Bench, part: StoreRole) -> Result<Vec<&'static RegisteredStore>> {
    let concerned = store::ALL.iter().copied().filter(|entry| entry.part.takes(part)).collect();
    bench.stores(store::absent(part), concerned, |entry| (entry.name, entry.about))
}

/// One contender's turn.
struct StoreTurn<'a> {
    entry: &'a RegisteredStore,
    rows: &'a BenchRows,
    folder: &'a Path,
}

impl StoreTurn<'_> {
    fn measure(&self, bench: &mut Bench, latencies: &mut Histogram<u64>) -> Result<()> {
        let mut store = self.open(DurabilityLevel::Relaxed)?;
        let loaded = self.load(batch(&bench.plan), store.as_mut())?;
        bench.add(LOAD, self.entry.name, None, loaded)?;
        let read = self.get(bench, store.as_mut())?;
        bench.add(GET, self.entry.name, None, read)?;
        self.named(store.close())?;

        let mut store = self.open(DurabilityLevel::Sync)?;
        let round = self.put(bench, store.as_mut())?;
        self.named(store.close())?;
        bench.add(PUT, self.entry.name, None, latency::quantile(&round, 0.5, 1e3))?;
        bench.add(PUT_P99, self.entry.name, None, latency::quantile(&round, 0.99, 1e3))?;
        // The bounds are equal, so this does not fail.
        latencies.add(&round).map_err(|error| Error::Failed(error.to_string()))?;
        bench.curve(PUT.measure, self.entry.name, None, latency::curve(latencies, 1e3));
        Ok(())
    }

    /// Adds the store's name to its error.
    fn named<T>(&self, done: StoreResult<T>) -> Result<T> {
        named(self.entry.name, done)
    }

    fn open(&self, level: DurabilityLevel) -> Result<Box<dyn StoreContender>> {
        let setup = StoreSetup { folder: self.folder, level, bytes: self.rows.bytes(), cache: None };
        self.named((self.entry.open)(&setup))
    }

    fn load(&self, batch: usize, store: &mut dyn StoreContender) -> Result<f64> {
        let start = Instant::now();
        self.named(put_all(store, self.rows, batch))?;
        Ok(krows_per_s(self.rows.len(), start))
    }

    fn get(&self, bench: &Bench, store: &mut dyn StoreContender) -> Result<f64> {
        let wanted = self.rows.sample(gets(&bench.plan));
        let start = Instant::now();
        let right = pinned(0, || count_right(store, self.rows, &wanted))?;
        let figure = krows_per_s(wanted.len(), start);
        Error::check_answers(self.entry.name, GET.measure, wanted.len() - self.named(right)?)?;
        Ok(figure)
    }

    fn put(&self, bench: &Bench, store: &mut dyn StoreContender) -> Result<Histogram<u64>> {
        let mut latencies = latency::histogram();
        for &n in &self.rows.sample(sync_puts(&bench.plan)) {
            let start = Instant::now();
            self.named(store.put(self.rows, n))?;
            latencies.saturating_record(start.elapsed().as_nanos() as u64);
        }
        Ok(latencies)
    }
}

/// Adds a store's name to its error.
pub fn named<T>(name: &str, done: StoreResult<T>) -> Result<T> {
    done.map_err(|error| Error::Failed(format!("{name}: {error}")))
}

/// Puts all rows in batches, and forces them to disk.
pub fn put_all(store: &mut dyn StoreContender, rows: &BenchRows, batch: usize) -> StoreResult<()> {
    for first in (0..rows.len()).step_by(batch) {
        store.put_batch(rows, first..(first + batch).min(rows.len()))?;
    }
    store.force()
}

/// Reads these rows; returns the number of right values.
pub fn count_right(
    store: &mut dyn StoreContender,
    rows: &BenchRows,
    numbers: &[usize],
) -> StoreResult<usize> {
    let mut right = 0;
    store.get_each(rows, numbers, &mut |n, value| {
        right += usize::from(value.is_some_and(|value| rows.is(n, value)));
    })?;
    Ok(right)
}

/// Returns thousands of operations per second.
pub fn krows_per_s(operations: usize, since: Instant) -> f64 {
    operations as f64 / since.elapsed().as_secs_f64() / 1e3
}

fn judge(findings: &Findings) -> Judgement {
    let others: Vec<&str> =
        findings.contenders.iter().map(|contender| &*contender.name).filter(|name| *name != OURS).collect();
    // The ratio of latencies is inverted, so that more is better for all three.
    let beside_the_best = |measure: &str, less: bool| -> Vec<(String, f64)> {
        let ratio = |other: &str| {
            let (ours, its) = (findings.median(measure, OURS, None)?, findings.median(measure, other, None)?);
            Some((other.to_owned(), if less { its / ours } else { ours / its }))
        };
        let ratios = others.iter().filter_map(|other| ratio(other));
        ratios.min_by(|a, b| a.1.total_cmp(&b.1)).into_iter().collect()
    };
    Judgement::at_least(3.0, "load, ours / best other", &beside_the_best(LOAD.measure, false))
        .and(Judgement::at_least(2.0, "get, ours / best other", &beside_the_best(GET.measure, false)))
        .and(Judgement::at_least(
            1.0 / 1.3,
            "median of a durable put, best other / ours",
            &beside_the_best(PUT.measure, true),
        ))
}

#[cfg(test)]
mod tests;
