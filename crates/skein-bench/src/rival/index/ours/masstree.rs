//! Masstree, and the variants of its figure 8, each without one feature.

use std::marker::PhantomData;
use std::sync::Arc;

use skein_index::masstree::variant::{
    MasstreeSettings, MasstreeStandard, MasstreeVariant, MasstreeWithPlainNodes, MasstreeWithoutHugePages,
    MasstreeWithoutIntegers, MasstreeWithoutPermutation, MasstreeWithoutPrefetch,
};
use skein_index::{Collector, Inline};

use super::{OurIndexKind, step, whole};
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-masstree";

pub static ENTRIES: [RegisteredIndex; 7] = [
    whole::<MasstreeOf<MasstreeStandard>>(),
    whole::<MasstreeOf<MasstreeStandard>>().as_twin("skein-masstree, again"),
    step::<MasstreeOf<MasstreeWithPlainNodes>>("masstree - prefetch - permutation"),
    step::<MasstreeOf<MasstreeWithoutPermutation>>("masstree - permutation"),
    step::<MasstreeOf<MasstreeWithoutPrefetch>>("masstree - prefetch"),
    step::<MasstreeOf<MasstreeWithoutIntegers>>("masstree - integers"),
    step::<MasstreeOf<MasstreeWithoutHugePages>>("masstree - huge pages"),
];

struct MasstreeOf<V>(PhantomData<V>);

impl<V: MasstreeSettings> OurIndexKind for MasstreeOf<V> {
    type Index = MasstreeVariant<Inline<u64>, V>;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "Masstree<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        MasstreeVariant::with_variant(Arc::new(Collector::new()))
    }
}
