//! Transactions beside those of other stores: one and two threads, few and many conflicts, with and
//! without waiting for the disk.
//!
//! A turn of one contender: an empty folder gets the rows, each with the value 0. Then each loop
//! runs for a window of time. Every transaction adds one to the values that it writes, and at the
//! end of the turn the sum of all values is checked.
//!
//! | loop | a transaction |
//! | --- | --- |
//! | two rows | reads two random rows and writes both |
//! | a range | reads ten rows in a row and writes one of them |
//!
//! | conflicts | rows of the loop |
//! | --- | --- |
//! | low | all |
//! | high | the first ten |

use std::time::{Duration, Instant};

use super::named;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::setting::WINDOW;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset::SeededRandom;
use crate::result::AxisPoint;
use crate::rival::store::StoreResult;
use crate::rival::transaction::{
    self, CommitDurability, DISK, MEMORY, RegisteredTransactions, RowResult, TransactionContender,
    TransactionRows,
};
use crate::sys::on_threads;
use crate::{Error, Result};

/// The rows of a range, and the rows of a loop with many conflicts.
const RANGE: usize = 10;
/// The rows of a transaction of the load and of the check.
const BATCH: u64 = 1000;
const THREADS: [usize; 2] = [1, 2];
const CONFLICTS: [RowChoice; 2] = [RowChoice::All, RowChoice::First];

const TWO_ROWS: TransactionLoop = TransactionLoop {
    rate: rate("two rows"),
    conflicts: conflicts("two rows, conflicts"),
    body: TransactionBody::TwoRows,
    durability: CommitDurability::Relaxed,
};
const A_RANGE: TransactionLoop = TransactionLoop {
    rate: rate("a range"),
    conflicts: conflicts("a range, conflicts"),
    body: TransactionBody::Range,
    durability: CommitDurability::Relaxed,
};
const DURABLE: TransactionLoop = TransactionLoop {
    rate: rate("two rows, durable"),
    conflicts: conflicts("two rows, durable, conflicts"),
    body: TransactionBody::TwoRows,
    durability: CommitDurability::Sync,
};

const LOOPS: [TransactionLoop; 3] = [TWO_ROWS, A_RANGE, DURABLE];

/// The least rate of our engine in memory as a multiple of the best other store's, unless commits
/// wait for the disk.
const LEAST_IN_MEMORY: f64 = 2.0;
/// The least multiple otherwise.
const LEAST: f64 = 1.0;

/// Returns a measure of thousands of commits per second.
const fn rate(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::more(measure, "ktx/s")
}

/// Returns a measure of repetitions.
const fn conflicts(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::less(measure, "per commit")
}

/// A measured loop, with its figures.
struct TransactionLoop {
    rate: MeasureSpec<'static>,
    /// With two threads.
    conflicts: MeasureSpec<'static>,
    body: TransactionBody,
    durability: CommitDurability,
}

/// The operations of a transaction.
#[derive(Clone, Copy)]
enum TransactionBody {
    TwoRows,
    Range,
}

/// The rows that transactions choose from.
#[derive(Clone, Copy)]
enum RowChoice {
    /// All, so conflicts are rare.
    All,
    /// The first ten, so threads often meet.
    First,
}

impl RowChoice {
    fn of(self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::First => RANGE,
        }
    }

    fn at(self, threads: usize) -> AxisPoint {
        let words = match self {
            Self::All => "low",
            Self::First => "high",
        };
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        AxisPoint::name("conflicts", &format!("{words}, {threads}"))
    }
}

impl TransactionBody {
    /// Returns the sum that a transaction adds to the values.
    fn adds(self) -> u64 {
        match self {
            Self::TwoRows => 2,
            Self::Range => 1,
        }
    }

