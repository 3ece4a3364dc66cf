//! The effect of each command, and its reply.

use std::collections::BTreeSet;

use super::values::WireStream;
use super::{WireModel, WirePlace, WireRow, WireValue};
use crate::command::{DATABASES, ListEnd, WireCommand, WireKey};
use crate::history::WireCall;
use crate::reply::WireReply;

const MILLI: u64 = 1_000_000;

/// A reply, or the reply to a command on a key of another kind.
type CommandAnswer = Result<WireReply, WireReply>;

fn wrong_type() -> WireReply {
    WireReply::error("WRONGTYPE")
}

/// Defines a function that returns the elements of a key of one kind: those of an absent key are
/// empty. A key without elements is removed after the command.
macro_rules! elements {
    ($name:ident, $kind:ident, $elements:ty) => {
        fn $name(&mut self, place: WirePlace) -> Result<&mut $elements, WireReply> {
            let row = self
                .rows
                .entry(place)
                .or_insert_with(|| WireRow { value: WireValue::$kind(Default::default()), expires: None });
            match &mut row.value {
                WireValue::$kind(elements) => Ok(elements),
                _ => Err(wrong_type()),
            }
        }
    };
}

fn pop(elements: &mut Vec<u32>, end: ListEnd) -> Option<u32> {
    match end {
        ListEnd::Left => (!elements.is_empty()).then(|| elements.remove(0)),
        ListEnd::Right => elements.pop(),
    }
}

fn push(elements: &mut Vec<u32>, end: ListEnd, element: u32) {
    match end {
        ListEnd::Left => elements.insert(0, element),
        ListEnd::Right => elements.push(element),
    }
}

/// Returns the member that a reply names.
fn named(reply: Option<&WireReply>) -> Option<u32> {
    match reply {
        Some(WireReply::Text(text)) => text.parse().ok(),
        _ => None,
    }
}

impl WireModel {
    elements!(list, List, Vec<u32>);
    elements!(set, Set, BTreeSet<u32>);
    elements!(scores, Scores, BTreeSet<u32>);

    pub(super) fn put(&mut self, place: WirePlace, value: WireValue) {
        self.rows.insert(place, WireRow { value, expires: None });
    }

    fn text(&self, place: WirePlace) -> Result<Option<u32>, WireReply> {
        match self.rows.get(&place).map(|row| &row.value) {
            None => Ok(None),
            Some(WireValue::Text(value)) => Ok(Some(*value)),
            Some(_) => Err(wrong_type()),
        }
    }

    fn stream(&mut self, place: WirePlace) -> Result<Option<&mut WireStream>, WireReply> {
        match self.rows.get_mut(&place).map(|row| &mut row.value) {
            None => Ok(None),
            Some(WireValue::Stream(stream)) => Ok(Some(stream)),
            Some(_) => Err(wrong_type()),
        }
    }

    /// Runs a command that does not make its client wait. `seen` is the reply of the history: it
    /// tells the random choice of the server.
    pub(super) fn run_at_once(
        &mut self,
        database: &mut usize,
        command: &WireCommand,
        seen: Option<&WireReply>,
        call: &WireCall,
    ) -> WireReply {
        let named = command.keys();
        let places = named.iter().flat_map(|key| (0..DATABASES).map(|database| (database, *key)));
        let absent: Vec<WirePlace> = places.filter(|place| !self.rows.contains_key(place)).collect();
        let answer = match command {
            WireCommand::Select(selected) => {
                *database = *selected;
                Ok(WireReply::ok())
            }
            WireCommand::SwapDatabases(first, second) => {
                self.swap(*first, *second);
                Ok(WireReply::ok())
            }
            WireCommand::FlushDatabase => {
                self.rows.retain(|(of, _), _| of != database);
                Ok(WireReply::ok())
            }
            _ => self.answer(*database, command, seen, call),
        };
        self.rows.retain(|_, row| !row.value.is_gone());
        self.made.extend(absent.into_iter().filter(|place| self.rows.contains_key(place)));
        answer.unwrap_or_else(|error| error)
    }

    fn swap(&mut self, first: usize, second: usize) {
        let other = |database| match database {
            of if of == first => second,
            of if of == second => first,
            of => of,
        };
        let rows = std::mem::take(&mut self.rows);
        self.rows = rows.into_iter().map(|((of, key), row)| ((other(of), key), row)).collect();
    }

