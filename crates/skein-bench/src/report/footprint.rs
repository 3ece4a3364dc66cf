//! The cost of a random read in the footprint of each index, and whether that is the latency of
//! memory or of a cache.
//!
//! ```text
//!   cells of the measure `footprint` ──► MiB ─┐
//!                                             ├──► ns of a random read there, and memory's
//!   the probe's reads, the machine's caches ──┘
//! ```
//!
//! An index that fits a cache is measured at the cache's latency. Its figures say little about an
//! index that does not fit.

use super::figures::number;
use super::text::one_line;
use super::view::{MeasureView, RunView, point_name};
use crate::machine::CpuCache;
use crate::probe::plateaus;
use crate::result::{AxisPoint, FOOTPRINT, Machine, ProbeSummary};

/// A read that takes less than this fraction of memory's latency counts as a cache hit.
const OF_MEMORY: f64 = 0.8;

/// Returns a remark for each point with footprints; nothing if the machine was not probed.
pub(super) fn remarks(view: &RunView<'_>) -> Vec<String> {
    let machine = &view.run.machine;
    let Some(latency) = machine.probe.as_ref().and_then(|probe| Latency::of(machine, probe)) else {
        return Vec::new();
    };
    let measured = view.measures.iter().filter(|measure| measure.name == FOOTPRINT);
    measured
        .flat_map(|measure| measure.points.iter().filter_map(|&point| remark(&latency, measure, point)))
        .collect()
}

/// Latency by footprint, and the level of memory if the probe exceeded the caches.
struct Latency {
    /// Pairs of MiB and nanoseconds, rising in MiB.
    reads: Vec<(f64, f64)>,
    /// The latency of memory in nanoseconds.
    memory: Option<f64>,
}

impl Latency {
    fn of(machine: &Machine, probe: &ProbeSummary) -> Option<Self> {
        let usable = |(bytes, ns): &&(u64, f64)| *bytes > 0 && ns.is_finite() && *ns > 0.0;
        let mut reads: Vec<(u64, f64)> = probe.read_ns_by_footprint.iter().filter(usable).copied().collect();
        reads.sort_by_key(|(bytes, _)| *bytes);
        if reads.is_empty() {
            return None;
        }
        let caches: Vec<CpuCache> = machine.caches.iter().filter_map(|text| CpuCache::parse(text)).collect();
        let levels = plateaus(&reads, &caches);
        // If no cache sizes are known, the last of several levels counts as memory.
        let last =
            levels.last().filter(|last| last.name == "memory" || caches.is_empty() && levels.len() > 1);
        let memory = last.map(|last| last.ns);
        Some(Self { reads: reads.into_iter().map(|(bytes, ns)| (mebibytes(bytes), ns)).collect(), memory })
    }

    /// Returns the nanoseconds of a random read in this many MiB. Between two measured footprints
    /// it interpolates the logarithms of both; outside it returns the value at the end.
    fn at(&self, mebibytes: f64) -> f64 {
        let after = self.reads.partition_point(|(size, _)| *size < mebibytes);
        let (Some(&(low, low_ns)), Some(&(high, high_ns))) =
            (self.reads.get(after.wrapping_sub(1)), self.reads.get(after))
        else {
            return self.reads.get(after.min(self.reads.len() - 1)).map_or(f64::NAN, |(_, ns)| *ns);
        };
        let part = (mebibytes / low).ln() / (high / low).ln();
        low_ns * (high_ns / low_ns).powf(part)
    }

