//! Lists and streams: commands with elements of ever greater numbers. So the order of a list, and
//! that of a stream, is the order of the numbers.
//!
//! ```text
//!   stream:   [acknowledged or removed …] [pending …] [new …]
//!                                                     ▲ the group's last delivered identifier
//! ```
//!
//! The entries are added, and read with their states, by scripts.

use skeindb::client::Reply;

use super::model::{KeyClass, ModelRow, ModelValue, SoakKey, WorkerModel};
use super::write::{CommandBytes, member_name, words};

/// A command on a list or on a stream.
#[derive(Debug, Clone)]
pub enum QueueWrite {
    /// `RPUSH` of these elements.
    Push(SoakKey, Vec<u32>),
    /// `LPOP`, or `RPOP` if true, of so many elements.
    Pop(SoakKey, bool, usize),
    /// `LTRIM` to the last elements.
    Keep(SoakKey, usize),
    /// Adds entries, and makes the group if the stream is new.
    Add(SoakKey, Vec<u32>),
    /// `XREADGROUP` of so many new entries.
    Take(SoakKey, usize),
    /// `XACK` of entries, pending or not.
    Acknowledge(SoakKey, Vec<u32>),
}

/// The state of an entry of a stream in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryState {
    New,
    Pending,
    Acknowledged,
}

impl EntryState {
    /// Returns the number that stands for it in the model, and in the reply of the script.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// Adds entries with these numbers.
const ADD: &str = "local is_new = redis.call('EXISTS', KEYS[1]) == 0 \
    for _, number in ipairs(ARGV) do \
        redis.call('XADD', KEYS[1], tonumber(number) .. '-0', 'member', 'member ' .. number) \
    end \
    if is_new then redis.call('XGROUP', 'CREATE', KEYS[1], 'group', '0') end \
    return #ARGV";

/// Returns the entries and their states, one after the other.
const READ: &str = "if redis.call('EXISTS', KEYS[1]) == 0 then return {} end \
    local found, pending = {}, {} \
    for _, entry in ipairs(redis.call('XPENDING', KEYS[1], 'group', '-', '+', '1000000')) do \
        pending[entry[1]] = true \
    end \
    local group = redis.call('XINFO', 'GROUPS', KEYS[1])[1] \
    local delivered = tonumber(string.match(group[8], '^%d+')) \
    for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do \
        local state = '2' \
        if pending[entry[1]] then state = '1' \
        elseif tonumber(string.match(entry[1], '^%d+')) > delivered then state = '0' end \
        found[#found + 1] = entry[2][2] \
        found[#found + 1] = state \
    end \
    return found";

/// Returns the command that reads a stream.
pub fn read_stream(name: &str) -> CommandBytes {
    words(&["EVAL_RO", READ, "1", name])
}

/// Returns the identifier of an entry.
pub fn entry_id(member: u32) -> String {
    format!("{member}-0")
}

impl QueueWrite {
    pub fn key(&self) -> SoakKey {
        match self {
            Self::Push(key, _)
            | Self::Pop(key, ..)
            | Self::Keep(key, _)
            | Self::Add(key, _)
            | Self::Take(key, _)
            | Self::Acknowledge(key, _) => *key,
        }
    }

    pub fn command(&self, worker: usize) -> CommandBytes {
        let name = self.key().name(worker);
        let with = |mut command: CommandBytes, members: &[u32], text: fn(u32) -> String| {
            command.extend(members.iter().map(|&member| text(member).into_bytes()));
            command
        };
        match self {
            Self::Push(_, members) => with(words(&["RPUSH", &name]), members, member_name),
            Self::Pop(_, from_end, most) => {
                words(&[if *from_end { "RPOP" } else { "LPOP" }, &name, &most.to_string()])
            }
            Self::Keep(_, most) => words(&["LTRIM", &name, &format!("-{most}"), "-1"]),
            Self::Add(_, members) => {
                with(words(&["EVAL", ADD, "1", &name]), members, |member| format!("{member:08}"))
            }
            Self::Take(_, most) => words(&[
                "XREADGROUP",
                "GROUP",
                "group",
                "consumer",
                "COUNT",
                &most.to_string(),
                "STREAMS",
                &name,
                ">",
            ]),
            Self::Acknowledge(_, members) => with(words(&["XACK", &name, "group"]), members, entry_id),
        }
    }

