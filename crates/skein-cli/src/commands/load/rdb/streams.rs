//! Streams of a file.
//!
//! ```text
//!   in the file    entries, entries, …  counters  group, group, …
//!   to the target  groups  entries, entries, …  counters
//! ```
//!
//! A target makes the groups first; `skein_data::StreamPart` says why. A file is read twice:
//! [`groups_ahead`] reads from the stream to its end, and keeps the groups. A pipe is read once, so
//! the entries wait in memory, up to a limit.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use skein_data::StreamPart;
use skein_rdb::stream::{StreamEntry, StreamGroup, StreamPosition};
use skein_rdb::{RdbError, RdbInput, RdbLimits, ValuePiece, ValueType};

use crate::stream_payload::groups_of;

/// The most bytes of memory for the entries of a stream from a pipe.
const WAITING_BYTES: usize = 256 << 20;
/// The buffer of the second reader.
const BUFFER_BYTES: usize = 1 << 20;

/// Returns the groups of the stream at this offset of a file.
pub fn groups_ahead(path: &Path, offset: u64, kind: ValueType) -> Result<Vec<StreamGroup>, RdbError> {
    let failed = |error| RdbError::Io { offset, error };
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let source = BufReader::with_capacity(BUFFER_BYTES, file);
    groups_of(kind, &mut RdbInput::starting_at(source, offset, RdbLimits::default()))
}

/// The state of a stream while its pieces arrive.
pub enum StreamFeed {
    /// The target has its groups.
    GroupsAhead,
    /// Its groups come later.
    Waiting(WaitingStream),
}

/// The pieces of a stream so far.
#[derive(Default)]
pub struct WaitingStream {
    entries: Vec<Vec<StreamEntry>>,
    /// The memory of the entries.
    bytes: usize,
    position: StreamPosition,
    groups: Vec<StreamGroup>,
}

/// The fate of a piece.
pub enum StreamStep {
    /// This part goes to the target.
    Put(StreamPart),
    /// The piece waits, or is known.
    Wait,
    /// The entries take more memory than this limit.
    TooLong(usize),
}

impl StreamFeed {
    /// Takes the next piece.
    pub fn take(&mut self, piece: ValuePiece) -> StreamStep {
        match (self, piece) {
            (Self::GroupsAhead, ValuePiece::StreamEntries(entries)) => {
                StreamStep::Put(StreamPart::Entries(entries))
            }
            (Self::GroupsAhead, ValuePiece::StreamPosition(position)) => {
                StreamStep::Put(StreamPart::Position(position))
            }
            (Self::GroupsAhead, _) => StreamStep::Wait,
            (Self::Waiting(waiting), piece) => waiting.take(piece),
        }
    }

    /// Returns the parts that waited for the end of the stream.
    pub fn finish(self) -> impl Iterator<Item = StreamPart> {
        let waiting = if let Self::Waiting(waiting) = self { Some(waiting) } else { None };
        waiting.into_iter().flat_map(|WaitingStream { entries, position, groups, .. }| {
            let entries = entries.into_iter().map(StreamPart::Entries);
            [StreamPart::Groups(groups)].into_iter().chain(entries).chain([StreamPart::Position(position)])
        })
    }
}

impl WaitingStream {
    fn take(&mut self, piece: ValuePiece) -> StreamStep {
        let bytes = piece.memory();
        match piece {
            ValuePiece::StreamEntries(entries) => {
                self.bytes += bytes;
                if self.bytes > WAITING_BYTES {
                    return StreamStep::TooLong(WAITING_BYTES);
                }
                self.entries.push(entries);
            }
            ValuePiece::StreamPosition(position) => self.position = position,
            ValuePiece::StreamGroup(group) => self.groups.push(group),
            _ => {}
        }
        StreamStep::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skein_rdb::stream::StreamId;

    #[test]
    fn a_stream_from_a_pipe_waits_for_its_groups_up_to_a_limit() {
        let entry = |ms, len: usize| StreamEntry {
            id: StreamId { ms, seq: 0 },
            fields: vec![(b"f".to_vec(), vec![b'v'; len])],
        };
        let position = StreamPosition { len: 2, ..StreamPosition::default() };
        let group = StreamGroup { name: b"g".to_vec(), ..StreamGroup::default() };
        let mut feed = StreamFeed::Waiting(WaitingStream::default());
        for piece in [
            ValuePiece::StreamEntries(vec![entry(1, 1)]),
            ValuePiece::StreamEntries(vec![entry(2, 1)]),
            ValuePiece::StreamPosition(position),
            ValuePiece::StreamGroup(group.clone()),
        ] {
            assert!(matches!(feed.take(piece), StreamStep::Wait));
        }
        let parts: Vec<_> = feed.finish().collect();
        let entries = [entry(1, 1), entry(2, 1)].map(|entry| StreamPart::Entries(vec![entry]));
        let [first, second] = entries;
        assert_eq!(parts, [StreamPart::Groups(vec![group]), first, second, StreamPart::Position(position)]);
        let mut long = StreamFeed::Waiting(WaitingStream::default());
        let mut taken = (1..=5).map(|ms| long.take(ValuePiece::StreamEntries(vec![entry(ms, 60 << 20)])));
        assert!(taken.by_ref().take(4).all(|step| matches!(step, StreamStep::Wait)));
        assert!(matches!(taken.next(), Some(StreamStep::TooLong(WAITING_BYTES))));
    }
}
