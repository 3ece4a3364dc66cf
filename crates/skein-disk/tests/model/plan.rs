//! The plan of a seed.

use skein_disk::{DiskOptions, Durability, ReplacementPolicy, TrieShape, Values};

use crate::random::{KeyStyle, SPARSE_MOST, SplitMixDraw};

/// The shapes; common ones appear several times. Most often the one that makes the most nodes for a
/// key, and so has the most ways to share pages.
const SHAPES: [TrieShape; 14] = [
    TrieShape::Classical { n: 4 },
    TrieShape::Classical { n: 4 },
    TrieShape::Classical { n: 4 },
    TrieShape::Classical { n: 4 },
    TrieShape::Linked,
    TrieShape::Linked,
    TrieShape::Classical { n: 16 },
    TrieShape::Classical { n: 256 },
    TrieShape::Hash { n: 16 },
    TrieShape::Hash { n: 4 },
    TrieShape::FixedLinked { k: 12 },
    TrieShape::FixedClassical { n: 16 },
    TrieShape::FixedHash { n: 16 },
    TrieShape::FixedLinked { k: 1 },
];

/// The plan of a sequence.
#[derive(Debug)]
pub struct SequencePlan {
    pub options: DiskOptions,
    pub keys: KeyStyle,
    pub faults: bool,
    /// Of 65 writes of one key, this many are removals.
    pub removals: usize,
    pub steps: usize,
}

impl SequencePlan {
    pub fn draw(draw: &mut SplitMixDraw) -> Self {
        let shape = draw.of(&SHAPES);
        let cache_pages = draw.of(&[16, 17, 20, 32, 64, 300]);
        let longest = match (shape.has_integers_alone(), cache_pages) {
            // A write has all its pages in memory, and this layout has a node for each symbol.
            (true, ..300) => 200,
            (true, _) => 1_024,
            (false, ..200) => 3_000,
            (false, _) => 65_535,
        };
        // Half of the stores have members beside their keys.
        let has_members = !shape.has_integers_alone() && draw.one_in(2);
        let options = DiskOptions {
            shape,
            values: if has_members { Values::Rows } else { Values::Bytes },
            cache_pages,
            durability: draw.of(&[
                Durability::Sync,
                Durability::Sync,
                Durability::Buffered,
                Durability::None,
            ]),
            policy: draw.of(&[ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo]),
            checkpoint_bytes: draw.of(&[0, 0, 10_000, 200_000]),
            segment_bytes: 64 << 10,
            ..DiskOptions::default()
        };
        let keys = draw.of(&[
            KeyStyle::Short,
            KeyStyle::Numbered,
            KeyStyle::Nested,
            KeyStyle::Sparse(SPARSE_MOST.min(longest)),
            KeyStyle::Dense,
            KeyStyle::Longest(longest),
            KeyStyle::Longest(longest),
            KeyStyle::Mixed(longest),
            KeyStyle::Mixed(longest),
        ]);
        Self { options, keys, faults: draw.one_in(2), removals: draw.of(&[20, 30]), steps: 500 }
    }
}
