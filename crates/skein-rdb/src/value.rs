//! Values, read in pieces.
//!
//! ```text
//!   type 2  │ n │ string │ string │ …      a piece of up to 1,000 members or one MiB, another …
//!   type 18 │ n │ container, blob │ …      the elements of some blobs, of some more …
//!   type 16 │ blob                         all pairs
//! ```
//!
//! A reader keeps where it is, and the caller lends it the input for each piece. So a value of any
//! size is read in bounded memory, as far as its blobs are short.

use std::io::BufRead;

use crate::packed::{PackedElement, read_intset, read_listpack, read_ziplist, read_zipmap};
use crate::stream::{StreamEntry, StreamGroup, StreamPosition, StreamReader};
use crate::{RdbError, RdbInput, Result, ValueType};

/// A part of a value. All pieces of a value are of one kind, except for streams.
#[derive(Debug, Clone, PartialEq)]
pub enum ValuePiece {
    /// The whole of a string.
    String(Vec<u8>),
    /// Elements of a list, behind those of the pieces before.
    List(Vec<Vec<u8>>),
    /// Members of a set.
    Set(Vec<Vec<u8>>),
    /// Members of a sorted set, and their scores, which are numbers.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// Names and values of a hash.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// Entries of a stream, in their order.
    StreamEntries(Vec<StreamEntry>),
    /// The counters of a stream. They follow its entries.
    StreamPosition(StreamPosition),
    /// A group of a stream. Groups follow the counters.
    StreamGroup(StreamGroup),
}

impl ValuePiece {
    /// The most members of a piece, unless one blob has more.
    pub const MEMBERS: usize = 1000;
    /// A piece of several members ends at about this number of bytes, unless one blob has more.
    pub const BYTES: usize = 1 << 20;

    /// Returns the bytes of memory that the piece takes, about.
    pub fn memory(&self) -> usize {
        let of_texts = |texts: &[Vec<u8>]| texts.iter().map(|text| memory_of(text)).sum();
        match self {
            Self::String(text) => memory_of(text),
            Self::List(texts) | Self::Set(texts) => of_texts(texts),
            Self::SortedSet(members) => members.iter().map(|(member, _)| 8 + memory_of(member)).sum(),
            Self::Hash(pairs) => pairs.iter().map(|(name, value)| memory_of(name) + memory_of(value)).sum(),
            Self::StreamEntries(entries) => entries.iter().map(StreamEntry::memory).sum(),
            Self::StreamPosition(_) => size_of::<StreamPosition>(),
            Self::StreamGroup(group) => group.memory(),
        }
    }
}

/// Returns the bytes of memory of a text, about.
pub(crate) fn memory_of(text: &[u8]) -> usize {
    size_of::<Vec<u8>>() + 16 + text.len()
}

/// Where the reader is.
#[derive(Debug)]
enum ValueProgress {
    Begun,
    /// So many strings, pairs or blobs are left.
    Left(u64),
    Stream(StreamReader),
    Done,
}

/// Reads one value, piece by piece.
#[derive(Debug)]
pub struct ValueReader {
    kind: ValueType,
    progress: ValueProgress,
}

impl ValueReader {
    /// Returns a reader of a value of this type.
    pub fn new(kind: ValueType) -> Self {
        Self { kind, progress: ValueProgress::Begun }
    }

    /// Returns the next piece, or `None` behind the last one. A collection without members has no
    /// piece; Redis refuses it.
    ///
    /// # Errors
    /// The input ends or is damaged, or a limit is exceeded. No more may be read then.
    pub fn next<R: BufRead>(&mut self, input: &mut RdbInput<R>) -> Result<Option<ValuePiece>> {
        loop {
            match &mut self.progress {
                ValueProgress::Begun => {
                    if let Some(piece) = self.begin(input)? {
                        return Ok(Some(piece));
                    }
                }
                ValueProgress::Left(0) | ValueProgress::Done => return Ok(None),
                ValueProgress::Left(left) => {
                    let piece = read_members(self.kind, left, input)?;
                    if piece.memory() > 0 {
                        return Ok(Some(piece));
                    }
                }
                ValueProgress::Stream(reader) => return reader.next(input),
            }
        }
    }