    /// Runs a transaction on random rows below `rows` until it commits. Returns its conflicts.
    fn run(
        self,
        store: &dyn TransactionContender,
        durability: CommitDurability,
        (rows, random): (usize, &mut SeededRandom),
    ) -> StoreResult<u64> {
        match self {
            Self::TwoRows => {
                let a = random.below(rows) as u64;
                // Another row than `a`.
                let b = (a + 1 + random.below(rows - 1) as u64) % rows as u64;
                store.transact(durability, &mut |view| add_to_both(view, a, b))
            }
            Self::Range => {
                let from = random.below(rows - RANGE + 1) as u64;
                let written = random.below(RANGE);
                store.transact(durability, &mut |view| add_within(view, from, written))
            }
        }
    }
}

fn add_to_both(view: &mut dyn TransactionRows, a: u64, b: u64) -> RowResult<()> {
    let (x, y) = (view.get(a)?, view.get(b)?);
    view.put(a, x + 1)?;
    view.put(b, y + 1)
}

fn add_within(view: &mut dyn TransactionRows, from: u64, written: usize) -> RowResult<()> {
    let mut values = [0; RANGE];
    view.scan(from, &mut values)?;
    view.put(from + written as u64, values[written] + 1)
}

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([100_000, 1_000_000, 1_000_000, 10_000_000]).max(2 * RANGE)
}

fn window(plan: &BenchPlan) -> Duration {
    let own = plan.size.pick([100, 300, 1000, 5000]);
    Duration::from_millis(plan.setting(&WINDOW, own) as u64)
}

pub static TRANSACTIONS: Experiment = Experiment {
    name: "transactions",
    title: "transactions of one and two threads, few and many conflicts",
    source: "this project's aims",
    claim: "transactions in memory run at 2 times the rate of the best other store; those of the \
            disk engine, and durable ones, at its rate",
    // Rows of 16 bytes with their index, in memory and in the caches of one contender at a time.
    memory: |plan| Ok(count(plan) as u64 * 400 + (512 << 20)),
    steps: |plan| plan.rounds * transaction::ALL.len(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let concerned = transaction::ALL.to_vec();
    let entries = bench.stores(transaction::absent(), concerned, |entry| (entry.name, entry.about))?;
    let rows = count(&bench.plan);
    bench.set("rows", format!("{rows} of 8 key bytes and 8 value bytes"));
    bench.set("window", format!("{} ms", window(&bench.plan).as_millis()));
    let scratch = bench.scratch()?;
    for round in 0..bench.plan.rounds {
        for entry in &entries {
            bench.step(&format!("round {}, {}", round + 1, entry.name));
            let folder = scratch.fresh("store")?;
            let store = named(entry.name, (entry.open)(&folder))?;
            TransactionTurn { entry, store: store.as_ref(), rows }.measure(bench, round as u64)?;
            named(entry.name, store.close())?;
        }
    }
    Ok(())
}

/// One contender's turn.
struct TransactionTurn<'a> {
    entry: &'a RegisteredTransactions,
    store: &'a dyn TransactionContender,
    rows: usize,
}

/// The commits and conflicts of one thread.
struct ThreadCount {
    commits: u64,
    conflicts: u64,
    /// Commits per second.
    rate: f64,
}

