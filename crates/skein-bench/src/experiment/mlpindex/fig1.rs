//! Figures 1 and 2 of MlpIndex: the cost of K independent random reads, on huge pages and on pages
//! of 4 KiB.
//!
//! Uses the probe's loops ([`crate::probe`]), with as many rounds as the other experiments and a
//! line per array.

use std::time::Duration;

use super::super::findings::MeasureSpec;
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::probe::{self, PageKind, PageKindReport, ReadGroups, normalized, size};
use crate::result::{AxisPoint, Better, ResultCell};
use crate::{Result, machine};

/// The paper measures every group up to 120; these groups suffice to show the line.
const GROUPS: [usize; 20] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 60, 72, 88, 104, 120];
/// The lines of 64 bytes in the greatest array: 1 GiB, and the paper's 4 GiB.
const LINES: [usize; 4] = [1 << 24, 1 << 24, 1 << 26, 1 << 26];
/// The least size of the greatest array.
const LEAST: u64 = 1 << 20;
/// Repetitions of each figure in a round. The quickest counts, because every disturbance only adds
/// time.
const LOOKS: usize = 3;

const TIME: MeasureSpec<'_> = MeasureSpec::less("time of K reads", "times that of one");
const AT_ONCE: MeasureSpec<'_> = MeasureSpec::more("reads at once, K / T", "reads");
const ONE: MeasureSpec<'_> = MeasureSpec::less("one read alone", "ns");
const C: MeasureSpec<'_> = MeasureSpec::less("c of T = 1 + c (K - 1)", "c");
const MOST: MeasureSpec<'_> = MeasureSpec::more("reads at once in large groups", "reads");
const OFF: MeasureSpec<'_> = MeasureSpec::less("distance from the line", "%");
const GIVEN: MeasureSpec<'_> =
    MeasureSpec { measure: "part of the memory on huge pages", unit: "%", better: Better::Neither };

const HUGE: &str = "huge pages";
const SMALL: &str = "pages of 4 KiB";

/// The times count as a line if they are at most this far from it, in percent.
const STRAIGHT: f64 = 15.0;
/// About twice the paper's greatest c.
const LARGE_C: f64 = 0.25;
/// Pages of 4 KiB have at most this fraction of the overlap of huge ones; the paper's have half.
const LESS: f64 = 0.8;
/// The share in percent from which an array counts as lying on huge pages; its ends may lie on
/// small ones.
const ENOUGH: f64 = 95.0;

fn greatest(plan: &BenchPlan) -> u64 {
    let bytes = (plan.keys_or(LINES) as u64).saturating_mul(64).max(LEAST);
    1 << bytes.ilog2()
}

fn probed(plan: &BenchPlan) -> probe::ProbePlan {
    let greatest = greatest(plan);
    probe::ProbePlan {
        curve: vec![greatest],
        arrays: vec![greatest >> 4, greatest >> 2, greatest],
        groups: GROUPS.into(),
        rounds: LOOKS,
        slice: Duration::from_millis(3),
    }
}

/// Returns the bytes of two arrays and of the room to align them.
fn memory(plan: &BenchPlan) -> u64 {
    greatest(plan).saturating_mul(2).saturating_add(16 << 20)
}

pub static FIG1: Experiment = Experiment {
    name: "mlpindex-fig1",
    title: "the time of K independent random reads, on huge pages (--count: lines of the greatest array)",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", figure 1 and section 2.2",
    claim: "it grows linearly, T = 1 + c (K - 1) times that of one read, for all sizes of the \
            array: c = 0.117 on a Skylake and a Haswell, 0.065 on an Epyc, on pages of 1 GiB. \
            Here: on pages of 2 MiB, the times at most 15 % off the line, c at most 0.25",
    memory: |plan| Ok(memory(plan)),
    steps: |plan| plan.rounds,
    run: |bench| run(bench, |on, groups| on.pages == PageKind::Huge && groups.bytes > 0),
    judge: |findings| judge_line(findings, past_caches()),
};

pub static FIG2: Experiment = Experiment {
    name: "mlpindex-fig2",
    title: "the same on pages of 4 KiB, beside the greatest array on huge ones (--count: lines of \
            the greatest array)",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", figure 2 and section 2.4",
    claim: "on pages of 4 KiB fewer reads overlap the larger the array: slightly over 4 at 4 GiB, \
            against 8 on pages of 1 GiB. Here: at most 0.8 of those on huge pages in the greatest \
            array",
    memory: |plan| Ok(memory(plan)),
    steps: |plan| plan.rounds,
    run: |bench| {
        let greatest = greatest(&bench.plan);
        run(bench, move |on, groups| on.pages == PageKind::Small || groups.bytes == greatest)
    },
    judge: |findings| judge_pages(findings, past_caches()),
};

