use super::*;
use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

/// Returns findings with the rates of the Cuckoo Trie and of Wormhole on some key sets, in all
/// these measures.
fn found(measures: &[&str], rates: &[(&str, f64, f64)]) -> Findings {
    let mut findings = Findings::default();
    for measure in measures {
        for (set, ours, worm) in rates {
            findings.add_rates(measure, set, &[(CUCKOO, *ours), (WORMHOLE, *worm)]);
        }
    }
    findings
}

#[test]
fn the_worst_case_is_judged_the_other_way_round() {
    let of = |rates| judge_mixes(&found(&AHEAD, rates)).answers();
    assert_eq!(of(&[("osm", 1.5, 1.0), (HARD, 0.5, 1.0)]), [Holds, Holds]);
    assert_eq!(of(&[("osm", 0.9, 1.0), (HARD, 1.5, 1.0)]), [DoesNotHold, DoesNotHold]);
    assert_eq!(of(&[("osm", 1.5, 1.0)]), [Holds, CannotBeTested]);
    assert_eq!(judge_mixes(&Findings::default()).answers(), [CannotBeTested, CannotBeTested]);
    // A rival has a verdict once it was measured.
    let mut more = found(&AHEAD, &[("osm", 1.5, 1.0), (HARD, 0.5, 1.0)]);
    more.add_rates("C", "osm", &[(ART, 2.0)]);
    assert_eq!(judge_mixes(&more).answers(), [Holds, DoesNotHold, Holds]);
}

#[test]
fn the_greatest_leads_have_the_papers_numbers() {
    let leads = |ours| judge_leads(&found(&["C"], &[("osm", ours, 1.0)])).answers()[2..].to_vec();
    assert_eq!(leads(1.5), [CannotBeTested, Holds, CannotBeTested]);
    assert_eq!(leads(1.4), [CannotBeTested, DoesNotHold, CannotBeTested]);
}

#[test]
fn the_paper_expects_slower_scans_and_we_want_half_the_rate() {
    let of = |ours| judge_scans(&found(&[ONE, ALL], &[("osm", ours, 1.0)])).answers();
    assert_eq!(of(0.7), [Holds, Holds]);
    assert_eq!(of(0.3), [Holds, DoesNotHold]);
    assert_eq!(of(1.2), [DoesNotHold, Holds]);
}
