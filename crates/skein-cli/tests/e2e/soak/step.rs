//! A worker's requests, and the checks of their replies.

use std::collections::BTreeMap;

use skeindb::client::Reply;

use super::model::{
    EvictionPolicy, KeyClass, ModelValue, Presence, ReplyWindow, SoakKey, WorkerModel, bytes, presence,
};
use super::queue::read_stream;
use super::write::{CommandBytes, SoakWrite, member_name, words};

/// A request that the server executes as a whole or not at all.
#[derive(Debug, Clone)]
pub enum SoakStep {
    /// Reads the whole value of a key.
    Read(SoakKey),
    /// Members of a sorted set by rank, from the first number up to the second.
    Ranks(SoakKey, usize, usize),
    /// Strings from the first number up to the second.
    Range(u32, u32),
    Write(SoakWrite),
    /// Writes between `MULTI` and `EXEC`.
    Transaction(Vec<SoakWrite>),
}

/// The result of checking a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyOutcome {
    Read,
    Written,
    /// Nothing was changed, for lack of memory.
    Refused,
}

/// Returns the command that reads a key's whole value.
pub fn read_command(key: SoakKey, worker: usize) -> CommandBytes {
    let name = key.name(worker);
    match key.class {
        KeyClass::Text | KeyClass::Count | KeyClass::Brief => words(&["GET", &name]),
        class if class.is_hash() => words(&["HGETALL", &name]),
        class if class.is_set() => words(&["SMEMBERS", &name]),
        class if class.is_list() => words(&["LRANGE", &name, "0", "-1"]),
        KeyClass::Stream => read_stream(&name),
        _ => words(&["ZRANGE", &name, "0", "-1", "WITHSCORES"]),
    }
}

/// Returns whether a reply to [`read_command`] says that the key does not exist.
pub fn is_absent(reply: &Reply) -> bool {
    matches!(reply, Reply::Null) || matches!(reply, Reply::Array(items) if items.is_empty())
}

/// Returns whether a reply to [`read_command`] shows exactly this value.
pub fn shows(content: &ModelValue, class: KeyClass, reply: &Reply) -> bool {
    match (content, reply) {
        (ModelValue::Text(pieces), Reply::Bulk(found)) => *found == bytes(pieces),
        (ModelValue::Count(count), Reply::Bulk(found)) => *found == count.to_string().into_bytes(),
        (ModelValue::Members(members), Reply::Array(items)) if class.is_hash() => {
            let pairs = items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            let mut pairs: Vec<_> = pairs.map(|(a, b)| (a.bytes().map(<[u8]>::to_vec), b)).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            let expected = members.iter().map(|(&member, to)| (member, *to));
            pairs
                .into_iter()
                .flat_map(|(name, value)| [Reply::Bulk(name.unwrap_or_default()), value])
                .eq(pairs_of(expected))
        }
        (ModelValue::Members(members), Reply::Array(items)) if class.is_set() || class.is_list() => {
            let names = members.keys().map(|&member| Reply::Bulk(member_name(member).into_bytes()));
            items.iter().cloned().eq(names)
        }
        (ModelValue::Members(members), Reply::Array(items)) if class == KeyClass::Stream => {
            items.iter().cloned().eq(pairs_of(members.iter().map(|(&member, state)| (member, *state))))
        }
        (ModelValue::Members(members), Reply::Array(items)) => {
            items.iter().cloned().eq(pairs_of(by_score(members).into_iter()))
        }
        _ => false,
    }
}

/// Returns members in the order of their scores.
fn by_score(members: &BTreeMap<u32, i64>) -> Vec<(u32, i64)> {
    let mut sorted: Vec<_> = members.iter().map(|(&member, &score)| (member, score)).collect();
    sorted.sort_unstable_by_key(|&(member, score)| (score, member));
    sorted
}

fn pairs_of(members: impl Iterator<Item = (u32, i64)>) -> impl Iterator<Item = Reply> {
    members.flat_map(|(member, to)| {
        [member_name(member), to.to_string()].map(|text| Reply::Bulk(text.into_bytes()))
    })
}

impl SoakStep {
    /// Returns the keys that the step may change.
    pub fn writes(&self) -> Vec<SoakKey> {
        match self {
            Self::Write(write) => write.keys(),
            Self::Transaction(writes) => writes.iter().flat_map(SoakWrite::keys).collect(),
            Self::Read(_) | Self::Ranks(..) | Self::Range(..) => Vec::new(),
        }
    }

    pub fn commands(&self, worker: usize) -> Vec<CommandBytes> {
        match self {
            Self::Read(key) => vec![read_command(*key, worker)],
            Self::Ranks(key, from, to) => {
                let last = (to - 1).to_string();
                vec![words(&["ZRANGE", &key.name(worker), &from.to_string(), &last, "WITHSCORES"])]
            }
            Self::Range(from, to) => {
                let name = |number| SoakKey { class: KeyClass::Text, number }.name(worker);
                vec![words(&["SK.RANGE", &format!("[{}", name(*from)), &format!("({}", name(*to))])]
            }
            Self::Write(write) => vec![write.command(worker)],
            Self::Transaction(writes) => {
                let mut commands = vec![words(&["MULTI"])];
                commands.extend(writes.iter().map(|write| write.command(worker)));
                commands.push(words(&["EXEC"]));
                commands
            }
        }
    }

