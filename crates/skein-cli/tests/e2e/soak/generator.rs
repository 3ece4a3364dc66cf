//! Generates a worker's next steps.

use std::collections::BTreeSet;

use super::model::{EvictionPolicy, KeyClass, ModelValue, SeededBytes, SoakKey, WorkerModel};
use super::queue::{EntryState, LISTS, QueueWrite, members_of};
use super::step::{SoakStep, whole_only};
use super::write::SoakWrite;
use crate::common::E2eRandom;

/// The most steps of a pipeline.
const MAX_STEPS: u64 = 100;
/// The most bytes of a pipeline and of its replies. It is far less than the server buffers for a
/// client, so that neither side waits for the other to read.
const MAX_BYTES: u64 = 256 << 10;
/// The longest string.
const MAX_TEXT: u32 = 64 << 10;
/// The most members or fields that a command changes.
const MAX_MEMBERS: u64 = 20;

/// Generates the steps of one pipeline. No two of them change the same key, and none reads a key
/// that another one changes. So each step that a kill leaves unanswered is done or not,
/// independently of the others.
#[derive(Debug)]
pub struct StepGenerator<'a> {
    random: &'a mut E2eRandom,
    /// The number of the next element of a list or entry of a stream.
    next: &'a mut u32,
    model: &'a WorkerModel,
    policy: EvictionPolicy,
    /// Milliseconds since 1970.
    now: u64,
    written: BTreeSet<SoakKey>,
    read: BTreeSet<SoakKey>,
    bytes: u64,
}

/// Returns a pipeline for a worker with the keys of `model`.
pub fn pipeline(
    random: &mut E2eRandom,
    next: &mut u32,
    model: &WorkerModel,
    policy: EvictionPolicy,
    now: u64,
) -> Vec<SoakStep> {
    let most = match random.below(4) {
        0 => 1,
        1 => MAX_STEPS,
        _ => 1 + random.below(MAX_STEPS),
    };
    let mut draw = StepGenerator {
        random,
        next,
        model,
        policy,
        now,
        written: BTreeSet::new(),
        read: BTreeSet::new(),
        bytes: 0,
    };
    let mut steps = Vec::new();
    for _ in 0..most {
        steps.extend(draw.step());
        if draw.bytes > MAX_BYTES {
            break;
        }
    }
    steps
}

