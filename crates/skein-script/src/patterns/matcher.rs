//! Matches one pattern at one position of a subject, as `match` of Lua 5.1 does.
//!
//! Lua's own matcher calls itself for each item of a pattern, so a long one overflows the stack of
//! the thread. This one keeps the alternatives that it may have to try later in a list.
//!
//! ```text
//!   pattern   a+ (b-) c            frames   Longest{a+}  Open  Shortest{b-}  Close
//!             └─► each item moves on           └──────── on a mismatch the last one is changed,
//!                 or mismatches                          or undone and removed
//! ```
//!
//! # Invariants
//! 1. Each frame belongs to an item of the pattern behind those of earlier frames. So there are at
//!    most as many frames as items, and at most [`MOST_FRAMES`].
//! 2. The matcher owns nothing: [`Meter::work`] may leave it with `longjmp`. The frames outlive it.

use super::class::{class_end, is_in_set, matches_single};

/// The captures of a pattern, as in Lua 5.1.
pub(super) const MOST_CAPTURES: usize = 32;
/// Alternatives that the matcher remembers. Lua 5.1 has as many as fit on the thread's stack.
const MOST_FRAMES: usize = 1 << 14;
/// Steps between two calls of [`Meter::work`].
const STEPS: usize = 4096;

/// Why a pattern cannot be matched. The texts are Lua's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternFault {
    EndsWithEscape,
    MissingBracket,
    MissingSet,
    Unbalanced,
    TooManyCaptures,
    CaptureIndex,
    PatternCapture,
    UnfinishedCapture,
    TooComplex,
}

impl PatternFault {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::EndsWithEscape => "malformed pattern (ends with '%')",
            Self::MissingBracket => "malformed pattern (missing ']')",
            Self::MissingSet => "missing '[' after '%f' in pattern",
            Self::Unbalanced => "unbalanced pattern",
            Self::TooManyCaptures => "too many captures",
            Self::CaptureIndex => "invalid capture index",
            Self::PatternCapture => "invalid pattern capture",
            Self::UnfinishedCapture => "unfinished capture",
            Self::TooComplex => "pattern too complex",
        }
    }
}

/// Counts the work of a match.
pub(super) trait Meter {
    /// Counts so many steps. Leaves the match with `longjmp` if the script must end.
    fn work(&mut self, steps: usize);
}

/// The extent of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Its end is not matched yet.
    Open,
    /// `()`: the position alone.
    Position,
    /// So many bytes.
    Bytes(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    pub(super) start: usize,
    pub(super) extent: Extent,
}

/// The next attempt of the matcher when the items behind this one do not match.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame {
    /// `*`, `+`: gives back one of `extra` bytes behind `start`, and continues at `next`.
    Longest { start: usize, extra: usize, next: usize },
    /// `-`: takes one byte more at `at`, if the item matches it.
    Shortest { at: usize, item: usize, end: usize },
    /// `?`: continues at `next` without the byte.
    Without { at: usize, next: usize },
    /// `(`: forgets the last capture.
    Opened,
    /// `)`: opens a capture again.
    Closed { capture: usize },
}

/// The captures of a match.
pub(super) struct Captures {
    list: [Capture; MOST_CAPTURES],
    level: usize,
}

impl Captures {
    pub(super) const fn new() -> Self {
        Self { list: [Capture { start: 0, extent: Extent::Open }; MOST_CAPTURES], level: 0 }
    }

    pub(super) fn list(&self) -> &[Capture] {
        &self.list[..self.level]
    }

    /// Returns the number of values that a match gives: its captures, or itself.
    pub(super) fn values(&self) -> usize {
        self.level.max(1)
    }

    /// Returns the part of the subject that value `number`, from 0, of a match has.
    ///
    /// # Errors
    /// If there is no such capture, or it is not closed.
    pub(super) fn value(&self, number: usize, whole: (usize, usize)) -> Result<Capture, PatternFault> {
        match self.list().get(number) {
            None if number == 0 => Ok(Capture { start: whole.0, extent: Extent::Bytes(whole.1 - whole.0) }),
            None => Err(PatternFault::CaptureIndex),
            Some(Capture { extent: Extent::Open, .. }) => Err(PatternFault::UnfinishedCapture),
            Some(capture) => Ok(*capture),
        }
    }
}

