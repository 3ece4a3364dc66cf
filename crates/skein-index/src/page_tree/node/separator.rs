//! Separators where they lie: in a node, in a page as keys, or on their own.

use super::shared;

/// A separator in two parts: the prefix of its node or page, and the rest.
#[derive(Clone, Copy, Debug)]
pub(in crate::page_tree) struct Separator<'n> {
    prefix: &'n [u8],
    rest: &'n [u8],
}

impl<'n> Separator<'n> {
    pub(in crate::page_tree) fn new(prefix: &'n [u8], rest: &'n [u8]) -> Self {
        Self { prefix, rest }
    }

    /// Returns the separator with these bytes.
    pub(in crate::page_tree) fn whole(bytes: &'n [u8]) -> Self {
        Self { prefix: &[], rest: bytes }
    }

    pub(super) fn len(self) -> usize {
        self.prefix.len() + self.rest.len()
    }

    /// Returns the bytes from `from` to `to`, in two parts.
    pub(in crate::page_tree) fn part(self, from: usize, to: usize) -> [&'n [u8]; 2] {
        let split = self.prefix.len();
        let (prefix, rest) = (from.min(split)..to.min(split), from.max(split)..to.max(split));
        [&self.prefix[prefix], &self.rest[rest.start - split..rest.end - split]]
    }

    pub(in crate::page_tree) fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.rest].concat()
    }

    /// Returns the number of bytes that two separators share at their start.
    pub(in crate::page_tree) fn shared(self, other: Self) -> usize {
        if std::ptr::eq(self.prefix, other.prefix) {
            return self.prefix.len() + shared(self.rest, other.rest);
        }
        let bytes = |separator: Self| separator.prefix.iter().chain(separator.rest);
        bytes(self).zip(bytes(other)).take_while(|(a, b)| a == b).count()
    }
}