    /// Decides by the time alone. The start of a level depends on the noise of a few reads.
    fn is_of_caches(&self, mebibytes: f64) -> Option<bool> {
        Some(self.at(mebibytes) < OF_MEMORY * self.memory?)
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns the remark on the footprints at a point.
fn remark(latency: &Latency, measure: &MeasureView<'_>, point: Option<&AxisPoint>) -> Option<String> {
    let of = |contender: &&str| {
        let size = measure.cell(contender, point)?.summary().median;
        (size.is_finite() && size > 0.0).then(|| (size, one_line(contender)))
    };
    let mut sizes: Vec<(f64, String)> = measure.contenders.iter().filter_map(of).collect();
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (least, most) = (sizes.first()?, sizes.last()?);
    let one = |(size, contender): &(f64, String)| {
        format!("{} ns in the {} MiB of {contender}", number(latency.at(*size)), number(*size))
    };
    let both = if sizes.len() == 1 { one(least) } else { format!("{} and {}", one(least), one(most)) };
    let place = point.map_or_else(String::new, |point| format!("{}: ", one_line(&point_name(Some(point)))));
    Some(format!("{place}a random read takes {both}; {}", judged(latency, &sizes)))
}

/// Judges whether these footprints, smallest first, fit caches.
fn judged(latency: &Latency, sizes: &[(f64, String)]) -> String {
    let Some(memory) = latency.memory else {
        return "the probe did not exceed the caches, so the cost of memory is unknown".to_owned();
    };
    let of_caches: Vec<&str> = sizes
        .iter()
        .filter(|(size, _)| latency.is_of_caches(*size) == Some(true))
        .map(|(_, name)| &**name)
        .collect();
    let memory = format!("memory takes {} ns", number(memory));
    match of_caches.len() {
        0 => format!("that is memory's latency ({memory})"),
        some if some == sizes.len() => {
            format!("{memory}, so these figures are of caches, not of memory: take more keys to measure that")
        }
        _ => format!(
            "{memory}, so the figures of {} are of caches, not of memory: take more keys to measure that",
            of_caches.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::ResultsView;
    use crate::result::{ResultCell, ResultLine, RunRecord};

    /// L1 to 32 KiB, L2 to 1 MiB, L3 to 32 MiB, memory from 64 MiB on.
    fn machine() -> Machine {
        let reads = (12..31).map(|power| {
            let ns = match power {
                ..16 => 1.5,
                16..21 => 5.0,
                21..26 => 25.0,
                _ => 100.0,
            };
            (1 << power, ns)
        });
        let probe = ProbeSummary { read_ns_by_footprint: reads.collect(), ..ProbeSummary::default() };
        let caches = ["L1 32K", "L2 1024K", "L3 32768K"].map(str::to_owned).into();
        Machine { caches, probe: Some(probe), ..Machine::default() }
    }

    /// Returns the remarks on contenders with these MiB on one key set.
    fn said(machine: Machine, sizes: &[(&str, f64)]) -> Vec<String> {
        let mut lines = vec![ResultLine::Run(RunRecord { run: "r".into(), machine, ..RunRecord::default() })];
        lines.extend(sizes.iter().map(|(contender, size)| {
            ResultLine::Cell(ResultCell {
                run: "r".into(),
                measure: FOOTPRINT.into(),
                unit: "MiB".into(),
                contender: (*contender).into(),
                at: Some(AxisPoint::name("key set", "rand-8")),
                rounds: vec![*size],
                ..ResultCell::default()
            })
        }));
        ResultsView::of(&lines).runs[0].remarks()
    }

    #[test]
    fn an_index_in_a_cache_is_reported() {
        let said = said(machine(), &[("ours", 8.0), ("theirs", 24.0)]);
        assert_eq!(
            said,
            ["key set rand-8: a random read takes 25.00 ns in the 8.00 MiB of ours and 25.00 ns \
                 in the 24.00 MiB of theirs; memory takes 100.0 ns, so these figures are of \
                 caches, not of memory: take more keys to measure that"]
        );
    }

    #[test]
    fn one_of_several_in_a_cache_is_named() {
        let said = said(machine(), &[("theirs", 512.0), ("ours", 8.0)]);
        assert!(
            said[0].contains("25.00 ns in the 8.00 MiB of ours and 100.0 ns in the 512.0 MiB of theirs"),
            "{said:?}"
        );
        assert!(said[0].contains("so the figures of ours are of caches"), "{said:?}");
    }

    #[test]
    fn an_index_past_the_caches_has_memorys_latency() {
        let said = said(machine(), &[("ours", 300.0)]);
        assert!(said[0].contains("100.0 ns in the 300.0 MiB of ours; that is memory's latency"), "{said:?}");
    }

    #[test]
    fn a_read_between_two_footprints_is_interpolated() {
        // Between 32 and 64 MiB; the probe measured 25 and 100 ns there.
        let latency = Latency::of(&machine(), &machine().probe.expect("probed")).expect("figures");
        let between = latency.at(45.25);
        assert!((between - 50.0).abs() < 0.5, "{between}");
        assert_eq!(latency.is_of_caches(45.25), Some(true));
        assert_eq!(latency.is_of_caches(64.0), Some(false));
        assert!((latency.at(1e-6) - 1.5).abs() < 1e-9 && (latency.at(1e6) - 100.0).abs() < 1e-9);
    }

    /// Once, a report said "a random read takes 230 ns in the 243 MiB of skein-wormhole; memory
    /// takes 219 ns, so the figures of skein-wormhole are of caches". So figures of memory were
    /// taken for those of caches, and more keys were asked for in vain. Now the time decides, not
    /// whether the footprint lies before the level that the probe found: a level starts late if its
    /// reads were noisy.
    #[test]
    fn a_read_as_slow_as_memory_counts_as_memory() {
        let mut busy = machine();
        // The times of that day, from 4 KiB on.
        let ns = [
            1.4, 1.3, 1.4, 2.1, 3.9, 4.0, 4.0, 7.3, 16.2, 34.5, 130.4, 130.0, 147.7, 153.4, 151.6, 156.9,
            237.1, 219.3, 245.4,
        ];
        let reads = (12..31).map(|power| 1 << power).zip(ns).collect();
        busy.probe = Some(ProbeSummary { read_ns_by_footprint: reads, ..ProbeSummary::default() });
        let said = said(busy, &[("ours", 115.8), ("theirs", 243.2)]);
        assert!(said[0].contains("230.0 ns in the 243.2 MiB of theirs; memory takes 219.3 ns"), "{said:?}");
        assert!(said[0].contains("so the figures of ours are of caches"), "{said:?}");
    }

    #[test]
    fn a_probe_within_the_caches_does_not_judge_memory() {
        let mut small = machine();
        small.caches.push("L4 4194304K".into());
        let said = said(small, &[("ours", 300.0)]);
        assert!(said[0].contains("did not exceed the caches"), "{said:?}");
    }

    #[test]
    fn without_a_usable_probe_there_is_no_remark() {
        assert_eq!(said(Machine { probe: None, ..machine() }, &[("ours", 8.0)]), [""; 0]);
        let odd = ProbeSummary {
            read_ns_by_footprint: vec![(0, 1.0), (1 << 20, f64::NAN)],
            ..ProbeSummary::default()
        };
        assert_eq!(said(Machine { probe: Some(odd), ..machine() }, &[("ours", 8.0)]), [""; 0]);
        let one = ProbeSummary { read_ns_by_footprint: vec![(1 << 20, 5.0)], ..ProbeSummary::default() };
        let said = said(
            Machine { probe: Some(one), ..machine() },
            &[("ours", 8.0), ("odd", f64::NAN), ("none", 0.0)],
        );
        assert!(said[0].contains("takes 5.00 ns in the 8.00 MiB of ours;"), "{said:?}");
    }
}