/// Returns the MiB of an array that surely exceeds the caches.
fn past_caches() -> f64 {
    mebibytes(2 * machine::caches().last().map_or(0, |cache| cache.bytes))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn name(pages: PageKind) -> &'static str {
    match pages {
        PageKind::Huge => HUGE,
        PageKind::Small => SMALL,
    }
}

/// Probes once per round. `shown` selects the arrays that are lines of the figure.
fn run(bench: &mut Bench, shown: impl Fn(&PageKindReport, &ReadGroups) -> bool) -> Result<()> {
    let plan = probed(&bench.plan);
    bench.set("arrays", plan.arrays.iter().map(|&bytes| size(bytes)).collect::<Vec<_>>().join(", "));
    for round in 0..bench.plan.rounds {
        bench.step(&format!("round {}", round + 1));
        let report = probe::run(&plan, &mut |_, _| ())?;
        for on in &report.pages {
            let shown: Vec<&ReadGroups> = on.groups.iter().filter(|groups| shown(on, groups)).collect();
            if !shown.is_empty() {
                add(bench, on, &shown)?;
            }
        }
    }
    Ok(())
}

/// Records the figures of one kind of pages in one round.
fn add(bench: &mut Bench, on: &PageKindReport, shown: &[&ReadGroups]) -> Result<()> {
    let pages = name(on.pages);
    bench.findings.contender(pages, "an array that asks for such pages, read at random lines of 64 bytes");
    for groups in shown {
        let line = format!("{}, {pages}", size(groups.bytes));
        bench.findings.contender(&line, "the array of this size");
        for (k, t) in normalized(&groups.group_ns).unwrap_or_default() {
            let real = k as f64;
            let at = AxisPoint::number("K", real);
            bench.add(TIME, &line, Some(&at), t)?;
            bench.add(AT_ONCE, &line, Some(&at), real / t)?;
        }
        let array = AxisPoint {
            label: size(groups.bytes),
            ..AxisPoint::number("array in MiB", mebibytes(groups.bytes))
        };
        let fit = groups.fit;
        for (place, figure) in [
            (ONE, groups.one_ns()),
            (C, fit.c),
            (MOST, fit.at_once),
            (OFF, 100.0 * fit.off),
            (GIVEN, 100.0 * on.huge_share()),
        ] {
            bench.add(place, pages, Some(&array), figure)?;
        }
    }
    Ok(())
}

/// Returns the medians of a figure on such pages, in arrays of at least `least` MiB, smallest array
/// first: pairs of a label and a figure.
fn past(findings: &Findings, place: MeasureSpec<'_>, pages: &str, least: f64) -> Vec<(String, f64)> {
    let of = |cell: &&ResultCell| cell.measure == place.measure && cell.contender == pages;
    let mut found: Vec<(f64, String, f64)> = findings
        .cells
        .iter()
        .filter(of)
        .filter_map(|cell| {
            let at = cell.at.as_ref()?;
            Some((at.value.filter(|&size| size >= least)?, at.label.clone(), cell.summary().median))
        })
        .collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found.into_iter().map(|(_, label, figure)| (label, figure)).collect()
}

/// Returns why arrays on huge pages cannot be judged; `None` if they can.
fn why_not(findings: &Findings, least: f64) -> Option<Judgement> {
    let given = past(findings, GIVEN, HUGE, least);
    let Some((label, share)) = given.last() else {
        return Some(Judgement::untested(format!(
            "no array exceeds the caches: that takes {least:.0} MiB here, twice the last cache"
        )));
    };
    (*share < ENOUGH).then(|| {
        Judgement::untested(format!(
            "the system put {share:.0} % of {label} on huge pages; `skein probe` shows how to change that"
        ))
    })
}

fn judge_line(findings: &Findings, least: f64) -> Judgement {
    if let Some(untested) = why_not(findings, least) {
        return untested;
    }
    let (lines, off) = (past(findings, C, HUGE, least), past(findings, OFF, HUGE, least));
    let of = |((label, c), (_, off)): ((String, f64), (String, f64))| {
        Judgement::of(off <= STRAIGHT && c <= LARGE_C, format!("{label}: c = {c:.3}, off by {off:.0} %"))
    };
    Judgement::all_of(lines.into_iter().zip(off).map(of), "not measured")
}