    /// Reads the head of a value, or all of it if it is one string.
    fn begin<R: BufRead>(&mut self, input: &mut RdbInput<R>) -> Result<Option<ValuePiece>> {
        self.progress = ValueProgress::Done;
        if self.kind.is_stream() {
            self.progress = ValueProgress::Stream(StreamReader::new(self.kind));
            return Ok(None);
        }
        let is_counted = matches!(
            self.kind,
            ValueType::List
                | ValueType::Set
                | ValueType::SortedSet
                | ValueType::Hash
                | ValueType::SortedSet2
                | ValueType::ListQuicklist
                | ValueType::ListQuicklist2
        );
        if is_counted {
            self.progress = ValueProgress::Left(input.length("the number of members")?);
            return Ok(None);
        }
        if self.kind == ValueType::String {
            return input.string("a value").map(|value| Some(ValuePiece::String(value)));
        }
        let piece = read_blob(self.kind, input)?;
        Ok(Some(piece).filter(|piece| piece.memory() > 0))
    }
}

/// Counts the memory of a piece.
#[derive(Default)]
struct PieceSize {
    members: usize,
    bytes: usize,
}

impl PieceSize {
    fn is_full(&self) -> bool {
        self.members >= ValuePiece::MEMBERS || self.bytes >= ValuePiece::BYTES
    }

    fn add(&mut self, text: &[u8]) {
        self.members += 1;
        self.bytes += text.len();
    }
}

