//! Advice from the probe's figures, for the operator of SkeinDB on this machine.

use serde::{Deserialize, Serialize};
use skein_index::cuckoo_trie::PREFETCH_DEPTH;
use skein_index::masstree::GROUP;

use super::array::PageKind;
use super::report::{NeighbourCosts, PageKindReport, ProbeReport};
use super::text::size;
use crate::machine::{CpuCache, HugePages};

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The subject.
    pub about: String,
    /// The advice, with the figures that it rests on.
    pub text: String,
    /// The command to run, if something should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The share of an array from which it counts as lying on huge pages; its ends may lie on small
/// ones.
const GIVEN: f64 = 0.95;
/// A machine is noisy if half of the times exceed the least by this fraction.
const NOISY: f64 = 0.15;

const ENABLE: &str = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAGMENT: &str = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag";
const COMPACT: &str = "echo 1 | sudo tee /proc/sys/vm/compact_memory";

impl Advice {
    fn new(about: &str, text: String, command: Option<&str>) -> Self {
        Self { about: about.to_owned(), text, command: command.map(str::to_owned) }
    }
}

/// Returns all advice.
pub(super) fn advise(report: &ProbeReport, setting: &HugePages, caches: &[CpuCache]) -> Vec<Advice> {
    let huge = report.on(PageKind::Huge);
    let all = [
        huge.and_then(depth),
        huge.map(|on| huge_pages(on, report.on(PageKind::Small), setting)),
        pairs(&report.neighbours),
        huge.and_then(|on| footprint(on.bytes, caches)),
        quiet(report.noise),
    ];
    all.into_iter().flatten().collect()
}

fn depth(on: &PageKindReport) -> Option<Advice> {
    let groups = on.greatest()?;
    let (fit, together) = (groups.fit, groups.ns_of(GROUP)? / groups.one_ns());
    let enough = if fit.depth <= GROUP {
        "which is enough here".to_owned()
    } else {
        let reached = super::fit::real(GROUP) / together / fit.at_once;
        format!("which reach {:.0} % of it", 100.0 * reached)
    };
    let text = format!(
        "About {:.1} random reads are in flight at once in large groups; groups of {} reach nine \
         tenths of that. SkeinDB looks up batches (pipelines, MGET, get_many) in groups of \
         {GROUP}, {enough}: {GROUP} reads together take as long as {together:.1} one after the \
         other. So request many keys at a time if you can. A search in the Cuckoo Trie prefetches \
         {PREFETCH_DEPTH} nodes, two reads each; half of the reads in flight is {:.0} here \
         (CuckooTrie::with_prefetch_depth).",
        fit.at_once,
        fit.depth,
        fit.at_once / 2.0
    );
    Some(Advice::new("prefetch depth", text, None))
}

fn huge_pages(on: &PageKindReport, small: Option<&PageKindReport>, setting: &HugePages) -> Advice {
    let (state, command) = state(on.huge_share(), setting);
    let gain = if on.huge_share() >= GIVEN { small.and_then(|small| gain(on, small)) } else { None };
    Advice::new(
        "huge pages",
        [Some(state), gain].into_iter().flatten().collect::<Vec<_>>().join(" "),
        command,
    )
}

/// Returns the time that huge pages save, in the greatest footprint.
fn gain(on: &PageKindReport, small: &PageKindReport) -> Option<String> {
    let (&(bytes, huge_ns), &(_, small_ns)) = (on.read_ns.last()?, small.read_ns.last()?);
    Some(format!(
        "In {} a read takes {huge_ns:.0} ns on huge pages and {small_ns:.0} ns on small ones.",
        size(bytes)
    ))
}

/// Returns whether SkeinDB, which asks for huge pages with `madvise`, gets them; if not, how to
/// change that.
fn state(share: f64, setting: &HugePages) -> (String, Option<&'static str>) {
    let part = format!("the system put {:.0} % of the array on them", 100.0 * share);
    let Some(enabled) = setting.enabled.as_deref() else {
        return (
            "This kernel has no transparent huge pages; SkeinDB runs on small ones, slower.".to_owned(),
            None,
        );
    };
    if setting.denied {
        let text = "The parent of this process has switched them off for it (THP_enabled is 0 in \
                    /proc/self/status): start SkeinDB from another shell or service.";
        return (text.to_owned(), None);
    }
    if enabled == "never" {
        let text = "They are switched off (never), so SkeinDB does without. The command switches \
                    them on for programs that ask, until the next boot; \
                    transparent_hugepage=madvise on the kernel's command line does so for good.";
        return (text.to_owned(), Some(ENABLE));
    }
    if share >= GIVEN {
        return (format!("The setting ({enabled}) suffices: {part}. There is nothing to do."), None);
    }
    let (way, command) = if matches!(setting.defrag.as_deref(), Some("never" | "defer")) {
        (
            "the system does not compact memory on request. The command enables that until the next boot.",
            DEFRAGMENT,
        )
    } else {
        ("the command compacts the free memory. Start the server after it.", COMPACT)
    };
    (format!("The setting ({enabled}) suffices, but {part}: memory is fragmented, and {way}"), Some(command))
}

