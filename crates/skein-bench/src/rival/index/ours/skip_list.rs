//! The skip list, and variants that show the value of reading ahead.

use std::marker::PhantomData;
use std::sync::Arc;

use skein_index::skip_list::variant::{
    BareSkipListOf, SkipListOf, SkipListSettings, SkipListStandard, SkipListVariant, SkipListWithoutPrefetch,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndexKind, step, whole};
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-skip-list";

/// The variant with cursors that read nothing ahead.
pub const PLAIN: &str = "skip list, plain cursor";

/// The variant with cursors that read ahead through one more level.
pub const AHEAD_4: &str = "skip list, K of 4";

/// The variant without versions, with cursors that read ahead.
pub const BARE: &str = "bare skip list";
/// The variant without versions, with cursors that read nothing ahead.
pub const BARE_PLAIN: &str = "bare skip list, plain cursor";

pub static ENTRIES: [RegisteredIndex; 6] = [
    whole::<SkipListRival<SkipListStandard>>(),
    step::<SkipListRival<SkipListOf<32, 0>>>(PLAIN),
    step::<SkipListRival<SkipListOf<32, 4>>>(AHEAD_4),
    step::<SkipListRival<SkipListWithoutPrefetch>>("skip list - prefetch in searches"),
    step::<SkipListRival<BareSkipListOf>>(BARE),
    step::<SkipListRival<BareSkipListOf<32, 0>>>(BARE_PLAIN),
];

struct SkipListRival<V>(PhantomData<V>);

impl<V: SkipListSettings> OurIndexKind for SkipListRival<V> {
    type Index = SkipListVariant<Inline<u64>, V>;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "SkipList<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        SkipListVariant::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        Ok(vec![("nodes", index.memory().nodes)])
    }
}
