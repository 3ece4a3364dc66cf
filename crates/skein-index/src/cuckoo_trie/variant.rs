//! The variants of the trie, for tests and measurements.

use super::CuckooEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// A trie with other settings than [`CuckooTrie`](crate::CuckooTrie).
pub type CuckooTrieVariant<S, V> = ByteIndex<S, CuckooEngine<V>>;

/// The settings of a trie.
pub trait CuckooSettings: Variant {
    /// The logarithm of the least number of buckets. With 11, tables have 2^11 buckets (128 KiB) to
    /// 2^28 (16 GiB).
    const LEAST_BITS: u32 = 11;
    /// Whether lookups prefetch.
    const PREFETCH: bool = true;
}

variants! { CuckooSettings:
    /// The trie to use.
    CuckooStandard {}
}

#[cfg(feature = "paper")]
variants! { CuckooSettings:
    /// A trie with a small table, which reaches every case with few keys: for tests.
    CuckooOfLeastBits<const LEAST_BITS: u32 = 1> {
        const LEAST_BITS: u32 = LEAST_BITS;
    }

    /// The trie with lookups that do not prefetch.
    CuckooWithoutPrefetch<const LEAST_BITS: u32 = 11> {
        const LEAST_BITS: u32 = LEAST_BITS;
        const PREFETCH: bool = false;
    }
}
