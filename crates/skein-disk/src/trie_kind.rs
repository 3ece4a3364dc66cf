//! The properties of a trie that are fixed when it is created: its shape and the kind of its
//! values.

use crate::trie::TrieShape;
use crate::{DiskError, Result, Values};

/// The properties of a trie that are fixed when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrieKind {
    /// The trie's structure and its parameters.
    pub shape: TrieShape,
    /// The kind of its values.
    pub values: Values,
}

impl TrieKind {
    /// Checks that such a trie can be created.
    ///
    /// # Errors
    /// A parameter of the shape is out of its range, or the trie keeps only integers and the values
    /// are rows.
    pub(crate) fn check(self) -> Result<()> {
        self.shape.check()?;
        if self.values == Values::Rows && self.shape.has_integers_alone() {
            let why = format!("{} keeps only integers; use a trie of the default layout", self.shape);
            return Err(DiskError::BadOption { name: "values", value: self.values.to_string(), why });
        }
        Ok(())
    }
}