    /// Applies the command to the model. If there is a reply, returns whether it is right.
    pub fn apply(&self, model: &mut WorkerModel, worker: usize, reply: Option<&Reply>) -> Result<(), String> {
        let key = self.key();
        let expect = |expected: Reply| match reply {
            Some(reply) if *reply != expected => Err(format!("{self:?} answers {reply}, and not {expected}")),
            _ => Ok(()),
        };
        let held = members_of(model, key);
        let number = |of: usize| Reply::Integer(i64::try_from(of).expect("it fits"));
        let (changed, to) = match self {
            Self::Push(_, members) => {
                expect(number(held.len() + members.len()))?;
                (members.clone(), Some(0))
            }
            Self::Pop(_, from_end, most) => {
                let names = held.iter().map(|&(member, _)| member);
                let popped: Vec<u32> =
                    if *from_end { names.rev().take(*most).collect() } else { names.take(*most).collect() };
                expect(popped_reply(&popped))?;
                (popped, None)
            }
            Self::Keep(_, most) => {
                expect(Reply::ok())?;
                let trimmed = held.len().saturating_sub(*most);
                (held.iter().take(trimmed).map(|&(member, _)| member).collect(), None)
            }
            Self::Add(_, members) => {
                expect(number(members.len()))?;
                (members.clone(), Some(EntryState::New.number()))
            }
            Self::Take(_, most) => {
                let new = held.iter().filter(|(_, state)| *state == EntryState::New.number());
                let taken: Vec<u32> = new.take(*most).map(|&(member, _)| member).collect();
                expect(taken_reply(&key.name(worker), &taken))?;
                (taken, Some(EntryState::Pending.number()))
            }
            Self::Acknowledge(_, members) => {
                let is_pending = |member: &&u32| held.contains(&(**member, EntryState::Pending.number()));
                let pending: Vec<u32> = members.iter().filter(is_pending).copied().collect();
                expect(number(pending.len()))?;
                (pending, Some(EntryState::Acknowledged.number()))
            }
        };
        for member in changed {
            model.set_member(key, member, to);
        }
        Ok(())
    }

    /// Returns whether the reply says for certain that something was written.
    pub fn wrote(&self, reply: &Reply) -> bool {
        match self {
            Self::Push(..) | Self::Add(..) => true,
            Self::Keep(..) => false,
            Self::Pop(..) | Self::Take(..) => *reply != Reply::Null,
            Self::Acknowledge(..) => *reply != Reply::Integer(0),
        }
    }
}

/// Returns the members of a key, in the order of their numbers.
pub fn members_of(model: &WorkerModel, key: SoakKey) -> Vec<(u32, i64)> {
    match model.keys.get(&key) {
        Some(ModelRow { content: ModelValue::Members(members), .. }) => {
            members.iter().map(|(&member, &to)| (member, to)).collect()
        }
        _ => Vec::new(),
    }
}

fn popped_reply(popped: &[u32]) -> Reply {
    if popped.is_empty() {
        return Reply::Null;
    }
    Reply::Array(popped.iter().map(|&member| bulk(member_name(member))).collect())
}

/// Returns the reply of `XREADGROUP`: the stream's name and the entries.
fn taken_reply(name: &str, taken: &[u32]) -> Reply {
    if taken.is_empty() {
        return Reply::Null;
    }
    let entry = |&member: &u32| {
        let fields = Reply::Array(vec![bulk("member".to_owned()), bulk(member_name(member))]);
        Reply::Array(vec![bulk(entry_id(member)), fields])
    };
    let entries = Reply::Array(taken.iter().map(entry).collect());
    Reply::Array(vec![Reply::Array(vec![bulk(name.to_owned()), entries])])
}

fn bulk(text: String) -> Reply {
    Reply::Bulk(text.into_bytes())
}

/// Returns the classes of lists without an expiry time.
pub const LISTS: [KeyClass; 2] = [KeyClass::List, KeyClass::LargeList];
