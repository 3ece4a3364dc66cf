//! The probe: measures the cost of memory on this machine and gives advice for SkeinDB.
//!
//! ```text
//!   plan ──► measure ──► times ──► fit, plateau ──► advice ──► report (JSON), text
//!              │
//!              ├── array   memory on huge pages, and as much on pages of 4 KiB
//!              └── loops   reads whose addresses depend on each other
//! ```
//!
//! Only `array` and `loops` touch memory. All arithmetic on times is pure, and its tests use
//! made-up times. Read the files in the order of the picture.
//!
//! Source: Haoran Xu, "Efficient Data Structures via Memory Level Parallelism", section 2: groups
//! of K reads (2.2), neighbouring lines (2.3), huge pages (2.4). Latency by footprint goes beyond
//! the paper.

mod advice;
mod array;
mod fit;
mod loops;
mod measure;
mod plan;
mod plateau;
mod report;
mod text;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use advice::Advice;
pub use array::PageKind;
pub use fit::{Fit, fit, normalized};
pub use plan::ProbePlan;
pub use plateau::{Plateau, plateaus};
pub use report::{NeighbourCosts, PageKindReport, ProbeReport, ReadGroups, SCHEMA};
pub(crate) use text::size;

use crate::machine::HugePages;
use crate::{Result, machine, sys};

/// A callback with the current measurement and the fraction done of everything, 0 to 1.
pub type ProbeWatcher<'a> = &'a mut dyn FnMut(&str, f64);

/// Measures on the calling thread, which is pinned to the process's first core during the call.
///
/// # Errors
/// If the system refuses the memory or the core.
pub fn run(plan: &ProbePlan, watch: ProbeWatcher<'_>) -> Result<ProbeReport> {
    let start = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let caches = machine::caches();
    // The thread also maps and fills the memory there, so that it is near that core.
    let measured = sys::pinned(0, || measure::measure(plan, &caches, watch))??;
    let mut report = ProbeReport {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: started.as_secs(),
        took_s: start.elapsed().as_secs_f64(),
        machine: machine::describe(),
        noise: measured.noise,
        pages: measured.pages,
        neighbours: measured.neighbours,
        advice: Vec::new(),
    };
    report.advice = advice::advise(&report, &HugePages::of_this_machine(), &caches);
    Ok(report)
}

/// Returns the machine, with the probe's figures that a few seconds allow. Every run carries it.
///
/// # Errors
/// As [`run`], and if there is too little free memory.
pub fn quick() -> Result<crate::result::Machine> {
    let plan = ProbePlan::quick(None, machine::free_memory()?)?;
    let report = run(&plan, &mut |_, _| ())?;
    Ok(crate::result::Machine { probe: Some(report.summary()), ..report.machine })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> ProbePlan {
        ProbePlan {
            curve: vec![4 << 10, 64 << 10, 1 << 20],
            arrays: vec![64 << 10, 1 << 20],
            groups: vec![1, 2, 4, 32, 120],
            rounds: 2,
            slice: Duration::from_micros(200),
        }
    }

    #[test]
    fn a_run_follows_its_plan() {
        let (plan, mut last) = (small(), 0.0);
        let watch = &mut |_: &str, done: f64| {
            assert!(done >= last && done <= 1.0, "{done} after {last}");
            last = done;
        };
        let report = run(&plan, watch).expect("two mebibytes");
        assert_eq!(
            report.pages.iter().map(|on| on.pages).collect::<Vec<_>>(),
            [PageKind::Huge, PageKind::Small]
        );
        for on in &report.pages {
            assert!(on.read_ns.iter().map(|(bytes, _)| *bytes).eq(plan.curve.iter().copied()));
            assert!(on.groups.iter().map(|groups| groups.bytes).eq(plan.arrays.iter().copied()));
            for groups in &on.groups {
                assert!(groups.group_ns.iter().map(|(k, _)| *k).eq(plan.groups.iter().copied()));
                assert!(groups.group_ns.iter().all(|(_, ns)| *ns > 0.0), "{groups:?}");
            }
        }
        assert_eq!(report.on(PageKind::Small).map(|on| on.huge_bytes), Some(0), "they were not asked for");
        let summary = report.summary();
        assert_eq!(summary.read_ns_by_footprint, report.pages[0].read_ns);
        let same = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(same(summary.mlp_c, report.pages[0].groups[1].fit.c), "{summary:?}");
        assert!(same(summary.mlp_c_small_pages, report.pages[1].groups[1].fit.c), "{summary:?}");
    }

    #[test]
    fn a_report_is_read_back_and_shown() {
        let report = run(&small(), &mut |_, _| ()).expect("two mebibytes");
        let json = serde_json::to_string(&report).expect("figures");
        let text = report.to_string();
        // Compared as shown: JSON's decimals may change a figure's last bit.
        let back = serde_json::from_str::<ProbeReport>(&json).expect("as written");
        assert_eq!(back.to_string(), text);
        assert_eq!(back.machine, report.machine);
        for words in
            ["64 KiB", "huge pages", "T = 1 + c (K - 1)", "Reads at once", "What follows", "prefetch depth"]
        {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
    }
}
