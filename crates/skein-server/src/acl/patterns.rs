//! Patterns of keys, and the access that they allow.

use std::ops::Bound;

use skein_syntax::KeyRange;

use crate::redis::glob::{Glob, literal_prefix};

/// An access to a key that a request needs or a rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyAccess {
    pub read: bool,
    pub write: bool,
}

impl KeyAccess {
    /// No access to the contents; at most the existence of the key is revealed.
    pub(crate) const NONE: Self = Self { read: false, write: false };
    pub(crate) const READ: Self = Self { read: true, write: false };
    pub(crate) const WRITE: Self = Self { read: false, write: true };
    pub(crate) const BOTH: Self = Self { read: true, write: true };

    fn includes(self, other: Self) -> bool {
        (self.read || !other.read) && (self.write || !other.write)
    }

    fn and(self, other: Self) -> Self {
        Self { read: self.read || other.read, write: self.write || other.write }
    }
}

/// The way to print a pattern that allows everything but was not written as `~*`. In Redis, no
/// pattern may follow `~*`, but patterns may follow `%RW~*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllKeys {
    /// As Redis prints it. Reading it may give other rights.
    AsInRedis,
    /// A text that gives the same rights when it is read.
    ReadBack,
}

impl AllKeys {
    fn text(self) -> &'static [u8] {
        match self {
            Self::AsInRedis => b"~*",
            Self::ReadBack => b"%RW~*",
        }
    }
}

/// A pattern and the access that it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    pub access: KeyAccess,
    pub pattern: Vec<u8>,
    /// The compiled pattern.
    glob: Glob,
}

impl KeyPattern {
    /// Parses a rule: `~pattern`, `%R~pattern`, `%W~pattern`, `%RW~pattern`. Returns `None` for
    /// other rules.
    pub(super) fn parse(rule: &[u8]) -> Option<Self> {
        let mut access = KeyAccess::NONE;
        let pattern = match rule {
            [b'~', pattern @ ..] => {
                access = KeyAccess::BOTH;
                pattern
            }
            [b'%', rest @ ..] => {
                let tilde = rest.iter().position(|byte| *byte == b'~')?;
                for letter in &rest[..tilde] {
                    match letter.to_ascii_uppercase() {
                        b'R' => access.read = true,
                        b'W' => access.write = true,
                        _ => return None,
                    }
                }
                &rest[tilde + 1..]
            }
            _ => return None,
        };
        (access != KeyAccess::NONE && is_word(pattern)).then(|| Self::new(access, pattern))
    }

    fn new(access: KeyAccess, pattern: &[u8]) -> Self {
        Self { access, pattern: pattern.to_vec(), glob: Glob::new(pattern) }
    }

    /// Returns whether the pattern allows this access to every key.
    pub(super) fn allows_all(&self, access: KeyAccess) -> bool {
        self.access.includes(access) && self.pattern == b"*"
    }

    pub(super) fn print(&self, all_keys: AllKeys, out: &mut Vec<u8>) {
        if self.allows_all(KeyAccess::BOTH) {
            out.extend_from_slice(all_keys.text());
            return;
        }
        out.extend_from_slice(match (self.access.read, self.access.write) {
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            _ => b"~",
        });
        out.extend_from_slice(&self.pattern);
    }

    pub(super) fn allows(&self, key: &[u8], access: KeyAccess) -> bool {
        self.access.includes(access) && self.glob.matches(key, &mut 0)
    }

    /// Returns whether the pattern allows this access to every key in the range. Only a pattern
    /// that consists of a prefix and a star can.
    pub(super) fn allows_range(&self, range: &KeyRange, access: KeyAccess) -> bool {
        let Some(prefix) = self.prefix().filter(|_| self.access.includes(access)) else { return false };
        let whole = KeyRange::with_prefix(&prefix);
        let begins = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => *key >= prefix,
            Bound::Unbounded => prefix.is_empty(),
        };
        let ends = match (&range.upper, &whole.upper) {
            (_, Bound::Unbounded) => true,
            (Bound::Included(key), Bound::Excluded(end)) => key < end,
            (Bound::Excluded(key), Bound::Excluded(end)) => key <= end,
            _ => false,
        };
        begins && ends
    }

    /// Returns the prefix if the pattern matches exactly the keys that begin with it.
    fn prefix(&self) -> Option<Vec<u8>> {
        let (b'*', head) = self.pattern.split_last()? else { return None };
        let backslashes = head.iter().rev().take_while(|byte| **byte == b'\\').count();
        let (prefix, whole) = literal_prefix(head);
        (whole && backslashes % 2 == 0).then_some(prefix)
    }
}

/// Adds a pattern. If the pattern exists already, adds the access to it.
pub(super) fn add(patterns: &mut Vec<KeyPattern>, new: KeyPattern) {
    match patterns.iter_mut().find(|known| known.pattern == new.pattern) {
        Some(known) => known.access = known.access.and(new.access),
        None => patterns.push(new),
    }
}

/// Returns whether a text can be one word in a line of rules.
pub(super) fn is_word(text: &[u8]) -> bool {
    !text.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | b'\x0b'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(rule: &str) -> KeyPattern {
        KeyPattern::parse(rule.as_bytes()).unwrap_or_else(|| panic!("{rule}"))
    }

    #[test]
    fn rules_of_keys() {
        for (rule, access, printed) in [
            ("~a*", KeyAccess::BOTH, "~a*"),
            ("%R~a", KeyAccess::READ, "%R~a"),
            ("%w~a", KeyAccess::WRITE, "%W~a"),
            ("%RW~a", KeyAccess::BOTH, "~a"),
            ("%WRR~", KeyAccess::BOTH, "~"),
        ] {
            let found = pattern(rule);
            let mut out = Vec::new();
            found.print(AllKeys::ReadBack, &mut out);
            assert_eq!((found.access, &*out), (access, printed.as_bytes()), "{rule}");
        }
        for bad in ["", "a", "%", "%R", "%~a", "%X~a", "%RX~a", "~a b", "~a\0", "%R~\n"] {
            assert!(KeyPattern::parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn ranges_within_a_prefix() {
        let range = |min: &str, max: &str| {
            KeyRange::parse(min.as_bytes(), max.as_bytes()).expect("a range").expect("one that is not empty")
        };
        for (rule, min, max, allowed) in [
            ("~a*", "[a", "(b", true),
            ("~a*", "(a", "[azzz", true),
            ("~a*", "[a", "[b", false),
            ("~a*", "[a1", "(a2", true),
            ("~a*", "-", "(b", false),
            ("~a*", "[a", "+", false),
            ("~a*", "[Z", "(b", false),
            ("%R~*", "-", "+", true),
            ("%W~*", "-", "+", false),
            ("~a\\**", "[a*", "[a*z", true),
            ("~a\\*", "[a*", "[a*", false),
            ("~a\\\\*", "[a\\", "[a\\b", true),
            ("~[a]*", "[a", "[ab", false),
            ("~a*b*", "[a", "[ab", false),
            ("~a", "[a", "[a", false),
        ] {
            assert_eq!(
                pattern(rule).allows_range(&range(min, max), KeyAccess::READ),
                allowed,
                "{rule} {min} {max}"
            );
        }
        let last = KeyPattern::new(KeyAccess::BOTH, b"\xff*");
        assert!(
            last.allows_range(&range("[", "+").after(b"\xff".to_vec()).expect("a rest"), KeyAccess::READ)
        );
    }
}
