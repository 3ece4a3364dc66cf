//! Compares the score index with a sorted vector, and checks all invariants after every few
//! operations.

#![expect(clippy::cast_precision_loss, reason = "scores are small numbers")]

use std::ops::ControlFlow;

use super::node::{RunTotals, ScoreChildren, ScoreNode, ScoreSubtree, WIDTH};
use skein_model::Member;

use super::run::{ScoreRun, compare};
use super::{ScoreIndex, ScoreRoot};
use crate::ScanDirection;

type ScoreEntries = Vec<(f64, Vec<u8>)>;

impl ScoreIndex {
    /// Panics if an invariant does not hold.
    fn check(&self) {
        let mut totals = RunTotals::default();
        let (count, _) = match &self.root {
            ScoreRoot::Run(run) => (check_run(run, &mut totals, &None, &None), 0),
            ScoreRoot::Node(node) => check_node(node, &mut totals, &None, &None),
        };
        assert_eq!(count, self.len);
        assert!(self.totals == totals || self.len == 0, "counted {:?}, found {totals:?}", self.totals);
    }
}

type ScoreEntryBound = Option<(f64, Vec<u8>)>;

fn check_run(run: &ScoreRun, totals: &mut RunTotals, low: &ScoreEntryBound, high: &ScoreEntryBound) -> u64 {
    run.check().unwrap();
    assert!(run.len() <= WIDTH);
    totals.add(run);
    for entry in run.entries(0, run.len()) {
        assert!(low.as_ref().is_none_or(|(score, member)| compare(entry, *score, member).is_ge()));
        assert!(high.as_ref().is_none_or(|(score, member)| compare(entry, *score, member).is_lt()));
    }
    run.len() as u64
}

/// Checks a node between two separators. Returns the number of entries and the depth.
fn check_node(
    node: &ScoreNode,
    totals: &mut RunTotals,
    low: &ScoreEntryBound,
    high: &ScoreEntryBound,
) -> (u64, usize) {
    node.separators.check().unwrap();
    assert!(node.width() <= WIDTH && node.separators.len() + 1 == node.width());
    let separator = |at: usize| {
        let (score, member) = node.separators.get(at);
        Some((score, member.to_vec()))
    };
    let mut depths = Vec::new();
    for at in 0..node.width() {
        let low = &if at == 0 { low.clone() } else { separator(at - 1) };
        let high = &if at + 1 == node.width() { high.clone() } else { separator(at) };
        let (count, depth) = match &node.children {
            ScoreChildren::Runs(runs) => (check_run(&runs[at], totals, low, high), 0),
            ScoreChildren::Nodes(nodes) => check_node(&nodes[at], totals, low, high),
        };
        assert!(count > 0 && count == node.counts[at]);
        depths.push(depth);
    }
    assert!(depths.iter().all(|depth| *depth == depths[0]), "runs at depths {depths:?}");
    (node.counts.iter().sum(), depths[0] + 1)
}

/// Returns the position of an entry in the model.
fn place(model: &ScoreEntries, score: f64, member: &[u8]) -> Result<usize, usize> {
    model.binary_search_by(|(other, name)| compare((*other, Member::of(name)), score, member))
}

fn entries_from(index: &ScoreIndex, rank: u64, direction: ScanDirection) -> ScoreEntries {
    let mut found = Vec::new();
    index.walk(rank, direction, |score, member| {
        found.push((score, member.to_vec()));
        ControlFlow::Continue(())
    });
    found
}

fn same(index: &ScoreIndex, model: &ScoreEntries) {
    index.check();
    assert_eq!(index.len(), model.len() as u64);
    assert_eq!(entries_from(index, 0, ScanDirection::Forward), *model);
    let mut backward = entries_from(index, index.len().wrapping_sub(1), ScanDirection::Backward);
    backward.reverse();
    assert_eq!(backward, *model);
}

fn member(number: u64, long: bool) -> Vec<u8> {
    let mut bytes = format!("member:{number:05}").into_bytes();
    if long {
        bytes.resize(3_000, b'x');
    }
    bytes
}

struct ScoreIndexRng(u64);

impl ScoreIndexRng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Inserts, moves and removes members, in three rounds that mostly insert, change and remove.
fn many(scores: u64, members: u64, steps: u64, long: u64) {
    let mut random = ScoreIndexRng(members * 31 + scores);
    let (mut index, mut model) = (ScoreIndex::default(), ScoreEntries::new());
    for (round, additions) in [9, 5, 1].into_iter().enumerate() {
        for step in 0..steps {
            let number = random.below(members);
            let (score, name) = (random.below(scores) as f64, member(number, number < long));
            let there = place(&model, score, &name);
            if random.below(10) < additions {
                if let Err(at) = there {
                    index.insert(score, &name);
                    model.insert(at, (score, name));
                }
            } else if let Ok(at) = there {
                assert!(index.remove(score, &name));
                model.remove(at);
            } else {
                assert!(!index.remove(score, &name));
                // Any other entry.
                if !model.is_empty() {
                    let (score, name) = model.remove(random.below(model.len() as u64) as usize);
                    assert!(index.remove(score, &name));
                }
            }
            if step % (steps / 20) == 0 {
                same(&index, &model);
                ranks(&index, &model, &mut random);
            }
        }
        same(&index, &model);
        assert!(round == 2 || index.len() > 0);
    }
    while let Some((score, name)) = model.pop() {
        assert!(index.remove(score, &name));
    }
    same(&index, &model);
    assert!(matches!(index.root, ScoreRoot::Run(_)));
}

