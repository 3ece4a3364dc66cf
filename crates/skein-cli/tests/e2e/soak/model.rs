//! The oracle of a worker: the present and the past values of its keys.
//!
//! ```text
//!   journal:   entry ── entry ── entry ── entry       each: the earlier values of the keys it changed
//!                                           ▲ keys: the present values of all keys
//!   after a kill:          ◄── rewind ──────┘         until the server's data matches
//! ```
//!
//! 1. Only the worker writes its keys, and it applies a command when it has the reply: `keys` is
//!    exact.
//! 2. An entry that is removed from the journal's old end is committed: it must survive every kill.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::common::E2eRandom;

/// The greatest allowed difference of two clock readings, in milliseconds.
const SLACK: u64 = 100;

/// The keys that the server may evict when memory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvictionPolicy {
    NoEviction,
    VolatileTtl,
    AllKeysLru,
}

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyClass {
    /// Strings without an expiry time: SET, APPEND, RENAME, MSET.
    Text,
    Count,
    Hash,
    LargeHash,
    SortedSet,
    LargeSortedSet,
    Set,
    LargeSet,
    /// Queues: pushed at one end, popped at both.
    List,
    LargeList,
    /// Streams with a group of one consumer.
    Stream,
    /// Strings with or without an expiry time, always written whole.
    Brief,
    /// Small hashes with an expiry time, always replaced whole.
    BriefHash,
    /// Small sorted sets of the same kind.
    BriefSortedSet,
    /// Small sets of the same kind.
    BriefSet,
    /// Small lists of the same kind.
    BriefList,
}

impl KeyClass {
    pub const ALL: [Self; 16] = [
        Self::Text,
        Self::Count,
        Self::Hash,
        Self::LargeHash,
        Self::SortedSet,
        Self::LargeSortedSet,
        Self::Set,
        Self::LargeSet,
        Self::List,
        Self::LargeList,
        Self::Stream,
        Self::Brief,
        Self::BriefHash,
        Self::BriefSortedSet,
        Self::BriefSet,
        Self::BriefList,
    ];

    /// Returns the number of a worker's keys of this class.
    pub fn keys(self) -> u32 {
        match self {
            Self::Text => 9_000,
            Self::Brief => 40_000,
            Self::Count | Self::BriefHash | Self::BriefSortedSet | Self::BriefSet | Self::BriefList => 1_000,
            Self::Hash | Self::SortedSet | Self::Set | Self::List => 400,
            Self::Stream => 100,
            Self::LargeHash => 20,
            Self::LargeSortedSet | Self::LargeSet | Self::LargeList => 8,
        }
    }

    /// Returns the most fields, members, elements or entries of such a key.
    pub fn members(self) -> u32 {
        match self {
            Self::Text | Self::Count | Self::Brief => 0,
            Self::Hash | Self::BriefHash | Self::BriefSortedSet | Self::BriefSet | Self::BriefList => 12,
            Self::SortedSet | Self::Set | Self::List => 40,
            Self::LargeHash | Self::Stream => 300,
            Self::LargeSortedSet | Self::LargeSet | Self::LargeList => 4_000,
        }
    }

    pub fn is_hash(self) -> bool {
        matches!(self, Self::Hash | Self::LargeHash | Self::BriefHash)
    }

    /// Returns whether the keys are sets that are not sorted.
    pub fn is_set(self) -> bool {
        matches!(self, Self::Set | Self::LargeSet | Self::BriefSet)
    }

    pub fn is_list(self) -> bool {
        matches!(self, Self::List | Self::LargeList | Self::BriefList)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SoakKey {
    pub class: KeyClass,
    pub number: u32,
}

impl SoakKey {
    /// Returns the key's name for worker number `worker`. Names are in the order of the numbers.
    pub fn name(self, worker: usize) -> String {
        format!("w{worker}/{:?}/{:06}", self.class, self.number)
    }
}

/// Bytes that are generated from two numbers, so that the oracle need not store them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededBytes {
    pub seed: u32,
    pub len: u32,
}

impl SeededBytes {
    fn append(self, out: &mut Vec<u8>) {
        let (mut random, end) = (E2eRandom::new(u64::from(self.seed)), out.len() + self.len as usize);
        while out.len() < end {
            out.extend_from_slice(&random.next().to_le_bytes());
        }
        out.truncate(end);
    }
}

/// Returns the concatenated bytes of the pieces.
pub fn bytes(pieces: &[SeededBytes]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        piece.append(&mut out);
    }
    out
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelValue {
    Text(Vec<SeededBytes>),
    Count(i64),
    /// Fields with their values, members with their scores, or entries with their
    /// [`EntryState`](super::queue::EntryState). Members of a set, and elements of a list in their
    /// order, have any numbers.
    Members(BTreeMap<u32, i64>),
}

/// The value of a key, and, if it expires, the milliseconds since 1970 between which it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    pub content: ModelValue,
    pub until: Option<(u64, u64)>,
}

