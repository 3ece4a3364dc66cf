//! Patterns of MATCH, like Redis's: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a literal byte.
//!
//! ```text
//!   a?[x-z]*bc*d      segments between stars:   a?[x-z]    bc         d
//!                     their positions:          the start  leftmost   the end
//! ```
//!
//! A pattern is compiled once for all texts. A class becomes a set of 256 bits, however long its
//! source is. `search` finds a segment between two stars with one pass over the text. So a match
//! takes at most (bytes of the text) × (elements of the longest such segment ÷ 64) steps. Callers
//! that match many texts add these steps up and pause.

mod search;

use std::collections::HashMap;
use std::ops::Range;

use search::find;

/// Steps of matching after which a slice, or a page of a scan, ends: a few milliseconds.
pub(crate) const STEPS_MAX: usize = 1 << 22;

/// Maximum number of elements in a pattern. A pattern with more elements matches no key and no
/// member, because these are shorter.
const ELEMENTS_MAX: usize = 1 << 20;

/// Maximum number of steps of one match. Keys and members never need so many; the name of a column
/// can be long enough.
const ONE_MATCH_STEPS_MAX: usize = 1 << 29;

/// The bytes of a class.
pub(crate) type ByteClass = [u64; 4];

/// The condition on one byte of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobElement {
    Any,
    Byte(u8),
    /// In the set with this index.
    In(u32),
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    elements: Vec<GlobElement>,
    sets: Vec<ByteClass>,
    /// The runs of elements between stars; none of them is empty.
    segments: Vec<Range<usize>>,
    starts_with_star: bool,
    ends_with_star: bool,
    /// Whether the pattern was longer than the limit and is cut.
    is_cut: bool,
}

impl Glob {
    pub(crate) fn new(pattern: &[u8]) -> Self {
        let mut glob = Self {
            elements: Vec::new(),
            sets: Vec::new(),
            segments: Vec::new(),
            starts_with_star: pattern.first() == Some(&b'*'),
            ends_with_star: false,
            is_cut: false,
        };
        let mut known = HashMap::new();
        let (mut at, mut start) = (0, 0);
        while at < pattern.len() {
            glob.ends_with_star = pattern[at] == b'*';
            if glob.ends_with_star {
                glob.end_segment(&mut start);
                at += 1;
                continue;
            }
            if glob.elements.len() == ELEMENTS_MAX {
                glob.is_cut = true;
                break;
            }
            let (element, len) = glob.element(&pattern[at..], &mut known);
            glob.elements.push(element);
            at += len;
        }
        glob.end_segment(&mut start);
        // Patterns of subscriptions stay.
        glob.elements.shrink_to_fit();
        glob.sets.shrink_to_fit();
        glob.segments.shrink_to_fit();
        glob
    }

    fn end_segment(&mut self, start: &mut usize) {
        let end = self.elements.len();
        if end > *start {
            self.segments.push(*start..end);
            *start = end;
        }
    }

    /// Returns the first element of `pattern` and its length in bytes. `pattern` must not be empty
    /// or begin with a star.
    fn element(&mut self, pattern: &[u8], known: &mut HashMap<ByteClass, u32>) -> (GlobElement, usize) {
        match pattern {
            [b'?', ..] => (GlobElement::Any, 1),
            [b'[', rest @ ..] => {
                let (set, len) = class(rest);
                let place = *known.entry(set).or_insert_with(|| {
                    self.sets.push(set);
                    (self.sets.len() - 1) as u32
                });
                (GlobElement::In(place), len + 1)
            }
            [b'\\', literal, ..] => (GlobElement::Byte(*literal), 2),
            [literal, ..] => (GlobElement::Byte(*literal), 1),
            [] => (GlobElement::Any, 0),
        }
    }