impl TransactionTurn<'_> {
    fn measure(&self, bench: &mut Bench, round: u64) -> Result<()> {
        self.load()?;
        let mut expected = 0;
        for each in &LOOPS {
            for (rows, threads) in CONFLICTS.iter().flat_map(|rows| THREADS.map(|threads| (rows, threads))) {
                let commits = self.measure_loop(bench, each, (*rows, threads), round)?;
                expected += commits * each.body.adds();
            }
        }
        let is_wrong = self.sum()? != expected;
        Error::check_answers(self.entry.name, "sum of all values", is_wrong.into())
    }

    /// Measures a loop and returns its commits.
    fn measure_loop(
        &self,
        bench: &mut Bench,
        each: &TransactionLoop,
        (rows, threads): (RowChoice, usize),
        round: u64,
    ) -> Result<u64> {
        let (window, seed) = (window(&bench.plan), bench.plan.seed ^ round << 32);
        let counts = on_threads(threads, |thread| {
            let mut random = SeededRandom::new(seed ^ (thread as u64) << 16);
            self.repeat(each, rows.of(self.rows), &mut random, window)
        })?;
        let counts = counts.into_iter().collect::<StoreResult<Vec<_>>>();
        let counts = named(self.entry.name, counts)?;
        let (name, at) = (self.entry.name, rows.at(threads));
        bench.add(each.rate, name, Some(&at), counts.iter().map(|count| count.rate).sum::<f64>() / 1e3)?;
        let commits = counts.iter().map(|count| count.commits).sum();
        if threads > 1 {
            let conflicts: u64 = counts.iter().map(|count| count.conflicts).sum();
            bench.add(each.conflicts, name, Some(&at), per(conflicts, commits))?;
        }
        Ok(commits)
    }

    /// Runs transactions on the calling thread until the window is over.
    fn repeat(
        &self,
        each: &TransactionLoop,
        rows: usize,
        random: &mut SeededRandom,
        window: Duration,
    ) -> StoreResult<ThreadCount> {
        let (mut commits, mut conflicts) = (0, 0);
        let start = Instant::now();
        while start.elapsed() < window {
            conflicts += each.body.run(self.store, each.durability, (rows, random))?;
            commits += 1;
        }
        let rate = per(commits, 1) / start.elapsed().as_secs_f64();
        Ok(ThreadCount { commits, conflicts, rate })
    }

    /// Calls `body` with a transaction for each part of the rows: its first key, and its size.
    fn in_parts(
        &self,
        mut body: impl FnMut(&mut dyn TransactionRows, u64, usize) -> RowResult<()>,
    ) -> Result<()> {
        let rows = self.rows as u64;
        for from in (0..rows).step_by(BATCH as usize) {
            let part = BATCH.min(rows - from) as usize;
            let done = self.store.transact(CommitDurability::Relaxed, &mut |view| body(view, from, part));
            named(self.entry.name, done)?;
        }
        Ok(())
    }

    fn load(&self) -> Result<()> {
        self.in_parts(|view, from, part| (from..from + part as u64).try_for_each(|key| view.put(key, 0)))
    }

    /// Returns the sum of all values. No other thread may write, so no transaction is repeated.
    fn sum(&self) -> Result<u64> {
        let (mut sum, mut values) = (0, [0; BATCH as usize]);
        self.in_parts(|view, from, part| {
            view.scan(from, &mut values[..part])?;
            sum += values[..part].iter().sum::<u64>();
            Ok(())
        })?;
        Ok(sum)
    }
}

fn per(count: u64, of: u64) -> f64 {
    count as f64 / of as f64
}

fn judge(findings: &Findings) -> Judgement {
    let names = findings.contenders.iter().map(|it| &*it.name);
    let others: Vec<&str> = names.filter(|name| ![MEMORY, DISK].contains(name)).collect();
    let judged = [MEMORY, DISK].into_iter().flat_map(|ours| {
        let others = &others;
        LOOPS.iter().map(move |TransactionLoop { rate, durability, .. }| {
            let twice = ours == MEMORY && *durability == CommitDurability::Relaxed;
            let least = if twice { LEAST_IN_MEMORY } else { LEAST };
            let ratios = findings.ratios_to_best(rate.measure, ours, others);
            Judgement::at_least(least, &format!("{}, {ours} / best other", rate.measure), &ratios)
        })
    });
    Judgement::each_of(judged, "nothing was measured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn each_engine_has_its_own_aim() {
        let judged = |memory: f64, disk: f64| {
            let mut findings = Findings::default();
            for (name, rate) in [(MEMORY, memory), (DISK, disk), ("redb", 10.0), ("fjall", 5.0)] {
                findings.contender(name, "");
                for each in [&TWO_ROWS, &DURABLE] {
                    findings.add(each.rate, name, Some(&RowChoice::All.at(2)), rate);
                }
            }
            judge(&findings).answers()
        };
        assert_eq!(judged(20.0, 10.0), [Holds, CannotBeTested, Holds, Holds, CannotBeTested, Holds]);
        assert_eq!(
            judged(19.0, 9.0),
            [DoesNotHold, CannotBeTested, Holds, DoesNotHold, CannotBeTested, DoesNotHold]
        );
    }
}
