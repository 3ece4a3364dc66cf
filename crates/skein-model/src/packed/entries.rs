//! The bytes of packed members: one entry after the other.

use std::cmp::Ordering;

use crate::lists::ROW_CHUNK;
use crate::texts::{push_number, push_text, read_number};
use crate::{CollectionKind, SET_SCORE};

/// The greatest integer up to which all integers are doubles.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
/// The first byte of a score that is no such integer: an odd number.
const DOUBLE: u8 = 1;

/// The form of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryForm {
    /// Names alone, ascending.
    Names,
    /// Scores and names, ascending by both.
    Scored,
    /// Names and values, ascending by name: the chunks of a list while a write changes it.
    Pairs,
    /// One chunk of a list, which is all of the bytes.
    Chunk,
}

impl EntryForm {
    /// Returns the form in the row of a key.
    pub(super) fn of(kind: CollectionKind) -> Self {
        match kind {
            CollectionKind::Set => Self::Names,
            CollectionKind::SortedSet => Self::Scored,
            CollectionKind::List => Self::Chunk,
            CollectionKind::Hash | CollectionKind::Stream => Self::Pairs,
        }
    }

    /// Appends an entry.
    pub(super) fn push(self, out: &mut Vec<u8>, score: f64, name: &[u8], value: &[u8]) {
        match self {
            Self::Names => push_text(out, name),
            Self::Scored => {
                push_score(out, score);
                push_text(out, name);
            }
            Self::Pairs => {
                push_text(out, name);
                push_text(out, value);
            }
            Self::Chunk => out.extend_from_slice(value),
        }
    }
}

fn push_score(out: &mut Vec<u8>, score: f64) {
    if score.fract() == 0.0 && score.abs() < INTEGER_MAX {
        let integer = score as i64;
        let zigzag = (integer << 1) ^ (integer >> 63);
        push_number(out, zigzag.cast_unsigned() << 1);
    } else {
        out.push(DOUBLE);
        out.extend_from_slice(&score.to_le_bytes());
    }
}

/// Takes a score from the front. Returns `None` if the bytes are no score, or NaN. Writers make
/// integers of up to 53 bits alone, which are exact.
#[expect(clippy::cast_precision_loss, reason = "larger integers are in no row that was written")]
fn read_score(bytes: &mut &[u8]) -> Option<f64> {
    if bytes.first() != Some(&DOUBLE) {
        let number = read_number(bytes)?;
        let zigzag = number >> 1;
        let integer = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
        return (number & 1 == 0).then_some(integer as f64);
    }
    let (score, rest) = bytes[1..].split_first_chunk()?;
    *bytes = rest;
    Some(f64::from_le_bytes(*score)).filter(|score| !score.is_nan())
}

fn read_text<'t>(bytes: &mut &'t [u8]) -> Option<&'t [u8]> {
    let len = usize::try_from(read_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(text)
}

/// A member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'e> {
    pub(super) score: f64,
    pub(super) name: &'e [u8],
    /// `None` if the value is the score.
    value: Option<&'e [u8]>,
    /// The bytes before it.
    pub(super) start: usize,
    /// The bytes up to its end.
    pub(super) end: usize,
}

impl Entry<'_> {
    /// Compares by score, then by name.
    pub(super) fn cmp(self, score: f64, name: &[u8]) -> Ordering {
        self.score.total_cmp(&score).then_with(|| self.name.cmp(name))
    }

    /// Calls `look` with the value.
    pub(super) fn with_value<R>(self, look: impl FnOnce(&[u8]) -> R) -> R {
        look(self.value.unwrap_or(&self.score.to_le_bytes()))
    }
}

/// The entries in some bytes, in order. Bytes that are no entry end them.
#[derive(Clone, Debug)]
pub(super) struct Entries<'e> {
    form: EntryForm,
    len: usize,
    rest: &'e [u8],
}

impl<'e> Entries<'e> {
    pub(super) fn of(form: EntryForm, bytes: &'e [u8]) -> Self {
        Self { form, len: bytes.len(), rest: bytes }
    }

    /// Returns whether all bytes were entries.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'e> Iterator for Entries<'e> {
    type Item = Entry<'e>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'e>> {
        if self.rest.is_empty() {
            return None;
        }
        let (start, mut rest) = (self.len - self.rest.len(), self.rest);
        let (score, name, value): (_, _, Option<&[u8]>) = match self.form {
            EntryForm::Names => (SET_SCORE, read_text(&mut rest)?, Some(&[])),
            EntryForm::Scored => (read_score(&mut rest)?, read_text(&mut rest)?, None),
            EntryForm::Pairs => (SET_SCORE, read_text(&mut rest)?, Some(read_text(&mut rest)?)),
            EntryForm::Chunk => (SET_SCORE, &ROW_CHUNK[..], Some(std::mem::take(&mut rest))),
        };
        self.rest = rest;
        Some(Entry { score, name, value, start, end: self.len - rest.len() })
    }
}
