//! Shapes: the structure of a trie and its parameters.

use std::fmt;

#[cfg(feature = "paper")]
use super::fixed::{self, FixedLayout};
use super::node::ChildLayout;
use super::symbols::TrieSymbols;
use crate::{DiskError, Result};

/// The structure of a trie and its parameters.
///
/// With the feature `paper` there are shapes in the paper's layout, for comparisons with it. Their
/// nodes have one length and one symbol each. They keep only integers of 32 bits, in keys of up to
/// 1,024 bytes, and take kilobytes per key if keys share little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrieShape {
    /// Each node with children has an array of `n` pointers (section 3.1).
    Classical {
        /// Pointers of a node: one of [`SIZES`](TrieShape::SIZES).
        n: u16,
    },
    /// Each node has a list of its children by characters (section 3.2).
    Linked,
    /// A classical trie over the keys' hashes (section 3.3).
    Hash {
        /// As for the classical trie.
        n: u16,
    },
    #[cfg(feature = "paper")]
    /// The classical trie in the paper's layout: `8 + 8n` bytes per node.
    FixedClassical {
        /// As for the classical trie.
        n: u16,
    },
    #[cfg(feature = "paper")]
    /// The linked trie in the paper's layout: `16 + 9k` bytes per node, and a node for each
    /// character of a key.
    FixedLinked {
        /// Children of a node, 1 to 256. Further children are in chained nodes.
        k: u16,
    },
    #[cfg(feature = "paper")]
    /// The hash trie in the paper's layout, with the keys at the ends of the paths.
    FixedHash {
        /// As for the classical trie.
        n: u16,
    },
}

/// The layout of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeLayout {
    Compressed(ChildLayout),
    #[cfg(feature = "paper")]
    Fixed(FixedLayout),
}

impl fmt::Display for TrieShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classical { n } => write!(f, "a classical trie of {n} children"),
            Self::Linked => f.write_str("a linked trie"),
            Self::Hash { n } => write!(f, "a hash trie of {n} children"),
            #[cfg(feature = "paper")]
            Self::FixedClassical { n } => write!(f, "a classical trie of {n} children in the paper's layout"),
            #[cfg(feature = "paper")]
            Self::FixedLinked { k } => write!(f, "a linked trie of {k} children in the paper's layout"),
            #[cfg(feature = "paper")]
            Self::FixedHash { n } => write!(f, "a hash trie of {n} children in the paper's layout"),
        }
    }
}

impl TrieShape {
    /// The numbers of pointers that a node of a classical or a hash trie can have: symbols have a
    /// whole number of bits, and a node must fit a page.
    pub const SIZES: [u16; 7] = [4, 8, 16, 32, 64, 128, 256];

    /// The number of pointers with which most figures of the paper were measured.
    pub const USUAL_SIZE: u16 = 16;

    /// Returns whether the trie keeps keys in order, so that it supports scans.
    pub fn is_ordered(self) -> bool {
        match self {
            Self::Hash { .. } => false,
            #[cfg(feature = "paper")]
            Self::FixedHash { .. } => false,
            _ => true,
        }
    }

    /// Returns whether the trie keeps only integers of 32 bits.
    pub fn has_integers_alone(self) -> bool {
        match self {
            Self::Classical { .. } | Self::Linked | Self::Hash { .. } => false,
            #[cfg(feature = "paper")]
            Self::FixedClassical { .. } | Self::FixedLinked { .. } | Self::FixedHash { .. } => true,
        }
    }

    /// Returns how keys are cut into symbols, and the layout of children.
    ///
    /// # Errors
    /// `n` is none of [`SIZES`](Self::SIZES), or `k` is not from 1 to 256.
    pub(super) fn parts(self) -> Result<(TrieSymbols, ShapeLayout)> {
        let characters = TrieSymbols::of_bits(8);
        match self {
            Self::Linked => Ok((characters, ShapeLayout::Compressed(ChildLayout::List))),
            #[cfg(feature = "paper")]
            Self::FixedLinked { k } => Ok((characters, ShapeLayout::Fixed(list(k)?))),
            Self::Classical { n } | Self::Hash { n } => {
                Ok((symbols(n)?, ShapeLayout::Compressed(ChildLayout::Array(n.into()))))
            }
            #[cfg(feature = "paper")]
            Self::FixedClassical { n } | Self::FixedHash { n } => {
                Ok((symbols(n)?, ShapeLayout::Fixed(FixedLayout::Array(n.into()))))
            }
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub(crate) fn check(self) -> Result<()> {
        self.parts().map(drop)
    }

    /// Returns the kind and the parameter as stored in the catalog.
    pub(crate) fn numbers(self) -> (u8, u16) {
        match self {
            Self::Classical { n } => (1, n),
            Self::Linked => (2, 0),
            Self::Hash { n } => (3, n),
            #[cfg(feature = "paper")]
            Self::FixedClassical { n } => (4, n),
            #[cfg(feature = "paper")]
            Self::FixedLinked { k } => (5, k),
            #[cfg(feature = "paper")]
            Self::FixedHash { n } => (6, n),
        }
    }

    /// Returns the shape for a kind and a parameter, or the reason why there is none.
    pub(crate) fn of_numbers(kind: u8, parameter: u16) -> std::result::Result<Self, String> {
        match kind {
            1 => Ok(Self::Classical { n: parameter }),
            2 => Ok(Self::Linked),
            3 => Ok(Self::Hash { n: parameter }),
            #[cfg(feature = "paper")]
            4 => Ok(Self::FixedClassical { n: parameter }),
            #[cfg(feature = "paper")]
            5 => Ok(Self::FixedLinked { k: parameter }),
            #[cfg(feature = "paper")]
            6 => Ok(Self::FixedHash { n: parameter }),
            #[cfg(not(feature = "paper"))]
            4..=6 => Err("a trie has the paper's layout; read it with a build of `skein-disk` that has the feature `paper`".to_owned()),
            _ => Err(format!("the kind of trie {kind} is unknown")),
        }
    }
}

/// Returns the symbols for nodes with `n` pointers.
fn symbols(n: u16) -> Result<TrieSymbols> {
    if TrieShape::SIZES.contains(&n) {
        return Ok(TrieSymbols::of_bits(n.ilog2() as u8));
    }
    let [rest @ .., last] = TrieShape::SIZES;
    Err(DiskError::BadOption {
        name: "n",
        value: n.to_string(),
        why: format!(
            "a node has {} or {} children, so that symbols are whole bits and the node fits a page",
            rest.map(|n| n.to_string()).join(", "),
            last
        ),
    })
}

#[cfg(feature = "paper")]
/// Returns the layout of nodes with `k` pointers and characters.
fn list(k: u16) -> Result<FixedLayout> {
    if (1..=256).contains(&k) {
        return Ok(FixedLayout::List(k.into()));
    }
    Err(DiskError::BadOption {
        name: "k",
        value: k.to_string(),
        why: "a node has 1 to 256 children, at most one for each character".to_owned(),
    })
}

// So every possible node fits a page.
#[cfg(feature = "paper")]
const _: () = assert!(fixed::fits(FixedLayout::Array(256)) && fixed::fits(FixedLayout::List(256)));
