//! Table 2: the time of an operation as a number of dependent memory reads.

use super::super::findings::MeasureSpec;
use super::super::grid::{Grid, GridPoint, INSERT, of_grid};
use super::super::loops::{GridLoop, PreparedLoop};
use super::super::memory_read;
use super::super::participants::{MLP, Participants};
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use super::{A, B, BOUND_ALONE, LOOKUP_ALONE};
use crate::Result;
use crate::keyset::KeySet;
use crate::rival::index::{MLP_INDEX_ALL_LEVELS as LEVELS, MLP_INDEX_SERIAL as SERIAL};

const LOOPS: [GridLoop; 2] = [LOOKUP_ALONE, BOUND_ALONE];

/// A row of the table: the timed measure, the measure in memory reads, and the paper's figures on
/// distributions A and B.
struct Table2Row {
    timed: &'static str,
    place: MeasureSpec<'static>,
    paper: [(&'static str, f64); 2],
}

const ROWS: [Table2Row; 3] = [
    Table2Row {
        timed: LOOKUP_ALONE.measure,
        place: MeasureSpec::less("lookup, in reads of memory", "reads"),
        paper: [(A, 1.58), (B, 1.91)],
    },
    Table2Row {
        timed: INSERT,
        place: MeasureSpec::less("insert, in reads of memory", "reads"),
        paper: [(A, 2.10), (B, 2.90)],
    },
    Table2Row {
        timed: BOUND_ALONE.measure,
        place: MeasureSpec::less("lower bound, in reads of memory", "reads"),
        paper: [(A, 2.82), (B, 3.05)],
    },
];

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let takes = Participants::Named(&[MLP, LEVELS, SERIAL]);
    Grid { side_measurement: Some(side_measurement), ..super::over_sets(plan, &[A, B], &LOOPS, takes) }
}

pub static TABLE2: Experiment = Experiment {
    name: "mlpindex-table2",
    title: "lookups, inserts and lower bounds of MlpIndex in reads of memory, on both distributions",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", table 2 and section 4.4",
    claim: "on distributions A and B a lookup takes as long as 1.58 and 1.91 reads of memory, an \
            insert as 2.10 and 2.90, a lower bound as 2.82 and 3.05; by the model of section 2 at \
            most 2.4, 2.9 and 3.4",
    memory: |plan| Ok(grid(plan).memory()? + memory_read::memory(super::count(plan))),
    judge,
    ..of_grid!(grid)
};

/// Measures a memory read beside the operations of each round.
fn side_measurement(bench: &mut Bench, point: &GridPoint, _: &KeySet, _: &[PreparedLoop]) -> Result<()> {
    let read = memory_read::measure(bench, point)?;
    ROWS.iter().try_for_each(|row| memory_read::add_in_reads(bench, row.timed, point, row.place, read))
}

fn judge(findings: &Findings) -> Judgement {
    let judged = ROWS.iter().flat_map(|row| {
        let measure = row.place.measure;
        row.paper.iter().filter_map(move |&(set, most)| {
            let reads = findings.median(measure, MLP, Some(set))?;
            Some(Judgement::at_most(most, &format!("{measure}, MlpIndex"), &[(set.to_owned(), reads)]))
        })
    });
    Judgement::each_of(judged, &format!("the paper's figures are for {A} and {B}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{AxisPoint, ClaimAnswer};

    #[test]
    fn each_row_is_judged_on_each_distribution() {
        use ClaimAnswer::{DoesNotHold, Holds};
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answer, ClaimAnswer::CannotBeTested);
        findings.add(ROWS[0].place, MLP, Some(&AxisPoint::name("key set", "rand-8")), 1.0);
        assert_eq!(judge(&findings).answer, ClaimAnswer::CannotBeTested);
        for row in &ROWS {
            findings.add(row.place, MLP, Some(&AxisPoint::name("key set", A)), 2.5);
            findings.add(row.place, MLP, Some(&AxisPoint::name("key set", B)), 3.0);
        }
        let judged = judge(&findings).each();
        let answers = judge(&findings).answers();
        assert_eq!(answers, [DoesNotHold, DoesNotHold, DoesNotHold, DoesNotHold, Holds, Holds], "{judged:?}");
        assert!(judged[4].why.ends_with("mlp-a: 2.50 (at most 2.82 is claimed)"), "{judged:?}");
    }
}