/// Whether a key must be visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Must,
    May,
    Never,
}

/// When the server executed a request: between these milliseconds since 1970, under this policy.
#[derive(Debug, Clone, Copy)]
pub struct ReplyWindow {
    pub sent: u64,
    pub received: u64,
    pub policy: EvictionPolicy,
}

/// Returns whether a key with the row `held` must be visible at `when`.
pub fn presence(held: Option<&ModelRow>, when: ReplyWindow) -> Presence {
    let Some(held) = held else { return Presence::Never };
    let evictable = match when.policy {
        EvictionPolicy::NoEviction => false,
        EvictionPolicy::VolatileTtl => held.until.is_some(),
        EvictionPolicy::AllKeysLru => true,
    };
    match held.until {
        Some((_, last)) if last + SLACK < when.sent => Presence::Never,
        Some((first, _)) if first < when.received + SLACK => Presence::May,
        _ if evictable => Presence::May,
        _ => Presence::Must,
    }
}

/// Returns whether the expiry time that the server reports for an existing key is right:
/// milliseconds since 1970, or -1.
pub fn time_fits(held: &ModelRow, told: i64) -> bool {
    match held.until {
        None => told == -1,
        Some((first, last)) => {
            u64::try_from(told).is_ok_and(|at| (first - SLACK..=last + SLACK).contains(&at))
        }
    }
}

#[derive(Debug)]
enum JournalUndo {
    Key(SoakKey, Option<ModelRow>),
    Member(SoakKey, u32, Option<i64>),
}

#[derive(Debug)]
struct SoakJournalEntry {
    at: Instant,
    before: Vec<JournalUndo>,
}

/// A worker's keys.
#[derive(Debug, Default)]
pub struct WorkerModel {
    pub keys: BTreeMap<SoakKey, ModelRow>,
    journal: VecDeque<SoakJournalEntry>,
}

impl WorkerModel {
    /// Starts an entry. Its changes are undone together.
    pub fn begin(&mut self) {
        self.journal.push_back(SoakJournalEntry { at: Instant::now(), before: Vec::new() });
    }

    /// Ends the present entry. Drops it if it is empty.
    pub fn end(&mut self) {
        if self.journal.back().is_some_and(|entry| entry.before.is_empty()) {
            self.journal.pop_back();
        }
    }

    fn note(&mut self, before: JournalUndo) {
        self.journal.back_mut().expect("an entry has begun").before.push(before);
    }

    pub fn set(&mut self, key: SoakKey, held: Option<ModelRow>) {
        let before = self.put(key, held);
        self.note(JournalUndo::Key(key, before));
    }

    fn put(&mut self, key: SoakKey, held: Option<ModelRow>) -> Option<ModelRow> {
        match held {
            Some(held) => self.keys.insert(key, held),
            None => self.keys.remove(&key),
        }
    }

    /// Sets or removes a member. Removes a key without members.
    pub fn set_member(&mut self, key: SoakKey, member: u32, to: Option<i64>) {
        let before = self.put_member(key, member, to);
        self.note(JournalUndo::Member(key, member, before));
    }

    fn put_member(&mut self, key: SoakKey, member: u32, to: Option<i64>) -> Option<i64> {
        let empty = || ModelRow { content: ModelValue::Members(BTreeMap::new()), until: None };
        let held = self.keys.entry(key).or_insert_with(empty);
        let ModelValue::Members(members) = &mut held.content else { panic!("{key:?} has no members") };
        let before = match to {
            Some(to) => members.insert(member, to),
            None => members.remove(&member),
        };
        if members.is_empty() {
            self.keys.remove(&key);
        }
        before
    }

    /// Undoes the newest entry. Returns the keys that it changed and its time, or `None` if only
    /// committed entries are left.
    pub fn rewind(&mut self) -> Option<(Vec<SoakKey>, Instant)> {
        let entry = self.journal.pop_back()?;
        let keys = entry.before.iter().map(|before| match *before {
            JournalUndo::Key(key, _) | JournalUndo::Member(key, ..) => key,
        });
        let keys = keys.collect();
        for before in entry.before.into_iter().rev() {
            match before {
                JournalUndo::Key(key, held) => drop(self.put(key, held)),
                JournalUndo::Member(key, member, to) => drop(self.put_member(key, member, to)),
            }
        }
        Some((keys, entry.at))
    }

    /// Commits all entries.
    pub fn settle(&mut self) {
        self.journal.clear();
    }

    /// Commits the entries before `moment`.
    pub fn settle_before(&mut self, moment: Instant) {
        while self.journal.front().is_some_and(|entry| entry.at < moment) {
            self.journal.pop_front();
        }
    }
}
