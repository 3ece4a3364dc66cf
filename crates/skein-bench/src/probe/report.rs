//! What the probe found: the object that `skein probe --json` writes, and the part of it that every run carries.

use serde::{Deserialize, Serialize};

use super::advice::Advice;
use super::array::PageKind;
use super::fit::Fit;
use super::plateau::Plateau;
use crate::result::{Machine, ProbeSummary};

/// The version of this object's fields.
pub const SCHEMA: u32 = 1;

/// Everything that was measured. `docs/benchmarks/` documents every field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The version of these fields, [`SCHEMA`].
    pub schema: u32,
    /// The version of SkeinDB that measured.
    pub version: String,
    /// When it began, in seconds since 1970.
    pub started_unix_s: u64,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// The machine.
    pub machine: Machine,
    /// How much longer than the least time the middle one of a figure's rounds was, as a part of it; the median of all figures.
    pub noise: f64,
    /// What was measured on huge pages and on small ones, in this order.
    pub pages: Vec<PageKindReport>,
    /// What neighbours of a line cost, on huge pages.
    pub neighbours: NeighbourCosts,
    /// What follows.
    pub advice: Vec<Advice>,
}

/// What was measured on one kind of pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageKindReport {
    /// Which pages were asked for.
    pub pages: PageKind,
    /// The size of the mapping.
    pub bytes: u64,
    /// How much of it the system put on huge pages.
    pub huge_bytes: u64,
    /// Pairs of footprint in bytes and nanoseconds of a dependent random read in it.
    pub read_ns: Vec<(u64, f64)>,
    /// Where that stays level.
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
    /// The line through them, and what it says.
    pub fit: Fit,
}

/// What one more read costs after eight random ones, in nanoseconds; 0 if less than can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NeighbourCosts {
    /// The size of the array.
    pub bytes: u64,
    /// Of a random line.
    pub random_ns: f64,
    /// Of one of the eight.
    pub same_ns: f64,
    /// Of the other line in the 128 bytes of one of the eight.
    pub neighbour_ns: f64,
    /// Of the line on its other side.
    pub across_ns: f64,
}

impl ProbeReport {
    /// What was measured on pages of this kind.
    pub fn on(&self, pages: PageKind) -> Option<&PageKindReport> {
        self.pages.iter().find(|on| on.pages == pages)
    }

    /// The part that every report carries.
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
    /// The groups in the greatest array.
    pub fn greatest(&self) -> Option<&ReadGroups> {
        self.groups.last()
    }

    /// Which part of the mapping lies on huge pages, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn huge_share(&self) -> f64 {
        self.huge_bytes as f64 / self.bytes.max(1) as f64
    }
}

impl ReadGroups {
    /// The time of one read alone.
    pub fn one_ns(&self) -> f64 {
        self.ns_of(1).unwrap_or(f64::NAN)
    }

    /// The time of a group of this many, if it was measured.
    pub fn ns_of(&self, k: usize) -> Option<f64> {
        self.group_ns.iter().find(|(of, _)| *of == k).map(|(_, ns)| *ns)
    }
}
