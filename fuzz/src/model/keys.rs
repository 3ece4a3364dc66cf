//! Whole keys: databases, copies, and SORT. `rows` are those of the selected database; the rows of
//! the others are parked.

use std::collections::BTreeMap;

use super::{
    FuzzModel, FuzzRequest, FuzzValue, ModelAnswer, NO_KEY, OK, WRONG_TYPE, array, bulk, count, parse, words,
};
use crate::call::{FuzzDatabase, FuzzKeyCommand, FuzzName};

const SAME_KEY: &[u8] = b"-ERR source and destination objects are the same\r\n";

impl FuzzModel {
    pub(super) fn answer_keys(&mut self, call: &FuzzKeyCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzKeyCommand::Select(database) => {
                self.select(database.number());
                (words("SELECT", &[shown(*database)]), Ok(OK.to_vec()))
            }
            FuzzKeyCommand::SwapDb(one, other) => {
                let selected = self.selected;
                self.park();
                self.parked.swap(one.number(), other.number());
                self.unpark(selected);
                (words("SWAPDB", &[shown(*one), shown(*other)]), Ok(OK.to_vec()))
            }
            FuzzKeyCommand::Move(key, database) => {
                let request = words("MOVE", &[key.bytes(), shown(*database)]);
                let moved = self.copy_row(&key.bytes(), &key.bytes(), database.number(), false);
                if let Ok(true) = moved {
                    self.rows.remove(&key.bytes());
                }
                (request, moved.map(|moved| count(moved.into())))
            }
            FuzzKeyCommand::Copy { from, to, database, replace } => {
                let mut request = words("COPY", &[from.bytes(), to.bytes()]);
                if let Some(database) = database {
                    request.extend([b"DB".to_vec(), shown(*database)]);
                }
                request.extend(replace.then(|| b"REPLACE".to_vec()));
                let into = database.map_or(self.selected, FuzzDatabase::number);
                let copied = self.copy_row(&from.bytes(), &to.bytes(), into, *replace);
                (request, copied.map(|copied| count(copied.into())))
            }
            FuzzKeyCommand::Rename(from, to) => {
                let row = self.rows.remove(&from.bytes());
                let answer = row.map(|row| self.rows.insert(to.bytes(), row)).map(|_| OK.to_vec());
                (words("RENAME", &[from.bytes(), to.bytes()]), answer.ok_or(NO_KEY))
            }
            FuzzKeyCommand::Sort { key, by_number, descending, limit, store } => {
                let elements = self.elements(&key.bytes());
                // Other texts may be numbers, too, or make SORT fail.
                let are_numbers = |elements: &Vec<Vec<u8>>| elements.iter().all(|text| parse(text).is_some());
                let by_number = *by_number && elements.as_ref().is_ok_and(are_numbers);
                let mut request = words("SORT", &[key.bytes()]);
                if let Some((skipped, most)) = limit {
                    let numbers = [skipped, most].map(|number| number.to_string().into_bytes());
                    request.push(b"LIMIT".to_vec());
                    request.extend(numbers);
                }
                request.extend((!by_number).then(|| b"ALPHA".to_vec()));
                request.extend(descending.then(|| b"DESC".to_vec()));
                if let Some(store) = store {
                    request.extend([b"STORE".to_vec(), store.bytes()]);
                }
                let sorted = elements.map(|elements| sorted(elements, by_number, *descending, *limit));
                (request, sorted.map(|sorted| self.give(sorted, *store)))
            }
        }
    }

    /// Removes all keys of all databases.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.parked.iter_mut().for_each(BTreeMap::clear);
    }

    /// Selects a database.
    pub(super) fn select(&mut self, database: usize) {
        self.park();
        self.unpark(database);
    }

    fn park(&mut self) {
        self.parked[self.selected] = std::mem::take(&mut self.rows);
    }

    fn unpark(&mut self, database: usize) {
        self.selected = database;
        self.rows = std::mem::take(&mut self.parked[database]);
    }

    /// Copies a row into a database. Returns whether it is copied.
    fn copy_row(
        &mut self,
        from: &[u8],
        to: &[u8],
        into: usize,
        replace: bool,
    ) -> Result<bool, &'static [u8]> {
        if into == self.selected && from == to {
            return Err(SAME_KEY);
        }
        let Some(row) = self.rows.get(from).cloned() else { return Ok(false) };
        let rows = if into == self.selected { &mut self.rows } else { &mut self.parked[into] };
        if rows.contains_key(to) && !replace {
            return Ok(false);
        }
        rows.insert(to.to_vec(), row);
        Ok(true)
    }

    /// Returns the elements of a key that SORT accepts.
    fn elements(&self, key: &[u8]) -> Result<Vec<Vec<u8>>, &'static [u8]> {
        match self.rows.get(key).map(|row| &row.held) {
            None => Ok(Vec::new()),
            Some(FuzzValue::List(elements)) => Ok(elements.clone()),
            Some(FuzzValue::Set(members)) => Ok(members.iter().cloned().collect()),
            Some(FuzzValue::Members(members)) => Ok(BTreeMap::keys(members).cloned().collect()),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// Returns the reply of SORT, or stores the elements.
    fn give(&mut self, sorted: Vec<Vec<u8>>, store: Option<FuzzName>) -> Vec<u8> {
        let Some(store) = store else {
            return array(&sorted.iter().map(|element| bulk(element)).collect::<Vec<_>>());
        };
        self.rows.remove(&store.bytes());
        let len = sorted.len();
        if len > 0 {
            self.put_held(store.bytes(), FuzzValue::List(sorted));
        }
        count(len)
    }
}

fn shown(database: FuzzDatabase) -> Vec<u8> {
    database.number().to_string().into_bytes()
}

/// Elements with equal numbers are in the order of their bytes.
fn sorted(
    mut elements: Vec<Vec<u8>>,
    by_number: bool,
    descending: bool,
    limit: Option<(u8, u8)>,
) -> Vec<Vec<u8>> {
    let number = |text: &[u8]| if by_number { parse(text).unwrap_or(0) as f64 } else { 0.0 };
    elements.sort_by(|one, other| number(one).total_cmp(&number(other)).then(one.cmp(other)));
    if descending {
        elements.reverse();
    }
    let (skipped, most) = limit.map_or((0, usize::MAX), |(skipped, most)| (skipped.into(), most.into()));
    elements.into_iter().skip(skipped).take(most).collect()
}
