//! Rows as pieces of bounded size, for copies, dumps and loads.
//!
//! A value is one piece. Columns and members are cut into pieces of up to [`MEMBERS`] or [`BYTES`],
//! so that no piece needs much memory. All pieces of a key, written in their order to an engine
//! that lacks the key, make the same row again.

use std::ops::ControlFlow;

use skein_store::{CollectionKind, ListEnd, RowWriter as _};

use crate::{EngineWriter, Result, RowView};

/// The contents of a key, or a part of its columns or members. `S` is a part of a stream: records
/// for a copy within an engine, a [`StreamPart`](crate::StreamPart) for dumps and loads.
#[derive(Debug, Clone, PartialEq)]
pub enum RowPiece<S = StreamRecords> {
    /// One value.
    Value(Vec<u8>),
    /// Columns: names and values.
    Columns(Vec<(Vec<u8>, Vec<u8>)>),
    /// Members of a sorted set, and their scores.
    Members(Vec<(Vec<u8>, f64)>),
    /// Members of a set that is not sorted.
    Set(Vec<Vec<u8>>),
    /// Elements of a list, which follow those of the pieces before.
    List(Vec<Vec<u8>>),
    /// A part of a stream.
    Stream(S),
}

/// Records of a stream: the names and values of its members
/// ([`StreamRecord`](crate::StreamRecord)).
pub type StreamRecords = Vec<(Vec<u8>, Vec<u8>)>;

/// A part of a stream that can be written.
pub trait StreamContents {
    /// Returns the number of records or entries; 1 for a part without such.
    fn count(&self) -> usize;
    /// Returns the bytes of the contents, about.
    fn bytes(&self) -> usize;
    /// Adds the part to a key.
    ///
    /// # Errors
    /// As for [`RowPiece::write`].
    fn write(&self, writer: &mut EngineWriter<'_, '_>, key: &[u8]) -> Result<()>;
}

impl StreamContents for StreamRecords {
    fn count(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    fn write(&self, writer: &mut EngineWriter<'_, '_>, key: &[u8]) -> Result<()> {
        let written = writer.change_members_of(CollectionKind::Stream, key, true, |members| {
            for (name, value) in self {
                members.check_sizes(key, value.len())?;
                members.admit_growth()?;
                members.put_value(name, value)?;
            }
            Ok::<_, crate::Error>(())
        });
        written.map(drop)
    }
}

/// A piece that was read, and where the next one begins.
#[derive(Debug)]
pub struct PieceRead {
    /// The piece. It has no members if the key was replaced meanwhile.
    pub piece: RowPiece,
    /// The last member of the piece (of a list, a cursor into it), if there may be more.
    pub more_after: Option<Vec<u8>>,
}

impl RowPiece {
    /// The most columns or members of a piece.
    pub const MEMBERS: usize = 1000;
    /// A piece of several columns or members ends at this many bytes.
    pub const BYTES: usize = 1 << 20;

    /// Returns the piece with another form of streams; `None` if it is a part of a stream.
    pub fn unless_stream<S>(self) -> Option<RowPiece<S>> {
        Some(match self {
            Self::Value(value) => RowPiece::Value(value),
            Self::Columns(columns) => RowPiece::Columns(columns),
            Self::Members(members) => RowPiece::Members(members),
            Self::Set(members) => RowPiece::Set(members),
            Self::List(elements) => RowPiece::List(elements),
            Self::Stream(_) => return None,
        })
    }
}

impl<S: StreamContents> RowPiece<S> {
    /// Returns the number of columns or members; 1 for a value.
    pub fn len(&self) -> usize {
        match self {
            Self::Value(_) => 1,
            Self::Columns(pairs) => pairs.len(),
            Self::Members(members) => members.len(),
            Self::Set(members) | Self::List(members) => members.len(),
            Self::Stream(part) => part.count(),
        }
    }

