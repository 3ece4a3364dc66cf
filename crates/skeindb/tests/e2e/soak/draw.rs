//! What a worker asks for next.

use std::collections::BTreeSet;

use super::model::{Class, Content, Key, Model, Piece, Policy};
use super::step::{Step, whole_only};
use super::write::Write;
use crate::common::Random;

/// Steps in a pipeline, at most.
const MAX_STEPS: u64 = 100;
/// Bytes of a pipeline and of what it reads, at most; far less than the server keeps for a client, so that nobody waits for
/// the other to read.
const MAX_BYTES: u64 = 256 << 10;
/// The longest string.
const MAX_TEXT: u32 = 64 << 10;
/// Members or fields that a command changes at most.
const MAX_MEMBERS: u64 = 20;

/// Draws steps for one pipeline. No two of them change the same key, nor does one read what another changes: so each of
/// those that a kill leaves unanswered is done or not, whatever became of the others.
#[derive(Debug)]
pub struct Draw<'a> {
    random: &'a mut Random,
    model: &'a Model,
    policy: Policy,
    /// Milliseconds since 1970.
    now: u64,
    written: BTreeSet<Key>,
    read: BTreeSet<Key>,
    bytes: u64,
}

/// A pipeline for a worker whose keys are as in `model`.
pub fn pipeline(random: &mut Random, model: &Model, policy: Policy, now: u64) -> Vec<Step> {
    let most = match random.below(4) {
        0 => 1,
        1 => MAX_STEPS,
        _ => 1 + random.below(MAX_STEPS),
    };
    let mut draw =
        Draw { random, model, policy, now, written: BTreeSet::new(), read: BTreeSet::new(), bytes: 0 };
    let mut steps = Vec::new();
    for _ in 0..most {
        steps.extend(draw.step());
        if draw.bytes > MAX_BYTES {
            break;
        }
    }
    steps
}

