//! The tree of pages: a prototype of the index with rows in its leaves.

use skein_index::page_tree::PageTree;
use skein_index::{Inline, OrderedIndex};

use super::OurIndexKind;
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-page-tree";

/// The part of its memory that is the inner levels.
const NODES: &str = "nodes";

pub static ENTRIES: [RegisteredIndex; 1] = [super::whole::<PageTreeAsItComes>()];

struct PageTreeAsItComes;

impl OurIndexKind for PageTreeAsItComes {
    type Index = PageTree<Inline<u64>>;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "PageTree<Inline<u64>>, a prototype";

    fn empty() -> Self::Index {
        PageTree::new()
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        let stats = index.check()?;
        Ok(vec![(NODES, stats.node_bytes), ("pages", stats.page_bytes), ("keys", index.memory().keys)])
    }
}
