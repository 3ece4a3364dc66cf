//! Masstree, and the variants of its figure 8, each without one feature.

use std::marker::PhantomData;
use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::masstree::variant::{
    MasstreeSettings, MasstreeStandard, MasstreeVariant, MasstreeWithPlainNodes, MasstreeWithoutHugePages,
    MasstreeWithoutIntegers, MasstreeWithoutPermutation, MasstreeWithoutPrefetch,
};
use skein_index::{Collector, Inline};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

/// Its name in reports.
pub const NAME: &str = "skein-masstree";

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeStandard>>>(0);

#[distributed_slice(ENTRIES)]
static TWIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeStandard>>>(1).as_twin("skein-masstree, again");

#[distributed_slice(ENTRIES)]
static PLAIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeWithPlainNodes>>>(203).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PERMUTATION: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeWithoutPermutation>>>(204).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PREFETCH: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeWithoutPrefetch>>>(205).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_INTEGERS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeWithoutIntegers>>>(206).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_HUGE_PAGES: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<MasstreeOf<MasstreeWithoutHugePages>>>(207).as_step_of(NAME);

struct MasstreeOf<V>(PhantomData<V>);

impl<V: MasstreeSettings> OurIndexKind for MasstreeOf<V> {
    type Index = MasstreeVariant<Inline<u64>, V>;
    const NAME: &'static str = match (V::PREFETCH, V::PERMUTATION, V::INTEGERS, V::HUGE_PAGES) {
        (false, false, ..) => "masstree - prefetch - permutation",
        (false, ..) => "masstree - prefetch",
        (_, false, ..) => "masstree - permutation",
        (_, _, false, _) => "masstree - integers",
        (_, _, _, false) => "masstree - huge pages",
        _ => NAME,
    };
    const ABOUT: &'static str = "Masstree<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        MasstreeVariant::with_variant(Arc::new(Collector::new()))
    }
}
