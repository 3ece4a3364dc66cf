//! The names of the indexes, and what each is for.

use skein_index::mlp_index;
use skein_model::KEY_BYTES_MAX;

use crate::Error;

/// The index that holds the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IndexKind {
    /// A trie of B+-trees: any keys, in order.
    #[default]
    Masstree,
    /// A list of leaves under a hashed trie: any keys, in order. Scans are fast, and long keys do
    /// not slow lookups.
    Wormhole,
    /// A trie in a cuckoo hash table: any keys, in order. Lookups of single keys are fast, most of
    /// all for short keys.
    CuckooTrie,
    /// A trie in a cuckoo hash table for keys of up to 8 bytes, such as numbers: fast lookups in
    /// little memory.
    Mlp,
    /// Linked nodes under towers: any keys, in order. Its scans read ahead.
    SkipList,
    /// A tree whose leaves hold small rows themselves: any keys, in order. It needs the least
    /// memory.
    PageTree,
}

impl IndexKind {
    /// All kinds, the default first. New ones are appended: programs in C have their positions as
    /// numbers.
    pub const ALL: [Self; 6] =
        [Self::Masstree, Self::Wormhole, Self::CuckooTrie, Self::Mlp, Self::SkipList, Self::PageTree];

    /// Returns the name of the index, as in the options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Masstree => "masstree",
            Self::Wormhole => "wormhole",
            Self::CuckooTrie => "cuckoo-trie",
            Self::Mlp => "mlp",
            Self::SkipList => "skip-list",
            Self::PageTree => "page-tree",
        }
    }

    /// Describes the index, for lists of all.
    pub fn about(self) -> &'static str {
        match self {
            Self::Masstree => "for most keys and most work",
            Self::Wormhole => "for many scans, and for long keys with long common prefixes",
            Self::CuckooTrie => "for lookups of short keys",
            Self::Mlp => "for keys of up to 8 bytes; there are no named keyspaces then",
            Self::SkipList => "for scans that read ahead; it has no latches",
            Self::PageTree => "for many small rows in little memory, and for long scans",
        }
    }

    /// Returns the longest key of this index, in bytes. A lower limit of the store takes
    /// precedence.
    ///
    /// ```
    /// use skein_store::IndexKind;
    /// assert_eq!(IndexKind::Mlp.key_bytes_max(), 8);
    /// ```
    pub fn key_bytes_max(self) -> usize {
        match self {
            Self::Mlp => mlp_index::MAX_LEN,
            _ => KEY_BYTES_MAX,
        }
    }
}

impl std::str::FromStr for IndexKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(|kind| format!("{:?}", kind.name())).join(", ");
            Error::BadOption {
                name: "index",
                why: format!("there is no index named {name:?}; use one of {known}"),
            }
        })
    }
}

impl std::fmt::Display for IndexKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
