//! The value of a payload, and its write.

use super::streams::restore_stream;
use crate::commands::{CommandError, CommandResult};
use skein_data::{CollectionKind, EngineWriter, ListEnd, RowWriter as _, VALUE_BYTES_MAX};
use skein_rdb::stream::Stream;
use skein_rdb::{RdbError, RdbInput, RdbLimits, ValuePiece, ValueReader, ValueType};

/// The error for a value that contradicts its format.
pub(super) const BAD_FORMAT: CommandError = CommandError::text("ERR Bad data format");
/// A value may take this number of bytes of memory while it is read, about.
const MEMORY_MAX: usize = 1 << 30;

/// A value in memory.
pub(super) enum RestoredValue {
    Text(Vec<u8>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    List(Vec<Vec<u8>>),
    Set(Vec<Vec<u8>>),
    SortedSet(Vec<(Vec<u8>, f64)>),
    Stream(Stream),
}

/// Returns the error of a command. The text is Redis's; limits and foreign types, which Redis does
/// not have, are named.
fn error_of(error: &RdbError) -> CommandError {
    match error {
        RdbError::TooLong { .. } | RdbError::Unsupported { .. } => {
            CommandError::owned(format!("ERR Bad data format: {error}"))
        }
        _ => BAD_FORMAT,
    }
}

impl RestoredValue {
    /// Reads the value of a payload, without its footer.
    pub(super) fn read(version: u16, body: &[u8]) -> CommandResult<Self> {
        let limits = RdbLimits { string_bytes: VALUE_BYTES_MAX, blob_memory: MEMORY_MAX };
        let mut input = RdbInput::new(body, limits);
        let kind = input.byte("a type").and_then(|byte| ValueType::of(byte, 0));
        let kind = kind.map_err(|error| error_of(&error))?;
        if kind.since() > version {
            return Err(BAD_FORMAT);
        }
        let mut reader = ValueReader::new(kind);
        let (mut value, mut memory) = (None, 0);
        while let Some(piece) = reader.next(&mut input).map_err(|error| error_of(&error))? {
            memory += piece.memory();
            if memory > MEMORY_MAX {
                return Err(CommandError::owned(format!(
                    "ERR Bad data format: the value takes more memory than the limit of {MEMORY_MAX} bytes"
                )));
            }
            value = Some(Self::with(value, piece)?);
        }
        // As in Redis, a collection has a member.
        let mut value = value.ok_or(BAD_FORMAT)?;
        if value.repeats_a_name() { Err(BAD_FORMAT) } else { Ok(value) }
    }

    /// Adds the next piece.
    fn with(before: Option<Self>, piece: ValuePiece) -> CommandResult<Self> {
        Ok(match (before, piece) {
            (None, ValuePiece::String(text)) => Self::Text(text),
            (None, ValuePiece::Hash(pairs)) => Self::Hash(pairs),
            (None, ValuePiece::List(elements)) => Self::List(elements),
            (None, ValuePiece::Set(members)) => Self::Set(members),
            (None, ValuePiece::SortedSet(members)) => Self::SortedSet(members),
            (Some(Self::Hash(pairs)), ValuePiece::Hash(more)) => Self::Hash(joined(pairs, more)),
            (Some(Self::List(elements)), ValuePiece::List(more)) => Self::List(joined(elements, more)),
            (Some(Self::Set(members)), ValuePiece::Set(more)) => Self::Set(joined(members, more)),
            (Some(Self::SortedSet(members)), ValuePiece::SortedSet(more)) => {
                Self::SortedSet(joined(members, more))
            }
            (before @ (None | Some(Self::Stream(_))), piece) => {
                let mut stream =
                    if let Some(Self::Stream(stream)) = before { stream } else { Stream::default() };
                if !stream.add(piece) {
                    return Err(BAD_FORMAT);
                }
                Self::Stream(stream)
            }
            _ => return Err(BAD_FORMAT),
        })
    }

    /// Sorts a hash, a set or a sorted set by names, and returns whether two are equal.
    fn repeats_a_name(&mut self) -> bool {
        match self {
            // A stream is checked when it is written.
            Self::Text(_) | Self::List(_) | Self::Stream(_) => false,
            Self::Hash(pairs) => {
                pairs.sort_unstable();
                pairs.windows(2).any(|two| two[0].0 == two[1].0)
            }
            Self::Set(members) => {
                members.sort_unstable();
                members.windows(2).any(|two| two[0] == two[1])
            }
            Self::SortedSet(members) => {
                members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                members.windows(2).any(|two| two[0].0 == two[1].0)
            }
        }
    }

    /// Replaces the contents of a key by this value, until `expires`. It is one write.
    pub(super) fn write(
        &self,
        writer: &mut EngineWriter,
        key: &[u8],
        expires: Option<u64>,
    ) -> CommandResult<()> {
        match self {
            Self::Text(text) => match expires {
                Some(at) => Ok(writer.put_until(key, text, at)?),
                None => Ok(writer.put(key, text)?),
            },
            Self::Hash(pairs) => {
                let columns: Vec<(&[u8], &[u8])> =
                    pairs.iter().map(|(name, value)| (&name[..], &value[..])).collect();
                Ok(writer.replace_columns(key, &columns, expires)?)
            }
            Self::List(elements) => writer.replace_list(key, expires, |list| {
                Ok(list.push(ListEnd::Back, elements.iter().map(Vec::as_slice))?)
            }),
            Self::Set(members) => writer.replace_set_of(CollectionKind::Set, key, expires, |set| {
                Ok(members.iter().try_for_each(|member| set.add(member).map(drop))?)
            }),
            Self::Stream(stream) => restore_stream(stream, writer, key, expires),
            Self::SortedSet(members) => writer.replace_set(key, expires, |set| {
                Ok(members.iter().try_for_each(|(member, score)| set.put(member, *score).map(drop))?)
            }),
        }
    }
}

fn joined<T>(mut first: Vec<T>, mut more: Vec<T>) -> Vec<T> {
    first.append(&mut more);
    first
}