fn judge_pages(findings: &Findings, least: f64) -> Judgement {
    if let Some(untested) = why_not(findings, least) {
        return untested;
    }
    let (huge, small) = (past(findings, MOST, HUGE, least), past(findings, MOST, SMALL, least));
    let (Some((label, most)), Some((_, least_of_all))) = (huge.last(), small.last()) else {
        return Judgement::untested("not measured");
    };
    let ratio = least_of_all / most;
    let beside = Judgement::of(
        ratio <= LESS,
        format!("{label}: {least_of_all:.1} reads at once on {SMALL}, {most:.1} on {HUGE}, ratio {ratio:.2}"),
    );
    let figures: Vec<_> = small.iter().map(|(label, reads)| format!("{label}: {reads:.1}")).collect();
    let figures = format!("on {SMALL} by size, {}", figures.join(", "));
    if small.len() < 2 {
        return beside.and(Judgement::untested(figures));
    }
    beside.and(Judgement::of(small[0].1 > *least_of_all, figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    /// Returns findings on arrays of 64, 256 and 1024 MiB.
    fn found(huge: [(f64, f64, f64); 3], small_most: [f64; 3], given: f64) -> Findings {
        let mut findings = Findings::default();
        for (number, mebibytes) in [64.0, 256.0, 1024.0].into_iter().enumerate() {
            let at = AxisPoint::number("array in MiB", mebibytes);
            let (c, off, most) = huge[number];
            for (place, figure) in [(C, c), (OFF, off), (MOST, most), (GIVEN, given)] {
                findings.add(place, HUGE, Some(&at), figure);
            }
            findings.add(MOST, SMALL, Some(&at), small_most[number]);
        }
        findings
    }

    const PAPER: [(f64, f64, f64); 3] = [(0.117, 3.0, 8.0); 3];

    #[test]
    fn a_line_with_a_small_c_is_the_papers() {
        let of = |huge| judge_line(&found(huge, [5.0; 3], 100.0), 64.0);
        assert_eq!(of(PAPER).answer, ClaimAnswer::Holds);
        assert!(of(PAPER).why.contains("1024: c = 0.117, off by 3 %"), "{:?}", of(PAPER));
        assert_eq!(of([PAPER[0], PAPER[1], (0.5, 3.0, 2.0)]).answer, ClaimAnswer::DoesNotHold);
        assert_eq!(of([PAPER[0], (0.1, 40.0, 8.0), PAPER[2]]).answer, ClaimAnswer::DoesNotHold);
    }

    #[test]
    fn arrays_within_the_caches_do_not_count() {
        let findings = found([(0.9, 90.0, 1.0), PAPER[1], PAPER[2]], [9.0, 6.0, 4.0], 100.0);
        assert_eq!(judge_line(&findings, 100.0).answer, ClaimAnswer::Holds);
        assert_eq!(judge_line(&findings, 64.0).answer, ClaimAnswer::DoesNotHold);
        let none = judge_line(&findings, 2000.0);
        assert_eq!(none.answer, ClaimAnswer::CannotBeTested);
        assert!(none.why.contains("2000 MiB"), "{none:?}");
    }

    #[test]
    fn without_huge_pages_there_is_no_judgement() {
        for judge in [judge_line, judge_pages] {
            let judged = judge(&found(PAPER, [6.0, 5.0, 4.0], 30.0), 64.0);
            assert_eq!(judged.answer, ClaimAnswer::CannotBeTested);
            assert!(judged.why.contains("30 % of 1024"), "{judged:?}");
        }
    }

    #[test]
    fn small_pages_overlap_less_the_larger_the_array() {
        let of = |small, least| judge_pages(&found(PAPER, small, 100.0), least).answer;
        assert_eq!(of([6.0, 5.0, 4.0], 64.0), ClaimAnswer::Holds);
        assert_eq!(of([4.0, 4.0, 4.0], 64.0), ClaimAnswer::DoesNotHold);
        assert_eq!(of([9.0, 8.0, 7.5], 64.0), ClaimAnswer::DoesNotHold);
        assert_eq!(of([6.0, 5.0, 4.0], 1000.0), ClaimAnswer::CannotBeTested);
        assert_eq!(judge_pages(&Findings::default(), 64.0).answer, ClaimAnswer::CannotBeTested);
    }

    #[test]
    fn the_greatest_array_is_a_power_of_two_within_the_count() {
        let plan = |count| BenchPlan { count, ..BenchPlan::of_a_test() };
        assert_eq!(greatest(&plan(None)), 1 << 30);
        assert_eq!(greatest(&plan(Some(100_000))), 4 << 20);
        assert_eq!(greatest(&plan(Some(16))), LEAST);
        assert!(memory(&plan(Some(usize::MAX))) > 1 << 62);
    }
}
