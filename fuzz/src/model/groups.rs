//! Consumer groups: XGROUP and XINFO GROUPS. Read `readers` first (a group); `deliveries` has the
//! requests of its consumers.
//!
//! A group counts the entries that it has read, as far as it knows. Redis documents when it does:
//! not behind an entry that XDEL has removed, except at the stream's ends.

use super::readers::FuzzReaders;
use super::streams::{EntryId, FuzzStream, shown_id};
use super::{
    FuzzModel, FuzzRequest, FuzzValue, ModelAnswer, NIL, NO_KEY, OK, array, bulk, count, integer, words,
};
use crate::call::{FuzzConsumer, FuzzGroup, FuzzGroupCommand, FuzzGroupStart};

const NO_STREAM: &[u8] = b"-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE \
    you may want to use the MKSTREAM option to create an empty stream automatically.\r\n";
const IS_THERE: &[u8] = b"-BUSYGROUP Consumer Group name already exists\r\n";

impl FuzzModel {
    pub(super) fn answer_groups(&mut self, call: &FuzzGroupCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzGroupCommand::Create { group, start, makes_stream } => {
                let mut request = words("XGROUP CREATE", &[group.words(), vec![shown_start(start)]].concat());
                request.extend(makes_stream.then(|| b"MKSTREAM".to_vec()));
                request.extend(entries_read_option(start));
                (request, self.create_group(*group, start, *makes_stream))
            }
            FuzzGroupCommand::SetId(group, start) => {
                let mut request = words("XGROUP SETID", &[group.words(), vec![shown_start(start)]].concat());
                request.extend(entries_read_option(start));
                let answer = self.change_group(*group, |stream, readers| {
                    (readers.last, readers.entries_read) = stream.start(start);
                    OK.to_vec()
                });
                (request, answer)
            }
            FuzzGroupCommand::Destroy(group) => {
                (words("XGROUP DESTROY", &group.words()), self.destroy_group(*group))
            }
            FuzzGroupCommand::CreateConsumer(consumer) => {
                let answer = self.change_group(consumer.group, |_, readers| {
                    count(readers.consumers.insert(consumer.name()).into())
                });
                (words("XGROUP CREATECONSUMER", &consumer.words()), answer)
            }
            FuzzGroupCommand::DeleteConsumer(consumer) => {
                (words("XGROUP DELCONSUMER", &consumer.words()), self.delete_consumer(*consumer))
            }
            FuzzGroupCommand::Info(key) => {
                let groups = self.stream(*key).and_then(|stream| {
                    let stream = stream.ok_or(NO_KEY)?;
                    let groups = stream.groups.iter();
                    Ok(array(
                        &groups.map(|(name, readers)| stream.shown_group(name, readers)).collect::<Vec<_>>(),
                    ))
                });
                (words("XINFO GROUPS", &[key.bytes()]), groups)
            }
        }
    }

    fn create_group(&mut self, group: FuzzGroup, start: &FuzzGroupStart, makes_stream: bool) -> ModelAnswer {
        let found = self.stream(group.key)?;
        let mut stream = found.or(makes_stream.then(FuzzStream::default)).ok_or(NO_STREAM)?;
        let (last, entries_read) = stream.start(start);
        if stream.groups.contains_key(&group.name()) {
            return Err(IS_THERE);
        }
        stream.groups.insert(group.name(), FuzzReaders { last, entries_read, ..FuzzReaders::default() });
        self.put_held(group.key.bytes(), FuzzValue::Stream(stream));
        Ok(OK.to_vec())
    }

    fn destroy_group(&mut self, group: FuzzGroup) -> ModelAnswer {
        let mut stream = self.stream(group.key)?.ok_or(NO_STREAM)?;
        let removed = stream.groups.remove(&group.name()).is_some();
        self.put_held(group.key.bytes(), FuzzValue::Stream(stream));
        Ok(count(removed.into()))
    }

    /// Removes a consumer. Returns the number of its pending entries, which go with it.
    fn delete_consumer(&mut self, consumer: FuzzConsumer) -> ModelAnswer {
        self.change_group(consumer.group, |_, readers| {
            let before = readers.pending.len();
            readers.consumers.remove(&consumer.name());
            readers.pending.retain(|_, delivery| delivery.consumer != consumer.name());
            count(before - readers.pending.len())
        })
    }

    /// Answers a subcommand of XGROUP for a group that must be there.
    fn change_group(
        &mut self,
        group: FuzzGroup,
        answer: impl FnOnce(&FuzzStream, &mut FuzzReaders) -> Vec<u8>,
    ) -> ModelAnswer {
        let [key, name] = [group.key.bytes(), group.name()];
        let no_group =
            [b"-NOGROUP No such consumer group '", &name[..], b"' for key name '", &key, b"'\r\n"].concat();
        self.with_group(group, NO_STREAM.to_vec(), no_group, answer)
    }

    /// Answers a request for a group, or returns the reply for an absent key or group.
    pub(super) fn with_group(
        &mut self,
        group: FuzzGroup,
        no_key: Vec<u8>,
        no_group: Vec<u8>,
        answer: impl FnOnce(&FuzzStream, &mut FuzzReaders) -> Vec<u8>,
    ) -> ModelAnswer {
        let Some(mut stream) = self.stream(group.key)? else { return Ok(no_key) };
        let Some(mut readers) = stream.groups.remove(&group.name()) else { return Ok(no_group) };
        let reply = answer(&stream, &mut readers);
        stream.groups.insert(group.name(), readers);
        self.put_held(group.key.bytes(), FuzzValue::Stream(stream));
        Ok(reply)
    }
}