    /// Returns the bytes of memory that the pattern takes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&self.elements[..]) + size_of_val(&self.sets[..]) + size_of_val(&self.segments[..])
    }

    /// Returns whether a match may take much longer than one pass over the text.
    pub(crate) fn is_costly(&self) -> bool {
        self.words() > 1
    }

    /// Returns the length of the longest segment in words of 64 bits.
    fn words(&self) -> usize {
        self.segments.iter().map(|segment| segment.len().div_ceil(64)).max().unwrap_or(1)
    }

    /// Returns the maximum number of steps of a match with a text of `len` bytes.
    fn steps(&self, len: usize) -> usize {
        len.saturating_mul(self.words())
    }

    /// Returns whether a match with a text of `len` bytes would exceed the limit of steps.
    pub(crate) fn is_too_long_for(&self, len: usize) -> bool {
        self.elements.len() <= len && (self.is_cut || self.steps(len) > ONE_MATCH_STEPS_MAX)
    }

    /// Returns whether the pattern matches `text`, and adds the maximum number of steps that this
    /// took. If the pattern is too long for the text (see `is_too_long_for`), it does not match.
    pub(crate) fn matches(&self, text: &[u8], steps: &mut usize) -> bool {
        *steps = steps.saturating_add(1);
        if self.elements.len() > text.len() || self.is_too_long_for(text.len()) {
            return false;
        }
        let (mut segments, mut text) = (&self.segments[..], text);
        if !self.starts_with_star {
            let Some((first, rest)) = segments.split_first() else {
                return text.is_empty() || self.ends_with_star;
            };
            if !self.stands_at_start(first, text) {
                return false;
            }
            (segments, text) = (rest, &text[first.len()..]);
            if segments.is_empty() && !self.ends_with_star {
                return text.is_empty();
            }
        }
        if !self.ends_with_star
            && let Some((last, rest)) = segments.split_last()
        {
            let Some(before) = text.len().checked_sub(last.len()) else { return false };
            if !self.stands_at_start(last, &text[before..]) {
                return false;
            }
            (segments, text) = (rest, &text[..before]);
        }
        *steps = steps.saturating_add(if segments.is_empty() { 0 } else { self.steps(text.len()) });
        // The leftmost position leaves the most text for later segments.
        for segment in segments {
            let Some(end) = find(&self.elements[segment.clone()], &self.sets, text) else { return false };
            text = &text[end..];
        }
        true
    }

    /// Returns whether `text` begins with a segment. The text must be long enough.
    fn stands_at_start(&self, segment: &Range<usize>, text: &[u8]) -> bool {
        let mut pairs = self.elements[segment.clone()].iter().zip(text);
        pairs.all(|(element, byte)| element.holds(*byte, &self.sets))
    }
}

impl GlobElement {
    #[inline]
    fn holds(self, byte: u8, sets: &[ByteClass]) -> bool {
        match self {
            Self::Any => true,
            Self::Byte(wanted) => byte == wanted,
            Self::In(place) => has(&sets[place as usize], byte),
        }
    }
}

fn has(set: &ByteClass, byte: u8) -> bool {
    set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

/// Parses the class that follows a `[`. Returns its bytes and its length. An unclosed class ends
/// with the pattern.
fn class(pattern: &[u8]) -> (ByteClass, usize) {
    let negated = pattern.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut set = [0; 4];
    let mut put = |from: u8, to: u8| {
        (from.min(to)..=from.max(to)).for_each(|byte| set[usize::from(byte >> 6)] |= 1_u64 << (byte & 63));
    };
    while at < pattern.len() && pattern[at] != b']' {
        let (from, to, len) = match &pattern[at..] {
            [b'\\', literal, ..] => (*literal, *literal, 2),
            [from, b'-', to, ..] => (*from, *to, 3),
            [literal, ..] => (*literal, *literal, 1),
            [] => break,
        };
        put(from, to);
        at += len;
    }
    (if negated { set.map(|word: u64| !word) } else { set }, (at + 1).min(pattern.len()))
}

/// Returns the bytes with which every match begins, and whether they are the whole pattern.
pub(crate) fn literal_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut rest = pattern;
    loop {
        match rest {
            [] => return (prefix, true),
            [b'*' | b'?' | b'[', ..] => return (prefix, false),
            [b'\\', literal, after @ ..] | [literal, after @ ..] => {
                prefix.push(*literal);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests;
