//! Requests as the file grows to ten times the cache and more. The paper asks in section 4 whether
//! throughput stays stable, but has no figure for it.

use skein_disk::{CACHE_LEAST, DiskStore, PAGE};

use super::requests::KeyRequests;
use super::series::{SET, bytes_in_use, failed, of_each, options, set, thousands};
use super::{CLASSICAL, HASH, LINKED, count, memory, wanted};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::{AxisPoint, Better};
use crate::rival::store::{DiskTrieSetup, TRIES};

const KEYS: &str = "intkey(9223372036854775808)";
/// The number of parts of a run.
const PARTS: usize = 20;
/// The size that the file must reach, as a multiple of the cache.
const TIMES: f64 = 10.0;
/// The least bytes that a key takes in the pages of the file. The cache is made small enough that
/// the file outgrows it.
const KEY_BYTES: usize = 24;
/// "Stable" means at least this fraction of the rate when the file first exceeded the cache.
const STABLE: f64 = 0.5;

const IN_CACHES: MeasureSpec<'_> =
    MeasureSpec { measure: "file, in caches", unit: "times the cache", better: Better::Neither };

/// Returns the pages of the cache.
fn pages(plan: &BenchPlan) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ten")]
    let times = TIMES as usize;
    (count(plan) * KEY_BYTES / PAGE / times).max(CACHE_LEAST)
}

pub static GROWTH: Experiment = Experiment {
    name: "bitbase-growth",
    title: "requests for new keys as the file grows to ten times the cache and more",
    source: "Xie (BitBase), section 4 (no figure)",
    claim: "throughput stays stable as the data file grows; here: at least half of it remains \
            while the file grows from the size of the cache to ten times that",
    memory: |plan| memory(plan, [KEYS], pages(plan)),
    steps: |plan| plan.rounds * TRIES.len(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let groups = wanted(bench, &[LINKED, CLASSICAL, HASH])?;
    bench.set("cache pages", pages(&bench.plan));
    let asked = KeyRequests::new(KEYS, count(&bench.plan), bench.plan.seed)?;
    let scratch = bench.scratch()?;
    for round in 0..bench.plan.rounds {
        for trie in groups.iter().flat_map(|(_, tries)| tries) {
            bench.step(&format!("round {}, {}", round + 1, trie.name));
            grow(bench, &scratch, trie, &asked)?;
        }
    }
    Ok(())
}

/// Runs one trie's turn.
fn grow(bench: &mut Bench, scratch: &Scratch, trie: &DiskTrieSetup, asked: &KeyRequests) -> Result<()> {
    let pages = pages(&bench.plan);
    let store = DiskStore::open(scratch.fresh("disk")?, options(trie, pages)).map_err(failed)?;
    let part = asked.len().div_ceil(PARTS);
    for first in (0..asked.len()).step_by(part) {
        let numbers = first..(first + part).min(asked.len());
        let at = AxisPoint::number("requests", numbers.end as f64);
        let count = numbers.len();
        let seconds = set(&store, asked, numbers, bench.plan.clock)?;
        bench.add(SET, trie.words, Some(&at), thousands(count, seconds))?;
        let grown = of_each(bytes_in_use(&store), (pages * PAGE) as u64);
        bench.add(IN_CACHES, trie.words, Some(&at), grown)?;
    }
    store.close().map_err(failed)
}

fn judge(findings: &Findings) -> Judgement {
    let judged = TRIES.iter().filter(|trie| findings.cells.iter().any(|cell| cell.contender == trie.words));
    Judgement::each_of(judged.map(|trie| judge_trie(findings, trie.words)), "not measured")
}

/// Judges one trie's rate at the two sizes.
fn judge_trie(findings: &Findings, line: &str) -> Judgement {
    let reached = |times: f64| {
        let mut labels = findings.labels(IN_CACHES.measure).into_iter();
        labels.find(|label| findings.median(IN_CACHES.measure, line, *label).is_some_and(|at| at > times))
    };
    let rate = |label| findings.median(SET.measure, line, label);
    match (reached(1.0), reached(TIMES)) {
        (Some(first), Some(last)) => {
            let kept = rate(last).zip(rate(first)).map(|(last, first)| (line.to_owned(), last / first));
            Judgement::at_least(STABLE, "set, file of ten caches / of one", kept.as_slice())
        }
        _ => Judgement::untested(format!(
            "{line}: the file has not grown to ten times the cache; set a greater --count"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn the_rates_at_one_and_at_ten_caches_count() {
        let judged = |last: f64, times: f64| {
            let mut findings = Findings::default();
            let points = [(1.0, 9.0, 0.5), (2.0, 4.0, 1.5), (3.0, last, times), (4.0, 0.1, times + 1.0)];
            for (requests, rate, grown) in points {
                let at = AxisPoint::number("requests", requests);
                findings.add(SET, TRIES[0].words, Some(&at), rate);
                findings.add(IN_CACHES, TRIES[0].words, Some(&at), grown);
            }
            judge(&findings).answer
        };
        assert_eq!(judged(2.0, 10.5), Holds);
        assert_eq!(judged(1.9, 10.5), DoesNotHold);
        assert_eq!(judged(2.0, 5.0), CannotBeTested);
        assert_eq!(judge(&Findings::default()).answer, CannotBeTested);
    }
}