impl FuzzStream {
    /// Returns a group's last identifier, and the number of entries that it counts as read.
    fn start(&self, start: &FuzzGroupStart) -> (EntryId, Option<i128>) {
        (start.behind.map_or(self.last, |id| id.numbers()), start.entries_read.map(i128::from))
    }

    fn shown_group(&self, name: &[u8], readers: &FuzzReaders) -> Vec<u8> {
        let maybe = |number: Option<i128>| number.map_or(NIL.to_vec(), integer);
        let read = match readers.entries_read {
            Some(read) if self.added > 0 && !self.has_gap_from(readers.last) => Some(read),
            _ => self.added_up_to(readers.last),
        };
        let parts = [
            ("name", bulk(name)),
            ("consumers", count(readers.consumers.len())),
            ("pending", count(readers.pending.len())),
            ("last-delivered-id", bulk(&shown_id(readers.last))),
            ("entries-read", maybe(readers.entries_read)),
            ("lag", maybe(read.map(|read| self.added - read))),
        ];
        array(&parts.into_iter().flat_map(|(name, part)| [bulk(name.as_bytes()), part]).collect::<Vec<_>>())
    }

    /// Moves a group on to an entry that it reads.
    pub(super) fn count_read(&self, readers: &mut FuzzReaders, id: EntryId) {
        readers.entries_read = match readers.entries_read {
            Some(read) if !self.has_gap_from(id) => Some(read + 1),
            _ => self.added_up_to(id),
        };
        readers.last = id;
    }

    /// Returns the first entry; 0-0 without entries.
    fn first(&self) -> EntryId {
        self.entries.keys().next().copied().unwrap_or_default()
    }

    /// Returns whether the stream may lack an entry that XDEL has removed, from this one on.
    fn has_gap_from(&self, id: EntryId) -> bool {
        let removed = self.max_removed;
        !self.entries.is_empty() && removed > (0, 0) && removed >= self.first().max(id)
    }

    /// Returns how many entries were ever added up to this one, if it is at an end of the stream.
    fn added_up_to(&self, id: EntryId) -> Option<i128> {
        let (added, len) = (self.added, self.entries.len() as i128);
        let begins_with_gap = self.max_removed > (0, 0) && self.max_removed >= self.first();
        if added == 0 || id == self.last || (len == 0 && id < self.last) {
            Some(added)
        } else if id > self.last || id > self.first() || begins_with_gap {
            None
        } else {
            Some(added - len + i128::from(id == self.first()))
        }
    }
}

fn shown_start(start: &FuzzGroupStart) -> Vec<u8> {
    start.behind.map_or(b"$".to_vec(), |id| shown_id(id.numbers()))
}

fn entries_read_option(start: &FuzzGroupStart) -> Vec<Vec<u8>> {
    let option = |read: u8| vec![b"ENTRIESREAD".to_vec(), read.to_string().into_bytes()];
    start.entries_read.map(option).unwrap_or_default()
}
