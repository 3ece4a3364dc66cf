use super::super::{bench, named};
use super::*;
use crate::result::{ClaimVerdict, ResultCell, ResultLine};
use crate::rival::store::{self, StoreRole};

/// Runs an experiment at a tiny size; returns its cells and its verdicts.
fn tiny(name: &str, count: usize) -> (Vec<ResultCell>, Vec<ClaimVerdict>) {
    let experiment = named(name).expect("registered");
    let plan = BenchPlan { count: Some(count), rounds: 1, ..BenchPlan::of_a_test() };
    assert!((experiment.memory)(&plan).expect("good names") > 0 && (experiment.steps)(&plan) > 0);
    let (lines, done) = bench::run_in_test(experiment, plan);
    done.expect("it runs");
    let (mut cells, mut verdicts) = (Vec::new(), Vec::new());
    for line in lines {
        match line {
            ResultLine::Cell(cell) => cells.push(cell),
            ResultLine::Verdict(verdict) => verdicts.push(verdict),
            ResultLine::Run(_) | ResultLine::Note(_) => {}
        }
    }
    assert!(cells.iter().all(|cell| cell.rounds.len() == 1 && cell.rounds[0] >= 0.0), "{cells:?}");
    (cells, verdicts)
}

/// Returns the number of cells of a measure.
fn of(cells: &[ResultCell], measure: &str) -> usize {
    cells.iter().filter(|cell| cell.measure == measure).count()
}

#[test]
fn every_figure_has_its_lines_and_its_verdicts() {
    for (name, sets, verdicts) in [
        ("bitbase-fig4", 5 * 2 * 2, 2 * 3),
        ("bitbase-fig5", 5 * 2 * 4, 2 * 2),
        ("bitbase-fig6", 5 * 2 * 2, 2 * 2),
        ("bitbase-fig7", 8, 3),
        ("bitbase-fig8", 7 * 6, 2 * 3),
        ("bitbase-growth", 20 * 3, 3),
    ] {
        let (cells, judged) = tiny(name, 300);
        assert_eq!((of(&cells, "set"), judged.len()), (sets, verdicts), "{name}");
    }
}

#[test]
fn the_file_is_measured_over_both_axes() {
    let (cells, judged) = tiny("bitbase-fig9", 300);
    let by = |axis: &str| of(&cells, &format!("file per request, by key {axis}"));
    assert_eq!((by("length"), by("space"), judged.len()), (4 * 6, 5 * 6, 2 * 6));
}

#[test]
fn every_way_to_read_has_its_figures_on_every_kind_of_reads() {
    let (cells, judged) = tiny("bitbase-cache", 3_000);
    assert_eq!((of(&cells, "get"), of(&cells, "pages read"), judged.len()), (12, 12, 2));
}

#[test]
fn our_tries_and_all_engines_are_measured() {
    let (cells, judged) = tiny("bitbase-rivals", 300);
    let engines = store::ALL.iter().filter(|entry| entry.part.takes(StoreRole::Pages)).count();
    let points = 2 * 2 * engines;
    for measure in ["load", "get", "get, each by itself", "set", "set, 100 at once"] {
        assert_eq!(of(&cells, measure), points, "{measure}");
    }
    assert_eq!((of(&cells, "inc"), judged.len()), (points / 2, 4));
    let durable = store::ALL.iter().filter(|entry| entry.part.takes(StoreRole::Pages) && entry.durable);
    assert_eq!(
        (of(&cells, "on disk"), of(&cells, "set, durable")),
        (4 * durable.clone().count(), 4 * durable.count())
    );
}