    fn answer(
        &mut self,
        database: usize,
        command: &WireCommand,
        seen: Option<&WireReply>,
        call: &WireCall,
    ) -> CommandAnswer {
        let at = |key: &WireKey| (database, *key);
        match command {
            WireCommand::Get(key) => Ok(WireReply::maybe(self.text(at(key))?)),
            WireCommand::Set(key, value) => {
                self.put(at(key), WireValue::Text(*value));
                Ok(WireReply::ok())
            }
            WireCommand::SetFor(key, value, millis) => {
                self.put(at(key), WireValue::Text(*value));
                self.expire_in(at(key), *millis, call);
                Ok(WireReply::ok())
            }
            WireCommand::GetDel(key) => {
                let value = self.text(at(key))?;
                self.rows.remove(&at(key));
                Ok(WireReply::maybe(value))
            }
            WireCommand::SetAll(pairs) => {
                for (key, value) in pairs {
                    self.put(at(key), WireValue::Text(*value));
                }
                Ok(WireReply::ok())
            }
            WireCommand::GetAll(keys) => {
                let values = keys.iter().map(|key| WireReply::maybe(self.text(at(key)).unwrap_or(None)));
                Ok(WireReply::Array(values.collect()))
            }
            WireCommand::Exists(keys) => {
                Ok(WireReply::count(keys.iter().filter(|key| self.rows.contains_key(&at(key))).count()))
            }
            WireCommand::Delete(key) => Ok(WireReply::flag(self.rows.remove(&at(key)).is_some())),
            WireCommand::ExpireIn(key, millis) => {
                let exists = self.rows.contains_key(&at(key));
                self.expire_in(at(key), *millis, call);
                Ok(WireReply::flag(exists))
            }
            WireCommand::Persist(key) => {
                let expires = self.rows.get_mut(&at(key)).and_then(|row| row.expires.take());
                Ok(WireReply::flag(expires.is_some()))
            }
            WireCommand::Rename { from, to } => {
                let row = self.rows.remove(&at(from)).ok_or(WireReply::error("ERR"))?;
                self.rows.insert(at(to), row);
                Ok(WireReply::ok())
            }
            WireCommand::Copy { from, to, database: other, replace } => {
                let to = (other.unwrap_or(database), *to);
                let row =
                    self.rows.get(&at(from)).filter(|_| *replace || !self.rows.contains_key(&to)).cloned();
                Ok(WireReply::flag(row.map(|row| self.rows.insert(to, row)).is_some()))
            }
            WireCommand::MoveKey(_, other) if *other == database => Err(WireReply::error("ERR")),
            WireCommand::MoveKey(key, other) => {
                let moves = !self.rows.contains_key(&(*other, *key));
                let row = if moves { self.rows.remove(&at(key)) } else { None };
                Ok(WireReply::flag(row.map(|row| self.rows.insert((*other, *key), row)).is_some()))
            }
            _ => self.answer_collections(database, command, seen),
        }
    }

    fn expire_in(&mut self, place: WirePlace, millis: u64, call: &WireCall) {
        if let Some(row) = self.rows.get_mut(&place) {
            let after = |moment: u64| moment.saturating_add(millis * MILLI);
            row.expires = Some((after(call.began), after(call.ended)));
        }
    }

    fn answer_collections(
        &mut self,
        database: usize,
        command: &WireCommand,
        seen: Option<&WireReply>,
    ) -> CommandAnswer {
        let at = |key: &WireKey| (database, *key);
        match command {
            WireCommand::SetAdd(key, member) => Ok(WireReply::flag(self.set(at(key))?.insert(*member))),
            WireCommand::SetRemove(key, member) => Ok(WireReply::flag(self.set(at(key))?.remove(member))),
            WireCommand::SetMove { from, to, member } => {
                if !self.rows.contains_key(&at(from)) {
                    return Ok(WireReply::flag(false));
                }
                self.set(at(from))?;
                self.set(at(to))?;
                let moved = self.set(at(from))?.remove(member);
                if moved {
                    self.set(at(to))?.insert(*member);
                }
                Ok(WireReply::flag(moved))
            }
            WireCommand::SetPop(key) => {
                let members = self.set(at(key))?;
                let member = named(seen).filter(|member| members.contains(member));
                let member = member.or_else(|| members.first().copied());
                Ok(WireReply::maybe(member.filter(|member| members.remove(member))))
            }
            WireCommand::SetMembers(key) => Ok(WireReply::elements(self.set(at(key))?.iter().copied())),
            WireCommand::SetUnionInto { to, from } => {
                let mut union = self.set(at(&from[0]))?.clone();
                union.extend(self.set(at(&from[1]))?.iter());
                let count = union.len();
                self.put(at(to), WireValue::Set(union));
                Ok(WireReply::count(count))
            }
            WireCommand::ScoreAdd(key, member) => Ok(WireReply::flag(self.scores(at(key))?.insert(*member))),
            WireCommand::ScorePop(key) => {
                let least = self.scores(at(key))?.pop_first();
                Ok(WireReply::elements(least.into_iter().flat_map(|least| [least, least])))
            }
            WireCommand::Scores(key) => Ok(WireReply::elements(self.scores(at(key))?.iter().copied())),
            WireCommand::WaitScorePop { keys, .. } => {
                for key in keys {
                    if let Some(least) = self.scores(at(key))?.pop_first() {
                        let reply = [key.to_string(), least.to_string(), least.to_string()];
                        return Ok(WireReply::Array(reply.map(WireReply::Text).to_vec()));
                    }
                }
                Ok(WireReply::Nil)
            }
            WireCommand::SortInto { from, to } => self.sort_into(at(from), at(to)),
            _ => self.answer_lists(database, command, seen),
        }
    }