/// A pattern that is matched within a subject.
pub(super) struct Matcher<'t, M> {
    subject: &'t [u8],
    pattern: &'t [u8],
    captures: &'t mut Captures,
    frames: &'t mut Vec<Frame>,
    steps: usize,
    meter: M,
}

/// How an item has matched.
enum Item {
    /// Continue at this position of the subject, with this item.
    Next(usize, usize),
    /// The pattern has ended.
    End,
    Mismatch,
}

impl<'t, M: Meter> Matcher<'t, M> {
    /// `pattern` has no `^`. As in Lua 5.1, it ends before its first zero byte.
    pub(super) fn new(
        (subject, pattern): (&'t [u8], &'t [u8]),
        captures: &'t mut Captures,
        frames: &'t mut Vec<Frame>,
        meter: M,
    ) -> Self {
        let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
        Self { subject, pattern: &pattern[..end], captures, frames, steps: 0, meter }
    }

    /// Returns the end of the match that begins at `start`, if there is one.
    ///
    /// # Errors
    /// If the pattern is malformed or too complex.
    pub(super) fn match_at(&mut self, start: usize) -> Result<Option<usize>, PatternFault> {
        self.captures.level = 0;
        self.frames.clear();
        let (mut at, mut item) = (start, 0);
        loop {
            self.count(1);
            match self.item(at, item)? {
                Item::Next(next_at, next_item) => (at, item) = (next_at, next_item),
                Item::End => return Ok(Some(at)),
                Item::Mismatch => match self.go_back() {
                    Some(place) => (at, item) = place,
                    None => return Ok(None),
                },
            }
        }
    }

    /// Counts the steps that are left to count.
    pub(super) fn steps_left(&mut self) -> usize {
        std::mem::take(&mut self.steps)
    }

    #[inline]
    fn count(&mut self, steps: usize) {
        self.steps += steps;
        if self.steps >= STEPS {
            let steps = self.steps_left();
            self.meter.work(steps);
        }
    }

    fn item(&mut self, at: usize, item: usize) -> Result<Item, PatternFault> {
        let byte = |index: usize| self.pattern.get(index).copied();
        match (byte(item), byte(item + 1)) {
            (None, _) => Ok(Item::End),
            (Some(b'('), Some(b')')) => self.open(at, Extent::Position, item + 2),
            (Some(b'('), _) => self.open(at, Extent::Open, item + 1),
            (Some(b')'), _) => self.close(at, item + 1),
            (Some(b'$'), None) => Ok(if at == self.subject.len() { Item::End } else { Item::Mismatch }),
            (Some(b'%'), Some(b'b')) => self.balanced(at, item + 2),
            (Some(b'%'), Some(b'f')) => self.frontier(at, item + 2),
            (Some(b'%'), Some(digit @ b'0'..=b'9')) => self.same_as_capture(at, digit, item + 2),
            _ => self.single(at, item),
        }
    }

    /// One character, class or set, and how often it may occur.
    fn single(&mut self, at: usize, item: usize) -> Result<Item, PatternFault> {
        let end = class_end(self.pattern, item)?;
        match self.pattern.get(end) {
            Some(b'*') => self.longest(at, item, end),
            Some(b'+') if self.matches(at, item, end) => self.longest(at + 1, item, end),
            Some(b'-') => {
                self.remember(Frame::Shortest { at, item, end })?;
                Ok(Item::Next(at, end + 1))
            }
            Some(b'?') => {
                if self.matches(at, item, end) {
                    self.remember(Frame::Without { at, next: end + 1 })?;
                    return Ok(Item::Next(at + 1, end + 1));
                }
                Ok(Item::Next(at, end + 1))
            }
            Some(b'+') => Ok(Item::Mismatch),
            _ if self.matches(at, item, end) => Ok(Item::Next(at + 1, end)),
            _ => Ok(Item::Mismatch),
        }
    }

    /// Returns whether the byte at a position is one of an item's, which ends at `end`.
    #[inline]
    fn matches(&mut self, at: usize, item: usize, end: usize) -> bool {
        self.count((end - item) >> 3);
        self.subject.get(at).is_some_and(|byte| matches_single(*byte, &self.pattern[item..end]))
    }

