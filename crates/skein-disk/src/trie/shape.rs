//! Shapes: which trie, and with what parameters.

use std::fmt;

use super::node::Layout;
use super::symbols::Symbols;
use crate::{DiskError, Result};

/// Which trie it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classical { n } => write!(f, "a classical trie of {n} children"),
            Self::Linked => f.write_str("a linked trie"),
            Self::Hash { n } => write!(f, "a hash trie of {n} children"),
        }
    }
}

impl Shape {
    /// How keys are cut, and how children are laid out.
    ///
    /// # Errors
    /// Symbols have a whole number of bits, and an array of pointers has to fit a page: `n` is a power of two, 4 to 256.
    pub(super) fn parts(self) -> Result<(Symbols, Layout)> {
        let (Self::Classical { n } | Self::Hash { n }) = self else {
            return Ok((Symbols::of_bits(8), Layout::List));
        };
        if n.is_power_of_two() && (4..=256).contains(&n) {
            return Ok((Symbols::of_bits(n.ilog2() as u8), Layout::Array(n.into())));
        }
        Err(DiskError::BadOption {
            name: "n",
            value: n.to_string(),
            why: "a node has 4, 8, 16, 32, 64, 128 or 256 children, so that symbols are whole bits and the node fits a page"
                .to_owned(),
        })
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
        }
    }

    /// The shape of a kind and its parameter; none if there is no such kind.
    pub(crate) fn of_numbers(kind: u8, n: u16) -> Option<Self> {
        match kind {
            1 => Some(Self::Classical { n }),
            2 => Some(Self::Linked),
            3 => Some(Self::Hash { n }),
            _ => None,
        }
    }
}
