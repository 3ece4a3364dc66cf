//! The skip list, and variants that show the value of reading ahead.

use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::skip_list::variant::{
    AHEAD_4 as FURTHER, BARE as WITHOUT_VERSIONS, DEFAULT, PLAIN as NOTHING_AHEAD, WITHOUT_PREFETCH,
};
use skein_index::{Collector, Inline, OrderedIndex, SkipList};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

/// Its name in reports.
pub const NAME: &str = "skein-skip-list";

/// The variant whose cursors read nothing ahead.
pub const PLAIN: &str = "skip list, plain cursor";

/// The variant whose cursors read ahead through one more level.
pub const AHEAD_4: &str = "skip list, K of 4";

/// The variant without versions, whose cursors read ahead.
pub const BARE: &str = "bare skip list";
/// The variant without versions, whose cursors read nothing ahead.
pub const BARE_PLAIN: &str = "bare skip list, plain cursor";

const WITH_PLAIN_CURSOR: usize = 32 | NOTHING_AHEAD;
const WITH_K_OF_4: usize = 32 | FURTHER;
const BARE_AHEAD: usize = DEFAULT | WITHOUT_VERSIONS;
const BARE_WITH_PLAIN_CURSOR: usize = WITH_PLAIN_CURSOR | WITHOUT_VERSIONS;

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<SkipListOf<DEFAULT>>>(4);

#[distributed_slice(ENTRIES)]
static PLAIN_CURSOR: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListOf<WITH_PLAIN_CURSOR>>>(320).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static K_OF_4: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListOf<WITH_K_OF_4>>>(321).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static NO_PREFETCH: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListOf<{ DEFAULT | WITHOUT_PREFETCH }>>>(322).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static WITHOUT_VERSION: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListOf<BARE_AHEAD>>>(323).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static WITHOUT_VERSION_PLAIN: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<SkipListOf<BARE_WITH_PLAIN_CURSOR>>>(324).as_step_of(NAME);

struct SkipListOf<const V: usize>;

impl<const V: usize> OurIndexKind for SkipListOf<V> {
    type Index = SkipList<Inline<u64>, V>;
    const NAME: &'static str = match V {
        WITH_PLAIN_CURSOR => PLAIN,
        WITH_K_OF_4 => AHEAD_4,
        BARE_AHEAD => BARE,
        BARE_WITH_PLAIN_CURSOR => BARE_PLAIN,
        _ if V & WITHOUT_PREFETCH != 0 => "skip list - prefetch in searches",
        _ => NAME,
    };
    const ABOUT: &'static str = "SkipList<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        SkipList::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        Ok(vec![("nodes", index.memory().nodes)])
    }
}
