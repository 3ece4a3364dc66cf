//! Writes of entries: additions, removals, trimming.
//!
//! The last entries lie in the head's member, which each addition writes anyway. A full tail
//! becomes a chunk, or is joined with the last one.

use super::StreamId;
use super::chunks::{CHUNK_BYTES, ChunkEntries, EntryChunk};
use super::fields::{EntryFields, FieldsBuilder};
use super::records::{HEAD_NAME, base_in, chunk_name, entries_in};
use super::stream::StreamWriter;
use crate::Result;

/// The most entries of the tail.
const TAIL_COUNT: u64 = 16;
/// The most bytes of the tail. A larger entry becomes a chunk at once, so that no later write
/// copies it.
const TAIL_BYTES: usize = 600;
/// The first chunk of a stream that is trimmed in small steps is split if it has more bytes,
/// because each step writes it.
const TRIMMED_BYTES: usize = 2 * TAIL_BYTES;

/// The id that a new entry shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    /// This time, or the last id's if that is later; the next free number.
    At(u64),
    /// This time and no other; the next free number.
    Within(u64),
    /// This id.
    Exact(StreamId),
}

/// The entries that a trimming keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimRule {
    /// The last entries, so many.
    Length(u64),
    /// The entries from this id on.
    From(StreamId),
}

/// How a stream is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimming {
    /// The entries that it keeps.
    pub rule: TrimRule,
    /// Entries are removed in whole groups of this number, or all of them; 1 trims exactly. Each
    /// group is of consecutive additions.
    pub group: u64,
    /// The most entries that are removed; `None` for any number.
    pub most: Option<u64>,
}

