//! The kind of a trie's values. It needs nothing else of this crate, so errors may name it.

use std::fmt;

/// The kind of a trie's values.
///
/// The engine keeps any bytes and does not interpret them. This kind is the only way for a program
/// to know what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// Bytes whose meaning only the caller of this library knows.
    #[default]
    Bytes,
    /// Rows of a server: a value, or columns ("Rows" in `docs/format.md`).
    Rows,
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "plain bytes",
            Self::Rows => "rows of a server",
        })
    }
}

impl Values {
    /// Returns its number in the catalog.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Bytes => 0,
            Self::Rows => 1,
        }
    }

    /// Returns the kind with this number, or `None` if there is no such kind.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Bytes),
            1 => Some(Self::Rows),
            _ => None,
        }
    }
}
