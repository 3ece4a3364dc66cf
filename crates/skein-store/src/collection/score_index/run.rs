//! A run: some dozens of entries in order, packed into one block.
//!
//! ```text
//!   ends   end of entry 0 │ end of entry 1 │ ...          u32 each, offsets into data
//!   data   prefix │ score 0, 8 bytes │ rest of member 0 │ score 1 │ rest of member 1 │ ...
//! ```
//!
//! The common prefix of all members is stored once. It is computed when a run is built by a split,
//! a merge or a bulk build. It is shortened when a member with another prefix is inserted.
//!
//! # Invariants
//! 1. `ends` rises; its first element is at least 8 past `prefix`, and its last is the length of
//!    `data`. Without entries, `data` is the prefix.
//! 2. The entries are in ascending order. The caller of an insert gives the position.

use std::cmp::Ordering;

use skein_model::Member;
use skein_sync::cache::{CACHE_LINE, prefetch_read};

const SCORE: usize = size_of::<f64>();

/// An entry: score and member.
pub(super) type ScoreEntry<'a> = (f64, Member<'a>);

/// Compares two entries: by score, then by member. Scores are never NaN, and both zeros are equal.
#[inline]
pub(super) fn compare(entry: ScoreEntry<'_>, score: f64, member: &[u8]) -> Ordering {
    if entry.0 < score {
        Ordering::Less
    } else if entry.0 > score {
        Ordering::Greater
    } else {
        entry.1.cmp_bytes(member)
    }
}

/// Entries in order, packed.
#[derive(Debug, Default)]
pub(super) struct ScoreRun {
    ends: Vec<u32>,
    data: Vec<u8>,
    prefix: u32,
}

impl ScoreRun {
    pub(super) const EMPTY: Self = Self { ends: Vec::new(), data: Vec::new(), prefix: 0 };

