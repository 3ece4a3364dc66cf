//! What a worker's keys must hold, and what they held before: the oracle.
//!
//! ```text
//!   journal:   entry ── entry ── entry ── entry          each: what the keys that it changed held before it
//!                                           ▲ keys: what all of them hold now
//!   after a kill:          ◄── rewind ──────┘            until what the server shows fits
//! ```
//!
//! 1. Nobody but the worker writes its keys, and it applies a command when it has the reply: `keys` is exact.
//! 2. What leaves the journal at its old end is settled: it has to survive every kill.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::common::E2eRandom;

/// Milliseconds by which clocks and their readings may differ.
const SLACK: u64 = 100;

/// What the server may remove by itself when memory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvictionPolicy {
    NoEviction,
    VolatileTtl,
    AllKeysLru,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyClass {
    /// Strings without a time: SET, APPEND, RENAME, MSET.
    Text,
    Count,
    Hash,
    LargeHash,
    Set,
    LargeSet,
    /// Strings, with a time or without, always written whole.
    Brief,
    /// Small hashes that are always replaced whole, with a time.
    BriefHash,
    /// Small sorted sets, likewise.
    BriefSet,
}

impl KeyClass {
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Count,
        Self::Hash,
        Self::LargeHash,
        Self::Set,
        Self::LargeSet,
        Self::Brief,
        Self::BriefHash,
        Self::BriefSet,
    ];

    /// Keys that a worker has of it.
    pub fn keys(self) -> u32 {
        match self {
            Self::Text => 9_000,
            Self::Brief => 40_000,
            Self::Count | Self::BriefHash | Self::BriefSet => 1_000,
            Self::Hash | Self::Set => 400,
            Self::LargeHash => 20,
            Self::LargeSet => 8,
        }
    }

    /// Fields or members that such a key can have.
    pub fn members(self) -> u32 {
        match self {
            Self::Text | Self::Count | Self::Brief => 0,
            Self::Hash | Self::BriefHash | Self::BriefSet => 12,
            Self::Set => 40,
            Self::LargeHash => 300,
            Self::LargeSet => 4_000,
        }
    }

    pub fn is_hash(self) -> bool {
        matches!(self, Self::Hash | Self::LargeHash | Self::BriefHash)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SoakKey {
    pub class: KeyClass,
    pub number: u32,
}

impl SoakKey {
    /// Its name, among those of worker number `worker`; in the order of the numbers.
    pub fn name(self, worker: usize) -> String {
        format!("w{worker}/{:?}/{:06}", self.class, self.number)
    }
}

/// Bytes that follow from two numbers, so that the oracle need not keep them.
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

/// The bytes of pieces, one after the other.
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
    /// Fields with their values, or members with their scores.
    Members(BTreeMap<u32, i64>),
}

/// What a key holds, and between which milliseconds since 1970 its time ends, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    pub content: ModelValue,
    pub until: Option<(u64, u64)>,
}

/// Whether a key must be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Must,
    May,
    Never,
}

/// When the server did something: between these milliseconds since 1970, under this policy.
#[derive(Debug, Clone, Copy)]
pub struct ReplyWindow {
    pub sent: u64,
    pub received: u64,
    pub policy: EvictionPolicy,
}

/// Whether a key that holds `held` must be seen at `when`.
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

/// Whether the time of expiry that the server tells of a key that is there is right: milliseconds since 1970, or -1.
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
    /// Begins an entry: what is changed from now on is undone at once.
    pub fn begin(&mut self) {
        self.journal.push_back(SoakJournalEntry { at: Instant::now(), before: Vec::new() });
    }

    /// Ends the entry that has begun; one that changes nothing is forgotten.
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

    /// Sets or removes a member; a key without members is gone.
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

    /// Undoes the newest entry: the keys that it changed, and when it was made; nothing if all that is left is settled.
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

    /// Settles all that was done.
    pub fn settle(&mut self) {
        self.journal.clear();
    }

    /// Settles what was done before `moment`.
    pub fn settle_before(&mut self, moment: Instant) {
        while self.journal.front().is_some_and(|entry| entry.at < moment) {
            self.journal.pop_front();
        }
    }
}
