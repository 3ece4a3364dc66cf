//! The fields of a stream's records, between the key and the last field.
//!
//! ```text
//!   groups N                          the first record: N groups, each:
//!     group NAME  last-delivered-id ID  entries-read N      (without the last pair: unknown)
//!       consumer NAME  seen-time T                          its consumers, each:
//!         pending ID  delivery-time T  delivery-count N     its pending entries
//!   ID N  name value ...  ID N ...    entries with N pairs each, in any number of records
//!   length N  last-generated-id ID  max-deleted-entry-id ID  entries-added N    the last record
//! ```
//!
//! The names are those of `XINFO STREAM FULL`. All fields are in pairs. Times are milliseconds
//! since 1970.

use skein_data::StreamPart;
use skein_rdb::stream::{PendingEntry, StreamConsumer, StreamEntry, StreamGroup, StreamId, StreamPosition};

const GROUPS: &str = "groups";
const GROUP: &str = "group";
const LAST_DELIVERED: &str = "last-delivered-id";
const ENTRIES_READ: &str = "entries-read";
const CONSUMER: &str = "consumer";
const SEEN: &str = "seen-time";
const PENDING: &str = "pending";
const DELIVERED: &str = "delivery-time";
const DELIVERIES: &str = "delivery-count";
const LENGTH: &str = "length";
const LAST_ID: &str = "last-generated-id";
const MAX_DELETED: &str = "max-deleted-entry-id";
const ADDED: &str = "entries-added";

/// Returns the id of a text: two numbers and a hyphen between them.
pub fn parse_id(text: &[u8]) -> Option<StreamId> {
    let (ms, seq) = std::str::from_utf8(text).ok()?.split_once('-')?;
    Some(StreamId { ms: parse_digits(ms)?, seq: parse_digits(seq)? })
}

fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Passes the fields of a part to `add`.
pub(super) fn write(part: &StreamPart, add: &mut impl FnMut(&[u8])) {
    match part {
        StreamPart::Groups(groups) => {
            add_number(GROUPS, groups.len() as u64, add);
            for group in groups {
                write_group(group, add);
            }
        }
        StreamPart::Entries(entries) => {
            for StreamEntry { id, fields } in entries {
                add_number(&id.to_string(), fields.len() as u64, add);
                for (name, value) in fields {
                    add(name);
                    add(value);
                }
            }
        }
        StreamPart::Position(position) => {
            add_number(LENGTH, position.len, add);
            add_id(LAST_ID, position.last_id, add);
            add_id(MAX_DELETED, position.max_deleted_id, add);
            add_number(ADDED, position.entries_added, add);
        }
    }
}

fn write_group(group: &StreamGroup, add: &mut impl FnMut(&[u8])) {
    add(GROUP.as_bytes());
    add(&group.name);
    add_id(LAST_DELIVERED, group.last_id, add);
    if let Some(read) = group.entries_read {
        add_number(ENTRIES_READ, read, add);
    }
    let mut of_consumers = vec![Vec::new(); group.consumers.len()];
    for pending in &group.pending {
        if let Some(of_consumer) = of_consumers.get_mut(pending.consumer) {
            of_consumer.push(pending);
        }
    }
    for (consumer, pending) in group.consumers.iter().zip(of_consumers) {
        add(CONSUMER.as_bytes());
        add(&consumer.name);
        add_number(SEEN, consumer.seen_at, add);
        for pending in pending {
            add_id(PENDING, pending.id, add);
            add_number(DELIVERED, pending.delivered_at, add);
            add_number(DELIVERIES, pending.deliveries, add);
        }
    }
}

fn add_number(name: &str, number: u64, add: &mut impl FnMut(&[u8])) {
    add(name.as_bytes());
    add(number.to_string().as_bytes());
}

fn add_id(name: &str, id: StreamId, add: &mut impl FnMut(&[u8])) {
    add(name.as_bytes());
    add(id.to_string().as_bytes());
}