    /// Applies the step to the model as an entry of its own, as if it had succeeded.
    pub fn assume(&self, model: &mut WorkerModel, worker: usize, when: ReplyWindow) {
        model.begin();
        let writes = match self {
            Self::Write(write) => std::slice::from_ref(write),
            Self::Transaction(writes) => writes.as_slice(),
            _ => &[],
        };
        for write in writes {
            write.apply(model, worker, when, None).expect("without a reply nothing is wrong");
        }
    }

    /// Applies the step to the model, as an entry of its own.
    ///
    /// # Errors
    /// If a reply is wrong, returns a text with the reply and the expected one.
    pub fn apply(
        &self,
        model: &mut WorkerModel,
        worker: usize,
        when: ReplyWindow,
        replies: &[Reply],
    ) -> Result<ReplyOutcome, String> {
        let last = replies.last().ok_or("no reply")?;
        if is_refusal(last) && !self.writes().is_empty() {
            return Ok(ReplyOutcome::Refused);
        }
        model.begin();
        match self {
            Self::Read(key) => check_read(model, *key, when, last)?,
            Self::Ranks(key, from, to) => check_ranks(model, *key, (*from, *to), when, last)?,
            Self::Range(from, to) => check_range(model, worker, (*from, *to), when, last)?,
            Self::Write(write) => write.apply(model, worker, when, Some(last))?,
            Self::Transaction(writes) => {
                let Reply::Array(items) = last else { return Err(format!("EXEC answers {last}")) };
                if items.len() != writes.len() {
                    return Err(format!("EXEC answers {} of {} commands", items.len(), writes.len()));
                }
                let done = writes.iter().zip(items).filter(|(_, reply)| !is_refusal(reply));
                for (write, reply) in done {
                    write.apply(model, worker, when, Some(reply))?;
                }
            }
        }
        model.end();
        Ok(if self.wrote(last) { ReplyOutcome::Written } else { ReplyOutcome::Read })
    }

    /// Returns whether the reply says that something was written.
    fn wrote(&self, reply: &Reply) -> bool {
        match self {
            Self::Write(
                SoakWrite::Delete(_)
                | SoakWrite::Remove(..)
                | SoakWrite::Move(..)
                | SoakWrite::Expire(..)
                | SoakWrite::Persist(_),
            ) => *reply != Reply::Integer(0),
            Self::Write(SoakWrite::Queue(write)) => write.wrote(reply),
            Self::Write(_) | Self::Transaction(_) => true,
            Self::Read(_) | Self::Ranks(..) | Self::Range(..) => false,
        }
    }
}

/// Checks the reply to a read. A key that is missing before its expiry time was evicted, and must
/// remain absent.
fn check_read(model: &mut WorkerModel, key: SoakKey, when: ReplyWindow, reply: &Reply) -> Result<(), String> {
    let held = model.keys.get(&key);
    match (is_absent(reply), presence(held, when)) {
        (true, Presence::Must) => Err(format!("{key:?} is lost: {held:?}")),
        (true, Presence::May) => {
            model.set(key, None);
            Ok(())
        }
        (true, Presence::Never) => Ok(()),
        (false, Presence::Never) => Err(format!("{key:?} is there, and should not be: {held:?}")),
        (false, _) if held.is_some_and(|held| shows(&held.content, key.class, reply)) => Ok(()),
        (false, _) => Err(format!("{key:?} has another value than {held:?}")),
    }
}

fn check_ranks(
    model: &WorkerModel,
    key: SoakKey,
    (from, to): (usize, usize),
    when: ReplyWindow,
    reply: &Reply,
) -> Result<(), String> {
    let held = model.keys.get(&key);
    let members = match held.map(|held| &held.content) {
        Some(ModelValue::Members(members)) => by_score(members),
        _ => Vec::new(),
    };
    let slice = members.into_iter().skip(from).take(to - from);
    match reply {
        Reply::Array(items) if items.iter().cloned().eq(pairs_of(slice)) => Ok(()),
        reply if is_absent(reply) && presence(held, when) != Presence::Must => Ok(()),
        _ => Err(format!("{key:?}: other members at ranks {from} to {to}")),
    }
}

fn check_range(
    model: &WorkerModel,
    worker: usize,
    (from, to): (u32, u32),
    when: ReplyWindow,
    reply: &Reply,
) -> Result<(), String> {
    let Reply::Array(items) = reply else { return Err(format!("SK.RANGE answers {reply}")) };
    let mut found = items.chunks(2).peekable();
    let key = |number| SoakKey { class: KeyClass::Text, number };
    for (&key, held) in model.keys.range(key(from)..key(to)) {
        let name = key.name(worker).into_bytes();
        if found.peek().is_some_and(|pair| pair[0].bytes() == Some(&name)) {
            let pair = found.next().expect("it was looked at");
            if !shows(&held.content, key.class, &pair[1]) {
                return Err(format!("{key:?} has another value in a range"));
            }
        } else if presence(Some(held), when) == Presence::Must {
            return Err(format!("{key:?} is not in a range"));
        }
    }
    found.next().map_or(Ok(()), |pair| Err(format!("a range shows {} as well", pair[0])))
}

/// Returns whether the reply says that memory is full, and so nothing was done.
fn is_refusal(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with("OOM ") || text.starts_with("EXECABORT "))
}

/// Returns whether under this policy a worker may change only keys that it writes whole.
pub fn whole_only(policy: EvictionPolicy) -> bool {
    policy == EvictionPolicy::AllKeysLru
}
