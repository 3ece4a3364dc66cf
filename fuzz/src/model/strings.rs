//! Strings.

use super::*;
use crate::call::{SetCondition, SetExpiry};

impl FuzzModel {
    pub(super) fn answer_strings(&mut self, call: &FuzzCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzCommand::Set { key, value, when, get, until } => {
                self.set(key.bytes(), value.bytes(), *when, *get, *until)
            }
            FuzzCommand::Get(key) => (words("GET", &[key.bytes()]), self.value(&key.bytes()).map(maybe)),
            FuzzCommand::GetDel(key) => {
                let answer = self.value(&key.bytes()).map(maybe);
                if answer.is_ok() {
                    self.rows.remove(&key.bytes());
                }
                (words("GETDEL", &[key.bytes()]), answer)
            }
            FuzzCommand::Append(key, text) => {
                let request = words("APPEND", &[key.bytes(), text.bytes()]);
                let old = self.value(&key.bytes()).map(|old| old.cloned().unwrap_or_default());
                (request, old.map(|old| count(self.put(key.bytes(), [old, text.bytes()].concat()))))
            }
            FuzzCommand::StrLen(key) => (
                words("STRLEN", &[key.bytes()]),
                self.value(&key.bytes()).map(|text| count(text.map_or(0, Vec::len))),
            ),
            FuzzCommand::IncrBy(key, by) => {
                let request = words("INCRBY", &[key.bytes(), by.to_string().into_bytes()]);
                let old = self.value(&key.bytes()).map(|old| old.cloned());
                let sum = old.and_then(|old| add(old.as_ref(), *by, NO_INTEGER));
                (
                    request,
                    sum.map(|sum| {
                        self.put(key.bytes(), sum.to_string().into_bytes());
                        integer(sum)
                    }),
                )
            }
            FuzzCommand::MSet(first, rest) => {
                let pairs = pairs(first, rest);
                let request = words("MSET", &flat(&pairs));
                for (key, text) in pairs {
                    self.rows.insert(key, FuzzRow { held: FuzzValue::Value(text), until: None });
                }
                (request, Ok(OK.to_vec()))
            }
            FuzzCommand::MGet(first, rest) => {
                let keys = names(*first, rest);
                let found: Vec<_> =
                    keys.iter().map(|key| self.value(key).map_or(NIL.to_vec(), maybe)).collect();
                (words("MGET", &keys), Ok(array(&found)))
            }
            _ => self.answer_columns(call),
        }
    }

    fn set(
        &mut self,
        key: Vec<u8>,
        value: Vec<u8>,
        when: SetCondition,
        get: bool,
        until: SetExpiry,
    ) -> (FuzzRequest, ModelAnswer) {
        let mut request = words("SET", &[key.clone(), value.clone()]);
        request.extend(match when {
            SetCondition::Always => None,
            SetCondition::Absent => Some(b"NX".to_vec()),
            SetCondition::Present => Some(b"XX".to_vec()),
        });
        request.extend(get.then(|| b"GET".to_vec()));
        let until = match until {
            SetExpiry::Never => None,
            SetExpiry::Keep => {
                request.push(b"KEEPTTL".to_vec());
                self.rows.get(&key).and_then(|row| row.until)
            }
            SetExpiry::After(millis) => {
                let at = self.now + u64::from(millis);
                request.extend([b"PXAT".to_vec(), at.to_string().into_bytes()]);
                Some(at)
            }
        };
        let old = match self.value(&key) {
            Ok(old) => old.cloned(),
            Err(wrong) if get => return (request, Err(wrong)),
            Err(_) => None,
        };
        let there = self.rows.contains_key(&key);
        let sets = when == SetCondition::Always || there == (when == SetCondition::Present);
        if sets {
            self.rows.insert(key, FuzzRow { held: FuzzValue::Value(value), until });
            self.advance_to(self.now);
        }
        let answer = if get {
            maybe(old.as_ref())
        } else if sets {
            OK.to_vec()
        } else {
            NIL.to_vec()
        };
        (request, Ok(answer))
    }
}