    /// Returns whether there are no columns or members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the contents.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Value(value) => value.len(),
            Self::Columns(pairs) => pairs.iter().map(|(name, value)| name.len() + value.len()).sum(),
            Self::Stream(part) => part.bytes(),
            Self::Members(members) => members.iter().map(|(member, _)| member.len() + size_of::<f64>()).sum(),
            Self::Set(members) | Self::List(members) => members.iter().map(Vec::len).sum(),
        }
    }

    /// Adds the piece to a key, which then expires at `expires`. A value replaces the present
    /// contents of the key.
    ///
    /// # Errors
    /// As for [`EngineWriter::put`], and if the key holds another kind of contents.
    pub fn write(&self, writer: &mut EngineWriter<'_, '_>, key: &[u8], expires: Option<u64>) -> Result<()> {
        match self {
            Self::Value(value) => {
                return match expires {
                    Some(expires) => writer.put_until(key, value, expires),
                    None => writer.put(key, value),
                };
            }
            Self::Columns(columns) => {
                let columns: Vec<(&[u8], &[u8])> =
                    columns.iter().map(|(name, value)| (&name[..], &value[..])).collect();
                writer.put_columns(key, &columns)?;
            }
            Self::Members(members) => {
                writer.change_set::<_, crate::Error>(key, true, |set| {
                    members.iter().try_for_each(|(member, score)| set.put(member, *score).map(drop))?;
                    Ok(())
                })?;
            }
            Self::Set(members) => {
                writer.change_set_of::<_, crate::Error>(CollectionKind::Set, key, true, |set| {
                    members.iter().try_for_each(|member| set.add(member).map(drop))?;
                    Ok(())
                })?;
            }
            Self::List(elements) => {
                writer.change_list::<_, crate::Error>(key, true, |list| {
                    Ok(list.push(ListEnd::Back, elements.iter().map(Vec::as_slice))?)
                })?;
            }
            Self::Stream(part) => part.write(writer, key)?,
        }
        match expires {
            Some(expires) => writer.expire(key, Some(expires)).map(drop),
            None => Ok(()),
        }
    }
}

/// The size of a piece that is being read, and its last member.
#[derive(Default)]
struct PieceEnd {
    members: usize,
    bytes: usize,
    more_after: Option<Vec<u8>>,
}

impl PieceEnd {
    /// Counts a member of so many bytes. Breaks if the piece ends with it.
    fn count(&mut self, member: &[u8], bytes: usize) -> ControlFlow<()> {
        self.members += 1;
        self.bytes += bytes;
        if self.members < RowPiece::MEMBERS && self.bytes < RowPiece::BYTES {
            return ControlFlow::Continue(());
        }
        self.more_after = Some(member.to_vec());
        ControlFlow::Break(())
    }
}

impl RowView<'_> {
    /// Returns the first piece of the row, or the piece behind `after`: a column, member, record or
    /// cursor of a list, in the order of their bytes.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn piece_after(self, after: Option<&[u8]>) -> Result<PieceRead> {
        if let Some(value) = self.row().value() {
            return Ok(PieceRead { piece: RowPiece::Value(value.to_vec()), more_after: None });
        }
        let mut end = PieceEnd::default();
        let mut members = Vec::new();
        let of_set = self.any_set(|set| {
            set.members_after(after, |member, score| {
                members.push((member.to_vec(), score));
                end.count(member, member.len())
            });
        })?;
        if of_set.is_some() {
            let is_sorted = self.row().collection_kind() == Some(CollectionKind::SortedSet);
            let piece = if is_sorted {
                RowPiece::Members(members)
            } else {
                RowPiece::Set(members.into_iter().map(|(member, _)| member).collect())
            };
            return Ok(PieceRead { piece, more_after: end.more_after });
        }
        let mut elements = Vec::new();
        let of_list = self.list(|list| {
            let next = list.elements_after(after, |element| {
                elements.push(element.to_vec());
                end.count(&[], element.len())
            });
            end.more_after = next;
        })?;
        if of_list.is_some() {
            return Ok(PieceRead { piece: RowPiece::List(elements), more_after: end.more_after });
        }
        let mut records = Vec::new();
        let of_stream = self.stream(|stream| {
            stream.records_after(after, |name, value| {
                records.push((name.to_vec(), value.to_vec()));
                end.count(name, name.len() + value.len())
            })
        })?;
        if of_stream.transpose()?.is_some() {
            return Ok(PieceRead { piece: RowPiece::Stream(records), more_after: end.more_after });
        }
        let mut columns = Vec::new();
        self.columns(|found| {
            found.walk(after, |name, value| {
                columns.push((name.to_vec(), value.to_vec()));
                end.count(name, name.len() + value.len())
            });
        })?;
        Ok(PieceRead { piece: RowPiece::Columns(columns), more_after: end.more_after })
    }

    /// Calls `each` with all pieces of the row until it breaks. They are of one moment if the row
    /// is a snapshot's, or if no thread writes meanwhile.
    ///
    /// # Errors
    /// As [`piece_after`](Self::piece_after).
    pub fn pieces(self, mut each: impl FnMut(RowPiece) -> ControlFlow<()>) -> Result<ControlFlow<()>> {
        let mut after = None;
        loop {
            let read = self.piece_after(after.as_deref())?;
            if !read.piece.is_empty() && each(read.piece).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            after = read.more_after;
            if after.is_none() {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }
}
