//! Commands that write: their bytes on the wire, and their effect on the model.

use skeindb::client::Reply;

use super::model::{
    KeyClass, ModelRow, ModelValue, Presence, ReplyWindow, SeededBytes, SoakKey, WorkerModel, bytes, presence,
};
use super::queue::{QueueWrite, entry_id};

/// A command that writes.
#[derive(Debug, Clone)]
pub enum SoakWrite {
    /// With `PX` of this many milliseconds, or without.
    Set(SoakKey, SeededBytes, Option<u64>),
    /// With `PXAT`.
    SetUntil(SoakKey, SeededBytes, u64),
    Delete(SoakKey),
    Add(SoakKey, i64),
    Append(SoakKey, SeededBytes),
    Rename(SoakKey, SoakKey),
    SetSeveral(Vec<(SoakKey, SeededBytes)>),
    /// `HSET`, `ZADD` or `SADD`.
    Put(SoakKey, Vec<(u32, i64)>),
    Increase(SoakKey, u32, i64),
    Remove(SoakKey, Vec<u32>),
    /// `SMOVE` to another key.
    Move(SoakKey, SoakKey, u32),
    Expire(SoakKey, u64),
    Persist(SoakKey),
    /// A script that moves an amount from one number to another.
    Transfer(SoakKey, SoakKey, i64),
    Queue(QueueWrite),
}

/// Returns both numbers.
const TRANSFER: &str =
    "return {redis.call('DECRBY', KEYS[1], ARGV[1]), redis.call('INCRBY', KEYS[2], ARGV[1])}";

/// The words of a command.
pub type CommandBytes = Vec<Vec<u8>>;

