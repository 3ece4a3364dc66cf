//! What a trie is made as, and stays: its shape, and what its values are.

use std::fmt;

use crate::trie::TrieShape;
use crate::{DiskError, Result};

/// What the values of a trie are. The engine keeps any bytes and never looks at them, so that nothing else tells programs what they may take them for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// What the callers of this library make of them.
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
    /// Its number, as the catalog has it.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Bytes => 0,
            Self::Rows => 1,
        }
    }

    /// The values of a number; none if there are no such values.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Bytes),
            1 => Some(Self::Rows),
            _ => None,
        }
    }
}

/// What a trie is made as, and stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrieKind {
    /// Which trie it is.
    pub shape: TrieShape,
    /// What its values are.
    pub values: Values,
}

impl TrieKind {
    /// Says if there is no such trie.
    ///
    /// # Errors
    /// A parameter of the shape out of its range; rows in a trie that keeps integers alone.
    pub(crate) fn check(self) -> Result<()> {
        self.shape.check()?;
        if self.values == Values::Rows && self.shape.has_integers_alone() {
            let why = format!("{} keeps integers alone; use a trie of the default layout", self.shape);
            return Err(DiskError::BadOption { name: "values", value: self.values.to_string(), why });
        }
        Ok(())
    }
}