impl StepGenerator<'_> {
    fn below(&mut self, end: u32) -> u32 {
        self.random.below(u64::from(end)) as u32
    }

    fn key(&mut self, class: KeyClass) -> SoakKey {
        SoakKey { class, number: self.below(class.keys()) }
    }

    /// Returns the bytes of a new string, mostly few.
    fn piece(&mut self) -> SeededBytes {
        let (least, most) = match self.below(100) {
            0..50 => (8, 64),
            50..80 => (64, 1 << 10),
            80..97 => (1 << 10, 8 << 10),
            _ => (8 << 10, MAX_TEXT),
        };
        let piece =
            SeededBytes { seed: self.random.next() as u32, len: least + self.below(most - least + 1) };
        self.bytes += u64::from(piece.len);
        piece
    }

    /// Returns a step, unless it conflicts with earlier ones.
    fn step(&mut self) -> Option<SoakStep> {
        let step = match self.below(100) {
            0..35 => self.reading(),
            35..80 => SoakStep::Write(self.brief_write()),
            80..84 => SoakStep::Transaction(self.replace_members()),
            _ if whole_only(self.policy) => self.reading(),
            84..87 => SoakStep::Transaction((0..3).map(|_| self.exact_write()).collect()),
            _ => SoakStep::Write(self.exact_write()),
        };
        self.fits(&step).then_some(step)
    }

    /// Returns whether the step neither changes nor reads a key that another one changes. If so,
    /// records its keys.
    fn fits(&mut self, step: &SoakStep) -> bool {
        let (writes, reads) = (step.writes(), reads(step));
        let distinct: BTreeSet<SoakKey> = writes.iter().copied().collect();
        // Within a transaction a key may be changed again, unless it is renamed.
        let renames = matches!(step, SoakStep::Transaction(of) if of.iter().any(|write| matches!(write, SoakWrite::Rename(..))));
        let fits = !(renames && distinct.len() < writes.len())
            && writes.iter().all(|key| !self.written.contains(key) && !self.read.contains(key))
            && reads.iter().all(|key| !self.written.contains(key));
        if fits {
            self.written.extend(distinct);
            self.read.extend(reads);
        }
        fits
    }

    fn reading(&mut self) -> SoakStep {
        let step = match self.below(100) {
            0..3 => {
                let from = self.below(KeyClass::Text.keys());
                SoakStep::Range(from, from + 1 + self.below(30))
            }
            3..6 => {
                let from = self.below(KeyClass::LargeSortedSet.members()) as usize;
                SoakStep::Ranks(self.key(KeyClass::LargeSortedSet), from, from + 1 + self.below(100) as usize)
            }
            6..40 => SoakStep::Read(self.key(KeyClass::Text)),
            40..80 => SoakStep::Read(self.key(KeyClass::Brief)),
            _ => {
                let class = [
                    KeyClass::Count,
                    KeyClass::Hash,
                    KeyClass::LargeHash,
                    KeyClass::SortedSet,
                    KeyClass::Set,
                    KeyClass::LargeSet,
                    KeyClass::BriefHash,
                    KeyClass::BriefSortedSet,
                    KeyClass::BriefSet,
                    KeyClass::List,
                    KeyClass::LargeList,
                    KeyClass::BriefList,
                    KeyClass::Stream,
                ];
                let class = class[self.random.below(class.len() as u64) as usize];
                SoakStep::Read(self.key(class))
            }
        };
        self.bytes += reads(&step).iter().map(|key| self.size(*key)).sum::<u64>();
        step
    }

    /// Returns the approximate size of the key's value.
    fn size(&self, key: SoakKey) -> u64 {
        match self.model.keys.get(&key).map(|held| &held.content) {
            Some(ModelValue::Text(pieces)) => pieces.iter().map(|piece| u64::from(piece.len)).sum(),
            Some(ModelValue::Members(members)) => 32 * members.len() as u64,
            _ => 8,
        }
    }

    /// Returns a write of keys that may have an expiry time: these are written whole.
    fn brief_write(&mut self) -> SoakWrite {
        let class = [
            KeyClass::Brief,
            KeyClass::Brief,
            KeyClass::Brief,
            KeyClass::BriefHash,
            KeyClass::BriefSortedSet,
            KeyClass::BriefSet,
            KeyClass::BriefList,
        ];
        let any = class[self.random.below(class.len() as u64) as usize];
        let key = self.key(KeyClass::Brief);
        match self.below(100) {
            0..15 => SoakWrite::Set(key, self.piece(), None),
            15..55 => SoakWrite::Set(key, self.piece(), Some(self.time())),
            55..70 => {
                let until = self.now + self.time();
                SoakWrite::SetUntil(key, self.piece(), until)
            }
            70..84 => SoakWrite::Delete(self.key(any)),
            84..95 => SoakWrite::Expire(self.key(any), self.time()),
            _ => SoakWrite::Persist(key),
        }
    }

    /// Returns a time to live in milliseconds: sometimes too short to be observed, sometimes longer
    /// than a server lives.
    fn time(&mut self) -> u64 {
        match self.below(10) {
            0 => 1 + self.random.below(50),
            1..3 => 50 + self.random.below(5_000),
            3..6 => 5_000 + self.random.below(60_000),
            _ => 60_000 + self.random.below(600_000),
        }
    }

    /// Replaces a key by a small hash, sorted set, set or list with an expiry time.
    fn replace_members(&mut self) -> Vec<SoakWrite> {
        let class = [KeyClass::BriefHash, KeyClass::BriefSortedSet, KeyClass::BriefSet, KeyClass::BriefList];
        let class = class[self.random.below(class.len() as u64) as usize];
        let (key, to) = (self.key(class), i64::from(self.below(1_000_000)));
        let put = if class.is_list() {
            let first = self.below(class.members());
            SoakWrite::Queue(QueueWrite::Push(key, (first..first + class.members()).collect()))
        } else {
            SoakWrite::Put(key, (0..class.members()).map(|member| (member, to + i64::from(member))).collect())
        };
        vec![SoakWrite::Delete(key), put, SoakWrite::Expire(key, self.time())]
    }

    /// Returns a write of keys that never have an expiry time.
    fn exact_write(&mut self) -> SoakWrite {
        let key = self.key(KeyClass::Text);
        match self.below(100) {
            0..15 => SoakWrite::Set(key, self.piece(), None),
            15..22 => SoakWrite::Delete(key),
            22..28 if self.size(key) < u64::from(MAX_TEXT) => {
                let piece = SeededBytes { seed: self.random.next() as u32, len: 1 + self.below(200) };
                SoakWrite::Append(key, piece)
            }
            28..34 if self.model.keys.contains_key(&key) => SoakWrite::Rename(key, self.other_than(key)),
            22..38 => SoakWrite::SetSeveral((0..4).map(|at| (within(key, at), self.piece())).collect()),
            38..54 => SoakWrite::Add(self.key(KeyClass::Count), 1 + i64::from(self.below(9))),
            54..60 => {
                let from = self.key(KeyClass::Count);
                SoakWrite::Transfer(from, self.other_than(from), 1 + i64::from(self.below(9)))
            }
            60..70 => SoakWrite::Queue(self.change_list()),
            70..80 => self.change_stream(),
            _ => self.change_members(),
        }
    }

    fn other_than(&mut self, key: SoakKey) -> SoakKey {
        let keys = key.class.keys();
        let step = 1 + self.below(keys - 1);
        SoakKey { number: (key.number + step) % keys, ..key }
    }

    fn change_members(&mut self) -> SoakWrite {
        let class = [
            KeyClass::Hash,
            KeyClass::LargeHash,
            KeyClass::SortedSet,
            KeyClass::LargeSortedSet,
            KeyClass::LargeSortedSet,
            KeyClass::Set,
            KeyClass::LargeSet,
        ];
        let class = class[self.random.below(class.len() as u64) as usize];
        let key = self.key(class);
        let members: BTreeSet<u32> =
            (0..=self.random.below(MAX_MEMBERS)).map(|_| self.below(class.members())).collect();
        match self.below(100) {
            0..50 => {
                let value = i64::from(self.below(1_000_000));
                SoakWrite::Put(key, members.into_iter().zip(value..).collect())
            }
            50..70 if class.is_set() => {
                SoakWrite::Move(key, self.other_than(key), self.below(class.members()))
            }
            50..70 => SoakWrite::Increase(key, self.below(class.members()), 1 + i64::from(self.below(9))),
            70..72 => SoakWrite::Delete(key),
            _ => SoakWrite::Remove(key, members.into_iter().collect()),
        }
    }
}

