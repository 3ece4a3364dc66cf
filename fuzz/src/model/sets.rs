//! Sets: their members in the order of their bytes, as our server returns them.

use std::collections::BTreeSet;

use super::{FuzzModel, FuzzRequest, FuzzValue, ModelAnswer, WRONG_TYPE, array, bulk, count};
use super::{names, words};
use crate::FuzzCommand;
use crate::call::{FuzzName, FuzzSetOperation};

type Members = BTreeSet<Vec<u8>>;

impl FuzzModel {
    pub(super) fn answer_sets(&mut self, call: &FuzzCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzCommand::SAdd(key, first, rest) => {
                let members = names(*first, rest);
                let request = words("SADD", &[vec![key.bytes()], members.clone()].concat());
                let answer = self.set_of(&key.bytes()).map(|mut set| {
                    let added = members.into_iter().filter(|member| set.insert(member.clone())).count();
                    self.put_set(key.bytes(), set);
                    count(added)
                });
                (request, answer)
            }
            FuzzCommand::SRem(key, first, rest) => {
                let members = names(*first, rest);
                let request = words("SREM", &[vec![key.bytes()], members.clone()].concat());
                let answer = self.set_of(&key.bytes()).map(|mut set| {
                    let removed = members.iter().filter(|member| set.remove(*member)).count();
                    self.put_set(key.bytes(), set);
                    count(removed)
                });
                (request, answer)
            }
            FuzzCommand::SMove(from, to, member) => (
                words("SMOVE", &[from.bytes(), to.bytes(), member.bytes()]),
                self.move_member(&from.bytes(), &to.bytes(), &member.bytes()),
            ),
            FuzzCommand::SIsMember(key, member) => {
                let answer = self.set_of(&key.bytes()).map(|set| set.contains(&member.bytes()));
                (words("SISMEMBER", &[key.bytes(), member.bytes()]), answer.map(|found| count(found.into())))
            }
            FuzzCommand::SCard(key) => {
                (words("SCARD", &[key.bytes()]), self.set_of(&key.bytes()).map(|set| count(set.len())))
            }
            FuzzCommand::SMembers(key) => {
                (words("SMEMBERS", &[key.bytes()]), self.set_of(&key.bytes()).map(shown))
            }
            FuzzCommand::SPopAll(key) => {
                let answer = self.set_of(&key.bytes()).map(|set| {
                    self.put_set(key.bytes(), Members::new());
                    shown(set)
                });
                // The members in any order that draws all of them: the order of the set.
                (words("SPOP", &[key.bytes(), b"1000000".to_vec()]), answer)
            }
            FuzzCommand::SCombine(operation, first, rest) => {
                let found = self.combined(*operation, *first, rest);
                (words(operation.name(), &names(*first, rest)), found.map(shown))
            }
            FuzzCommand::SCombineStore(operation, to, first, rest) => {
                let name = format!("{}STORE", operation.name());
                let request = words(&name, &[vec![to.bytes()], names(*first, rest)].concat());
                let answer = self.combined(*operation, *first, rest).map(|set| {
                    let len = set.len();
                    self.rows.remove(&to.bytes());
                    self.put_set(to.bytes(), set);
                    count(len)
                });
                (request, answer)
            }
            other => unreachable!("{other:?} is answered elsewhere"),
        }
    }

    /// Moves a member. The type of the second key does not matter if the first key is absent.
    fn move_member(&mut self, from: &[u8], to: &[u8], member: &[u8]) -> ModelAnswer {
        if !self.rows.contains_key(from) {
            return Ok(count(0));
        }
        let (mut source, mut target) = (self.set_of(from)?, self.set_of(to)?);
        let moved = source.remove(member);
        if moved && from != to {
            target.insert(member.to_vec());
            self.put_set(from.to_vec(), source);
            self.put_set(to.to_vec(), target);
        }
        Ok(count(moved.into()))
    }

    /// Returns the members of all these keys together. As in Redis, the type of each key matters.
    fn combined(
        &self,
        operation: FuzzSetOperation,
        first: FuzzName,
        rest: &[FuzzName],
    ) -> Result<Members, &'static [u8]> {
        let sets = names(first, rest).iter().map(|key| self.set_of(key)).collect::<Result<Vec<_>, _>>()?;
        let together = sets.into_iter().reduce(|all, set| match operation {
            FuzzSetOperation::Union => all.union(&set).cloned().collect(),
            FuzzSetOperation::Intersection => all.intersection(&set).cloned().collect(),
            FuzzSetOperation::Difference => all.difference(&set).cloned().collect(),
        });
        Ok(together.unwrap_or_default())
    }

    /// Returns the members of a key; none if it is absent.
    fn set_of(&self, key: &[u8]) -> Result<Members, &'static [u8]> {
        match self.rows.get(key).map(|row| &row.held) {
            None => Ok(Members::new()),
            Some(FuzzValue::Set(members)) => Ok(members.clone()),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// Puts the members, and keeps the expiry time. Removes a key without members.
    fn put_set(&mut self, key: Vec<u8>, members: Members) {
        if members.is_empty() {
            self.rows.remove(&key);
            return;
        }
        self.put_held(key, FuzzValue::Set(members));
    }
}

fn shown(members: Members) -> Vec<u8> {
    array(&members.iter().map(|member| bulk(member)).collect::<Vec<_>>())
}
