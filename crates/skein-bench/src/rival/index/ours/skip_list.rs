//! The skip list, and variants that show the value of reading ahead.

use std::marker::PhantomData;
use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::skip_list::variant::{
    BareSkipListOf, SkipListOf, SkipListSettings, SkipListStandard, SkipListVariant, SkipListWithoutPrefetch,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

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

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<SkipListRival<SkipListStandard>>>(4);

#[distributed_slice(ENTRIES)]
static PLAIN_CURSOR: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListRival<SkipListOf<32, 0>>>>(320).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static K_OF_4: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListRival<SkipListOf<32, 4>>>>(321).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PREFETCH: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListRival<SkipListWithoutPrefetch>>>(322).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static WITHOUT_VERSION: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListRival<BareSkipListOf>>>(323).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static WITHOUT_VERSION_PLAIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListRival<BareSkipListOf<32, 0>>>>(324).as_step_of(NAME);

struct SkipListRival<V>(PhantomData<V>);

impl<V: SkipListSettings> OurIndexKind for SkipListRival<V> {
    type Index = SkipListVariant<Inline<u64>, V>;
    const NAME: &'static str = match (V::VERSIONS, V::AHEAD, V::PREFETCH) {
        (false, 0, _) => BARE_PLAIN,
        (false, ..) => BARE,
        (_, 0, _) => PLAIN,
        (_, 4, _) => AHEAD_4,
        (_, _, false) => "skip list - prefetch in searches",
        _ => NAME,
    };
    const ABOUT: &'static str = "SkipList<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        SkipListVariant::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        Ok(vec![("nodes", index.memory().nodes)])
    }
}