fn pairs(neighbours: &NeighbourCosts) -> Option<Advice> {
    let &NeighbourCosts { random_ns, neighbour_ns, across_ns, .. } = neighbours;
    let (neighbour, across) = (neighbour_ns / random_ns, across_ns / random_ns);
    if !(neighbour.is_finite() && across.is_finite()) {
        return None;
    }
    // The comparison is not with a random read: lines of one page also save a TLB miss.
    let text = if neighbour < 0.6 * across {
        format!(
            "The processor fetches lines in pairs of 128 bytes: the second costs {neighbour:.2} of \
             a random read, the line on the other side {across:.2}. Data aligned to 128 bytes \
             gains; nodes, which are prefetched line by line, need it less."
        )
    } else {
        format!(
            "The processor does not fetch lines in pairs: the other line of 128 bytes costs \
             {neighbour:.2} of a random read, the line on its other side {across:.2}. Data larger \
             than 64 bytes must be prefetched line by line, as SkeinDB does with nodes."
        )
    };
    Some(Advice::new("neighbouring lines", text, None))
}

fn footprint(bytes: u64, caches: &[CpuCache]) -> Option<Advice> {
    let last = caches.last().filter(|last| bytes < last.bytes.saturating_mul(4))?;
    let text = format!(
        "The greatest array, {}, is less than four times the last cache, {}, so reads in it partly \
         hit: memory itself is slower. Measure a larger one if memory allows (--footprint).",
        size(bytes),
        size(last.bytes)
    );
    Some(Advice::new("footprint", text, None))
}

fn quiet(noise: f64) -> Option<Advice> {
    let text = format!(
        "The machine was not quiet: half of the times were {:.0} % or more above the least of \
         their rounds. The least ones count, but repeat this on an idle machine before you \
         compare.",
        100.0 * noise
    );
    (noise > NOISY).then(|| Advice::new("noise", text, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::fit::{fit, real};
    use crate::probe::report::ReadGroups;

    fn on(pages: PageKind, percent: u64, c: f64) -> PageKindReport {
        let bytes: u64 = 1 << 30;
        let group_ns: Vec<(usize, f64)> = (1..=120).map(|k| (k, 100.0 * (1.0 + c * real(k - 1)))).collect();
        let groups = ReadGroups { bytes, fit: fit(&group_ns).expect("a line"), group_ns };
        PageKindReport {
            pages,
            bytes,
            huge_bytes: bytes / 100 * percent,
            read_ns: vec![(bytes, if pages == PageKind::Huge { 100.0 } else { 160.0 })],
            plateaus: Vec::new(),
            groups: vec![groups],
        }
    }

    fn setting(enabled: &str, defrag: &str) -> HugePages {
        HugePages { enabled: Some(enabled.into()), defrag: Some(defrag.into()), denied: false }
    }

    #[test]
    fn the_depth_is_judged_by_the_group_of_batches() {
        let text = |c| depth(&on(PageKind::Huge, 100, c)).expect("figures").text;
        let text_of_few = text(0.5);
        assert!(
            text_of_few.contains("which is enough here: 32 reads together take as long as 16.5"),
            "{text_of_few}"
        );
        let text_of_many = text(0.01);
        assert!(text_of_many.contains("which reach 47 %"), "{text_of_many}");
    }

    #[test]
    fn granted_huge_pages_need_no_command() {
        for enabled in ["always", "madvise"] {
            let advice = huge_pages(
                &on(PageKind::Huge, 100, 0.1),
                Some(&on(PageKind::Small, 0, 0.2)),
                &setting(enabled, "madvise"),
            );
            assert_eq!(advice.command, None);
            for words in ["suffices", "nothing to do", "100 ns on huge pages and 160 ns"] {
                assert!(advice.text.contains(words), "{}", advice.text);
            }
        }
    }

    #[test]
    fn denied_huge_pages_have_a_reason_and_a_remedy() {
        let none = HugePages::default();
        let denied = HugePages { denied: true, ..setting("madvise", "madvise") };
        for (setting, command, words) in [
            (none, None, "no transparent huge pages"),
            (denied, None, "THP_enabled"),
            (setting("never", "madvise"), Some(ENABLE), "switched off (never)"),
            (setting("madvise", "never"), Some(DEFRAGMENT), "put 30 %"),
            (setting("always", "madvise"), Some(COMPACT), "put 30 %"),
        ] {
            let advice =
                huge_pages(&on(PageKind::Huge, 30, 0.1), Some(&on(PageKind::Small, 0, 0.2)), &setting);
            assert_eq!(advice.command.as_deref(), command, "{setting:?}");
            assert!(advice.text.contains(words), "{}", advice.text);
            // Times on pages that were not huge must not be used.
            assert!(!advice.text.contains("160 ns"), "{}", advice.text);
        }
    }

    #[test]
    fn pairs_of_lines_show_in_the_neighbours_cost() {
        let of = |neighbour_ns, across_ns| NeighbourCosts {
            bytes: 1 << 27,
            random_ns: 100.0,
            same_ns: 10.0,
            neighbour_ns,
            across_ns,
        };
        assert!(
            pairs(&of(20.0, 100.0))
                .expect("figures")
                .text
                .contains("in pairs of 128 bytes: the second costs 0.20")
        );
        assert!(pairs(&of(98.0, 99.0)).expect("figures").text.contains("does not fetch lines in pairs"));
        assert_eq!(pairs(&NeighbourCosts { random_ns: 0.0, ..of(20.0, 100.0) }), None);
    }

    #[test]
    fn small_arrays_and_noise_are_named() {
        let cache = [CpuCache { level: 3, bytes: 480 << 20 }];
        assert!(footprint(1 << 30, &cache).expect("too small").text.contains("480 MiB"));
        assert_eq!(footprint(2 << 30, &cache), None);
        assert_eq!(footprint(1 << 30, &[]), None);
        assert!(quiet(0.4).expect("noisy").text.contains("40 %"));
        assert_eq!(quiet(0.02), None);
        assert_eq!(quiet(f64::NAN), None);
    }
}
