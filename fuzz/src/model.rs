//! The model: computes a server's expected replies, in RESP2, with ordered maps in memory.

mod bits;
mod collections;
mod deliveries;
mod groups;
mod hyperloglogs;
mod keys;
mod lists;
mod places;
mod readers;
mod sets;
mod streams;
mod strings;

use std::collections::{BTreeMap, BTreeSet};

use crate::FuzzCommand;
use crate::call::{FuzzDatabase, FuzzName, FuzzScore, FuzzText};

/// A command's words.
pub type FuzzRequest = Vec<Vec<u8>>;

type FuzzColumns = BTreeMap<Vec<u8>, Vec<u8>>;

/// The value of a key.
#[derive(Debug, Clone)]
enum FuzzValue {
    Value(Vec<u8>),
    Columns(FuzzColumns),
    Members(BTreeMap<Vec<u8>, f64>),
    Set(BTreeSet<Vec<u8>>),
    List(Vec<Vec<u8>>),
    Stream(streams::FuzzStream),
    HyperLogLog(hyperloglogs::FuzzHyperLogLog),
}

/// A key's row.
#[derive(Debug, Clone)]
struct FuzzRow {
    held: FuzzValue,
    until: Option<u64>,
}

type FuzzRows = BTreeMap<Vec<u8>, FuzzRow>;

/// The expected data of a server.
#[derive(Debug, Default)]
pub struct FuzzModel {
    /// Those of the selected database.
    rows: FuzzRows,
    selected: usize,
    /// Those of the other databases.
    parked: [FuzzRows; FuzzDatabase::COUNT],
    now: u64,
}

/// Runs commands that follow one another in its arguments, each after the number of its words.
const SCRIPT: &str = "local at, replies = 1, {} \
    while ARGV[at] do \
        local words, last = {}, at + tonumber(ARGV[at]) \
        for word = at + 1, last do words[#words + 1] = ARGV[word] end \
        replies[#replies + 1] = redis.pcall(unpack(words)) \
        at = last + 1 \
    end \
    return replies";

const OK: &[u8] = b"+OK\r\n";
const NIL: &[u8] = b"$-1\r\n";
const NO_LIST: &[u8] = b"*-1\r\n";
const NO_KEY: &[u8] = b"-ERR no such key\r\n";
const WRONG_TYPE: &[u8] = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
const NO_INTEGER: &[u8] = b"-ERR value is not an integer or out of range\r\n";
const NO_HASH_INTEGER: &[u8] = b"-ERR hash value is not an integer\r\n";
const OVERFLOW: &[u8] = b"-ERR increment or decrement would overflow\r\n";

