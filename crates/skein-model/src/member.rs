//! The name of a member, as an order of members shows it.

use std::cmp::Ordering;

/// A member, in two consecutive parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Member<'a> {
    head: &'a [u8],
    tail: &'a [u8],
}

impl<'a> Member<'a> {
    /// Returns a member in one part.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { head: &[], tail: bytes }
    }

    /// Returns a member in two parts.
    #[inline]
    pub fn in_parts(head: &'a [u8], tail: &'a [u8]) -> Self {
        Self { head, tail }
    }

    /// Returns the two parts in order.
    #[inline]
    pub fn parts(self) -> [&'a [u8]; 2] {
        [self.head, self.tail]
    }

    /// Returns the length in bytes.
    pub fn len(self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns whether the member has no bytes. An empty member is valid.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns a copy of the bytes.
    pub fn to_vec(self) -> Vec<u8> {
        self.parts().concat()
    }

    /// Compares the member with these bytes.
    #[inline]
    pub fn cmp_bytes(self, other: &[u8]) -> Ordering {
        if self.head.is_empty() {
            return self.tail.cmp(other);
        }
        match other.split_at_checked(self.head.len()) {
            None => self.head.cmp(other),
            Some((head, tail)) => self.head.cmp(head).then_with(|| self.tail.cmp(tail)),
        }
    }

    /// Returns the length of the common prefix.
    pub fn common(self, other: Self) -> usize {
        let ours = self.head.iter().chain(self.tail);
        ours.zip(other.head.iter().chain(other.tail)).take_while(|(a, b)| a == b).count()
    }

    /// Returns the bytes from `start` on. REQUIRES: the member has at least `start` bytes.
    #[must_use]
    pub fn from(self, start: usize) -> Self {
        match start.checked_sub(self.head.len()) {
            None => Self { head: &self.head[start..], tail: self.tail },
            Some(start) => Self::of(&self.tail[start..]),
        }
    }

    /// Returns the first `end` bytes. REQUIRES: the member has at least `end` bytes.
    pub fn up_to(self, end: usize) -> Vec<u8> {
        let mut bytes = self.to_vec();
        bytes.truncate(end);
        bytes
    }
}
