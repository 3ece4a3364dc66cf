//! The operations of the contract, once for an engine and once for a map.

mod strategies;

pub use strategies::{bounds, key_write, name, value};

use skein_data::{
    CollectionKind, EngineError, EngineKeys, EngineWriter, ListEnd, RowError, RowWriter, Ticket,
};

use crate::contents::{Columns, Contents, Elements, KeyContents, Members, Scores, State, Text};
use crate::list_operations::{apply_to_list, move_element, write_list};
use crate::stream_operations::{StreamWrite, apply_to_stream, write_stream};

type Name = Text;

/// A write to one key or to two.
#[derive(Debug, Clone)]
pub enum KeyWrite {
    Put(Name, Text),
    /// Until so many milliseconds after the present time, or before it.
    PutUntil(Name, Text, i64),
    PutIfAbsent(Name, Text),
    /// Puts the second value if the first one is there.
    Swap(Name, Option<Text>, Text),
    Remove(Name),
    Increment(Name, i64),
    Expire(Name, Option<i64>),
    PutColumns(Name, Columns),
    /// Sets so many columns, enough to spread them.
    PutManyColumns(Name, u8),
    RemoveColumns(Name, Vec<Name>),
    ReplaceColumns(Name, Columns, Option<i64>),
    IncrementColumn(Name, Name, i64),
    PutScores(Name, Scores),
    RemoveScores(Name, Vec<Name>),
    ReplaceScores(Name, Scores, Option<i64>),
    AddMembers(Name, Members),
    RemoveMembers(Name, Vec<Name>),
    MoveMember(Name, Name, Name),
    Push(Name, ListEnd, Elements),
    Pop(Name, ListEnd, u64),
    /// Replaces the element at an index.
    SetElement(Name, u64, Text),
    /// Inserts so many elements at an index, each before the one before.
    InsertElements(Name, u64, u8),
    RemoveEqual(Name, Text, ListEnd, u64),
    Trim(Name, u64, u64),
    MoveElement(Name, ListEnd, Name, ListEnd),
    Stream(Name, StreamWrite),
    Rename(Name, Name, bool),
    Copy(Name, Name, bool),
}

/// The answer to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Done,
    Flag(bool),
    Perhaps(Option<bool>),
    Count(usize),
    Number(i64),
    Elements(Option<Elements>),
}

/// The reason why a write was refused. Nothing was done then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    WrongKind,
    NotAnInteger,
    Overflow,
}

/// Turns a refusal into a value; other errors are failures.
fn refusal(error: EngineError) -> Result<Refusal, EngineError> {
    match error {
        EngineError::Rows(RowError::WrongKind { .. }) => Ok(Refusal::WrongKind),
        EngineError::Rows(RowError::NotAnInteger) => Ok(Refusal::NotAnInteger),
        EngineError::Rows(RowError::Overflow { .. }) => Ok(Refusal::Overflow),
        error => Err(error),
    }
}

/// The outer error is a failure of the engine.
pub type Written = Result<Result<Answer, Refusal>, EngineError>;

fn at(now: u64, offset: i64) -> u64 {
    now.saturating_add_signed(offset)
}

fn many_columns(count: u8) -> Columns {
    (0..count).map(|n| (format!("column {n}").as_str().into(), Text(vec![n]))).collect()
}

fn pairs(columns: &Columns) -> Vec<(&[u8], &[u8])> {
    columns.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn slices(names: &[Name]) -> Vec<&[u8]> {
    names.iter().map(|name| &name[..]).collect()
}

/// Does the write in an engine.
pub fn write(writer: &mut EngineWriter<'_, '_>, write: &KeyWrite) -> Written {
    match do_write(writer, write) {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) => refusal(error).map(Err),
    }
}

