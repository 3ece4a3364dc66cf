//! The memory of indexes: by part, as resident size without huge pages (Wormhole's figure 16), and
//! between two doublings (the Cuckoo Trie's figure 11).

use super::findings::{MeasureSpec, shown};
use super::grid::{self, GridPoint, over_key_sets};
use super::index_memory::{IndexScales, per_key, weigh_index, weigh_parts};
use super::participants::{OURS, Participants, WORMHOLE};
use super::resident_size::in_own_process;
use super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::Result;
use crate::keyset::{self, PackedKeys};
use crate::result::AxisPoint;
use crate::rival::index::RegisteredIndex;

const SETS: [&str; 3] = ["rand-8", "az1", "url"];
/// The paper's baseline for the indexes.
const PAYLOAD: &str = "keys and values alone";
const RESIDENT: &str = "resident size";
const PEAK: &str = "resident size, at its peak";
const GROWING: &str = "memory beside keys and values, as keys are added";
const DOUBLING: &str = "memory in all, over one doubling";
/// The maximum over one doubling; fewer bytes are better.
pub const MOST: MeasureSpec<'_> = per_key("memory beside keys and values, most over a doubling");
/// The number of sizes between two doublings, after the first.
const GROWTH_STEPS: usize = 8;
/// With fewer keys, the memory that a process has anyway is a large part of the figure.
const ENOUGH: f64 = 50_000.0;
/// Sizes are comparable up to this ratio.
const COMPARABLE: f64 = 1.25;
/// A key of at most this many bytes, with its value, counts as very short; the paper's has 8.
const SHORT: f64 = 16.0;

fn points(plan: &BenchPlan) -> Vec<GridPoint> {
    over_key_sets(plan.sets_or(&SETS), plan.keys_or([1_000_000, 5_000_000, 20_000_000, 20_000_000]), 0)
}

/// Returns the memory of a grid, plus a second copy of the keys, in the child or in pieces.
fn memory(plan: &BenchPlan) -> Result<u64> {
    let points = points(plan);
    let most = points.iter().map(|point| keyset::estimated_bytes(&point.keys, point.count));
    Ok(grid::memory(&points, 0, 0)? + keyset::greatest(most)?)
}