impl Draw<'_> {
    fn below(&mut self, end: u32) -> u32 {
        self.random.below(u64::from(end)) as u32
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn key(&mut self, class: Class) -> Key {
        Key { class, number: self.below(class.keys()) }
    }

    /// Bytes of a new string: mostly few.
    fn piece(&mut self) -> Piece {
        let (least, most) = match self.below(100) {
            0..50 => (8, 64),
            50..80 => (64, 1 << 10),
            80..97 => (1 << 10, 8 << 10),
            _ => (8 << 10, MAX_TEXT),
        };
        let piece = Piece { seed: self.random.next() as u32, len: least + self.below(most - least + 1) };
        self.bytes += u64::from(piece.len);
        piece
    }

    /// A step, unless it does not fit in with those before.
    fn step(&mut self) -> Option<Step> {
        let step = match self.below(100) {
            0..35 => self.reading(),
            35..80 => Step::Write(self.brief_write()),
            80..84 => Step::Transaction(self.replace_members()),
            _ if whole_only(self.policy) => self.reading(),
            84..87 => Step::Transaction((0..3).map(|_| self.exact_write()).collect()),
            _ => Step::Write(self.exact_write()),
        };
        self.fits(&step).then_some(step)
    }

    /// Whether the step changes nothing, and reads nothing, that another one changes; notes what it does.
    fn fits(&mut self, step: &Step) -> bool {
        let (writes, reads) = (step.writes(), reads(step));
        let distinct: BTreeSet<Key> = writes.iter().copied().collect();
        // Within a transaction a key may be changed again, but where it is renamed.
        let renames = matches!(step, Step::Transaction(of) if of.iter().any(|write| matches!(write, Write::Rename(..))));
        let fits = !(renames && distinct.len() < writes.len())
            && writes.iter().all(|key| !self.written.contains(key) && !self.read.contains(key))
            && reads.iter().all(|key| !self.written.contains(key));
        if fits {
            self.written.extend(distinct);
            self.read.extend(reads);
        }
        fits
    }

    fn reading(&mut self) -> Step {
        let step = match self.below(100) {
            0..3 => {
                let from = self.below(Class::Text.keys());
                Step::Range(from, from + 1 + self.below(30))
            }
            3..6 => {
                let from = self.below(Class::LargeSet.members()) as usize;
                Step::Ranks(self.key(Class::LargeSet), from, from + 1 + self.below(100) as usize)
            }
            6..40 => Step::Read(self.key(Class::Text)),
            40..80 => Step::Read(self.key(Class::Brief)),
            _ => {
                let class = [
                    Class::Count,
                    Class::Hash,
                    Class::LargeHash,
                    Class::Set,
                    Class::BriefHash,
                    Class::BriefSet,
                ];
                let class = class[self.random.below(class.len() as u64) as usize];
                Step::Read(self.key(class))
            }
        };
        self.bytes += reads(&step).iter().map(|key| self.size(*key)).sum::<u64>();
        step
    }

    /// Bytes of the key's content, about.
    fn size(&self, key: Key) -> u64 {
        match self.model.keys.get(&key).map(|held| &held.content) {
            Some(Content::Text(pieces)) => pieces.iter().map(|piece| u64::from(piece.len)).sum(),
            Some(Content::Members(members)) => 32 * members.len() as u64,
            _ => 8,
        }
    }

    /// Of keys that may have a time: written whole.
    fn brief_write(&mut self) -> Write {
        let class = [Class::Brief, Class::Brief, Class::Brief, Class::BriefHash, Class::BriefSet];
        let any = class[self.random.below(class.len() as u64) as usize];
        let key = self.key(Class::Brief);
        match self.below(100) {
            0..15 => Write::Set(key, self.piece(), None),
            15..55 => Write::Set(key, self.piece(), Some(self.time())),
            55..70 => {
                let until = self.now + self.time();
                Write::SetUntil(key, self.piece(), until)
            }
            70..84 => Write::Delete(self.key(any)),
            84..95 => Write::Expire(self.key(any), self.time()),
            _ => Write::Persist(key),
        }
    }

    /// Milliseconds that a key has: some of them none that anybody notices, some longer than a server lives.
    fn time(&mut self) -> u64 {
        match self.below(10) {
            0 => 1 + self.random.below(50),
            1..3 => 50 + self.random.below(5_000),
            3..6 => 5_000 + self.random.below(60_000),
            _ => 60_000 + self.random.below(600_000),
        }
    }

    /// A small hash or sorted set in place of what there was, with a time.
    fn replace_members(&mut self) -> Vec<Write> {
        let class = if self.chance(50) { Class::BriefHash } else { Class::BriefSet };
        let (key, to) = (self.key(class), i64::from(self.below(1_000_000)));
        let members = (0..class.members()).map(|member| (member, to + i64::from(member))).collect();
        vec![Write::Delete(key), Write::Put(key, members), Write::Expire(key, self.time())]
    }

    /// Of keys that never have a time.
    fn exact_write(&mut self) -> Write {
        let key = self.key(Class::Text);
        match self.below(100) {
            0..15 => Write::Set(key, self.piece(), None),
            15..22 => Write::Delete(key),
            22..28 if self.size(key) < u64::from(MAX_TEXT) => {
                let piece = Piece { seed: self.random.next() as u32, len: 1 + self.below(200) };
                Write::Append(key, piece)
            }
            28..34 if self.model.keys.contains_key(&key) => Write::Rename(key, self.other_than(key)),
            22..38 => Write::SetSeveral((0..4).map(|at| (within(key, at), self.piece())).collect()),
            38..60 => Write::Add(self.key(Class::Count), 1 + i64::from(self.below(9))),
            _ => self.change_members(),
        }
    }

    fn other_than(&mut self, key: Key) -> Key {
        let step = 1 + self.below(Class::Text.keys() - 1);
        Key { number: (key.number + step) % Class::Text.keys(), ..key }
    }

    fn change_members(&mut self) -> Write {
        let class = [Class::Hash, Class::LargeHash, Class::Set, Class::LargeSet, Class::LargeSet];
        let class = class[self.random.below(class.len() as u64) as usize];
        let key = self.key(class);
        let members: BTreeSet<u32> =
            (0..=self.random.below(MAX_MEMBERS)).map(|_| self.below(class.members())).collect();
        match self.below(100) {
            0..50 => {
                let value = i64::from(self.below(1_000_000));
                Write::Put(key, members.into_iter().zip(value..).collect())
            }
            50..70 => Write::Increase(key, self.below(class.members()), 1 + i64::from(self.below(9))),
            70..72 => Write::Delete(key),
            _ => Write::Remove(key, members.into_iter().collect()),
        }
    }
}

/// What a step reads.
fn reads(step: &Step) -> Vec<Key> {
    match step {
        Step::Read(key) | Step::Ranks(key, ..) => vec![*key],
        Step::Range(from, to) => (*from..*to).map(|number| Key { class: Class::Text, number }).collect(),
        Step::Write(_) | Step::Transaction(_) => Vec::new(),
    }
}

/// One of four strings that are far from each other.
fn within(key: Key, at: u32) -> Key {
    let quarter = Class::Text.keys() / 4;
    Key { number: (key.number + at * quarter) % Class::Text.keys(), ..key }
}