/// Returns the part with these fields.
///
/// # Errors
/// Returns the mistake in the fields.
pub(super) fn parse(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Result<StreamPart, String> {
    let mut fields = FieldPairs(pairs.into_iter());
    let part = match fields.next_name() {
        Some(name) if name == GROUPS.as_bytes() => StreamPart::Groups(parse_groups(&mut fields)?),
        Some(name) if name == LENGTH.as_bytes() => StreamPart::Position(StreamPosition {
            len: fields.number(LENGTH)?,
            last_id: fields.id(LAST_ID)?,
            max_deleted_id: fields.id(MAX_DELETED)?,
            entries_added: fields.number(ADDED)?,
        }),
        _ => StreamPart::Entries(parse_entries(&mut fields)?),
    };
    match fields.0.next() {
        None => Ok(part),
        Some((name, _)) => {
            Err(format!("\"{}\" behind the last field of a stream's record", name.escape_ascii()))
        }
    }
}

fn parse_groups(fields: &mut FieldPairs) -> Result<Vec<StreamGroup>, String> {
    let mut groups = Vec::new();
    for _ in 0..fields.number(GROUPS)? {
        let name = fields.value(GROUP)?;
        let last_id = fields.id(LAST_DELIVERED)?;
        let entries_read =
            if fields.next_is(ENTRIES_READ) { Some(fields.number(ENTRIES_READ)?) } else { None };
        let mut group = StreamGroup { name, last_id, entries_read, ..StreamGroup::default() };
        while fields.next_is(CONSUMER) {
            let name = fields.value(CONSUMER)?;
            let seen_at = fields.number(SEEN)?;
            let consumer = group.consumers.len();
            group.consumers.push(StreamConsumer { name, seen_at, active_at: Some(seen_at) });
            while fields.next_is(PENDING) {
                group.pending.push(PendingEntry {
                    id: fields.id(PENDING)?,
                    consumer,
                    delivered_at: fields.number(DELIVERED)?,
                    deliveries: fields.number(DELIVERIES)?,
                });
            }
        }
        group.pending.sort_unstable_by_key(|pending| pending.id);
        if let Some(twice) = group.pending.windows(2).find(|two| two[0].id == two[1].id) {
            return Err(format!(
                "the entry {} is pending twice in the group \"{}\"",
                twice[0].id,
                group.name.escape_ascii()
            ));
        }
        groups.push(group);
    }
    Ok(groups)
}

fn parse_entries(fields: &mut FieldPairs) -> Result<Vec<StreamEntry>, String> {
    let mut entries = Vec::new();
    while let Some((id, count)) = fields.0.next() {
        let found = parse_id(&id).ok_or_else(|| {
            format!(
                "\"{}\" where a stream has an id like 1526919030474-0; a record of a stream begins with \
                 {GROUPS}, with {LENGTH}, or with the id of an entry and the number of its fields",
                id.escape_ascii()
            )
        })?;
        let count = number_of(&count).and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| (1..=fields.0.len()).contains(count)).ok_or_else(|| {
            format!(
                "the entry {} of a stream has another number of fields than it says, or none",
                id.escape_ascii()
            )
        })?;
        entries.push(StreamEntry { id: found, fields: fields.0.by_ref().take(count).collect() });
    }
    Ok(entries)
}

fn number_of(text: &[u8]) -> Option<u64> {
    parse_digits(std::str::from_utf8(text).ok()?)
}

/// The pairs of fields that are not read yet.
struct FieldPairs(std::vec::IntoIter<(Vec<u8>, Vec<u8>)>);

impl FieldPairs {
    fn next_name(&self) -> Option<&[u8]> {
        self.0.as_slice().first().map(|(name, _)| &name[..])
    }

    fn next_is(&self, name: &str) -> bool {
        self.next_name() == Some(name.as_bytes())
    }

    /// Reads the value of the next pair, which must have this name.
    fn value(&mut self, name: &str) -> Result<Vec<u8>, String> {
        match self.0.next() {
            Some((found, value)) if found == name.as_bytes() => Ok(value),
            Some((found, _)) => {
                Err(format!("\"{}\" in a stream's record, where {name} must be", found.escape_ascii()))
            }
            None => Err(format!("the record of a stream ends where {name} must be")),
        }
    }

    fn number(&mut self, name: &str) -> Result<u64, String> {
        let value = self.value(name)?;
        number_of(&value).ok_or_else(|| {
            format!("\"{}\" behind {name} in a stream's record; write a number", value.escape_ascii())
        })
    }

    fn id(&mut self, name: &str) -> Result<StreamId, String> {
        let value = self.value(name)?;
        parse_id(&value).ok_or_else(|| {
            format!(
                "\"{}\" behind {name} in a stream's record; write an id like 1526919030474-0",
                value.escape_ascii()
            )
        })
    }
}