pub static MEMORY: Experiment = Experiment {
    name: "memory",
    title: "the memory of indexes: by part, as resident size without huge pages, and between two doublings",
    source: "Wormhole (EuroSys 2019), figure 16; the Cuckoo Trie (SOSP 2021), figure 11",
    claim: "Masstree's resident size is well above that of a B-tree, except on very short keys, \
            where it is one B+-tree itself (Wormhole, section 4.3); here beside std's B-tree. In \
            most cases Wormhole's is comparable to those of a B-tree and a skip list: at most 1.25 \
            times, here",
    memory,
    steps: |plan| (points(plan).len() * plan.rounds + 1) * Participants::All.count(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    for (number, point) in points(&bench.plan).iter().enumerate() {
        let (set, entries) = grid::admit(bench, point, Participants::All)?;
        let at = point.at.as_ref();
        bench.findings.contender(
            PAYLOAD,
            "the bytes of the keys, and 8 for each value: computed, no index has so little",
        );
        for round in 0..bench.plan.rounds {
            for entry in &entries {
                bench.step(&format!("{}: round {}, {}", set.name, round + 1, entry.name));
                weigh(bench, at, &set.name, &set.keys, entry)?;
            }
            bench.add(per_key(RESIDENT), PAYLOAD, at, payload(&set.keys))?;
        }
        if number == 0 {
            bench.set("growth on", &set.name);
            grow(bench, &set.keys, &entries)?;
        }
    }
    Ok(())
}

fn payload(keys: &PackedKeys) -> f64 {
    keys.byte_len() as f64 / keys.len() as f64 + size_of::<u64>() as f64
}

/// Measures one round of a contender: by the allocators, by its own counters, and by the system.
fn weigh(
    bench: &mut Bench,
    at: Option<&AxisPoint>,
    set: &str,
    keys: &PackedKeys,
    entry: &RegisteredIndex,
) -> Result<()> {
    let mut scales = weigh_index(bench, at, keys, entry)?;
    weigh_parts(bench, set, entry, &mut scales)?;
    drop(scales);
    let added = in_own_process(entry, keys)?;
    let each = |bytes: u64| bytes as f64 / keys.len() as f64;
    bench.add(per_key(RESIDENT), entry.name, at, each(added.bytes))?;
    bench.add(per_key(PEAK), entry.name, at, each(added.peak_bytes))
}

/// Splits the keys into steps of growth, from half of them to all.
fn growth_steps(keys: &PackedKeys) -> Vec<PackedKeys> {
    let end = |step: usize| keys.len() * (GROWTH_STEPS + step) / (2 * GROWTH_STEPS);
    let between = |from: usize, to: usize| (from..to).map(|n| keys.get(n)).collect();
    let mut all = vec![between(0, end(0))];
    all.extend((0..GROWTH_STEPS).map(|step| between(end(step), end(step + 1))));
    all
}

/// The bytes of an index at one of its sizes.
#[derive(Debug, Clone, Copy)]
pub struct HeldBytes {
    /// The number of keys.
    pub keys: usize,
    /// All live bytes per key.
    pub total: f64,
    /// The bytes per key without those of keys and values.
    pub overhead: f64,
}

/// Returns a contender's bytes at several sizes, from half of the keys to all.
pub fn over_doubling(keys: &PackedKeys, entry: &RegisteredIndex) -> Vec<HeldBytes> {
    let mut scales = IndexScales::new(entry, keys.len());
    let mut count = 0;
    let held = growth_steps(keys).into_iter().filter(|step| !step.is_empty()).map(|step| {
        scales.fill(&step);
        count += step.len();
        HeldBytes { keys: count, total: scales.total(), overhead: scales.overhead() }
    });
    held.collect()
}

/// Returns the least, the mean and the greatest figure of these sizes. If the number of keys is
/// unknown, users must expect any of them.
pub fn least_mean_most(held: &[HeldBytes], figure: fn(&HeldBytes) -> f64) -> [f64; 3] {
    let figures = || held.iter().map(figure);
    let mean = figures().sum::<f64>() / held.len() as f64;
    [figures().fold(f64::INFINITY, f64::min), mean, figures().fold(0.0, f64::max)]
}

/// Records the most bytes that an index holds over a doubling to these keys.
///
/// # Errors
/// If the figure is not finite.
pub fn add_most(
    bench: &mut Bench,
    at: Option<&AxisPoint>,
    keys: &PackedKeys,
    entry: &RegisteredIndex,
) -> Result<()> {
    let [_, _, most] = least_mean_most(&over_doubling(keys, entry), |held| held.overhead);
    bench.add(MOST, entry.name, at, most)
}

fn grow(bench: &mut Bench, keys: &PackedKeys, entries: &[&'static RegisteredIndex]) -> Result<()> {
    for entry in entries {
        bench.step(&format!("growth, {}", entry.name));
        let sizes = over_doubling(keys, entry);
        for held in &sizes {
            let at = AxisPoint::number("keys", held.keys as f64);
            bench.add(per_key(GROWING), entry.name, Some(&at), held.overhead)?;
        }
        let labels = ["least", "mean", "most"];
        for (label, bytes) in labels.into_iter().zip(least_mean_most(&sizes, |held| held.total)) {
            bench.add(per_key(DOUBLING), entry.name, Some(&AxisPoint::name("of its sizes", label)), bytes)?;
        }
    }
    Ok(())
}

/// Returns the number of keys in the greatest index.
fn most_keys(findings: &Findings) -> f64 {
    let growing = findings.cells.iter().filter(|cell| cell.measure == GROWING);
    growing.filter_map(|cell| cell.at.as_ref()?.value).fold(0.0, f64::max)
}

fn judge(findings: &Findings) -> Judgement {
    if most_keys(findings) < ENOUGH {
        return Judgement::untested(format!(
            "resident sizes of fewer than {ENOUGH} keys tell little; measure more keys (--count)"
        ));
    }
    let ratios = findings.ratios(RESIDENT, OURS, "btreemap");
    let judged = ratios.into_iter().map(|(label, ratio)| {
        let short = findings.median(RESIDENT, PAYLOAD, Some(&label)).is_some_and(|bytes| bytes <= SHORT);
        let (holds, claimed) =
            if short { (ratio <= 1.1, "at most 1.1") } else { (ratio >= 1.2, "at least 1.2") };
        Judgement::of(holds, format!("ours / btreemap, {label}: {ratio:.2} ({claimed} is claimed)"))
    });
    Judgement::all_of(judged, "ours and btreemap were not both measured")
        .alongside(comparable(findings, RESIDENT, WORMHOLE, "Wormhole", "btreemap"))
        .alongside(comparable(findings, RESIDENT, WORMHOLE, "Wormhole", "crossbeam-skiplist"))
}

/// Judges whether the bytes of a contender, which the verdict calls `in_words`, are comparable to
/// another's on most key sets.
pub fn comparable(findings: &Findings, measure: &str, name: &str, in_words: &str, other: &str) -> Judgement {
    let ratios = findings.ratios(measure, name, other);
    let what = format!("{measure}, {in_words} / {other}");
    if ratios.is_empty() {
        return Judgement::untested(format!("{what}: not measured"));
    }
    let near = ratios.iter().filter(|(_, ratio)| *ratio <= COMPARABLE).count();
    let claimed = format!("at most {COMPARABLE} on most is claimed");
    Judgement::of(2 * near > ratios.len(), format!("{what}: {} ({claimed})", shown(&ratios)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    #[test]
    fn growth_steps_begin_with_half_and_hold_all_keys_once() {
        for count in [0, 1, 2, 17, 1000] {
            let names: Vec<Vec<u8>> = (0..count).map(|n: u32| n.to_be_bytes().to_vec()).collect();
            let keys: PackedKeys = names.iter().map(|name| &name[..]).collect();
            let growth_steps = growth_steps(&keys);
            assert_eq!((growth_steps.len(), growth_steps[0].len()), (GROWTH_STEPS + 1, count as usize / 2));
            assert!(growth_steps.iter().flat_map(PackedKeys::iter).eq(keys.iter()));
        }
    }

    /// Returns findings with our resident bytes per key on two key sets; the `BTreeMap` has 40 and
    /// 100.
    fn found(keys: f64, ours: [f64; 2]) -> Findings {
        let mut findings = Findings::default();
        findings.add(per_key(GROWING), OURS, Some(&AxisPoint::number("keys", keys)), 1.0);
        for ((set, payload, theirs), ours) in
            [("rand-8", 16.0, 40.0), ("url", 89.5, 100.0)].into_iter().zip(ours)
        {
            let at = AxisPoint::name("key set", set);
            for (contender, bytes) in [(OURS, ours), ("btreemap", theirs), (PAYLOAD, payload)] {
                findings.add(per_key(RESIDENT), contender, Some(&at), bytes);
            }
        }
        findings
    }

    #[test]
    fn the_claim_is_about_long_keys_and_short_ones() {
        let answer = |keys, ours| judge(&found(keys, ours)).answer;
        assert_eq!(answer(1e6, [33.0, 200.0]), ClaimAnswer::Holds);
        assert_eq!(answer(1e6, [33.0, 90.0]), ClaimAnswer::DoesNotHold);
        assert_eq!(answer(1e6, [60.0, 200.0]), ClaimAnswer::DoesNotHold);
        assert_eq!(answer(1e3, [33.0, 200.0]), ClaimAnswer::CannotBeTested);
        let none = Findings { cells: found(1e6, [1.0, 1.0]).cells.split_off(6), ..Findings::default() };
        assert_eq!(judge(&none).answer, ClaimAnswer::CannotBeTested);
    }

    #[test]
    fn wormhole_is_judged_on_most_sets_per_rival() {
        let judged = |sizes: [f64; 3]| {
            let mut findings = found(1e6, [33.0, 200.0]);
            for ((set, theirs), ours) in
                [("rand-8", 40.0), ("url", 100.0), ("az1", 80.0)].into_iter().zip(sizes)
            {
                let at = AxisPoint::name("key set", set);
                findings.add(per_key(RESIDENT), WORMHOLE, Some(&at), ours);
                findings.add(per_key(RESIDENT), "btreemap", Some(&at), theirs);
            }
            judge(&findings).each()
        };
        let most = judged([48.0, 120.0, 160.0]);
        assert_eq!((most.len(), most[1].answer), (3, ClaimAnswer::Holds), "{most:?}");
        assert!(most[1].why.contains("rand-8: 1.20, url: 1.20, az1: 2.00"), "{most:?}");
        assert_eq!(judged([48.0, 130.0, 160.0])[1].answer, ClaimAnswer::DoesNotHold);
        assert_eq!(most[2].answer, ClaimAnswer::CannotBeTested, "there is no skip list");
    }

    #[test]
    fn figures_name_their_key_sets() {
        let judged = judge(&found(1e6, [33.0, 200.0]));
        assert!(
            judged.why.contains("rand-8: 0.82 (at most 1.1")
                && judged.why.contains("url: 2.00 (at least 1.2"),
            "{judged:?}"
        );
    }
}
