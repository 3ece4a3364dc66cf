//! Figure 12: comparison with indexes made for keys of 8 bytes only.
//!
//! The paper's is Xu's `MlpIndex`. Ours has the same design, plus threads, scans and removal. A
//! radix tree that holds its keys, and hash tables, which have no order, also show the price of
//! keys of any length.

use super::super::findings::shown;
use super::super::grid::{Grid, INSERT, MemoryDetail, of_grid};
use super::super::index_memory::BESIDE;
use super::super::loops::{GridLoop, LOOKUP};
use super::super::participants::{CUCKOO, MLP, Participants};
use super::super::{BenchPlan, Experiment, Findings, Judgement};
use super::ART;

const LOOPS: [GridLoop; 1] = [LOOKUP];
const HASH: [&str; 2] = ["hashbrown", "dense-hash-map"];

/// The ratio of the paper's `MlpIndex` in inserts and lookups.
const FASTER: (f64, f64) = (1.3, 1.8);
/// The ratio of its memory in the paper: about 3, so a sixth either way.
const LARGER: (f64, f64) = (2.5, 3.5);

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let takes = Participants::Named(&[CUCKOO, MLP, ART, HASH[0], HASH[1]]);
    Grid { memory: MemoryDetail::Whole, ..super::over_sets(plan, &["rand-8", "osm"], &LOOPS, takes) }
}

pub static FIG12: Experiment = Experiment {
    name: "cuckoo-fig12",
    title: "inserts, lookups and memory beside indexes for keys of 8 bytes alone",
    source: "Cuckoo Trie (SOSP 2021), figure 12 and section 6.7",
    claim: "MlpIndex, for keys of 8 bytes, inserts and looks up 1.3 to 1.8 times as fast and takes \
            about 3 times the memory (here, 2.5 to 3.5). Beside it, our own question: a hash table \
            is 1.3 times as fast",
    judge,
    ..of_grid!(grid)
};

/// Judges the paper's claims about `MlpIndex`, then hash tables, which show the most that giving up
/// order can gain.
fn judge(findings: &Findings) -> Judgement {
    let of = |other: &str, measures: &[&str]| findings.ratios_in(measures, other, CUCKOO, |_| true);
    let rates = |other: &str| of(other, &[LOOKUP.measure, INSERT]);
    let mlp = Judgement::from_to(FASTER, "MlpIndex / Cuckoo Trie", &rates(MLP));
    let bytes = Judgement::from_to(LARGER, "bytes, MlpIndex / Cuckoo Trie", &of(MLP, &[BESIDE]));
    let hash = HASH.iter().filter_map(|hash| {
        let (rates, bytes) = (rates(hash), of(hash, &[BESIDE]));
        let what = format!("{hash} / Cuckoo Trie ({})", shown(&bytes));
        (!rates.is_empty()).then(|| Judgement::at_least(FASTER.0, &what, &rates))
    });
    hash.fold(mlp.alongside(bytes), Judgement::alongside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn mlp_index_and_hash_tables_are_judged_apart() {
        let mut findings = Findings::default();
        let untested = judge(&findings).each();
        assert!(untested.iter().all(|judged| judged.answer == CannotBeTested), "{untested:?}");
        let found = [
            (CUCKOO, [2.0, 1.0, 20.0]),
            (MLP, [3.0, 2.0, 40.0]),
            (HASH[0], [5.0, 3.0, 30.0]),
            (HASH[1], [2.0, 3.0, 30.0]),
        ];
        for (name, figures) in found {
            for (measure, figure) in [LOOKUP.measure, INSERT, BESIDE].into_iter().zip(figures) {
                findings.add_rates(measure, "osm", &[(name, figure)]);
            }
        }
        let judged = judge(&findings).each();
        let answers: Vec<_> = judged.iter().map(|judged| judged.answer).collect();
        // MlpIndex looks up 1.5 times as fast and inserts twice as fast, in twice the memory.
        assert_eq!(answers, [Holds, DoesNotHold, DoesNotHold, Holds, Holds, DoesNotHold], "{judged:?}");
        assert!(judged[4].why.contains("(memory beside keys and values on osm: 1.50)"), "{judged:?}");
    }
}
