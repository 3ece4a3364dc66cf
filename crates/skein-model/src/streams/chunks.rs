//! A chunk: some neighbouring entries, in one value.
//!
//! ```text
//!   base: 16 bytes of an id, in the name of the member or before the chunk
//!   count (u16) │ length │ entry │ length │ entry │ …                   lengths and numbers: LEB128
//!
//!   entry   time, less the base's │ number; less the base's, if that was 0 │ 0 │ name │ value │ …
//!           …                     │ …                                      │ 1 │ value │ value │ …
//!                                                       with the names of the chunk's first entry
//! ```

use super::StreamId;
use super::fields::EntryFields;
use crate::{Texts, push_number, push_text, read_number};

/// The most bytes of a chunk with several entries.
pub(super) const CHUNK_BYTES: usize = 2000;
/// The bytes of the count.
const HEAD: usize = 2;
/// The fields of an entry have their names.
const OWN_NAMES: u8 = 0;
/// The names are those of the first entry.
const FIRST_NAMES: u8 = 1;

/// A chunk that is being made.
#[derive(Clone, Debug)]
pub(super) struct EntryChunk {
    pub(super) base: StreamId,
    bytes: Vec<u8>,
}

impl EntryChunk {
    pub(super) fn new(base: StreamId) -> Self {
        Self { base, bytes: vec![0; HEAD] }
    }

    /// Returns the chunk that a value holds.
    pub(super) fn of(base: StreamId, value: &[u8]) -> Self {
        Self { base, bytes: value.to_vec() }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn count(&self) -> u64 {
        count_in(&self.bytes)
    }

    pub(super) fn entries(&self) -> ChunkEntries<'_> {
        ChunkEntries::packed(self.base, &self.bytes)
    }

    /// Adds an entry behind the others. REQUIRES: its id is not less than the base.
    pub(super) fn push(&mut self, id: StreamId, fields: EntryFields<'_>) {
        let mut entry = Vec::with_capacity(64);
        let ms = id.ms - self.base.ms;
        push_number(&mut entry, ms);
        push_number(&mut entry, if ms == 0 { id.seq - self.base.seq } else { id.seq });
        let first = self.entries().next().map(|(_, first)| first);
        if first.is_some_and(|first| first.has_names_of(fields.clone())) {
            entry.push(FIRST_NAMES);
            fields.skip(1).step_by(2).for_each(|value| push_text(&mut entry, value));
        } else {
            entry.push(OWN_NAMES);
            fields.for_each(|text| push_text(&mut entry, text));
        }
        push_text(&mut self.bytes, &entry);
        let count = self.count() + 1;
        self.bytes[..HEAD].copy_from_slice(&(count as u16).to_le_bytes());
    }

    /// Appends the entries of another chunk.
    pub(super) fn append<'e>(&mut self, entries: impl Iterator<Item = (StreamId, EntryFields<'e>)>) {
        entries.for_each(|(id, fields)| self.push(id, fields));
    }
}

/// Returns the number of entries in the value of a chunk.
pub(super) fn count_in(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |head| u64::from(u16::from_le_bytes(*head)))
}

/// The entries in a member, in order.
#[derive(Clone, Debug)]
pub struct ChunkEntries<'c> {
    base: StreamId,
    texts: Texts<'c>,
    /// The fields of the first entry, once it was read.
    first: Option<Texts<'c>>,
}

impl<'c> ChunkEntries<'c> {
    /// Returns the entries in the value of a chunk.
    pub(super) fn packed(base: StreamId, value: &'c [u8]) -> Self {
        Self { base, texts: Texts::of(value.get(HEAD..).unwrap_or_default()), first: None }
    }

    fn read(&mut self, mut entry: &'c [u8]) -> Option<(StreamId, EntryFields<'c>)> {
        let (ms, seq) = (read_number(&mut entry)?, read_number(&mut entry)?);
        let seq = if ms == 0 { self.base.seq.checked_add(seq)? } else { seq };
        let id = StreamId { ms: self.base.ms.checked_add(ms)?, seq };
        let (names, texts) = entry.split_first()?;
        let texts = Texts::of(texts);
        let first = self.first.get_or_insert_with(|| texts.clone());
        let fields = match *names {
            FIRST_NAMES => EntryFields::with_names_of(first.clone(), texts),
            _ => EntryFields::of(texts.as_bytes()),
        };
        Some((id, fields))
    }
}

impl<'c> Iterator for ChunkEntries<'c> {
    type Item = (StreamId, EntryFields<'c>);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.texts.next()?;
        self.read(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::FieldsBuilder;
    use super::*;

    fn fields(texts: &[&str]) -> FieldsBuilder {
        FieldsBuilder::of(texts.iter().map(|text| text.as_bytes()))
    }

    fn id(ms: u64, seq: u64) -> StreamId {
        StreamId { ms, seq }
    }

    #[test]
    fn entries_return_with_their_ids_and_fields() {
        let all = [
            (id(7, 3), fields(&["temperature", "20", "place", "pond"])),
            (id(7, 4), fields(&["temperature", "21", "place", ""])),
            (id(8, 0), fields(&["temperature", "20", "height", "3"])),
            (id(8, u64::MAX), fields(&["temperature", "19", "place", "lake"])),
            (id(u64::MAX, 1), fields(&["a", "b"])),
        ];
        let mut chunk = EntryChunk::new(id(7, 1));
        for (id, fields) in &all {
            chunk.push(*id, fields.fields());
        }
        let found: Vec<_> = chunk.entries().map(|(id, fields)| (id, FieldsBuilder::of(fields))).collect();
        assert_eq!(chunk.count(), 5);
        assert_eq!(found.len(), 5);
        for ((id, fields), (expected, texts)) in found.iter().zip(&all) {
            assert_eq!((id, fields.as_bytes()), (expected, texts.as_bytes()));
        }
        let names = chunk.as_bytes().windows(11).filter(|bytes| bytes == b"temperature").count();
        assert_eq!(names, 2, "names of the first entry are stored once");
    }

    #[test]
    fn bytes_that_are_no_chunk_have_no_entries() {
        for bytes in [&[][..], &[1], &[1, 0, 9, 1], &[1, 0, 1, 0x80], &[1, 0, 2, 0, 0]] {
            assert_eq!(ChunkEntries::packed(id(1, 1), bytes).count(), 0, "{bytes:?}");
        }
    }
}
