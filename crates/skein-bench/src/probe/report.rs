//! The probe's report: the object that `skein probe --json` writes, and the part that every run
//! carries.

use serde::{Deserialize, Serialize};

use super::advice::Advice;
use super::array::PageKind;
use super::fit::Fit;
use super::plateau::Plateau;
use crate::result::{Machine, ProbeSummary};

/// The version of this format.
pub const SCHEMA: u32 = 1;

/// All figures of a probe. `docs/benchmarks/probe.md` documents every field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The version of this format, [`SCHEMA`].
    pub schema: u32,
    /// The version of SkeinDB that measured.
    pub version: String,
    /// The time of the start, in seconds since 1970.
    pub started_unix_s: u64,
    /// The duration in seconds.
    pub took_s: f64,
    /// The machine.
    pub machine: Machine,
    /// The excess of the median round over the least, as a fraction; the median of all figures.
    pub noise: f64,
    /// The figures on huge pages and on small ones, in this order.
    pub pages: Vec<PageKindReport>,
    /// The cost of a line's neighbours, on huge pages.
    pub neighbours: NeighbourCosts,
    /// The advice that follows.
    pub advice: Vec<Advice>,
}

/// The figures on one kind of pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageKindReport {
    /// The kind of pages that the mapping asked for.
    pub pages: PageKind,
    /// The size of the mapping.
    pub bytes: u64,
    /// The bytes of it that the system put on huge pages.
    pub huge_bytes: u64,
    /// Pairs of a footprint in bytes and the nanoseconds of a dependent random read in it.
    pub read_ns: Vec<(u64, f64)>,
    /// The ranges in which that time stays level.
    pub plateaus: Vec<Plateau>,
    /// Groups of independent reads, by the size of the array.
    pub groups: Vec<ReadGroups>,
}

/// Groups of independent reads in one array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadGroups {
    /// The size of the array.
    pub bytes: u64,
    /// Pairs of K and the nanoseconds of a group of K reads.
    pub group_ns: Vec<(usize, f64)>,
    /// The line fitted to them.
    pub fit: Fit,
}

/// The cost of one more read after eight random ones, in nanoseconds; 0 if it cannot be
/// distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NeighbourCosts {
    /// The size of the array.
    pub bytes: u64,
    /// For a random line.
    pub random_ns: f64,
    /// For one of the eight.
    pub same_ns: f64,
    /// For the other line in the 128 bytes of one of the eight.
    pub neighbour_ns: f64,
    /// For the line on its other side.
    pub across_ns: f64,
}

impl ProbeReport {
    /// Returns the figures on pages of this kind.
    pub fn on(&self, pages: PageKind) -> Option<&PageKindReport> {
        self.pages.iter().find(|on| on.pages == pages)
    }

    /// Returns the part that every run carries.
    pub fn summary(&self) -> ProbeSummary {
        let c = |pages| self.on(pages).and_then(PageKindReport::greatest).map_or(0.0, |groups| groups.fit.c);
        let huge = self.on(PageKind::Huge);
        ProbeSummary {
            read_ns_by_footprint: huge.map(|on| on.read_ns.clone()).unwrap_or_default(),
            mlp_c: c(PageKind::Huge),
            mlp_c_small_pages: c(PageKind::Small),
            huge_share: huge.map_or(0.0, PageKindReport::huge_share),
        }
    }
}

impl PageKindReport {
    /// Returns the groups in the greatest array.
    pub fn greatest(&self) -> Option<&ReadGroups> {
        self.groups.last()
    }

    /// Returns the fraction of the mapping on huge pages, 0 to 1.
    pub fn huge_share(&self) -> f64 {
        self.huge_bytes as f64 / self.bytes.max(1) as f64
    }
}

impl ReadGroups {
    /// Returns the time of one read alone.
    pub fn one_ns(&self) -> f64 {
        self.ns_of(1).unwrap_or(f64::NAN)
    }

    /// Returns the time of a group of `k` reads, if it was measured.
    pub fn ns_of(&self, k: usize) -> Option<f64> {
        self.group_ns.iter().find(|(of, _)| *of == k).map(|(_, ns)| *ns)
    }
}
