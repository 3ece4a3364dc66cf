//! Shapes: which trie, and with what parameters.

use std::fmt;

use super::fixed::{self, FixedLayout};
use super::node::ChildLayout;
use super::symbols::TrieSymbols;
use crate::{DiskError, Result};

/// Which trie it is.
///
/// Those called fixed have the paper's layout: nodes of one length, a symbol each. They keep integers of 32 bits alone, in keys of up to 1,024 bytes, take kilobytes a key where
/// keys share little, and are there for the paper's figures. The others are what to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrieShape {
    /// An array of `n` pointers in each node that has children (section 3.1).
    Classical {
        /// Pointers of a node: 4, 8, 16, 32, 64, 128 or 256.
        n: u16,
    },
    /// A list of the children there are, by characters (section 3.2).
    Linked,
    /// A classical trie of the keys' hashes (section 3.3).
    Hash {
        /// As for the classical trie.
        n: u16,
    },
    /// The classical trie as the paper lays it out: `8 + 8n` bytes a node.
    FixedClassical {
        /// As for the classical trie.
        n: u16,
    },
    /// The linked trie as the paper lays it out: `16 + 9k` bytes a node, and one for each character of a key.
    FixedLinked {
        /// Children of a node: 1 to 256; more are in further nodes.
        k: u16,
    },
    /// The hash trie as the paper lays it out, and keys at the ends of its paths.
    FixedHash {
        /// As for the classical trie.
        n: u16,
    },
}

/// How children are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeLayout {
    Compressed(ChildLayout),
    Fixed(FixedLayout),
}

impl fmt::Display for TrieShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classical { n } => write!(f, "a classical trie of {n} children"),
            Self::Linked => f.write_str("a linked trie"),
            Self::Hash { n } => write!(f, "a hash trie of {n} children"),
            Self::FixedClassical { n } => write!(f, "a classical trie of {n} children in the paper's layout"),
            Self::FixedLinked { k } => write!(f, "a linked trie of {k} children in the paper's layout"),
            Self::FixedHash { n } => write!(f, "a hash trie of {n} children in the paper's layout"),
        }
    }
}

impl TrieShape {
    /// Whether keys are kept in their order, so that there are scans.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Hash { .. } | Self::FixedHash { .. })
    }

    /// Whether it keeps integers of 32 bits, and no other values.
    pub fn has_integers_alone(self) -> bool {
        matches!(self, Self::FixedClassical { .. } | Self::FixedLinked { .. } | Self::FixedHash { .. })
    }

    /// How keys are cut, and how children are laid out.
    ///
    /// # Errors
    /// Symbols have a whole number of bits, and a node has to fit a page: `n` is a power of two, 4 to 256, and `k` is 1 to 256.
    pub(super) fn parts(self) -> Result<(TrieSymbols, ShapeLayout)> {
        let characters = TrieSymbols::of_bits(8);
        match self {
            Self::Linked => Ok((characters, ShapeLayout::Compressed(ChildLayout::List))),
            Self::FixedLinked { k } => Ok((characters, ShapeLayout::Fixed(list(k)?))),
            Self::Classical { n } | Self::Hash { n } => {
                Ok((symbols(n)?, ShapeLayout::Compressed(ChildLayout::Array(n.into()))))
            }
            Self::FixedClassical { n } | Self::FixedHash { n } => {
                Ok((symbols(n)?, ShapeLayout::Fixed(FixedLayout::Array(n.into()))))
            }
        }
    }

    /// Says if there is no such trie.
    ///
    /// # Errors
    /// A parameter out of its range.
    pub(crate) fn check(self) -> Result<()> {
        self.parts().map(drop)
    }

    /// Its kind and its parameter, as the catalog has them.
    pub(crate) fn numbers(self) -> (u8, u16) {
        match self {
            Self::Classical { n } => (1, n),
            Self::Linked => (2, 0),
            Self::Hash { n } => (3, n),
            Self::FixedClassical { n } => (4, n),
            Self::FixedLinked { k } => (5, k),
            Self::FixedHash { n } => (6, n),
        }
    }

    /// The shape of a kind and its parameter; none if there is no such kind.
    pub(crate) fn of_numbers(kind: u8, parameter: u16) -> Option<Self> {
        let (n, k) = (parameter, parameter);
        match kind {
            1 => Some(Self::Classical { n }),
            2 => Some(Self::Linked),
            3 => Some(Self::Hash { n }),
            4 => Some(Self::FixedClassical { n }),
            5 => Some(Self::FixedLinked { k }),
            6 => Some(Self::FixedHash { n }),
            _ => None,
        }
    }
}

/// The symbols of nodes that have `n` pointers.
fn symbols(n: u16) -> Result<TrieSymbols> {
    if n.is_power_of_two() && (4..=256).contains(&n) {
        return Ok(TrieSymbols::of_bits(n.ilog2() as u8));
    }
    Err(DiskError::BadOption {
        name: "n",
        value: n.to_string(),
        why: "a node has 4, 8, 16, 32, 64, 128 or 256 children, so that symbols are whole bits and the node fits a page"
            .to_owned(),
    })
}

/// Nodes that have `k` pointers and characters.
fn list(k: u16) -> Result<FixedLayout> {
    if (1..=256).contains(&k) {
        return Ok(FixedLayout::List(k.into()));
    }
    Err(DiskError::BadOption {
        name: "k",
        value: k.to_string(),
        why: "a node has 1 to 256 children, one for each character at most".to_owned(),
    })
}

// So all nodes that there can be fit a page.
const _: () = assert!(fixed::fits(FixedLayout::Array(256)) && fixed::fits(FixedLayout::List(256)));
