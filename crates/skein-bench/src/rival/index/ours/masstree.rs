//! Masstree, and the variants of its figure 8, each without one feature.

use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::masstree::variant::{
    WITHOUT_HUGE_PAGES, WITHOUT_INTEGERS, WITHOUT_PERMUTATION, WITHOUT_PREFETCH,
};
use skein_index::{Collector, Inline, Masstree};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

/// Its name in reports.
pub const NAME: &str = "skein-masstree";

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<MasstreeOf<15>>>(0);

#[distributed_slice(ENTRIES)]
static TWIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<15>>>(1).as_twin("skein-masstree, again");

#[distributed_slice(ENTRIES)]
static PLAIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<PLAIN_NODES>>>(203).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PERMUTATION: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<{ 15 | WITHOUT_PERMUTATION }>>>(204).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PREFETCH: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<{ 15 | WITHOUT_PREFETCH }>>>(205).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_INTEGERS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<{ 15 | WITHOUT_INTEGERS }>>>(206).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_HUGE_PAGES: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<{ 15 | WITHOUT_HUGE_PAGES }>>>(207).as_step_of(NAME);

const PLAIN_NODES: usize = 15 | WITHOUT_PREFETCH | WITHOUT_PERMUTATION;

struct MasstreeOf<const W: usize>;

impl<const W: usize> OurIndexKind for MasstreeOf<W> {
    type Index = Masstree<Inline<u64>, W>;
    const NAME: &'static str = match W {
        PLAIN_NODES => "masstree - prefetch - permutation",
        _ if W & WITHOUT_PREFETCH != 0 => "masstree - prefetch",
        _ if W & WITHOUT_PERMUTATION != 0 => "masstree - permutation",
        _ if W & WITHOUT_INTEGERS != 0 => "masstree - integers",
        _ if W & WITHOUT_HUGE_PAGES != 0 => "masstree - huge pages",
        _ => NAME,
    };
    const ABOUT: &'static str = "Masstree<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        Masstree::with_variant(Arc::new(Collector::new()))
    }
}