pub fn words(words: &[&str]) -> CommandBytes {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Returns the name of a field or member. Names are in the order of the numbers.
pub fn member_name(member: u32) -> String {
    format!("member {member:08}")
}

/// Returns the command for a hash, a sorted set or a set.
fn command_of(key: SoakKey, [hash, sorted_set, set]: [&str; 3]) -> &str {
    match key.class {
        class if class.is_hash() => hash,
        class if class.is_set() => set,
        _ => sorted_set,
    }
}

impl SoakWrite {
    pub fn keys(&self) -> Vec<SoakKey> {
        match self {
            Self::SetSeveral(pairs) => pairs.iter().map(|&(key, _)| key).collect(),
            Self::Rename(from, to) | Self::Move(from, to, _) | Self::Transfer(from, to, _) => {
                vec![*from, *to]
            }
            Self::Queue(write) => vec![write.key()],
            Self::Set(key, ..)
            | Self::SetUntil(key, ..)
            | Self::Delete(key)
            | Self::Add(key, _)
            | Self::Append(key, _)
            | Self::Put(key, _)
            | Self::Increase(key, ..)
            | Self::Remove(key, _)
            | Self::Expire(key, _)
            | Self::Persist(key) => vec![*key],
        }
    }

    pub fn command(&self, worker: usize) -> CommandBytes {
        let name = |key: &SoakKey| key.name(worker);
        let set = |key: &SoakKey, piece: &SeededBytes, more: &[&str]| {
            let mut command = words(&["SET", &name(key)]);
            command.push(bytes(&[*piece]));
            command.extend(words(more));
            command
        };
        match self {
            Self::Set(key, piece, None) => set(key, piece, &[]),
            Self::Set(key, piece, Some(ms)) => set(key, piece, &["PX", &ms.to_string()]),
            Self::SetUntil(key, piece, at) => set(key, piece, &["PXAT", &at.to_string()]),
            Self::Delete(key) => words(&["DEL", &name(key)]),
            Self::Add(key, by) => words(&["INCRBY", &name(key), &by.to_string()]),
            Self::Append(key, piece) => {
                let mut command = words(&["APPEND", &name(key)]);
                command.push(bytes(&[*piece]));
                command
            }
            Self::Rename(from, to) => words(&["RENAME", &name(from), &name(to)]),
            Self::SetSeveral(pairs) => {
                let mut command = words(&["MSET"]);
                for (key, piece) in pairs {
                    command.extend([name(key).into_bytes(), bytes(&[*piece])]);
                }
                command
            }
            Self::Put(key, members) => {
                let mut command = words(&[command_of(*key, ["HSET", "ZADD", "SADD"]), &name(key)]);
                for &(member, to) in members {
                    let (member, to) = (member_name(member).into_bytes(), to.to_string().into_bytes());
                    match key.class {
                        class if class.is_hash() => command.extend([member, to]),
                        class if class.is_set() => command.push(member),
                        _ => command.extend([to, member]),
                    }
                }
                command
            }
            Self::Increase(key, member, by) if key.class.is_hash() => {
                words(&["HINCRBY", &name(key), &member_name(*member), &by.to_string()])
            }
            Self::Increase(key, member, by) => {
                words(&["ZINCRBY", &name(key), &by.to_string(), &member_name(*member)])
            }
            Self::Remove(key, members) if key.class == KeyClass::Stream => {
                let mut command = words(&["XDEL", &name(key)]);
                command.extend(members.iter().map(|&member| entry_id(member).into_bytes()));
                command
            }
            Self::Remove(key, members) => {
                let mut command = words(&[command_of(*key, ["HDEL", "ZREM", "SREM"]), &name(key)]);
                command.extend(members.iter().map(|&member| member_name(member).into_bytes()));
                command
            }
            Self::Move(from, to, member) => words(&["SMOVE", &name(from), &name(to), &member_name(*member)]),
            Self::Expire(key, ms) => words(&["PEXPIRE", &name(key), &ms.to_string()]),
            Self::Persist(key) => words(&["PERSIST", &name(key)]),
            Self::Transfer(from, to, by) => {
                words(&["EVAL", TRANSFER, "2", &name(from), &name(to), &by.to_string()])
            }
            Self::Queue(write) => write.command(worker),
        }
    }

    /// Applies the command to the model. If there is a reply, returns whether it is right.
    /// Otherwise assumes that the command was done.
    pub fn apply(
        &self,
        model: &mut WorkerModel,
        worker: usize,
        when: ReplyWindow,
        reply: Option<&Reply>,
    ) -> Result<(), String> {
        let seen = |key: &SoakKey| presence(model.keys.get(key), when);
        let expect = |expected: Reply| match reply {
            Some(reply) if *reply != expected => Err(format!("{self:?} answers {reply}, and not {expected}")),
            _ => Ok(()),
        };
        // 1 or 0; the presence of the key allows one or both.
        let flag = |presence: Presence| match (reply, presence) {
            (None, _) => Ok(presence != Presence::Never),
            (Some(Reply::Integer(1)), Presence::Must | Presence::May) => Ok(true),
            (Some(Reply::Integer(0)), Presence::Never | Presence::May) => Ok(false),
            (Some(reply), _) => Err(format!("{self:?} answers {reply}, but the key {presence:?} be there")),
        };
        match self {
            Self::Set(key, piece, ms) => {
                expect(Reply::ok())?;
                let until = ms.map(|ms| (when.sent + ms, when.received + ms));
                model.set(*key, Some(ModelRow { content: ModelValue::Text(vec![*piece]), until }));
            }
            Self::SetUntil(key, piece, at) => {
                expect(Reply::ok())?;
                let until = Some((*at, *at));
                model.set(*key, Some(ModelRow { content: ModelValue::Text(vec![*piece]), until }));
            }
            Self::Delete(key) => {
                flag(seen(key))?;
                model.set(*key, None);
            }
            Self::Add(key, by) => {
                let sum = count_of(model, *key) + by;
                expect(Reply::Integer(sum))?;
                model.set(*key, Some(ModelRow { content: ModelValue::Count(sum), until: None }));
            }
            Self::Append(key, piece) => {
                let mut pieces = text_of(model, *key);
                pieces.push(*piece);
                let len = pieces.iter().map(|piece| i64::from(piece.len)).sum();
                expect(Reply::Integer(len))?;
                model.set(*key, Some(ModelRow { content: ModelValue::Text(pieces), until: None }));
            }
            Self::Rename(from, to) => {
                expect(Reply::ok())?;
                let held = model.keys.get(from).cloned();
                model.set(*from, None);
                model.set(*to, held);
            }
            Self::SetSeveral(pairs) => {
                expect(Reply::ok())?;
                for (key, piece) in pairs {
                    model.set(*key, Some(ModelRow { content: ModelValue::Text(vec![*piece]), until: None }));
                }
            }
            Self::Put(..) | Self::Increase(..) | Self::Remove(..) | Self::Move(..) => {
                self.apply_to_members(model, expect)?;
            }
            Self::Expire(key, ms) => {
                let until = Some((when.sent + ms, when.received + ms));
                let there = flag(seen(key))?;
                let held = model.keys.get(key).cloned().filter(|_| there);
                model.set(*key, held.map(|held| ModelRow { until, ..held }));
            }
            Self::Persist(key) => persist(model, *key, when, reply)?,
            Self::Transfer(from, to, by) => transfer(model, (*from, *to), *by, expect)?,
            Self::Queue(write) => write.apply(model, worker, reply)?,
        }
        Ok(())
    }

    /// Applies a write of members to the model.
    fn apply_to_members(
        &self,
        model: &mut WorkerModel,
        expect: impl Fn(Reply) -> Result<(), String>,
    ) -> Result<(), String> {
        match self {
            Self::Put(key, members) => {
                let new = members.iter().filter(|(member, _)| member_of(model, *key, *member).is_none());
                expect(Reply::Integer(count(new.count())))?;
                for &(member, to) in members {
                    model.set_member(*key, member, Some(to));
                }
            }
            Self::Increase(key, member, by) => {
                let sum = member_of(model, *key, *member).unwrap_or(0) + by;
                let text = Reply::Bulk(sum.to_string().into_bytes());
                expect(if key.class.is_hash() { Reply::Integer(sum) } else { text })?;
                model.set_member(*key, *member, Some(sum));
            }
            Self::Remove(key, members) => {
                let there = members.iter().filter(|&&member| member_of(model, *key, member).is_some());
                let there: Vec<u32> = there.copied().collect();
                expect(Reply::Integer(count(there.len())))?;
                for member in there {
                    model.set_member(*key, member, None);
                }
            }
            Self::Move(from, to, member) => {
                let held = member_of(model, *from, *member);
                expect(Reply::Integer(held.is_some().into()))?;
                if held.is_some() {
                    model.set_member(*from, *member, None);
                    model.set_member(*to, *member, held);
                }
            }
            _ => unreachable!("{self:?} writes no members"),
        }
        Ok(())
    }
}

fn transfer(
    model: &mut WorkerModel,
    (from, to): (SoakKey, SoakKey),
    by: i64,
    expect: impl Fn(Reply) -> Result<(), String>,
) -> Result<(), String> {
    let sums = [(from, count_of(model, from) - by), (to, count_of(model, to) + by)];
    expect(Reply::Array(sums.iter().map(|(_, sum)| Reply::Integer(*sum)).collect()))?;
    for (key, sum) in sums {
        model.set(key, Some(ModelRow { content: ModelValue::Count(sum), until: None }));
    }
    Ok(())
}

fn persist(
    model: &mut WorkerModel,
    key: SoakKey,
    when: ReplyWindow,
    reply: Option<&Reply>,
) -> Result<(), String> {
    let held = model.keys.get(&key).filter(|held| held.until.is_some());
    let presence = presence(held, when);
    let there = match (reply, presence) {
        (None, _) => presence != Presence::Never,
        (Some(Reply::Integer(1)), Presence::Must | Presence::May) => true,
        (Some(Reply::Integer(0)), Presence::Never | Presence::May) => false,
        (Some(reply), _) => {
            return Err(format!("PERSIST {key:?} answers {reply}, time {presence:?} be there"));
        }
    };
    // A key without an expiry time keeps its state, present or evicted.
    if let Some(held) = held.cloned() {
        model.set(key, there.then_some(ModelRow { until: None, ..held }));
    }
    Ok(())
}

fn count_of(model: &WorkerModel, key: SoakKey) -> i64 {
    match model.keys.get(&key).map(|held| &held.content) {
        Some(ModelValue::Count(count)) => *count,
        _ => 0,
    }
}

fn text_of(model: &WorkerModel, key: SoakKey) -> Vec<SeededBytes> {
    match model.keys.get(&key).map(|held| &held.content) {
        Some(ModelValue::Text(pieces)) => pieces.clone(),
        _ => Vec::new(),
    }
}

fn member_of(model: &WorkerModel, key: SoakKey, member: u32) -> Option<i64> {
    match &model.keys.get(&key)?.content {
        ModelValue::Members(members) => members.get(&member).copied(),
        _ => None,
    }
}

/// Returns a count in the form of a reply.
fn count(of: usize) -> i64 {
    i64::try_from(of).expect("it fits")
}
