//! Streams. A stream without entries stays, with its greatest identifier and its groups (`groups`).

use std::collections::BTreeMap;

use super::readers::FuzzReaders;
use super::{
    FuzzModel, FuzzRequest, FuzzValue, ModelAnswer, WRONG_TYPE, array, bulk, count, flat, pairs, words,
};
use crate::call::{FuzzEntryId, FuzzName, FuzzStreamCommand};

pub(super) type EntryId = (u64, u64);

const IS_ZERO: &[u8] = b"-ERR The ID specified in XADD must be greater than 0-0\r\n";
const IS_SMALL: &[u8] =
    b"-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n";

/// A stream.
#[derive(Debug, Clone, Default)]
pub(super) struct FuzzStream {
    /// The names and values of each entry, in turn.
    pub(super) entries: BTreeMap<EntryId, Vec<Vec<u8>>>,
    pub(super) last: EntryId,
    /// The number of entries that were ever added.
    pub(super) added: i128,
    /// The greatest entry that XDEL has removed, or 0-0.
    pub(super) max_removed: EntryId,
    pub(super) groups: BTreeMap<Vec<u8>, FuzzReaders>,
}

impl FuzzModel {
    pub(super) fn answer_streams(&mut self, call: &FuzzStreamCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzStreamCommand::Add { key, id, fields: (first, rest) } => {
                let fields = flat(&pairs(first, rest));
                let (ms, seq) = match id {
                    FuzzEntryId::Exact(id) => (id.numbers().0, Some(id.numbers().1)),
                    FuzzEntryId::Within(id) => (id.numbers().0, None),
                    FuzzEntryId::Next => {
                        (self.stream(*key).map_or(0, |stream| stream.unwrap_or_default().last.0), None)
                    }
                };
                let id = seq.map_or(format!("{ms}-*").into_bytes(), |seq| shown_id((ms, seq)));
                let request = words("XADD", &[vec![key.bytes(), id], fields.clone()].concat());
                (request, self.add_entry(*key, ms, seq, fields))
            }
            FuzzStreamCommand::Len(key) => {
                let answer = self.stream(*key).map(|stream| count(stream.unwrap_or_default().entries.len()));
                (words("XLEN", &[key.bytes()]), answer)
            }
            FuzzStreamCommand::Range { key, from, to, most, reverse } => {
                let (from, to) = (from.numbers(), to.numbers());
                let ends = if *reverse { [to, from] } else { [from, to] }.map(shown_id);
                let name = if *reverse { "XREVRANGE" } else { "XRANGE" };
                let mut request = words(name, &[vec![key.bytes()], ends.to_vec()].concat());
                let most = most.map(|most| most.max(1));
                if let Some(most) = most {
                    request.extend([b"COUNT".to_vec(), most.to_string().into_bytes()]);
                }
                let answer = self.entries_between(*key, (from, to), most, *reverse);
                (request, answer)
            }
            FuzzStreamCommand::Delete(key, first, rest) => {
                let ids: Vec<_> = std::iter::once(first).chain(rest).map(|id| id.numbers()).collect();
                let shown = ids.iter().map(|id| shown_id(*id));
                let request = words("XDEL", &std::iter::once(key.bytes()).chain(shown).collect::<Vec<_>>());
                (
                    request,
                    self.remove_entries(*key, |stream| {
                        for id in ids.into_iter().filter(|id| stream.entries.remove(id).is_some()) {
                            stream.max_removed = stream.max_removed.max(id);
                        }
                    }),
                )
            }
            FuzzStreamCommand::TrimToLength(key, most) => {
                let args = [key.bytes(), b"MAXLEN".to_vec(), most.to_string().into_bytes()];
                (
                    words("XTRIM", &args),
                    self.remove_entries(*key, |stream| {
                        while stream.entries.len() > usize::from(*most) {
                            stream.entries.pop_first();
                        }
                    }),
                )
            }
            FuzzStreamCommand::TrimBelow(key, least) => {
                let args = [key.bytes(), b"MINID".to_vec(), shown_id(least.numbers())];
                (
                    words("XTRIM", &args),
                    self.remove_entries(*key, |stream| {
                        stream.entries = stream.entries.split_off(&least.numbers());
                    }),
                )
            }
        }
    }

    fn entries_between(
        &self,
        key: FuzzName,
        (from, to): (EntryId, EntryId),
        most: Option<u8>,
        reverse: bool,
    ) -> ModelAnswer {
        let stream = self.stream(key)?.unwrap_or_default();
        let mut found = Vec::new();
        if from <= to {
            found.extend(stream.entries.range(from..=to).map(|(id, fields)| shown_entry(*id, fields)));
        }
        if reverse {
            found.reverse();
        }
        found.truncate(most.map_or(usize::MAX, usize::from));
        Ok(array(&found))
    }

    /// Adds an entry. If it has no second number, it gets the next one. The identifier 0-0 is
    /// rejected before the type of the key is looked at.
    fn add_entry(&mut self, key: FuzzName, ms: u64, seq: Option<u64>, fields: Vec<Vec<u8>>) -> ModelAnswer {
        if (ms, seq) == (0, Some(0)) {
            return Err(IS_ZERO);
        }
        let mut stream = self.stream(key)?.unwrap_or_default();
        let next = if ms == stream.last.0 { stream.last.1 + 1 } else { 0 };
        let id = (ms, seq.unwrap_or(next));
        if id <= stream.last {
            return Err(IS_SMALL);
        }
        stream.last = id;
        stream.added += 1;
        stream.entries.insert(id, fields);
        self.put_held(key.bytes(), FuzzValue::Stream(stream));
        Ok(bulk(&shown_id(id)))
    }

    /// Removes entries. Returns their number.
    fn remove_entries(&mut self, key: FuzzName, remove: impl FnOnce(&mut FuzzStream)) -> ModelAnswer {
        let Some(mut stream) = self.stream(key)? else { return Ok(count(0)) };
        let before = stream.entries.len();
        remove(&mut stream);
        let removed = before - stream.entries.len();
        self.put_held(key.bytes(), FuzzValue::Stream(stream));
        Ok(count(removed))
    }

    pub(super) fn stream(&self, key: FuzzName) -> Result<Option<FuzzStream>, &'static [u8]> {
        match self.rows.get(&key.bytes()).map(|row| &row.held) {
            None => Ok(None),
            Some(FuzzValue::Stream(stream)) => Ok(Some(stream.clone())),
            Some(_) => Err(WRONG_TYPE),
        }
    }
}

pub(super) fn shown_id((ms, seq): EntryId) -> Vec<u8> {
    format!("{ms}-{seq}").into_bytes()
}

pub(super) fn shown_entry(id: EntryId, fields: &[Vec<u8>]) -> Vec<u8> {
    let fields: Vec<_> = fields.iter().map(|field| bulk(field)).collect();
    array(&[bulk(&shown_id(id)), array(&fields)])
}