fn ranks(index: &ScoreIndex, model: &ScoreEntries, random: &mut ScoreIndexRng) {
    for _ in 0..20 {
        let rank = random.below(model.len() as u64 + 2);
        assert_eq!(index.select(rank), model.get(rank as usize).cloned());
        let bound = random.below(60) as f64;
        let below = model.iter().filter(|(score, _)| *score < bound).count();
        assert_eq!(index.rank_by(|score, _| score < bound), below as u64);
        if let Some((score, name)) = model.get(rank as usize) {
            assert_eq!(index.rank(*score, name), rank);
            assert_eq!(entries_from(index, rank, ScanDirection::Forward), model[rank as usize..]);
            assert_eq!(entries_from(index, rank, ScanDirection::Backward).len() as u64, rank + 1);
        }
    }
}

#[test]
fn like_a_sorted_vector() {
    // Many scores, few, one, and long members.
    for (scores, members, steps, long) in
        [(1_000_000, 4_000, 12_000, 0), (50, 3_000, 12_000, 0), (1, 6_000, 12_000, 0), (40, 600, 3_000, 300)]
    {
        many(scores, members, steps, long);
    }
}

#[test]
fn ascending_inserts_fill_runs_and_nodes() {
    let mut index = ScoreIndex::default();
    let mut model = ScoreEntries::new();
    for number in 0..20_000u64 {
        index.insert(number as f64, &member(number, false));
        model.push((number as f64, member(number, false)));
    }
    same(&index, &model);
    let runs = 20_000usize.div_ceil(WIDTH);
    assert!(index.totals.runs <= runs + 1, "{} runs", index.totals.runs);
    // Scores, ends, and the parts of members that differ from their neighbours.
    assert!(index.memory() < 20_000 * 19, "{} bytes", index.memory());
}

#[test]
fn built_at_once() {
    for count in [0, 1, 55, 56, 57, 3_000, 20_000u64] {
        let model: ScoreEntries =
            (0..count).map(|number| ((number / 7) as f64, member(number, false))).collect();
        let mut index = ScoreIndex::of(model.iter().map(|(score, name)| (*score, &name[..])));
        same(&index, &model);
        let mut model = model;
        for number in (0..count).step_by(3) {
            let (score, name) = ((number / 7) as f64, member(number, false));
            assert!(index.remove(score, &name));
            model.remove(place(&model, score, &name).unwrap());
        }
        same(&index, &model);
    }
}

#[test]
fn infinities_and_both_zeros_have_their_places() {
    let mut index = ScoreIndex::default();
    for (score, name) in [(0.0, "b"), (f64::INFINITY, "d"), (-0.0, "c"), (f64::NEG_INFINITY, "e"), (0.0, "")]
    {
        index.insert(score, name.as_bytes());
    }
    let names: Vec<Vec<u8>> =
        entries_from(&index, 0, ScanDirection::Forward).into_iter().map(|entry| entry.1).collect();
    assert_eq!(names, [&b"e"[..], b"", b"b", b"c", b"d"]);
    assert!(index.remove(0.0, b"c") && !index.remove(1.0, b"b"));
    index.check();
}

#[test]
fn an_unordered_bound_does_no_harm() {
    let mut index = ScoreIndex::default();
    for number in 0..5_000u64 {
        index.insert((number * 7 % 13) as f64, &member(number, false));
    }
    // Members without their scores: not in the order of the index.
    let rank = index.rank_by(|_, name| name.cmp_bytes(b"member:02500").is_lt());
    assert!(rank <= index.len());
}

proptest::proptest! {
    #[test]
    fn members_of_any_bytes(entries in proptest::collection::btree_map(
        proptest::collection::vec(proptest::num::u8::ANY, 0..6), 0u8..4, 0..200
    )) {
        let (mut index, mut model) = (ScoreIndex::default(), ScoreEntries::new());
        for (name, score) in entries {
            let score = f64::from(score);
            index.insert(score, &name);
            let at = place(&model, score, &name).unwrap_err();
            model.insert(at, (score, name));
        }
        same(&index, &model);
        let built = ScoreIndex::of(model.iter().map(|(score, name)| (*score, &name[..])));
        same(&built, &model);
        for (score, name) in model {
            assert!(index.remove(score, &name));
            index.check();
        }
    }
}

#[test]
fn shedding_run_by_run_frees_the_whole_index() {
    for count in [0, 1, 64, 65, 20_000_u32] {
        let mut index = ScoreIndex::default();
        for i in 0..count {
            index.insert(1.0, &i.to_be_bytes());
        }
        let (memory, mut shed, mut most) = (index.memory(), 0, 0);
        loop {
            let bytes = index.shed();
            if bytes == 0 {
                break;
            }
            (shed, most) = (shed + bytes, most.max(bytes));
            assert_eq!(index.memory(), memory - shed);
        }
        assert!(shed == memory && index.memory() == 0 && most < 4_000, "{count}: {shed} of {memory}, {most}");
    }
}

/// Reads of paths change nothing, whether the members are present or not, in trees of every height.
#[test]
fn paths_are_read_in_trees_of_every_height() {
    let mut index = ScoreIndex::default();
    for count in [0, 1, WIDTH, 3 * WIDTH, 3 * WIDTH * WIDTH] {
        while index.len() < count as u64 {
            index.insert(1.0, &(index.len() * 7).to_be_bytes());
        }
        let members: Vec<[u8; 8]> = (0..100u64).map(|at| (at * 31 * count as u64).to_be_bytes()).collect();
        let members: Vec<&[u8]> = members.iter().map(<[u8; 8]>::as_slice).collect();
        index.prefetch(1.0, &members);
        index.prefetch(1.0, &[]);
        assert_eq!(index.len(), count as u64);
    }
}