/// Reads some members of a value that has a count of them.
fn read_members<R: BufRead>(kind: ValueType, left: &mut u64, input: &mut RdbInput<R>) -> Result<ValuePiece> {
    const EXPECTED: &str = "a member";
    let mut size = PieceSize::default();
    let (mut texts, mut scored, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    while *left > 0 && !size.is_full() {
        *left -= 1;
        match kind {
            ValueType::SortedSet | ValueType::SortedSet2 => {
                let member = input.string(EXPECTED)?;
                size.add(&member);
                scored.push((member, read_score(kind, input)?));
            }
            ValueType::Hash => {
                let name = input.string("the name of a field")?;
                let value = input.string("the value of a field")?;
                size.add(&name);
                size.bytes += value.len();
                pairs.push((name, value));
            }
            ValueType::ListQuicklist | ValueType::ListQuicklist2 => {
                let before = texts.len();
                read_node(kind, input, &mut texts)?;
                for element in &texts[before..] {
                    size.add(element);
                }
            }
            _ => {
                let member = input.string(EXPECTED)?;
                size.add(&member);
                texts.push(member);
            }
        }
    }
    Ok(match kind {
        ValueType::SortedSet | ValueType::SortedSet2 => ValuePiece::SortedSet(scored),
        ValueType::Hash => ValuePiece::Hash(pairs),
        ValueType::Set => ValuePiece::Set(texts),
        _ => ValuePiece::List(texts),
    })
}

fn read_score<R: BufRead>(kind: ValueType, input: &mut RdbInput<R>) -> Result<f64> {
    const EXPECTED: &str = "a score";
    let offset = input.offset();
    let score = if kind == ValueType::SortedSet2 {
        f64::from_bits(input.u64_le(EXPECTED)?)
    } else {
        match input.byte(EXPECTED)? {
            255 => f64::NEG_INFINITY,
            254 => f64::INFINITY,
            253 => f64::NAN,
            len => {
                let text = input.bytes(usize::from(len), EXPECTED)?;
                parse_score(&text).unwrap_or(f64::NAN)
            }
        }
    };
    if score.is_nan() {
        return Err(RdbError::damaged(offset, "no number", EXPECTED));
    }
    Ok(score)
}

fn parse_score(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads one node of a quicklist: a blob, or one element.
fn read_node<R: BufRead>(kind: ValueType, input: &mut RdbInput<R>, texts: &mut Vec<Vec<u8>>) -> Result<()> {
    let container_at = input.offset();
    let container =
        if kind == ValueType::ListQuicklist2 { input.length("the container of a node")? } else { 2 };
    let offset = input.offset();
    let blob = input.string("a node of a list")?;
    let mut memory = BlobMemory::new(input, offset);
    let push = |element: PackedElement<'_>| {
        let element = element.into_vec();
        memory.add(&element)?;
        texts.push(element);
        Ok(())
    };
    match container {
        1 if blob.is_empty() => Err(RdbError::damaged(offset, "an empty node", "an element of a list")),
        1 => {
            texts.push(blob);
            Ok(())
        }
        2 if kind == ValueType::ListQuicklist2 => read_listpack(&blob, offset, push),
        2 => read_ziplist(&blob, offset, push),
        other => Err(RdbError::damaged(container_at, format!("container {other}"), "container 1 or 2")),
    }
}

/// Counts the memory of the elements of a blob.
struct BlobMemory {
    bytes: usize,
    limit: usize,
    offset: u64,
}

impl BlobMemory {
    fn new<R: BufRead>(input: &RdbInput<R>, offset: u64) -> Self {
        Self { bytes: 0, limit: input.limits().blob_memory, offset }
    }

    fn add(&mut self, text: &[u8]) -> Result<()> {
        self.bytes += memory_of(text);
        if self.bytes <= self.limit {
            return Ok(());
        }
        Err(RdbError::TooLong { offset: self.offset, what: "a packed value", limit: self.limit })
    }
}

/// Reads a value that is one blob.
fn read_blob<R: BufRead>(kind: ValueType, input: &mut RdbInput<R>) -> Result<ValuePiece> {
    let offset = input.offset();
    let blob = input.string("a packed value")?;
    let mut memory = BlobMemory::new(input, offset);
    let (mut texts, mut pairs) = (Vec::new(), Vec::new());
    let mut push = |element: PackedElement<'_>| {
        let element = element.into_vec();
        memory.add(&element)?;
        texts.push(element);
        Ok(())
    };
    match kind {
        ValueType::HashZipmap => read_zipmap(&blob, offset, |name, value| {
            memory.add(name)?;
            memory.add(value)?;
            pairs.push((name.to_vec(), value.to_vec()));
            Ok(())
        })?,
        ValueType::SetIntset => read_intset(&blob, offset, |member| push(PackedElement::Number(member)))?,
        ValueType::ListZiplist | ValueType::SortedSetZiplist | ValueType::HashZiplist => {
            read_ziplist(&blob, offset, push)?;
        }
        _ => read_listpack(&blob, offset, push)?,
    }
    Ok(match kind {
        ValueType::HashZipmap => ValuePiece::Hash(pairs),
        ValueType::ListZiplist => ValuePiece::List(texts),
        ValueType::SetIntset | ValueType::SetListpack => ValuePiece::Set(texts),
        ValueType::HashZiplist | ValueType::HashListpack => ValuePiece::Hash(pairs_of(texts, offset)?),
        _ => {
            let scored = |(member, score): (Vec<u8>, Vec<u8>)| {
                let score = parse_score(&score).filter(|score| !score.is_nan());
                let score = score.ok_or_else(|| RdbError::damaged(offset, "no number", "a score"))?;
                Ok((member, score))
            };
            let members = pairs_of(texts, offset)?.into_iter().map(scored);
            ValuePiece::SortedSet(members.collect::<Result<_>>()?)
        }
    })
}

/// Returns the elements of a blob in pairs.
fn pairs_of(texts: Vec<Vec<u8>>, offset: u64) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut pairs = Vec::with_capacity(texts.len() / 2);
    let mut texts = texts.into_iter();
    while let Some(first) = texts.next() {
        let second = texts.next();
        let second = second.ok_or_else(|| RdbError::damaged(offset, "an odd number of elements", "pairs"))?;
        pairs.push((first, second));
    }
    Ok(pairs)
}
