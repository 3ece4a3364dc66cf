//! Hashes and sorted sets.

use std::collections::BTreeMap;

use super::{
    FuzzModel, FuzzRequest, ModelAnswer, NIL, NO_HASH_INTEGER, add, array, bulk, count, flat, integer, maybe,
    names, pairs, positive, words,
};
use crate::FuzzCommand;
use crate::call::{FuzzName, FuzzScore};

impl FuzzModel {
    pub(super) fn answer_columns(&mut self, call: &FuzzCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzCommand::HSet(key, first, rest) => {
                let pairs = pairs(first, rest);
                let request = words("HSET", &[vec![key.bytes()], flat(&pairs)].concat());
                let answer = self.columns_to_change(key.bytes()).map(|columns| {
                    count(
                        pairs
                            .into_iter()
                            .filter(|(name, text)| columns.insert(name.clone(), text.clone()).is_none())
                            .count(),
                    )
                });
                (request, answer)
            }
            FuzzCommand::HGet(key, field) => {
                let answer = self
                    .columns(&key.bytes())
                    .map(|columns| maybe(columns.and_then(|columns| columns.get(&field.bytes()))));
                (words("HGET", &[key.bytes(), field.bytes()]), answer)
            }
            FuzzCommand::HDel(key, first, rest) => {
                let fields = names(*first, rest);
                let request = words("HDEL", &[vec![key.bytes()], fields.clone()].concat());
                let removed = self.columns_to_change(key.bytes()).map(|columns| {
                    count(fields.iter().filter(|field| columns.remove(*field).is_some()).count())
                });
                self.forget_if_empty(&key.bytes());
                (request, removed)
            }
            FuzzCommand::HIncrBy(key, field, by) => {
                let request = words("HINCRBY", &[key.bytes(), field.bytes(), by.to_string().into_bytes()]);
                let answer = self.columns_to_change(key.bytes()).and_then(|columns| {
                    let sum = add(columns.get(&field.bytes()), *by, NO_HASH_INTEGER)?;
                    columns.insert(field.bytes(), sum.to_string().into_bytes());
                    Ok(integer(sum))
                });
                self.forget_if_empty(&key.bytes());
                (request, answer)
            }
            FuzzCommand::HGetAll(key) => {
                let answer = self.columns(&key.bytes()).map(|columns| {
                    let pairs = columns.into_iter().flatten();
                    array(&pairs.flat_map(|(name, text)| [bulk(name), bulk(text)]).collect::<Vec<_>>())
                });
                (words("HGETALL", &[key.bytes()]), answer)
            }
            FuzzCommand::HLen(key) => {
                let answer =
                    self.columns(&key.bytes()).map(|columns| count(columns.map_or(0, BTreeMap::len)));
                (words("HLEN", &[key.bytes()]), answer)
            }
            _ => self.answer_members(call),
        }
    }

    fn answer_members(&mut self, call: &FuzzCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzCommand::ZAdd(key, first, rest) => self.add_scores(*key, first, rest),
            FuzzCommand::ZRem(key, member) => {
                let removed =
                    self.members_to_change(key.bytes()).map(|members| members.remove(&member.bytes()));
                self.forget_if_empty(&key.bytes());
                (
                    words("ZREM", &[key.bytes(), member.bytes()]),
                    removed.map(|removed| count(usize::from(removed.is_some()))),
                )
            }
            FuzzCommand::ZScore(key, member) => {
                let score = self
                    .order(&key.bytes())
                    .map(|order| order.into_iter().find(|(_, name)| *name == member.bytes()));
                let text = |(score, _): (f64, _)| bulk(score.to_string().as_bytes());
                (
                    words("ZSCORE", &[key.bytes(), member.bytes()]),
                    score.map(|score| score.map_or(NIL.to_vec(), text)),
                )
            }
            FuzzCommand::ZRank(key, member) => {
                let rank = self
                    .order(&key.bytes())
                    .map(|order| order.iter().position(|(_, name)| *name == member.bytes()));
                (
                    words("ZRANK", &[key.bytes(), member.bytes()]),
                    rank.map(|rank| rank.map_or(NIL.to_vec(), count)),
                )
            }
            FuzzCommand::ZCard(key) => {
                (words("ZCARD", &[key.bytes()]), self.order(&key.bytes()).map(|order| count(order.len())))
            }
            FuzzCommand::ZRange(key, from, to) => {
                let ends = [from, to].map(|end| end.bytes());
                let answer = self.order(&key.bytes()).map(|order| {
                    let place = |end: i64| if end < 0 { order.len() as i64 + end } else { end };
                    let (from, to) = (place(from.number()).max(0), place(to.number()));
                    let inside = |at: usize| (from..=to).contains(&(at as i64));
                    let found = order.iter().enumerate().filter(|(at, _)| inside(*at));
                    array(
                        &found
                            .flat_map(|(_, (score, name))| [bulk(name), bulk(score.to_string().as_bytes())])
                            .collect::<Vec<_>>(),
                    )
                });
                (
                    words(
                        "ZRANGE",
                        &[vec![key.bytes()], ends.to_vec(), vec![b"WITHSCORES".to_vec()]].concat(),
                    ),
                    answer,
                )
            }
            _ => self.answer_sets(call),
        }
    }

    fn add_scores(
        &mut self,
        key: FuzzName,
        first: &(FuzzScore, FuzzName),
        rest: &[(FuzzScore, FuzzName)],
    ) -> (FuzzRequest, ModelAnswer) {
        let all: Vec<_> =
            std::iter::once(first).chain(rest).map(|(score, name)| (*score, name.bytes())).collect();
        let args =
            all.iter().flat_map(|(score, name)| [score.number().to_string().into_bytes(), name.clone()]);
        let request = words("ZADD", &std::iter::once(key.bytes()).chain(args).collect::<Vec<_>>());
        let answer = self.members_to_change(key.bytes()).map(|members| {
            count(
                all.iter()
                    .filter(|(score, name)| members.insert(name.clone(), positive(*score)).is_none())
                    .count(),
            )
        });
        (request, answer)
    }
}