    fn longest(&mut self, start: usize, item: usize, end: usize) -> Result<Item, PatternFault> {
        let mut extra = 0;
        while self.matches(start + extra, item, end) {
            extra += 1;
            self.count(1);
        }
        if extra > 0 {
            self.remember(Frame::Longest { start, extra, next: end + 1 })?;
        }
        Ok(Item::Next(start + extra, end + 1))
    }

    fn remember(&mut self, frame: Frame) -> Result<(), PatternFault> {
        if self.frames.len() == MOST_FRAMES {
            return Err(PatternFault::TooComplex);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Undoes items up to the last one that can match otherwise. Returns where to continue.
    fn go_back(&mut self) -> Option<(usize, usize)> {
        while let Some(frame) = self.frames.pop() {
            match frame {
                Frame::Longest { start, extra, next } => {
                    let extra = extra - 1;
                    if extra > 0 {
                        self.frames.push(Frame::Longest { start, extra, next });
                    }
                    return Some((start + extra, next));
                }
                Frame::Shortest { at, item, end } => {
                    if self.matches(at, item, end) {
                        self.frames.push(Frame::Shortest { at: at + 1, item, end });
                        return Some((at + 1, end + 1));
                    }
                }
                Frame::Without { at, next } => return Some((at, next)),
                Frame::Opened => self.captures.level -= 1,
                Frame::Closed { capture } => self.captures.list[capture].extent = Extent::Open,
            }
        }
        None
    }

    fn open(&mut self, at: usize, extent: Extent, next: usize) -> Result<Item, PatternFault> {
        let level = self.captures.level;
        let capture = self.captures.list.get_mut(level).ok_or(PatternFault::TooManyCaptures)?;
        *capture = Capture { start: at, extent };
        self.captures.level += 1;
        self.remember(Frame::Opened)?;
        Ok(Item::Next(at, next))
    }

    fn close(&mut self, at: usize, next: usize) -> Result<Item, PatternFault> {
        let open = self.captures.list().iter().rposition(|capture| capture.extent == Extent::Open);
        let capture = open.ok_or(PatternFault::PatternCapture)?;
        let closed = &mut self.captures.list[capture];
        closed.extent = Extent::Bytes(at - closed.start);
        self.remember(Frame::Closed { capture })?;
        Ok(Item::Next(at, next))
    }

    /// `%bxy`
    fn balanced(&mut self, at: usize, item: usize) -> Result<Item, PatternFault> {
        let Some(&[open, close]) = self.pattern.get(item..item + 2) else {
            return Err(PatternFault::Unbalanced);
        };
        if self.subject.get(at) != Some(&open) {
            return Ok(Item::Mismatch);
        }
        let mut depth = 1;
        for end in at + 1..self.subject.len() {
            self.count(1);
            let byte = self.subject[end];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Item::Next(end + 1, item + 2));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(Item::Mismatch)
    }

    /// `%f[set]`: between a byte outside of the set and one in it. A zero is before the subject and
    /// behind it.
    fn frontier(&mut self, at: usize, item: usize) -> Result<Item, PatternFault> {
        if self.pattern.get(item) != Some(&b'[') {
            return Err(PatternFault::MissingSet);
        }
        let end = class_end(self.pattern, item)?;
        self.count((end - item) >> 2);
        let set = &self.pattern[item..end];
        let previous = at.checked_sub(1).map_or(0, |before| self.subject[before]);
        let current = self.subject.get(at).copied().unwrap_or(0);
        let is_frontier = !is_in_set(previous, set) && is_in_set(current, set);
        Ok(if is_frontier { Item::Next(at, end) } else { Item::Mismatch })
    }

    /// `%1` to `%9`: the bytes of a capture once more.
    fn same_as_capture(&mut self, at: usize, digit: u8, next: usize) -> Result<Item, PatternFault> {
        let capture =
            digit.checked_sub(b'1').and_then(|number| self.captures.list().get(usize::from(number)));
        let (start, len) = match capture {
            Some(Capture { start, extent: Extent::Bytes(len) }) => (*start, *len),
            // As in Lua 5.1, a position never occurs again.
            Some(Capture { extent: Extent::Position, .. }) => return Ok(Item::Mismatch),
            _ => return Err(PatternFault::CaptureIndex),
        };
        self.count(len >> 6);
        let is_same = self.subject[at..].starts_with(&self.subject[start..start + len]);
        Ok(if is_same { Item::Next(at + len, next) } else { Item::Mismatch })
    }
}