fn do_write(writer: &mut EngineWriter<'_, '_>, write: &KeyWrite) -> Result<Answer, EngineError> {
    use KeyWrite as W;
    let now = writer.now();
    Ok(match write {
        W::Put(key, value) => writer.put(key, value).map(|()| Answer::Done)?,
        W::PutUntil(key, value, offset) => {
            writer.put_until(key, value, at(now, *offset)).map(|()| Answer::Done)?
        }
        W::PutIfAbsent(key, value) => Answer::Flag(writer.put_if_absent(key, value)?.changed),
        W::Swap(key, expected, value) => {
            Answer::Flag(writer.compare_value_and_swap(key, expected.as_deref(), value)?.changed)
        }
        W::Remove(key) => Answer::Flag(writer.remove(key)?),
        W::Increment(key, by) => Answer::Number(writer.increment(key, *by)?),
        W::Expire(key, offset) => Answer::Flag(writer.expire(key, offset.map(|offset| at(now, offset)))?),
        W::PutColumns(key, columns) => Answer::Count(writer.put_columns(key, &pairs(columns))?),
        W::PutManyColumns(key, count) => {
            Answer::Count(writer.put_columns(key, &pairs(&many_columns(*count)))?)
        }
        W::RemoveColumns(key, names) => Answer::Count(writer.remove_columns(key, &slices(names))?),
        W::ReplaceColumns(key, columns, offset) => {
            let expires = offset.map(|offset| at(now, offset));
            writer.replace_columns(key, &pairs(columns), expires).map(|()| Answer::Done)?
        }
        W::IncrementColumn(key, name, by) => Answer::Number(writer.increment_column(key, name, *by)?),
        W::PutScores(key, scores) => put_scores(writer, key, scores)?,
        W::RemoveScores(key, names) => remove_members(writer, CollectionKind::SortedSet, key, names)?,
        W::AddMembers(key, members) => add_members(writer, key, members)?,
        W::RemoveMembers(key, names) => remove_members(writer, CollectionKind::Set, key, names)?,
        W::MoveMember(from, to, member) => {
            Answer::Flag(writer.move_member(CollectionKind::Set, from, to, member)?)
        }
        W::Push(..)
        | W::Pop(..)
        | W::SetElement(..)
        | W::InsertElements(..)
        | W::RemoveEqual(..)
        | W::Trim(..) => write_list(writer, write)?,
        W::MoveElement(from, from_end, to, to_end) => {
            let moved = writer.move_element((from, *from_end), (to, *to_end))?;
            Answer::Elements(moved.map(|element| vec![Text(element)]))
        }
        W::Stream(key, write) => write_stream(writer, key, write)?,
        W::ReplaceScores(key, scores, offset) => {
            let expires = offset.map(|offset| at(now, offset));
            writer.replace_set::<_, EngineError>(key, expires, |set| {
                scores.iter().try_for_each(|(name, score)| set.put(name, f64::from(*score)).map(drop))?;
                Ok(Answer::Done)
            })?
        }
        W::Rename(from, to, replace) => Answer::Perhaps(writer.rename(from, to, *replace)?),
        W::Copy(from, to, replace) => Answer::Perhaps(writer.copy(from, to, *replace)?),
    })
}

fn put_scores(writer: &mut EngineWriter<'_, '_>, key: &[u8], scores: &Scores) -> Result<Answer, EngineError> {
    let new = writer.change_set::<_, EngineError>(key, true, |set| {
        let before = set.len();
        for (name, score) in scores {
            set.put(name, f64::from(*score))?;
        }
        Ok(set.len() - before)
    })?;
    Ok(Answer::Count(new.unwrap_or(0) as usize))
}

fn add_members(
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    members: &Members,
) -> Result<Answer, EngineError> {
    let new = writer.change_set_of::<_, EngineError>(CollectionKind::Set, key, true, |set| {
        let mut count = 0;
        for member in members {
            count += usize::from(set.add(member)?);
        }
        Ok(count)
    })?;
    Ok(Answer::Count(new.unwrap_or(0)))
}

fn remove_members(
    writer: &mut EngineWriter<'_, '_>,
    kind: CollectionKind,
    key: &[u8],
    names: &[Name],
) -> Result<Answer, EngineError> {
    let removed = writer.change_set_of::<_, EngineError>(kind, key, false, |set| {
        let mut count = 0;
        for name in names {
            count += usize::from(set.remove(name)?.is_some());
        }
        Ok(count)
    })?;
    Ok(Answer::Count(removed.unwrap_or(0)))
}

/// Removes the keys that have expired.
pub fn expire(state: &mut State, now: u64) {
    state.retain(|_, found| found.expires.is_none_or(|at| at >= now));
}

