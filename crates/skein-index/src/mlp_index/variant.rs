//! The variants of the index, for tests and measurements.

use super::MlpEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// An index with other settings than [`MlpIndex`](crate::MlpIndex).
pub type MlpIndexVariant<S, V> = ByteIndex<S, MlpEngine<V>>;

/// The settings of an index.
pub trait MlpSettings: Variant {
    /// Whether the table lies on huge pages, not on pages of the normal size.
    const HUGE_PAGES: bool = true;
    /// Whether searches prefetch.
    const PREFETCH: bool = true;
    /// Whether searches prefetch all levels, as in the paper, even those that do not matter.
    const ALL_LEVELS: bool = false;
    /// Whether names with the same last bits share a bucket until the table is large: for tests of
    /// crowded tables.
    const CROWDED: bool = false;
    /// Whether the table keeps its least size: for tests of full tables.
    const FIXED: bool = false;
    /// Whether the table has one bucket per key beyond its least size, so that every insert splits
    /// a bucket and every removal merges one: for tests of resizing.
    const BUCKET_PER_KEY: bool = false;
}

variants! { MlpSettings:
    /// The index to use.
    MlpStandard {}
}

#[cfg(feature = "paper")]
variants! { MlpSettings:
    /// The index with searches that do not prefetch.
    MlpWithoutPrefetch {
        const PREFETCH: bool = false;
    }

    /// The index with searches that prefetch all levels, as in the paper.
    MlpWithAllLevels {
        const ALL_LEVELS: bool = true;
    }

    /// The index that searches all levels and does not prefetch.
    MlpWithAllLevelsUnfetched {
        const PREFETCH: bool = false;
        const ALL_LEVELS: bool = true;
    }

    /// An index with a crowded table, on pages of the normal size.
    MlpCrowded {
        const HUGE_PAGES: bool = false;
        const CROWDED: bool = true;
    }

    /// An index with a crowded table that does not grow.
    MlpCrowdedAndFixed {
        const HUGE_PAGES: bool = false;
        const CROWDED: bool = true;
        const FIXED: bool = true;
    }

    /// An index whose table has one bucket per key, on pages of the normal size.
    MlpBucketPerKey {
        const HUGE_PAGES: bool = false;
        const BUCKET_PER_KEY: bool = true;
    }

    /// An index with a crowded table that has one bucket per key.
    MlpCrowdedBucketPerKey {
        const HUGE_PAGES: bool = false;
        const CROWDED: bool = true;
        const BUCKET_PER_KEY: bool = true;
    }
}
