//! Key spaces: the maps of one store.

use std::fmt;

/// A map of a store. Each one has its own keys. One transaction may write to all of them, and its
/// writes take effect at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KeySpace {
    /// The store's keys, in a trie of the shape that the options name. Every operation that names
    /// no space is on this one, and the number of keys is its number.
    Main,
    /// The members of the keys that have many: fields of hashes, members of sorted sets. Always a
    /// linked trie, so the members are in order. Only a store of rows has it
    /// ([`Values::Rows`](crate::Values::Rows)).
    Members,
    /// The members of sorted sets by their scores: an ordered set of keys without values, which
    /// answers ranks. Only a store of rows has it.
    Scores,
    /// The keys that expire by their times: an ordered set of keys, as [`Scores`](Self::Scores).
    Expiry,
}

impl KeySpace {
    /// Returns its name in the catalog.
    ///
    /// ```
    /// use skein_disk::KeySpace;
    ///
    /// assert_eq!(KeySpace::Members.name(), "members");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Members => "members",
            Self::Scores => "scores",
            Self::Expiry => "expiry",
        }
    }

    /// Returns its number in the records of the log.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Main => 0,
            Self::Members => 1,
            Self::Scores => 2,
            Self::Expiry => 3,
        }
    }

    /// Returns the space with this number, or `None` if there is no such space.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Main),
            1 => Some(Self::Members),
            2 => Some(Self::Scores),
            3 => Some(Self::Expiry),
            _ => None,
        }
    }
}

impl fmt::Display for KeySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