    fn sort_into(&mut self, from: WirePlace, to: WirePlace) -> CommandAnswer {
        let mut elements = match self.rows.get(&from).map(|row| &row.value) {
            None => Vec::new(),
            Some(WireValue::List(elements)) => elements.clone(),
            Some(WireValue::Set(members) | WireValue::Scores(members)) => members.iter().copied().collect(),
            Some(WireValue::Text(_) | WireValue::Stream(_)) => return Err(wrong_type()),
        };
        elements.sort_unstable();
        let count = elements.len();
        self.put(to, WireValue::List(elements));
        Ok(WireReply::count(count))
    }

    fn answer_lists(
        &mut self,
        database: usize,
        command: &WireCommand,
        seen: Option<&WireReply>,
    ) -> CommandAnswer {
        let at = |key: &WireKey| (database, *key);
        match command {
            WireCommand::Push(end, key, elements) => {
                let list = self.list(at(key))?;
                for element in elements {
                    push(list, *end, *element);
                }
                Ok(WireReply::count(list.len()))
            }
            WireCommand::Pop(end, key) => Ok(WireReply::maybe(pop(self.list(at(key))?, *end))),
            WireCommand::List(key) => Ok(WireReply::elements(self.list(at(key))?.iter().copied())),
            WireCommand::MoveElement { from, to, take, put }
            | WireCommand::WaitMove { from, to, take, put, .. } => {
                if self.list(at(from))?.is_empty() {
                    return Ok(WireReply::Nil);
                }
                self.list(at(to))?;
                let moved = pop(self.list(at(from))?, *take);
                if let Some(element) = moved {
                    push(self.list(at(to))?, *put, element);
                }
                Ok(WireReply::maybe(moved))
            }
            WireCommand::WaitPop { end, keys, .. } => {
                for key in keys {
                    if let Some(element) = pop(self.list(at(key))?, *end) {
                        let reply = [key.to_string(), element.to_string()];
                        return Ok(WireReply::Array(reply.map(WireReply::Text).to_vec()));
                    }
                }
                Ok(WireReply::Nil)
            }
            _ => self.answer_streams(database, command, seen),
        }
    }

    fn answer_streams(
        &mut self,
        database: usize,
        command: &WireCommand,
        seen: Option<&WireReply>,
    ) -> CommandAnswer {
        let at = |key: &WireKey| (database, *key);
        match command {
            WireCommand::StreamAdd(key, value) => {
                if self.stream(at(key))?.is_none() {
                    self.put(at(key), WireValue::Stream(WireStream::default()));
                }
                if let Some(stream) = self.stream(at(key))? {
                    stream.entries.push(*value);
                }
                // The id is the server's choice.
                let id = seen.filter(|seen| matches!(seen, WireReply::Text(_))).cloned();
                Ok(id.unwrap_or(WireReply::Text("ID".to_owned())))
            }
            WireCommand::StreamLen(key) => {
                Ok(WireReply::count(self.stream(at(key))?.map_or(0, |stream| stream.entries.len())))
            }
            WireCommand::GroupCreate(key) => {
                if self.stream(at(key))?.is_none() {
                    self.put(at(key), WireValue::Stream(WireStream::default()));
                }
                match self.stream(at(key))? {
                    Some(stream) if stream.delivered.is_none() => {
                        stream.delivered = Some(0);
                        Ok(WireReply::ok())
                    }
                    _ => Err(WireReply::error("BUSYGROUP")),
                }
            }
            WireCommand::GroupRead(key) | WireCommand::WaitGroupRead { key, .. } => {
                let no_group = || WireReply::error("NOGROUP");
                let stream = self.stream(at(key))?.ok_or_else(no_group)?;
                let delivered = stream.delivered.as_mut().ok_or_else(no_group)?;
                let Some(entry) = stream.entries.get(*delivered) else { return Ok(WireReply::Nil) };
                *delivered += 1;
                Ok(delivered_entry(*key, *entry))
            }
            other => unreachable!("{other} has no answer"),
        }
    }
}

/// Returns the reply with one entry of a stream, without its id.
fn delivered_entry(key: WireKey, entry: u32) -> WireReply {
    WireReply::Array(vec![WireReply::Text(key.to_string()), WireReply::element(entry)])
}
