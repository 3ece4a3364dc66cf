//! Our store at different settings: one thread's puts at the three levels of durability, and during
//! a checkpoint.

use std::time::Duration;

use skein_store::Durability;

use super::own_store::{check, checkpoint_rate, failed, load, open, puts_during_checkpoint, puts_for};
use super::{batch, memory, rate, rows};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::store::{BenchRows, OURS};

const LEVELS: [(Durability, &str); 3] =
    [(Durability::None, "none"), (Durability::Buffered, "buffered"), (Durability::Sync, "sync")];

const PUT: MeasureSpec<'_> = rate("put");
const DURING: MeasureSpec<'_> = rate("put during a checkpoint");
const BESIDE: MeasureSpec<'_> = rate("checkpoint beside puts");
const BUFFERED_SHARE: &str = "put, buffered / none";

/// The measure of the rate of puts during a checkpoint, as a fraction of the rate alone.
pub const DURING_SHARE: &str = "put, during a checkpoint / alone";

/// The number of rows that are put repeatedly.
const PUT_ROWS: usize = 1 << 20;

/// Returns a measure of the ratio of two rates of one round.
pub const fn share(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::more(measure, "ratio")
}

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([500_000, 1_000_000, 2_000_000, 20_000_000])
}

/// Returns how long puts are counted.
pub fn window(plan: &BenchPlan) -> Duration {
    Duration::from_millis(plan.size.pick([500, 1000, 2000, 10_000]))
}

/// Returns the numbers of the rows to put.
pub fn put_order(rows: &BenchRows) -> Vec<usize> {
    rows.sample(PUT_ROWS.min(rows.len()))
}

pub static LEVELS_EXPERIMENT: Experiment = Experiment {
    name: "store-levels",
    title: "puts of one thread at none, buffered and sync, and during a checkpoint",
    source: "this project's aims; during a checkpoint: Masstree (EuroSys 2012), section 5",
    claim: "buffered keeps at least 70 % of the rate of puts at none, and a putting thread at \
            least 72 % of its rate during a checkpoint",
    memory: |plan| Ok(memory(plan, count(plan)) + (8 * PUT_ROWS) as u64),
    steps: |plan| plan.rounds * LEVELS.len(),
    run,
    judge: |findings| {
        let buffered = findings.median(BUFFERED_SHARE, OURS, None);
        let buffered = buffered.map(|share| ("buffered / none".to_owned(), share));
        Judgement::at_least(0.7, "rate of puts", buffered.as_slice()).and(judge_during(findings))
    },
};

/// Judges whether puts keep the paper's fraction of their rate.
pub fn judge_during(findings: &Findings) -> Judgement {
    let share = findings.median(DURING_SHARE, OURS, None);
    let share = share.map(|share| ("during / alone".to_owned(), share));
    Judgement::at_least(0.72, "rate of puts beside a checkpoint", share.as_slice())
}

fn run(bench: &mut Bench) -> Result<()> {
    bench
        .findings
        .contender(OURS, "skein_store::Store, one putting thread; no checkpoint but those asked for");
    let rows = rows(bench, count(&bench.plan));
    bench.set("window", format!("{} ms", window(&bench.plan).as_millis()));
    let order = put_order(&rows);
    let scratch = bench.scratch()?;
    for round in 0..bench.plan.rounds {
        let mut none = f64::NAN;
        for (durability, name) in LEVELS {
            bench.step(&format!("round {}, {name}", round + 1));
            let store = open(&scratch.fresh("store")?, durability)?;
            load(&store, &rows, batch(&bench.plan))?;
            let alone = puts_for(&store, &rows, &order, window(&bench.plan))?;
            bench.add(PUT, OURS, Some(&AxisPoint::name("durability", name)), alone)?;
            match durability {
                Durability::None => none = alone,
                Durability::Buffered => {
                    bench.add(share(BUFFERED_SHARE), OURS, None, alone / none)?;
                    let (during, made) = puts_during_checkpoint(&store, &rows, &order)?;
                    bench.add(DURING, OURS, None, during)?;
                    bench.add(share(DURING_SHARE), OURS, None, during / alone)?;
                    bench.add(BESIDE, OURS, None, checkpoint_rate(&made))?;
                }
                Durability::Sync => {}
            }
            check(&store, &rows, PUT.measure)?;
            store.close().map_err(failed)?;
        }
    }
    Ok(())
}