/// Does the write in the map.
pub fn apply(state: &mut State, write: &KeyWrite, now: u64) -> Result<Answer, Refusal> {
    use KeyWrite as W;
    let answer = match write {
        W::Put(key, value) => put(state, key, Contents::Value(value.clone()), None),
        W::PutUntil(key, value, offset) => {
            put(state, key, Contents::Value(value.clone()), Some(at(now, *offset)))
        }
        W::PutIfAbsent(key, value) => {
            let absent = !state.contains_key(key);
            if absent {
                put(state, key, Contents::Value(value.clone()), None);
            }
            Answer::Flag(absent)
        }
        W::Swap(key, expected, value) => {
            let same = value_of(state, key)? == expected.as_ref();
            if same {
                put(state, key, Contents::Value(value.clone()), None);
            }
            Answer::Flag(same)
        }
        W::Remove(key) => Answer::Flag(state.remove(key).is_some()),
        W::Increment(key, by) => {
            let sum = sum(value_of(state, key)?, *by)?;
            set_contents(state, key, Contents::Value(sum.to_string().as_str().into()));
            Answer::Number(sum)
        }
        W::Expire(key, offset) => {
            let found = state.get_mut(key);
            let answer = Answer::Flag(found.is_some());
            if let Some(found) = found {
                found.expires = offset.map(|offset| at(now, offset));
            }
            answer
        }
        W::MoveMember(from, to, member) => move_member(state, from, to, member)?,
        W::Push(..)
        | W::Pop(..)
        | W::SetElement(..)
        | W::InsertElements(..)
        | W::RemoveEqual(..)
        | W::Trim(..) => apply_to_list(state, write)?,
        W::MoveElement(from, from_end, to, to_end) => move_element(state, (from, *from_end), (to, *to_end))?,
        W::Stream(key, write) => apply_to_stream(state, key, write)?,
        W::ReplaceScores(key, scores, offset) => {
            put(state, key, Contents::Scores(scores.clone()), offset.map(|offset| at(now, offset)))
        }
        W::Rename(from, to, replace) => transfer(state, from, to, *replace, true),
        W::Copy(from, to, replace) => transfer(state, from, to, *replace, false),
        _ => apply_to_members(state, write, now)?,
    };
    expire(state, now);
    Ok(answer)
}

/// Does a write of columns, scores or members in the map.
fn apply_to_members(state: &mut State, write: &KeyWrite, now: u64) -> Result<Answer, Refusal> {
    use KeyWrite as W;
    Ok(match write {
        W::PutColumns(key, columns) => put_columns(state, key, columns)?,
        W::PutManyColumns(key, count) => put_columns(state, key, &many_columns(*count))?,
        W::RemoveColumns(key, names) => {
            let mut columns = columns_of(state, key)?;
            let removed = names.iter().filter(|name| columns.remove(*name).is_some()).count();
            set_contents(state, key, Contents::Columns(columns));
            Answer::Count(removed)
        }
        W::ReplaceColumns(key, columns, offset) => {
            put(state, key, Contents::Columns(columns.clone()), offset.map(|offset| at(now, offset)))
        }
        W::IncrementColumn(key, name, by) => {
            let mut columns = columns_of(state, key)?;
            let sum = sum(columns.get(name), *by)?;
            columns.insert(name.clone(), sum.to_string().as_str().into());
            set_contents(state, key, Contents::Columns(columns));
            Answer::Number(sum)
        }
        W::PutScores(key, scores) => {
            let mut present = scores_of(state, key)?;
            let new =
                scores.iter().filter(|(name, score)| present.insert((*name).clone(), **score).is_none());
            let answer = Answer::Count(new.count());
            set_contents(state, key, Contents::Scores(present));
            answer
        }
        W::RemoveScores(key, names) => {
            let mut scores = scores_of(state, key)?;
            let removed = names.iter().filter(|name| scores.remove(*name).is_some()).count();
            set_contents(state, key, Contents::Scores(scores));
            Answer::Count(removed)
        }
        W::AddMembers(key, new) => {
            let mut members = members_of(state, key)?;
            let before = members.len();
            members.extend(new.iter().cloned());
            let answer = Answer::Count(members.len() - before);
            set_contents(state, key, Contents::Members(members));
            answer
        }
        W::RemoveMembers(key, names) => {
            let mut members = members_of(state, key)?;
            let removed = names.iter().filter(|name| members.remove(*name)).count();
            set_contents(state, key, Contents::Members(members));
            Answer::Count(removed)
        }
        _ => unreachable!("{write:?} is a write of another kind"),
    })
}

