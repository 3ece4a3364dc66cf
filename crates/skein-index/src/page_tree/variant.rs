//! The variants of the index: the capacity of its pages and nodes.

use super::PageTreeEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// An index with other settings than [`PageTree`](super::PageTree).
pub type PageTreeVariant<S, V> = ByteIndex<S, PageTreeEngine<V>>;

/// The settings of an index.
pub trait PageTreeSettings: Variant {
    /// The keys of a full page, 4 to 64.
    const WIDTH: usize = 64;
    /// The children of a full node, 4 to 64.
    const FANOUT: usize = 64;
}

variants! { PageTreeSettings:
    /// The index to use.
    PageTreeStandard {}
}

#[cfg(feature = "paper")]
variants! { PageTreeSettings:
    /// An index with small pages and nodes, which reaches every case with few keys: for tests.
    PageTreeOfWidth<const WIDTH: usize = 4> {
        const WIDTH: usize = WIDTH;
        const FANOUT: usize = WIDTH;
    }
}
