use super::super::findings::MeasureSpec;
use super::super::named;
use super::*;
use crate::result::{AxisPoint, Better, ClaimAnswer};

const RATE: &str = "Mops/s";

fn place(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec { measure, unit: RATE, better: Better::More }
}

/// Returns findings with the rates of the Cuckoo Trie and of Wormhole on some key sets, in all
/// these measures.
fn found(measures: &[&str], rates: &[(&str, f64, f64)]) -> Findings {
    let mut findings = Findings::default();
    for measure in measures {
        for (set, ours, worm) in rates {
            let at = AxisPoint::name("key set", set);
            findings.add(place(measure), CUCKOO, Some(&at), *ours);
            findings.add(place(measure), WORMHOLE, Some(&at), *worm);
        }
    }
    findings
}

fn answers(judged: Judgement) -> Vec<ClaimAnswer> {
    judged.each().into_iter().map(|judged| judged.answer).collect()
}

#[test]
fn the_worst_case_is_judged_the_other_way_round() {
    use ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};
    let of = |rates| answers(judge_mixes(&found(&AHEAD, rates)));
    assert_eq!(of(&[("osm", 1.5, 1.0), (HARD, 0.5, 1.0)]), [Holds, Holds]);
    assert_eq!(of(&[("osm", 0.9, 1.0), (HARD, 1.5, 1.0)]), [DoesNotHold, DoesNotHold]);
    assert_eq!(of(&[("osm", 1.5, 1.0)]), [Holds, CannotBeTested]);
    assert_eq!(answers(judge_mixes(&Findings::default())), [CannotBeTested, CannotBeTested]);
    // A rival has a verdict once it was measured.
    let mut more = found(&AHEAD, &[("osm", 1.5, 1.0), (HARD, 0.5, 1.0)]);
    more.add(place("C"), ART, Some(&AxisPoint::name("key set", "osm")), 2.0);
    assert_eq!(answers(judge_mixes(&more)), [Holds, DoesNotHold, Holds]);
}

#[test]
fn the_greatest_leads_have_the_papers_numbers() {
    use ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};
    let leads = |ours| answers(judge_leads(&found(&["C"], &[("osm", ours, 1.0)])))[2..].to_vec();
    assert_eq!(leads(1.5), [CannotBeTested, Holds, CannotBeTested]);
    assert_eq!(leads(1.4), [CannotBeTested, DoesNotHold, CannotBeTested]);
}

#[test]
fn the_paper_expects_slower_scans_and_we_want_half_the_rate() {
    use ClaimAnswer::{DoesNotHold, Holds};
    let of = |ours| answers(judge_scans(&found(&[ONE, ALL], &[("osm", ours, 1.0)])));
    assert_eq!(of(0.7), [Holds, Holds]);
    assert_eq!(of(0.3), [Holds, DoesNotHold]);
    assert_eq!(of(1.2), [DoesNotHold, Holds]);
}

#[test]
fn every_figure_is_registered_with_its_memory() {
    let plan = BenchPlan { count: Some(1_000), ..BenchPlan::of_a_test() };
    let figures = [2, 6, 7, 8, 9, 10, 11, 12].map(|number| format!("cuckoo-fig{number}"));
    let others = ["cuckoo-ablation", "cuckoo-resize", "cuckoo-targets"].map(str::to_owned);
    for name in figures.iter().chain(&others) {
        let experiment = named(name).expect("registered");
        assert!((experiment.memory)(&plan).expect("good names of key sets") > 0, "{name}");
        assert!((experiment.steps)(&plan) > 0, "{name}");
        let large = BenchPlan { count: Some(1_000_000), ..plan.clone() };
        assert!((experiment.memory)(&large).unwrap() > (experiment.memory)(&plan).unwrap(), "{name}");
    }
}
