//! The operations on lists, once for an engine and once for a map.

use proptest::prelude::*;
use skein_data::{EngineError, EngineWriter, ListEnd, RowWriter as _};

use crate::contents::{Contents, Elements, State, Text};
use crate::operations::{Answer, KeyWrite, Refusal, name, set_contents, value};

type Name = Text;

/// Does a write of one list in an engine.
pub fn write_list(writer: &mut EngineWriter<'_, '_>, write: &KeyWrite) -> Result<Answer, EngineError> {
    use KeyWrite as W;
    let counted = |len: Option<u64>| Answer::Count(len.unwrap_or(0) as usize);
    Ok(match write {
        W::Push(key, end, elements) => counted(writer.change_list::<_, EngineError>(key, true, |list| {
            list.push(*end, elements.iter().map(|element| &element[..]))?;
            Ok(list.len()?)
        })?),
        W::Pop(key, end, count) => {
            Answer::Elements(writer.change_list::<_, EngineError>(key, false, |list| {
                let mut popped = Elements::new();
                list.pop(*end, *count, |element| popped.push(element.into()))?;
                Ok(popped)
            })?)
        }
        W::SetElement(key, index, element) => {
            let set =
                writer.change_list::<_, EngineError>(key, false, |list| Ok(list.set(*index, element)?))?;
            Answer::Perhaps(set)
        }
        W::InsertElements(key, index, count) => {
            counted(writer.change_list::<_, EngineError>(key, true, |list| {
                (0..*count).try_for_each(|number| list.insert(*index, &[number]))?;
                Ok(list.len()?)
            })?)
        }
        W::RemoveEqual(key, element, end, count) => {
            counted(writer.change_list::<_, EngineError>(key, false, |list| {
                Ok(list.remove_equal(element, *end, *count)?)
            })?)
        }
        W::Trim(key, start, end) => counted(writer.change_list::<_, EngineError>(key, false, |list| {
            list.trim(*start..*end)?;
            Ok(0)
        })?),
        _ => unreachable!("it is a write of one list"),
    })
}

fn list_of(state: &State, key: &Name) -> Result<Option<Elements>, Refusal> {
    match state.get(key).map(|found| &found.contents) {
        None => Ok(None),
        Some(Contents::List(elements)) => Ok(Some(elements.clone())),
        Some(_) => Err(Refusal::WrongKind),
    }
}

fn push_to(list: &mut Elements, end: ListEnd, element: Text) {
    list.insert(if end == ListEnd::Front { 0 } else { list.len() }, element);
}

fn pop_from(list: &mut Elements, end: ListEnd) -> Option<Text> {
    if end == ListEnd::Back { list.pop() } else { (!list.is_empty()).then(|| list.remove(0)) }
}

/// Does a write of one list in the map.
pub fn apply_to_list(state: &mut State, write: &KeyWrite) -> Result<Answer, Refusal> {
    use KeyWrite as W;
    let (key, found) = match write {
        W::Push(key, ..)
        | W::Pop(key, ..)
        | W::SetElement(key, ..)
        | W::InsertElements(key, ..)
        | W::RemoveEqual(key, ..)
        | W::Trim(key, ..) => (key, list_of(state, key)?),
        _ => unreachable!("it is a write of one list"),
    };
    let is_there = found.is_some();
    let mut list = found.unwrap_or_default();
    let answer = match write {
        W::Push(_, end, elements) => {
            for element in elements {
                push_to(&mut list, *end, element.clone());
            }
            Answer::Count(list.len())
        }
        W::Pop(_, end, count) => {
            let popped = (0..*count).map_while(|_| pop_from(&mut list, *end)).collect();
            Answer::Elements(is_there.then_some(popped))
        }
        W::SetElement(_, index, element) => {
            let place = list.get_mut(*index as usize);
            let set = place.is_some();
            if let Some(place) = place {
                place.clone_from(element);
            }
            Answer::Perhaps(is_there.then_some(set))
        }
        W::InsertElements(_, index, count) => {
            for number in 0..*count {
                list.insert((*index as usize).min(list.len()), Text(vec![number]));
            }
            Answer::Count(list.len())
        }
        W::RemoveEqual(_, element, end, count) => {
            let mut equal: Vec<usize> = (0..list.len()).filter(|at| list[*at] == *element).collect();
            if *end == ListEnd::Back {
                equal.reverse();
            }
            equal.truncate(*count as usize);
            let mut at = 0;
            list.retain(|_| {
                at += 1;
                !equal.contains(&(at - 1))
            });
            Answer::Count(equal.len())
        }
        W::Trim(_, start, end) => {
            let kept = list.iter().take(*end as usize).skip(*start as usize).cloned().collect();
            list = kept;
            Answer::Count(0)
        }
        _ => unreachable!("it is a write of one list"),
    };
    set_contents(state, key, Contents::List(list));
    Ok(answer)
}

pub fn move_element(
    state: &mut State,
    (from, from_end): (&Name, ListEnd),
    (to, to_end): (&Name, ListEnd),
) -> Result<Answer, Refusal> {
    let Some(mut source) = list_of(state, from)? else { return Ok(Answer::Elements(None)) };
    let mut target = list_of(state, to)?.unwrap_or_default();
    let moved = pop_from(&mut source, from_end).expect("a list is not empty");
    if from == to {
        push_to(&mut source, to_end, moved.clone());
    } else {
        push_to(&mut target, to_end, moved.clone());
        set_contents(state, to, Contents::List(target));
    }
    set_contents(state, from, Contents::List(source));
    Ok(Answer::Elements(Some(vec![moved])))
}

pub fn list_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    let end = || prop::sample::select(vec![ListEnd::Front, ListEnd::Back]);
    let elements = prop::collection::vec(value(), 1..5);
    let count = || prop::sample::select(vec![0, 1, 2, 5, u64::MAX]);
    prop_oneof![
        4 => (name(), end(), elements).prop_map(|(key, end, elements)| W::Push(key, end, elements)),
        2 => (name(), end(), count()).prop_map(|(key, end, count)| W::Pop(key, end, count)),
        1 => (name(), 0..6u64, value()).prop_map(|(key, index, element)| W::SetElement(key, index, element)),
        2 => (name(), 0..6u64, 1..60u8).prop_map(|(key, index, count)| W::InsertElements(key, index, count)),
        1 => (name(), value(), end(), count()).prop_map(|(key, old, end, count)| W::RemoveEqual(key, old, end, count)),
        1 => (name(), 0..5u64, 0..60u64).prop_map(|(key, start, end)| W::Trim(key, start, end)),
        2 => (name(), end(), name(), end()).prop_map(|(from, a, to, b)| W::MoveElement(from, a, to, b)),
    ]
}
