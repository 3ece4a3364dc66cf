//! The variants of the list, for tests and measurements.

use super::SkipListEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// A list with other settings than [`SkipList`](crate::SkipList).
pub type SkipListVariant<S, V> = ByteIndex<S, SkipListEngine<V>>;

/// The settings of a list.
pub trait SkipListSettings: Variant {
    /// The maximum number of levels of a tower, 1 to 32.
    const LEVELS: usize = 32;
    /// The level through which cursors prefetch, and all levels below, or 0 for cursors that follow
    /// the bottom level and prefetch nothing. Level 3 is about eight nodes at a time, level 4 about
    /// sixteen.
    const AHEAD: usize = 3;
    /// Whether searches prefetch.
    const PREFETCH: bool = true;
    /// Whether nodes have versions. A list without them is bare, as in section 3.1 of the paper:
    /// values are written in place, and there are no snapshots.
    const VERSIONS: bool = true;
}

variants! { SkipListSettings:
    /// The list to use.
    SkipListStandard {}
}

#[cfg(feature = "paper")]
variants! { SkipListSettings:
    /// A list with towers of up to `LEVELS` levels, and cursors that prefetch through level
    /// `AHEAD`.
    SkipListOf<const LEVELS: usize = 32, const AHEAD: usize = 3> {
        const LEVELS: usize = LEVELS;
        const AHEAD: usize = AHEAD;
    }

    /// The same list, bare.
    BareSkipListOf<const LEVELS: usize = 32, const AHEAD: usize = 3> {
        const LEVELS: usize = LEVELS;
        const AHEAD: usize = AHEAD;
        const VERSIONS: bool = false;
    }

    /// The same list, with searches that do not prefetch.
    SkipListWithoutPrefetch<const LEVELS: usize = 32, const AHEAD: usize = 3> {
        const LEVELS: usize = LEVELS;
        const AHEAD: usize = AHEAD;
        const PREFETCH: bool = false;
    }
}
