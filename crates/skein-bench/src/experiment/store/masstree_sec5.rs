//! Checkpoints and recovery, as in Masstree's section 5: 140 million pairs, 9.1 GB, written as a
//! checkpoint in 58 s and recovered from it in 38 s, on 16 cores and four SSDs. During a
//! checkpoint, puts keep 72 % of their rate.

use std::path::Path;
use std::time::Instant;

use skein_store::{Durability, Store};

use super::levels::{DURING_SHARE, judge_during, put_order, share, window};
use super::own_store::{check, checkpoint_rate, failed, load, open, puts_during_checkpoint, puts_for};
use super::{batch, krows_per_s, memory, rate, rows};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scaling::cores;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::rival::store::{BenchRows, OURS};

const CHECKPOINT: MeasureSpec<'_> = rate("checkpoint");
const FROM_CHECKPOINT: MeasureSpec<'_> = rate("recovery from checkpoint");
const FROM_LOGS: MeasureSpec<'_> = rate("recovery from logs");

/// The paper's rates in thousands of rows per second and core: 140 million rows on 16 cores, in 58
/// s and in 38 s.
const PAPER_CHECKPOINT: f64 = 140_000.0 / 58.0 / 16.0;
const PAPER_RECOVERY: f64 = 140_000.0 / 38.0 / 16.0;

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([500_000, 2_000_000, 10_000_000, 140_000_000])
}

pub static SEC5: Experiment = Experiment {
    name: "masstree-sec5",
    title: "checkpoint, and recovery from a checkpoint and from logs",
    source: "Masstree (EuroSys 2012), section 5",
    claim: "a checkpoint of 140 million pairs takes 58 s on 16 cores and recovery from it 38 s \
            (151,000 and 230,000 rows per second and core); beside a checkpoint, puts keep 72 % of \
            their rate",
    memory: |plan| Ok(memory(plan, count(plan))),
    steps: |plan| 3 * plan.rounds,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    bench.findings.contender(OURS, "skein_store::Store at buffered, options as they come");
    let rows = rows(bench, count(&bench.plan));
    let scratch = bench.scratch()?;
    for round in 0..bench.plan.rounds {
        measure(bench, &rows, &scratch.fresh("store")?, round + 1)?;
    }
    Ok(())
}

/// Runs a load, recovery from logs, puts during a checkpoint, a checkpoint alone, and recovery from
/// it.
fn measure(bench: &mut Bench, rows: &BenchRows, folder: &Path, round: usize) -> Result<()> {
    bench.step(&format!("round {round}, load"));
    let store = open(folder, Durability::Buffered)?;
    load(&store, rows, batch(&bench.plan))?;
    store.close().map_err(failed)?;
    drop(store);

    bench.step(&format!("round {round}, recovery from logs"));
    let store = recover(bench, rows, folder, FROM_LOGS)?;
    let order = put_order(rows);
    let alone = puts_for(&store, rows, &order, window(&bench.plan))?;
    let (during, _) = puts_during_checkpoint(&store, rows, &order)?;
    bench.add(share(DURING_SHARE), OURS, None, during / alone)?;
    let made = store.checkpoint().map_err(failed)?;
    bench.add(CHECKPOINT, OURS, None, checkpoint_rate(&made))?;
    store.close().map_err(failed)?;
    drop(store);

    bench.step(&format!("round {round}, recovery from a checkpoint"));
    let store = recover(bench, rows, folder, FROM_CHECKPOINT)?;
    store.close().map(drop).map_err(failed)
}

/// Opens the folder and checks that all rows are there.
fn recover(bench: &mut Bench, rows: &BenchRows, folder: &Path, place: MeasureSpec<'_>) -> Result<Store> {
    let start = Instant::now();
    let store = open(folder, Durability::Buffered)?;
    bench.add(place, OURS, None, krows_per_s(rows.len(), start))?;
    let recovered = store.recovery();
    bench.findings.note(format!(
        "{}: {} rows from a checkpoint, {} log records",
        place.measure, recovered.checkpoint_rows, recovered.log_records
    ));
    check(&store, rows, place.measure)?;
    Ok(store)
}

fn judge(findings: &Findings) -> Judgement {
    let cores = cores() as f64;
    let beside_the_paper = |place: MeasureSpec<'_>, paper: f64| {
        let rate = findings.median(place.measure, OURS, None);
        let ratio = rate.map(|rate| ("ours / the paper's".to_owned(), rate / cores / paper));
        Judgement::at_least(1.0, &format!("{} per core", place.measure), ratio.as_slice())
    };
    beside_the_paper(CHECKPOINT, PAPER_CHECKPOINT)
        .and(beside_the_paper(FROM_CHECKPOINT, PAPER_RECOVERY))
        .and(judge_during(findings))
}