/// Lists and streams.
impl StepGenerator<'_> {
    /// Returns numbers that are greater than all before.
    fn numbers(&mut self) -> Vec<u32> {
        let first = *self.next;
        *self.next += 1 + self.below(MAX_MEMBERS as u32);
        (first..*self.next).collect()
    }

    /// Returns how many elements to pop or to take.
    fn many(&mut self) -> usize {
        1 + self.random.below(MAX_MEMBERS) as usize
    }

    fn change_list(&mut self) -> QueueWrite {
        let class = LISTS[self.random.below(LISTS.len() as u64) as usize];
        let key = self.key(class);
        let (len, most) = (members_of(self.model, key).len(), class.members() as usize);
        match self.below(100) {
            0..60 if len < most => QueueWrite::Push(key, self.numbers()),
            0..80 => QueueWrite::Pop(key, false, self.many()),
            80..96 => QueueWrite::Pop(key, true, self.many()),
            _ => QueueWrite::Keep(key, most / 2),
        }
    }

    fn change_stream(&mut self) -> SoakWrite {
        let key = self.key(KeyClass::Stream);
        let held = members_of(self.model, key);
        let in_state = |state: EntryState, most: usize| {
            let of_state = held.iter().filter(|(_, its)| *its == state.number());
            of_state.take(most).map(|&(member, _)| member).collect::<Vec<_>>()
        };
        let acknowledged = in_state(EntryState::Acknowledged, self.many());
        let write = match self.below(100) {
            0..35 if held.len() < KeyClass::Stream.members() as usize => QueueWrite::Add(key, self.numbers()),
            // Without entries the group may not exist.
            _ if held.is_empty() => QueueWrite::Add(key, self.numbers()),
            0..65 => QueueWrite::Take(key, self.many()),
            65..80 if !acknowledged.is_empty() => return SoakWrite::Remove(key, acknowledged),
            // New ones, too, on which it has no effect.
            _ => {
                let skipped = self.random.below(held.len() as u64) as usize;
                let some = held.iter().skip(skipped).take(self.many());
                QueueWrite::Acknowledge(key, some.map(|&(member, _)| member).collect())
            }
        };
        SoakWrite::Queue(write)
    }
}

/// Returns the keys that a step reads.
fn reads(step: &SoakStep) -> Vec<SoakKey> {
    match step {
        SoakStep::Read(key) | SoakStep::Ranks(key, ..) => vec![*key],
        SoakStep::Range(from, to) => {
            (*from..*to).map(|number| SoakKey { class: KeyClass::Text, number }).collect()
        }
        SoakStep::Write(_) | SoakStep::Transaction(_) => Vec::new(),
    }
}

/// Returns one of four strings that are far from each other.
fn within(key: SoakKey, at: u32) -> SoakKey {
    let quarter = KeyClass::Text.keys() / 4;
    SoakKey { number: (key.number + at * quarter) % KeyClass::Text.keys(), ..key }
}