    /// Packs entries, which must be in order.
    pub(super) fn of<'e>(entries: impl Iterator<Item = ScoreEntry<'e>> + Clone) -> Self {
        let mut rest = entries.clone();
        let Some((_, first)) = rest.next() else { return Self::default() };
        let (mut prefix, mut count, mut bytes) = (first.len(), 1, first.len());
        for (_, member) in rest {
            prefix = prefix.min(first.common(member));
            (count, bytes) = (count + 1, bytes + member.len());
        }
        // A single entry does not need a prefix.
        let prefix = if count > 1 { prefix } else { 0 };
        Self::with_prefix(entries, first.up_to(prefix), count, bytes)
    }

    /// Packs `count` entries with `bytes` bytes of members in total, which all start with `prefix`.
    fn with_prefix<'e>(
        entries: impl Iterator<Item = ScoreEntry<'e>>,
        mut prefix: Vec<u8>,
        count: usize,
        bytes: usize,
    ) -> Self {
        let skipped = prefix.len();
        prefix.reserve_exact(count * SCORE + bytes - count * skipped);
        let mut run = Self { ends: Vec::with_capacity(count), data: prefix, prefix: skipped as u32 };
        for (score, member) in entries {
            run.data.extend_from_slice(&score.to_le_bytes());
            for part in member.from(skipped).parts() {
                run.data.extend_from_slice(part);
            }
            run.ends.push(run.data.len() as u32);
        }
        run
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of the entries.
    #[inline]
    pub(super) fn data_len(&self) -> usize {
        self.data.len()
    }

    /// Returns the bytes that the run uses on the heap.
    pub(super) fn memory(&self) -> usize {
        self.ends.capacity() * size_of::<u32>() + self.data.capacity()
    }

    #[inline]
    fn start(&self, at: usize) -> usize {
        if at == 0 { self.prefix as usize } else { self.ends[at - 1] as usize }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> ScoreEntry<'_> {
        let entry = &self.data[self.start(at)..self.ends[at] as usize];
        let (score, tail) = entry.split_at(SCORE);
        let score = f64::from_le_bytes(score.try_into().unwrap_or_default());
        (score, Member::in_parts(&self.data[..self.prefix as usize], tail))
    }

    /// Returns the entries from `from` up to `to`, exclusive.
    pub(super) fn entries(&self, from: usize, to: usize) -> impl Iterator<Item = ScoreEntry<'_>> + Clone {
        (from..to).map(|at| self.get(at))
    }

    /// Returns the position of the first entry for which `before` is false.
    #[inline]
    pub(super) fn partition(&self, before: impl Fn(ScoreEntry<'_>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if before(self.get(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the position of the first entry that is not before this one.
    #[inline]
    pub(super) fn first_from(&self, score: f64, member: &[u8]) -> usize {
        self.search(score, member, Ordering::is_lt)
    }

    /// Returns the position of the first entry that is behind this one.
    #[inline]
    pub(super) fn first_behind(&self, score: f64, member: &[u8]) -> usize {
        self.search(score, member, Ordering::is_le)
    }

    /// Searches as [`partition`](Self::partition) does, and compares the common prefix once.
    #[inline]
    fn search(&self, score: f64, member: &[u8], is_before: impl Fn(Ordering) -> bool) -> usize {
        let prefix = &self.data[..self.prefix as usize];
        let (head, rest) = match member.split_at_checked(prefix.len()) {
            Some((head, rest)) => (prefix.cmp(head), rest),
            None => (prefix.cmp(member), &[][..]),
        };
        self.partition(|(other, name)| {
            let order = if other < score {
                Ordering::Less
            } else if other > score {
                Ordering::Greater
            } else {
                head.then_with(|| name.parts()[1].cmp(rest))
            };
            is_before(order)
        })
    }

    /// Requests the ends of the entries from memory.
    pub(super) fn prefetch_ends(&self) {
        for ends in self.ends.chunks(CACHE_LINE / size_of::<u32>()) {
            prefetch_read(ends.as_ptr());
        }
        prefetch_read(self.data.as_ptr());
    }

    /// Requests the entries that a search reads first.
    pub(super) fn prefetch_entries(&self) {
        let len = self.len();
        for at in [len / 4, len / 2, len / 2 + len / 4] {
            if at < len {
                prefetch_read(self.data[self.start(at)..].as_ptr());
            }
        }
    }

    pub(super) fn insert(&mut self, at: usize, score: f64, member: &[u8]) {
        let prefix = &self.data[..self.prefix as usize];
        let common = Member::of(prefix).common(Member::of(member));
        if common < prefix.len() {
            self.shorten(common);
        }
        let tail = &member[common..];
        let (start, size) = (self.start(at), SCORE + tail.len());
        make_room(&mut self.data, size);
        self.data.extend_from_slice(&score.to_le_bytes());
        self.data.extend_from_slice(tail);
        self.data[start..].rotate_right(size);
        make_room(&mut self.ends, 1);
        self.ends.insert(at, start as u32);
        for end in &mut self.ends[at..] {
            *end += size as u32;
        }
    }

    /// Shortens the common prefix to `prefix` bytes.
    fn shorten(&mut self, prefix: usize) {
        let bytes = self.entries(0, self.len()).map(|(_, member)| member.len()).sum();
        let start = self.data[..prefix].to_vec();
        *self = Self::with_prefix(self.entries(0, self.len()), start, self.len(), bytes);
    }

    pub(super) fn remove(&mut self, at: usize) {
        let (start, end) = (self.start(at), self.ends[at] as usize);
        self.data.drain(start..end);
        self.ends.remove(at);
        for later in &mut self.ends[at..] {
            *later -= (end - start) as u32;
        }
        if self.ends.is_empty() {
            *self = Self::default();
        } else if self.data.capacity() > 2 * self.data.len() {
            self.data.shrink_to_fit();
            self.ends.shrink_to_fit();
        }
    }

    /// Returns the entries before position `at`, and those from it on.
    pub(super) fn cut(&self, at: usize) -> (Self, Self) {
        (Self::of(self.entries(0, at)), Self::of(self.entries(at, self.len())))
    }

    /// Returns a run with the entries of both runs.
    pub(super) fn joined(&self, next: &Self) -> Self {
        Self::of(self.entries(0, self.len()).chain(next.entries(0, next.len())))
    }

    /// Errors if an invariant does not hold.
    #[cfg(test)]
    pub(super) fn check(&self) -> Result<(), String> {
        let ends_rise = (0..self.len()).all(|at| self.start(at) + SCORE <= self.ends[at] as usize);
        let last = self.ends.last().map_or(self.prefix as usize, |end| *end as usize);
        if !ends_rise || last != self.data.len() {
            return Err(format!("the ends {:?} of {} bytes do not fit", self.ends, self.data.len()));
        }
        for at in 1..self.len() {
            let (score, member) = self.get(at);
            if compare(self.get(at - 1), score, &member.to_vec()) != Ordering::Less {
                return Err(format!("entry {at} is not after the one before it"));
            }
        }
        Ok(())
    }
}

/// Grows in small steps, because most of the memory of a set is in its runs and their vectors.
pub(super) fn make_room<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        vec.reserve_exact(more.max(vec.len() / 8));
    }
}

/// Returns the shortest key above `left` and at most `right`, two consecutive entries.
pub(super) fn separator(left: ScoreEntry<'_>, right: ScoreEntry<'_>) -> (f64, Vec<u8>) {
    if left.0 < right.0 {
        return (right.0, Vec::new());
    }
    (right.0, right.1.up_to(left.1.common(right.1) + 1))
}
