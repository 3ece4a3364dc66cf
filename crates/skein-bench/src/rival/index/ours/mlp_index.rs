//! MlpIndex, and variants that prefetch all levels, as the paper does, or none.

use std::marker::PhantomData;
use std::sync::Arc;

use skein_index::mlp_index::variant::{
    MlpIndexVariant, MlpSettings, MlpStandard, MlpWithAllLevels, MlpWithoutPrefetch,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndexKind, step, whole};
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-mlp";

/// The only part of its memory: the table holds keys and values too.
const TABLE: &str = "table";

/// The variant that prefetches all levels at once in a search, as the paper does.
pub const LEVELS: &str = "mlp - levels";

/// The variant that prefetches no bucket.
pub const SERIAL: &str = "mlp - prefetch";

pub static ENTRIES: [RegisteredIndex; 3] = [
    whole::<MlpIndexOf<MlpStandard>>(),
    step::<MlpIndexOf<MlpWithAllLevels>>(LEVELS),
    step::<MlpIndexOf<MlpWithoutPrefetch>>(SERIAL),
];

struct MlpIndexOf<V>(PhantomData<V>);

impl<V: MlpSettings> OurIndexKind for MlpIndexOf<V> {
    type Index = MlpIndexVariant<Inline<u64>, V>;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str =
        "MlpIndex<Inline<u64>>, as it comes but for what its name says; here keys of 8 bytes only";
    const KEY_BYTES: (usize, usize) = (8, 8);

    fn empty() -> Self::Index {
        MlpIndexVariant::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        Ok(vec![(TABLE, index.memory().nodes)])
    }
}