/// Encodes a bulk string.
pub fn bulk(text: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

/// Encodes an array of encoded elements.
pub fn array(elements: &[Vec<u8>]) -> Vec<u8> {
    [format!("*{}\r\n", elements.len()).into_bytes(), elements.concat()].concat()
}

fn integer(number: impl Into<i128>) -> Vec<u8> {
    format!(":{}\r\n", number.into()).into_bytes()
}

fn count(number: usize) -> Vec<u8> {
    format!(":{number}\r\n").into_bytes()
}

fn maybe(text: Option<&Vec<u8>>) -> Vec<u8> {
    text.map_or(NIL.to_vec(), |text| bulk(text))
}

/// Parses an integer in its only valid notation.
fn parse(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

fn words(name: &str, args: &[Vec<u8>]) -> FuzzRequest {
    name.split(' ').map(|word| word.as_bytes().to_vec()).chain(args.iter().cloned()).collect()
}

fn names(first: FuzzName, rest: &[FuzzName]) -> Vec<Vec<u8>> {
    std::iter::once(first).chain(rest.iter().copied()).map(FuzzName::bytes).collect()
}

fn pairs(first: &(FuzzName, FuzzText), rest: &[(FuzzName, FuzzText)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    std::iter::once(first).chain(rest).map(|(name, text)| (name.bytes(), text.bytes())).collect()
}

fn flat(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<Vec<u8>> {
    pairs.iter().flat_map(|(name, text)| [name.clone(), text.clone()]).collect()
}

/// The reply to a command, or its error.
type ModelAnswer = Result<Vec<u8>, &'static [u8]>;

impl FuzzModel {
    /// Returns an empty model at the time `now`.
    pub fn new(now: u64) -> Self {
        Self { now, ..Self::default() }
    }

    /// Advances the clock. As in Redis, a key still exists throughout its last millisecond.
    pub fn advance_to(&mut self, now: u64) {
        self.now = now;
        for rows in std::iter::once(&mut self.rows).chain(&mut self.parked) {
            rows.retain(|_, row| row.until.is_none_or(|until| until >= now));
        }
    }

    /// Returns the request of a script with these commands, and the expected reply.
    pub fn run_script<'c>(&mut self, calls: impl Iterator<Item = &'c FuzzCommand>) -> (FuzzRequest, Vec<u8>) {
        let selected = self.selected;
        let mut request = words("EVAL", &[SCRIPT.as_bytes().to_vec(), b"0".to_vec()]);
        let mut replies = Vec::new();
        for call in calls {
            let (command, reply) = self.run(call);
            request.push(command.len().to_string().into_bytes());
            request.extend(command);
            replies.push(reply);
        }
        // The database that a script selects stays selected until its end.
        self.select(selected);
        (request, array(&replies))
    }

    /// Returns the request, and the expected reply.
    pub fn run(&mut self, call: &FuzzCommand) -> (FuzzRequest, Vec<u8>) {
        let (request, answer) = self.answer(call);
        (request, answer.unwrap_or_else(<[u8]>::to_vec))
    }

    fn answer_range(&self, above: FuzzName, reverse: bool) -> (FuzzRequest, ModelAnswer) {
        let above = above.bytes();
        let mut found: Vec<_> = self.rows.range(above.clone()..).map(|(key, _)| bulk(key)).collect();
        let bound = [b"[", &above[..]].concat();
        let mut request = words("SK.RANGE", &[bound, b"+".to_vec(), b"NOVALUES".to_vec()]);
        if reverse {
            found.reverse();
            request.push(b"REV".to_vec());
        }
        (request, Ok(array(&found)))
    }

    fn answer(&mut self, call: &FuzzCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzCommand::Del(first, rest) => {
                let keys = names(*first, rest);
                let removed = keys.iter().filter(|key| self.rows.remove(*key).is_some()).count();
                (words("DEL", &keys), Ok(count(removed)))
            }
            FuzzCommand::Exists(first, rest) => {
                let keys = names(*first, rest);
                (
                    words("EXISTS", &keys),
                    Ok(count(keys.iter().filter(|key| self.rows.contains_key(*key)).count())),
                )
            }
            FuzzCommand::Type(key) => {
                let kind = match self.rows.get(&key.bytes()).map(|row| &row.held) {
                    None => "none",
                    Some(FuzzValue::Value(_) | FuzzValue::HyperLogLog(_)) => "string",
                    Some(FuzzValue::Columns(_)) => "hash",
                    Some(FuzzValue::Members(_)) => "zset",
                    Some(FuzzValue::Set(_)) => "set",
                    Some(FuzzValue::List(_)) => "list",
                    Some(FuzzValue::Stream(_)) => "stream",
                };
                (words("TYPE", &[key.bytes()]), Ok(format!("+{kind}\r\n").into_bytes()))
            }
            FuzzCommand::PExpireAt(key, after) => {
                let at = self.now.saturating_add_signed(i64::from(*after));
                let request = words("PEXPIREAT", &[key.bytes(), at.to_string().into_bytes()]);
                let there = self.rows.get_mut(&key.bytes()).map(|row| row.until = Some(at)).is_some();
                // Unlike SET, it removes a key that expires at the present millisecond.
                if at <= self.now {
                    self.rows.remove(&key.bytes());
                }
                (request, Ok(count(usize::from(there))))
            }
            FuzzCommand::PExpireTime(key) => {
                let answer = self.rows.get(&key.bytes()).map_or(-2, |row| row.until.map_or(-1, i128::from));
                (words("PEXPIRETIME", &[key.bytes()]), Ok(integer(answer)))
            }
            FuzzCommand::Persist(key) => {
                let until = self.rows.get_mut(&key.bytes()).and_then(|row| row.until.take());
                (words("PERSIST", &[key.bytes()]), Ok(count(usize::from(until.is_some()))))
            }
            FuzzCommand::DbSize => (words("DBSIZE", &[]), Ok(count(self.rows.len()))),
            FuzzCommand::Keys { above, reverse } => self.answer_range(*above, *reverse),
            FuzzCommand::GeoAdd(key, first, rest) => self.add_places(*key, first, rest),
            FuzzCommand::List(call) => self.answer_lists(call),
            FuzzCommand::Stream(call) => self.answer_streams(call),
            FuzzCommand::Group(call) => self.answer_groups(call),
            FuzzCommand::Delivery(call) => self.answer_deliveries(call),
            FuzzCommand::HyperLogLog(call) => self.answer_hyperloglogs(call),
            FuzzCommand::Bits(call) => self.answer_bits(call),
            FuzzCommand::Keyed(call) => self.answer_keys(call),
            FuzzCommand::FlushDb => {
                self.rows.clear();
                (words("FLUSHDB", &[]), Ok(OK.to_vec()))
            }
            FuzzCommand::FlushAll => {
                self.clear();
                (words("FLUSHALL", &[]), Ok(OK.to_vec()))
            }
            _ => self.answer_strings(call),
        }
    }

    /// Sets a value, and keeps the expiry time. Returns the value's length.
    fn put(&mut self, key: Vec<u8>, text: Vec<u8>) -> usize {
        let len = text.len();
        self.put_held(key, FuzzValue::Value(text));
        len
    }

    /// Puts contents, and keeps the expiry time.
    fn put_held(&mut self, key: Vec<u8>, held: FuzzValue) {
        let until = self.rows.get(&key).and_then(|row| row.until);
        self.rows.insert(key, FuzzRow { held, until });
    }

    fn value(&self, key: &[u8]) -> Result<Option<&Vec<u8>>, &'static [u8]> {
        match self.rows.get(key).map(|row| &row.held) {
            None => Ok(None),
            Some(FuzzValue::Value(text)) => Ok(Some(text)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    fn columns(&self, key: &[u8]) -> Result<Option<&FuzzColumns>, &'static [u8]> {
        match self.rows.get(key).map(|row| &row.held) {
            None => Ok(None),
            Some(FuzzValue::Columns(columns)) => Ok(Some(columns)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// Returns the columns of a key. Creates a key without columns if necessary; see
    /// [`forget_if_empty`](Self::forget_if_empty).
    fn columns_to_change(&mut self, key: Vec<u8>) -> Result<&mut FuzzColumns, &'static [u8]> {
        let row = self
            .rows
            .entry(key)
            .or_insert(FuzzRow { held: FuzzValue::Columns(BTreeMap::new()), until: None });
        match &mut row.held {
            FuzzValue::Columns(columns) => Ok(columns),
            _ => Err(WRONG_TYPE),
        }
    }

    /// Returns the members of a key, likewise.
    fn members_to_change(&mut self, key: Vec<u8>) -> Result<&mut BTreeMap<Vec<u8>, f64>, &'static [u8]> {
        let row = self
            .rows
            .entry(key)
            .or_insert(FuzzRow { held: FuzzValue::Members(BTreeMap::new()), until: None });
        match &mut row.held {
            FuzzValue::Members(members) => Ok(members),
            _ => Err(WRONG_TYPE),
        }
    }

    fn forget_if_empty(&mut self, key: &[u8]) {
        let empty = match self.rows.get(key).map(|row| &row.held) {
            Some(FuzzValue::Columns(columns)) => columns.is_empty(),
            Some(FuzzValue::Members(members)) => members.is_empty(),
            _ => false,
        };
        if empty {
            self.rows.remove(key);
        }
    }

    /// Returns the members by score, then by name.
    fn order(&self, key: &[u8]) -> Result<Vec<(f64, Vec<u8>)>, &'static [u8]> {
        match self.rows.get(key).map(|row| &row.held) {
            None => Ok(Vec::new()),
            Some(FuzzValue::Members(members)) => {
                let mut order: Vec<_> = members.iter().map(|(name, score)| (*score, name.clone())).collect();
                order.sort_by(|(score, name), (other, after)| score.total_cmp(other).then(name.cmp(after)));
                Ok(order)
            }
            Some(_) => Err(WRONG_TYPE),
        }
    }
}

/// Returns the score, with negative zero as zero.
fn positive(score: FuzzScore) -> f64 {
    score.number() + 0.0
}

fn add(old: Option<&Vec<u8>>, by: i64, no_integer: &'static [u8]) -> Result<i64, &'static [u8]> {
    let old = old.map_or(Ok(0), |old| parse(old).ok_or(no_integer))?;
    old.checked_add(by).ok_or(OVERFLOW)
}