/// Puts contents; a collection without members is no key.
fn put(state: &mut State, key: &Name, contents: Contents, expires: Option<u64>) -> Answer {
    let empty = match &contents {
        Contents::Value(_) | Contents::Stream(_) => false,
        Contents::Columns(columns) => columns.is_empty(),
        Contents::Scores(scores) => scores.is_empty(),
        Contents::Members(members) => members.is_empty(),
        Contents::List(elements) => elements.is_empty(),
    };
    state.remove(key);
    if !empty {
        state.insert(key.clone(), KeyContents { contents, expires });
    }
    Answer::Done
}

/// Puts contents and keeps the expiry time.
pub fn set_contents(state: &mut State, key: &Name, contents: Contents) {
    let expires = state.get(key).and_then(|found| found.expires);
    put(state, key, contents, expires);
}

fn value_of<'s>(state: &'s State, key: &Name) -> Result<Option<&'s Text>, Refusal> {
    match state.get(key).map(|found| &found.contents) {
        None => Ok(None),
        Some(Contents::Value(value)) => Ok(Some(value)),
        Some(_) => Err(Refusal::WrongKind),
    }
}

fn columns_of(state: &State, key: &Name) -> Result<Columns, Refusal> {
    match state.get(key).map(|found| &found.contents) {
        None => Ok(Columns::new()),
        Some(Contents::Columns(columns)) => Ok(columns.clone()),
        Some(_) => Err(Refusal::WrongKind),
    }
}

fn scores_of(state: &State, key: &Name) -> Result<Scores, Refusal> {
    match state.get(key).map(|found| &found.contents) {
        None => Ok(Scores::new()),
        Some(Contents::Scores(scores)) => Ok(scores.clone()),
        Some(_) => Err(Refusal::WrongKind),
    }
}

fn members_of(state: &State, key: &Name) -> Result<Members, Refusal> {
    match state.get(key).map(|found| &found.contents) {
        None => Ok(Members::new()),
        Some(Contents::Members(members)) => Ok(members.clone()),
        Some(_) => Err(Refusal::WrongKind),
    }
}

fn move_member(state: &mut State, from: &Name, to: &Name, member: &Name) -> Result<Answer, Refusal> {
    if !state.contains_key(from) {
        return Ok(Answer::Flag(false));
    }
    let (mut source, mut target) = (members_of(state, from)?, members_of(state, to)?);
    let moved = source.remove(member);
    if moved && from != to {
        target.insert(member.clone());
        set_contents(state, from, Contents::Members(source));
        set_contents(state, to, Contents::Members(target));
    }
    Ok(Answer::Flag(moved))
}

fn put_columns(state: &mut State, key: &Name, columns: &Columns) -> Result<Answer, Refusal> {
    let mut present = columns_of(state, key)?;
    let before = present.len();
    present.extend(columns.clone());
    let new = present.len() - before;
    set_contents(state, key, Contents::Columns(present));
    Ok(Answer::Count(new))
}

fn sum(text: Option<&Text>, by: i64) -> Result<i64, Refusal> {
    let text = text.map_or("0", |text| std::str::from_utf8(text).unwrap_or("no"));
    let number: i64 = text.parse().map_err(|_| Refusal::NotAnInteger)?;
    // Only the usual form counts: no plus, no zeros in front.
    if number.to_string() != text {
        return Err(Refusal::NotAnInteger);
    }
    number.checked_add(by).ok_or(Refusal::Overflow)
}

fn transfer(state: &mut State, from: &Name, to: &Name, replace: bool, moves: bool) -> Answer {
    let Some(contents) = state.get(from).cloned() else { return Answer::Perhaps(None) };
    if state.contains_key(to) && !replace {
        return Answer::Perhaps(Some(false));
    }
    if moves {
        state.remove(from);
    }
    state.insert(to.clone(), contents);
    Answer::Perhaps(Some(true))
}

/// Does the write in a session or a transaction.
pub fn write_in(
    keys: &mut EngineKeys<'_>,
    one: &KeyWrite,
) -> Result<(Result<Answer, Refusal>, Ticket), EngineError> {
    let (done, ticket) = keys.write(|writer| write(writer, one));
    Ok((done??, ticket))
}
