//! Lists.

use super::{
    FuzzModel, FuzzRequest, FuzzValue, ModelAnswer, NIL, NO_KEY, NO_LIST, OK, WRONG_TYPE, array, bulk, count,
    integer, maybe, words,
};
use crate::call::{FuzzEnd, FuzzListCommand, FuzzName, FuzzPosition};

type Elements = Vec<Vec<u8>>;

const OUT_OF_RANGE: &[u8] = b"-ERR index out of range\r\n";

impl FuzzModel {
    pub(super) fn answer_lists(&mut self, call: &FuzzListCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzListCommand::Push { key, end, texts: (first, rest), only_present } => {
                let texts: Elements = first.iter().chain(rest).map(|text| text.bytes()).collect();
                let name = [one_of(*end, "L", "R"), "PUSH", if *only_present { "X" } else { "" }].concat();
                let request = words(&name, &[vec![key.bytes()], texts.clone()].concat());
                let answer = self.list(*key).map(|list| {
                    if list.is_empty() && *only_present {
                        return count(0);
                    }
                    let list = match end {
                        FuzzEnd::Left => texts.into_iter().rev().chain(list).collect(),
                        FuzzEnd::Right => [list, texts].concat(),
                    };
                    count(self.put_list(*key, list))
                });
                (request, answer)
            }
            FuzzListCommand::Pop(key, end, most) => {
                let mut args = vec![key.bytes()];
                args.extend(most.map(|most| (most.max(1)).to_string().into_bytes()));
                let answer = self.list(*key).map(|mut list| {
                    let most_now = most.map_or(1, |most| usize::from(most.max(1))).min(list.len());
                    let popped: Elements = match end {
                        FuzzEnd::Left => list.drain(..most_now).collect(),
                        FuzzEnd::Right => list.drain(list.len() - most_now..).rev().collect(),
                    };
                    self.put_list(*key, list);
                    match most {
                        None => maybe(popped.first()),
                        Some(_) if popped.is_empty() => NO_LIST.to_vec(),
                        Some(_) => shown(&popped),
                    }
                });
                (words(&[one_of(*end, "L", "R"), "POP"].concat(), &args), answer)
            }
            FuzzListCommand::Len(key) => {
                (words("LLEN", &[key.bytes()]), self.list(*key).map(|list| count(list.len())))
            }
            FuzzListCommand::Range(key, from, to) => {
                let answer = self.list(*key).map(|list| shown(within(&list, *from, *to)));
                (words("LRANGE", &[key.bytes(), from.bytes(), to.bytes()]), answer)
            }
            FuzzListCommand::Index(key, at) => {
                let answer = self.list(*key).map(|list| maybe(place(&list, *at).map(|at| &list[at])));
                (words("LINDEX", &[key.bytes(), at.bytes()]), answer)
            }
            FuzzListCommand::Set(key, at, text) => {
                let request = words("LSET", &[key.bytes(), at.bytes(), text.bytes()]);
                let answer = self.list(*key).and_then(|mut list| {
                    if list.is_empty() {
                        return Err(NO_KEY);
                    }
                    let at = place(&list, *at).ok_or(OUT_OF_RANGE)?;
                    list[at] = text.bytes();
                    self.put_list(*key, list);
                    Ok(OK.to_vec())
                });
                (request, answer)
            }
            _ => self.answer_list_changes(call),
        }
    }

    fn answer_list_changes(&mut self, call: &FuzzListCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzListCommand::Insert { key, before, pivot, text } => {
                let side = if *before { b"BEFORE".to_vec() } else { b"AFTER".to_vec() };
                let request = words("LINSERT", &[key.bytes(), side, pivot.bytes(), text.bytes()]);
                let answer = self.list(*key).map(|mut list| {
                    if list.is_empty() {
                        return count(0);
                    }
                    let Some(at) = list.iter().position(|element| *element == pivot.bytes()) else {
                        return integer(-1);
                    };
                    list.insert(at + usize::from(!before), text.bytes());
                    count(self.put_list(*key, list))
                });
                (request, answer)
            }
            FuzzListCommand::Remove(key, most, text) => {
                let request = words("LREM", &[key.bytes(), most.bytes(), text.bytes()]);
                let answer = self.list(*key).map(|mut list| {
                    let most = most.number();
                    let from_end = most < 0;
                    let mut left = if most == 0 { usize::MAX } else { most.unsigned_abs() as usize };
                    let before = list.len();
                    if from_end {
                        list.reverse();
                    }
                    list.retain(|element| {
                        let removed = left > 0 && *element == text.bytes();
                        left -= usize::from(removed);
                        !removed
                    });
                    if from_end {
                        list.reverse();
                    }
                    count(before - self.put_list(*key, list))
                });
                (request, answer)
            }
            FuzzListCommand::Trim(key, from, to) => {
                let answer = self.list(*key).map(|list| {
                    self.put_list(*key, within(&list, *from, *to).to_vec());
                    OK.to_vec()
                });
                (words("LTRIM", &[key.bytes(), from.bytes(), to.bytes()]), answer)
            }
            FuzzListCommand::Move { from: (from, first), to: (to, second) } => {
                let ends = [first, second].map(|end| one_of(*end, "LEFT", "RIGHT").as_bytes().to_vec());
                let request = words("LMOVE", &[vec![from.bytes(), to.bytes()], ends.to_vec()].concat());
                (request, self.move_element(*from, *first, *to, *second))
            }
            other => unreachable!("{other:?} is answered elsewhere"),
        }
    }

    /// Moves an element. The type of the second key does not matter if the first key is absent.
    fn move_element(&mut self, from: FuzzName, first: FuzzEnd, to: FuzzName, second: FuzzEnd) -> ModelAnswer {
        let mut source = self.list(from)?;
        if source.is_empty() {
            return Ok(NIL.to_vec());
        }
        let mut target = self.list(to)?;
        let at = match first {
            FuzzEnd::Left => 0,
            FuzzEnd::Right => source.len() - 1,
        };
        let element = source.remove(at);
        let is_same = from.bytes() == to.bytes();
        let list = if is_same { &mut source } else { &mut target };
        let at = match second {
            FuzzEnd::Left => 0,
            FuzzEnd::Right => list.len(),
        };
        list.insert(at, element.clone());
        self.put_list(from, source);
        if !is_same {
            self.put_list(to, target);
        }
        Ok(bulk(&element))
    }

    /// Returns the elements of a key; none if it is absent.
    fn list(&self, key: FuzzName) -> Result<Elements, &'static [u8]> {
        match self.rows.get(&key.bytes()).map(|row| &row.held) {
            None => Ok(Elements::new()),
            Some(FuzzValue::List(elements)) => Ok(elements.clone()),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// Puts the elements, and keeps the expiry time. Removes a key without elements. Returns their
    /// number.
    fn put_list(&mut self, key: FuzzName, elements: Elements) -> usize {
        let len = elements.len();
        if len == 0 {
            self.rows.remove(&key.bytes());
        } else {
            self.put_held(key.bytes(), FuzzValue::List(elements));
        }
        len
    }
}

fn one_of(end: FuzzEnd, left: &'static str, right: &'static str) -> &'static str {
    match end {
        FuzzEnd::Left => left,
        FuzzEnd::Right => right,
    }
}

fn shown(elements: &[Vec<u8>]) -> Vec<u8> {
    array(&elements.iter().map(|element| bulk(element)).collect::<Vec<_>>())
}

/// Returns the position of an element, counted from the end if `at` is negative.
fn place(list: &[Vec<u8>], at: FuzzPosition) -> Option<usize> {
    let at = at.number();
    let at = if at < 0 { list.len() as i64 + at } else { at };
    usize::try_from(at).ok().filter(|at| *at < list.len())
}

/// Returns the elements from one position to another.
fn within(list: &[Vec<u8>], from: FuzzPosition, to: FuzzPosition) -> &[Vec<u8>] {
    let len = list.len() as i64;
    let end = |end: i64| if end < 0 { len + end } else { end };
    let (from, to) = (end(from.number()).max(0), end(to.number()).min(len - 1));
    if from > to { &[] } else { &list[from as usize..=to as usize] }
}
