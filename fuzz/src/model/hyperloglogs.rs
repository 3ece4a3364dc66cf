//! HyperLogLogs: the elements themselves, which are so few that each count is exact.

use std::collections::BTreeSet;

use super::{FuzzModel, FuzzRequest, FuzzRow, FuzzValue, ModelAnswer, OK, WRONG_TYPE, count, words};
use crate::call::{FuzzElement, FuzzHyperLogLogCommand, FuzzHyperLogLogKey};

const OTHER_VALUE: &[u8] = b"-WRONGTYPE Key is not a valid HyperLogLog string value.\r\n";
const IS_ABSENT: &[u8] = b"-ERR The specified key does not exist\r\n";

/// A HyperLogLog.
#[derive(Debug, Clone, Default)]
pub(super) struct FuzzHyperLogLog {
    elements: BTreeSet<Vec<u8>>,
    is_dense: bool,
}

impl FuzzModel {
    pub(super) fn answer_hyperloglogs(
        &mut self,
        call: &FuzzHyperLogLogCommand,
    ) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzHyperLogLogCommand::Add(key, elements) => {
                let elements: Vec<_> = elements.iter().copied().map(FuzzElement::bytes).collect();
                let request = words("PFADD", &[vec![key.bytes()], elements.clone()].concat());
                (request, self.add_elements(*key, elements))
            }
            FuzzHyperLogLogCommand::Count(first, rest) => {
                let union = self.union(*first, rest).map(|union| count(union.elements.len()));
                (words("PFCOUNT", &keys(*first, rest)), union)
            }
            FuzzHyperLogLogCommand::Merge(to, from) => {
                let answer = self.union(*to, from).map(|union| {
                    self.put_held(to.bytes(), FuzzValue::HyperLogLog(union));
                    OK.to_vec()
                });
                (words("PFMERGE", &keys(*to, from)), answer)
            }
            FuzzHyperLogLogCommand::MakeDense(key) => {
                (words("PFDEBUG", &[b"TODENSE".to_vec(), key.bytes()]), self.make_dense(*key))
            }
            FuzzHyperLogLogCommand::Replace(key, text) => {
                let held = FuzzValue::Value(text.bytes());
                self.rows.insert(key.bytes(), FuzzRow { held, until: None });
                (words("SET", &[key.bytes(), text.bytes()]), Ok(OK.to_vec()))
            }
            FuzzHyperLogLogCommand::Remove(key) => {
                let removed = self.rows.remove(&key.bytes()).is_some();
                (words("DEL", &[key.bytes()]), Ok(count(removed.into())))
            }
        }
    }

    /// Adds elements. Returns 1 if something changes: the first request makes the key, even without
    /// elements.
    fn add_elements(&mut self, key: FuzzHyperLogLogKey, elements: Vec<Vec<u8>>) -> ModelAnswer {
        let found = self.hyperloglog(key)?;
        let is_new = found.is_none();
        let mut value = found.unwrap_or_default();
        let before = value.elements.len();
        value.elements.extend(elements);
        let changes = is_new || value.elements.len() > before;
        self.put_held(key.bytes(), FuzzValue::HyperLogLog(value));
        Ok(count(changes.into()))
    }

    /// Makes an encoding dense. Returns whether it was not.
    fn make_dense(&mut self, key: FuzzHyperLogLogKey) -> ModelAnswer {
        let value = self.hyperloglog(key)?.ok_or(IS_ABSENT)?;
        let was_dense = value.is_dense;
        self.put_held(key.bytes(), FuzzValue::HyperLogLog(FuzzHyperLogLog { is_dense: true, ..value }));
        Ok(count((!was_dense).into()))
    }

    /// Returns the union of all keys, dense if one of them is.
    fn union(
        &self,
        first: FuzzHyperLogLogKey,
        rest: &[FuzzHyperLogLogKey],
    ) -> Result<FuzzHyperLogLog, &'static [u8]> {
        let mut union = FuzzHyperLogLog::default();
        for key in std::iter::once(&first).chain(rest) {
            let value = self.hyperloglog(*key)?.unwrap_or_default();
            union.elements.extend(value.elements);
            union.is_dense |= value.is_dense;
        }
        Ok(union)
    }

    fn hyperloglog(&self, key: FuzzHyperLogLogKey) -> Result<Option<FuzzHyperLogLog>, &'static [u8]> {
        match self.rows.get(&key.bytes()).map(|row| &row.held) {
            None => Ok(None),
            Some(FuzzValue::HyperLogLog(value)) => Ok(Some(value.clone())),
            Some(FuzzValue::Value(_)) => Err(OTHER_VALUE),
            Some(_) => Err(WRONG_TYPE),
        }
    }
}

fn keys(first: FuzzHyperLogLogKey, rest: &[FuzzHyperLogLogKey]) -> Vec<Vec<u8>> {
    std::iter::once(&first).chain(rest).map(|key| key.bytes()).collect()
}