impl StreamWriter<'_> {
    /// Writes the head, if it has changed. The last step of each write.
    pub(super) fn close(mut self) -> Result<()> {
        if self.has_new_head() {
            let head = self.head.to_bytes(self.tail.as_ref());
            self.put(HEAD_NAME, &head)?;
        }
        Ok(())
    }

    /// Puts a record.
    pub(super) fn put(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        self.members.check_sizes(self.key, value.len())?;
        self.members.admit_growth()?;
        self.members.put_value(name, value).map(drop)
    }

    fn put_chunk(&mut self, chunk: &EntryChunk) -> Result<()> {
        self.put(&chunk_name(chunk.base), chunk.as_bytes())
    }

    /// Adds an entry, and returns its id; `None` if that is not behind the last id.
    ///
    /// # Errors
    /// The entry is over the limit, memory is used up, or the engine fails.
    pub fn add(&mut self, id: NewId, fields: &FieldsBuilder) -> Result<Option<StreamId>> {
        let last = self.head.last_id;
        let id = match id {
            NewId::Exact(id) => Some(id),
            NewId::At(now) if now > last.ms => Some(StreamId { ms: now, seq: 0 }),
            NewId::At(_) => last.next(),
            NewId::Within(ms) if ms == last.ms => last.next().filter(|next| next.ms == ms),
            NewId::Within(ms) => Some(StreamId { ms, seq: 0 }),
        };
        let Some(id) = id.filter(|id| *id > last) else { return Ok(None) };
        self.append(id, fields.fields())?;
        self.head.last_id = id;
        self.head.added += 1;
        self.head.len += 1;
        Ok(Some(id))
    }

    /// Appends an entry to the tail, or makes it a chunk.
    fn append(&mut self, id: StreamId, fields: EntryFields<'_>) -> Result<()> {
        let bytes = fields.clone().map(<[u8]>::len).sum::<usize>();
        let room = TAIL_BYTES.saturating_sub(bytes);
        let is_full = |tail: &EntryChunk| tail.count() >= TAIL_COUNT || tail.as_bytes().len() > room;
        if let Some(full) = self.tail.take_if(|tail| is_full(tail)) {
            self.has_new_tail = true;
            self.settle(&full)?;
        }
        if bytes > TAIL_BYTES {
            let mut chunk = EntryChunk::new(id);
            chunk.push(id, fields);
            return self.put_chunk(&chunk);
        }
        self.members.check_sizes(self.key, bytes)?;
        self.members.admit_growth()?;
        self.tail.get_or_insert_with(|| EntryChunk::new(id)).push(id, fields);
        self.has_new_tail = true;
        Ok(())
    }

    /// Puts a full tail as a chunk, or joins it with the last one.
    fn settle(&mut self, full: &EntryChunk) -> Result<()> {
        if let Some(name) = self.last_entry_member()?
            && let Some(value) = self.members.value(&name)?
            && value.len() + full.as_bytes().len() <= CHUNK_BYTES
            && let Some(base) = base_in(&name)
        {
            let mut joined = EntryChunk::of(base, &value);
            joined.append(full.entries());
            // Times relative to another base may be longer.
            if joined.as_bytes().len() <= CHUNK_BYTES {
                return self.put_chunk(&joined);
            }
        }
        self.put_halved(full)
    }

    /// Removes an entry by its id. Returns whether it was there.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove(&mut self, id: StreamId) -> Result<bool> {
        let removed = if self.tail.as_ref().is_some_and(|tail| tail.base <= id) {
            self.remove_from_tail(|other| other == id) > 0
        } else {
            match self.member_with(id)? {
                Some(name) => self.remove_from(&name, |other| other == id)? > 0,
                None => false,
            }
        };
        if removed {
            self.head.len -= 1;
            self.head.max_deleted_id = self.head.max_deleted_id.max(id);
        }
        Ok(removed)
    }

    /// Removes some entries of the tail. Returns their number.
    fn remove_from_tail(&mut self, is_removed: impl FnMut(StreamId) -> bool) -> u64 {
        let Some(tail) = &self.tail else { return 0 };
        let (before, kept) = (tail.count(), without(tail.base, tail.entries(), is_removed));
        let removed = before - kept.count();
        if removed > 0 {
            self.tail = Some(kept).filter(|kept| kept.count() > 0);
            self.has_new_tail = true;
        }
        removed
    }

    /// Removes some entries of a member. Returns their number.
    fn remove_from(&mut self, name: &[u8], is_removed: impl FnMut(StreamId) -> bool) -> Result<u64> {
        let Some(value) = self.members.value(name)? else { return Ok(0) };
        let Some((entries, base)) = entries_in(name, &value).zip(base_in(name)) else { return Ok(0) };
        let before = entries.clone().count() as u64;
        let kept = without(base, entries, is_removed);
        let removed = before - kept.count();
        if kept.count() == 0 {
            self.members.remove_value(name)?;
        } else if removed > 0 {
            self.put_trimmed(&kept)?;
        }
        Ok(removed)
    }

    /// Puts a chunk that has lost entries. If it is still large, its first entries become a chunk
    /// of their own: the next removals will write them alone.
    fn put_trimmed(&mut self, kept: &EntryChunk) -> Result<()> {
        let halves = split(kept, TAIL_COUNT).filter(|_| kept.as_bytes().len() > TRIMMED_BYTES);
        let Some((first, many)) = halves else { return self.put_halved(kept) };
        self.put_halved(&first)?;
        self.put_halved(&many)
    }

    /// Puts a chunk. If it is too long, its halves become chunks: entries have grown that shared
    /// the names of a removed one.
    fn put_halved(&mut self, chunk: &EntryChunk) -> Result<()> {
        let is_long = chunk.count() > 1 && chunk.as_bytes().len() > CHUNK_BYTES;
        let halves = split(chunk, chunk.count() / 2).filter(|_| is_long);
        let Some((first, rest)) = halves else { return self.put_chunk(chunk) };
        self.put_halved(&first)?;
        self.put_halved(&rest)
    }

    /// Removes entries from the front. Returns their number. Takes O(log n) for some of them.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn trim(&mut self, trimming: &Trimming) -> Result<u64> {
        let surplus = match trimming.rule {
            TrimRule::Length(len) => self.head.len.saturating_sub(len),
            TrimRule::From(id) => match id.previous() {
                Some(last) => self.count((StreamId::MIN, last), u64::MAX)?,
                None => 0,
            },
        };
        let most = surplus.min(trimming.most.unwrap_or(u64::MAX));
        let is_all = most == self.head.len;
        let first = self.head.added.saturating_sub(self.head.len);
        let beyond = first.saturating_add(most) % trimming.group.max(1);
        let removed = if is_all { most } else { most.saturating_sub(beyond) };
        self.remove_first(removed)?;
        self.head.len -= removed;
        Ok(removed)
    }

    /// Removes the first entries.
    fn remove_first(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        let mut next = |_: StreamId| {
            let is_removed = left > 0;
            left -= u64::from(is_removed);
            is_removed
        };
        let mut removed = 0;
        while removed < count {
            let Some(name) = self.entry_member(0)? else {
                self.remove_from_tail(next);
                break;
            };
            removed += self.remove_from(&name, &mut next)?;
        }
        Ok(())
    }

    /// Sets the last id, and the other numbers of the head if given. REQUIRES: no entry is behind
    /// `last_id`, and there are at most `added` entries.
    pub fn set_head(&mut self, last_id: StreamId, added: Option<u64>, max_deleted_id: Option<StreamId>) {
        self.head.last_id = last_id;
        self.head.added = added.unwrap_or(self.head.added);
        self.head.max_deleted_id = max_deleted_id.unwrap_or(self.head.max_deleted_id);
    }
}

/// Returns the first entries of a chunk, and the others; `None` if there are no others.
fn split(chunk: &EntryChunk, first: u64) -> Option<(EntryChunk, EntryChunk)> {
    let (base, _) = chunk.entries().nth(first as usize)?;
    let (mut few, mut rest) = (EntryChunk::new(chunk.base), EntryChunk::new(base));
    few.append(chunk.entries().take(first as usize));
    rest.append(chunk.entries().skip(first as usize));
    Some((few, rest))
}

/// Returns a chunk of the entries that are not removed.
fn without(
    base: StreamId,
    entries: ChunkEntries<'_>,
    mut is_removed: impl FnMut(StreamId) -> bool,
) -> EntryChunk {
    let mut kept = EntryChunk::new(base);
    kept.append(entries.filter(|(id, _)| !is_removed(*id)));
    kept
}
