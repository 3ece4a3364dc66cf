//! Writes of entries: additions, removals, trimming.

use skein_store::ScanDirection;

use super::fields::FieldsBuilder;
use super::id::StreamId;
use super::members::first_names;
use super::records::{HEAD_NAME, NameRange, entry_name};
use super::stream::{Result, StreamWriter};

/// The names that a removal lists at a time.
const LISTED: u64 = 1024;

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

/// What a trimming keeps.
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
    /// What it keeps.
    pub rule: TrimRule,
    /// Entries are removed in whole groups of this number, or all of them; 1 trims exactly. Each group
    /// is of consecutive additions.
    pub group: u64,
    /// The most entries that are removed; `None` for any number.
    pub most: Option<u64>,
}

impl StreamWriter<'_> {
    /// Writes the head, if it has changed. The last step of each write.
    pub(crate) fn close(mut self) -> Result<()> {
        if self.has_new_head() {
            let head = self.head.to_bytes();
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
        self.put(&entry_name(id), fields.as_bytes())?;
        self.head.last_id = id;
        self.head.added += 1;
        self.head.len += 1;
        Ok(Some(id))
    }

    /// Removes an entry by its id. Returns whether it was there.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove(&mut self, id: StreamId) -> Result<bool> {
        let removed = self.members.remove_value(&entry_name(id))?;
        if removed {
            self.head.len -= 1;
            self.head.max_deleted_id = self.head.max_deleted_id.max(id);
        }
        Ok(removed)
    }

    /// Removes entries from the front. Returns their number. Takes O(log n) for each.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn trim(&mut self, trimming: &Trimming) -> Result<u64> {
        let surplus = match trimming.rule {
            TrimRule::Length(len) => self.head.len.saturating_sub(len),
            TrimRule::From(id) => match id.previous() {
                Some(last) => self.count((StreamId::MIN, last))?,
                None => 0,
            },
        };
        let most = surplus.min(trimming.most.unwrap_or(u64::MAX));
        let is_all = most == self.head.len;
        let first = self.head.added.saturating_sub(self.head.len);
        let beyond = first.saturating_add(most) % trimming.group.max(1);
        let removed = if is_all { most } else { most.saturating_sub(beyond) };
        let mut left = removed;
        while left > 0 {
            let range = NameRange::entries(StreamId::MIN, StreamId::MAX);
            let listed = left.min(LISTED);
            let names = first_names(&mut self.members, &range, ScanDirection::Forward, listed as usize)?;
            for name in &names {
                self.members.remove_value(name)?;
            }
            left -= listed;
        }
        self.head.len -= removed;
        Ok(removed)
    }

    /// Sets the last id, and the other numbers of the head if given. REQUIRES: no entry is behind
    /// `last_id`, and there are at most `added` entries.
    pub fn set_head(&mut self, last_id: StreamId, added: Option<u64>, max_deleted_id: Option<StreamId>) {
        self.head.last_id = last_id;
        self.head.added = added.unwrap_or(self.head.added);
        self.head.max_deleted_id = max_deleted_id.unwrap_or(self.head.max_deleted_id);
    }
}
