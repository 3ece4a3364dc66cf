//! Bytes on disk per key, by kind of keys: our three tries, LMDB and redb.

use super::super::store::{contenders, contenders_count};
use super::rivals::{EngineTurn, ON_DISK};
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::keyset;
use crate::result::AxisPoint;
use crate::rival::store::{BenchRows, DISK_LINKED, INTEGER_BYTES, StoreRole, TRIES};
use crate::{Error, Result};

/// The key sets, unless the user names others: random bytes, clustered integers, and words of three
/// kinds.
const SETS: [&str; 5] = ["rand-8", "osm", "az1", "reddit", "ycsb"];

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([100_000, 1_000_000, 1_000_000, 10_000_000])
}

pub static SPACE_OF_SETS: Experiment = Experiment {
    name: "bitbase-sets",
    title: "bytes on disk of a key with 4 bytes of value, by kind of keys: linked, classical and \
            hash trie, LMDB, redb",
    source: "this project's aims",
    claim: "of our tries, the linked one takes the fewest bytes on every kind of keys",
    memory: |plan| {
        let keys = plan.sets_or(&SETS);
        let keys = keys.iter().map(|name| keyset::estimated_bytes(name, count(plan)));
        Ok(3 * keyset::greatest(keys)? + 100 * count(plan) as u64)
    },
    steps: |plan| plan.rounds * plan.sets_or(&SETS).len() * contenders_count(StoreRole::Pages),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    // Engines that cannot be opened again have no file to measure.
    let entries: Vec<_> =
        contenders(bench, StoreRole::Pages)?.into_iter().filter(|entry| entry.durable).collect();
    if entries.is_empty() {
        return Err(Error::Input("no engine with files is left to measure".to_owned()));
    }
    let plan = bench.plan.clone();
    let scratch = bench.scratch()?;
    for name in plan.sets_or(&SETS) {
        let set = keyset::make(&name, count(&plan), 0, plan.seed)?;
        bench.findings.note_on(&set);
        let rows = BenchRows::of_keys(set.keys, INTEGER_BYTES, plan.seed);
        for round in 0..plan.rounds {
            for entry in &entries {
                bench.step(&format!("{name}: round {}, {}", round + 1, entry.name));
                let folder = scratch.fresh("store")?;
                let at = AxisPoint::name("key set", &name);
                EngineTurn { entry, rows: &rows, cache: None, folder: &folder, at }.measure_space(bench)?;
            }
        }
    }
    Ok(())
}

fn judge(findings: &Findings) -> Judgement {
    let others = TRIES.iter().map(|trie| trie.name).filter(|name| *name != DISK_LINKED);
    let ratios = others.flat_map(|other| {
        let of_sets = findings.ratios(ON_DISK.measure, other, DISK_LINKED);
        of_sets.into_iter().map(move |(set, ratio)| (format!("{set}, {other}"), ratio))
    });
    let ratios: Vec<_> = ratios.collect();
    Judgement::at_least(1.0, "bytes on disk of a key, the other / the linked trie", &ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{DoesNotHold, Holds};

    #[test]
    fn the_linked_trie_is_judged_against_our_tries_only() {
        let judged = |classical: f64| {
            let mut findings = Findings::default();
            for (name, bytes) in [(DISK_LINKED, 60.0), (TRIES[1].name, classical), ("lmdb", 1.0)] {
                findings.add(ON_DISK, name, Some(&AxisPoint::name("key set", "osm")), bytes);
            }
            judge(&findings).answer
        };
        assert_eq!((judged(61.0), judged(59.0)), (Holds, DoesNotHold));
    }
}
