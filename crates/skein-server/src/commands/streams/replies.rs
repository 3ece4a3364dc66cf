//! Ids and entries in replies.

use std::io::Write as _;

use crate::resp::Reply;
use skein_data::{EntryFields, StreamId};

/// The longest text of an id.
pub(super) const ID_BYTES: usize = 41;

/// Writes an id.
pub(super) fn write_id(id: StreamId, reply: &mut Reply) {
    let mut text = [0; ID_BYTES];
    let mut rest = &mut text[..];
    // Two numbers of 20 digits and a dash fit.
    let _ = write!(rest, "{id}");
    let len = ID_BYTES - rest.len();
    reply.bulk(&text[..len]);
}

/// Writes an entry: its id and its fields.
pub(super) fn write_entry(id: StreamId, fields: EntryFields<'_>, reply: &mut Reply) {
    reply.array(2);
    write_id(id, reply);
    reply.array(fields.len());
    fields.for_each(|text| reply.bulk(text));
}

/// Writes an entry that the stream has no more.
pub(super) fn write_gone(id: StreamId, reply: &mut Reply) {
    reply.array(2);
    write_id(id, reply);
    reply.null_array();
}

/// Writes an array of as many elements as `write` counts.
pub(super) fn write_counted<R>(reply: &mut Reply, write: impl FnOnce(&mut Reply, &mut usize) -> R) -> R {
    let (start, mut count) = (reply.begin_open_array(), 0);
    let answer = write(reply, &mut count);
    reply.close_open_array(start, count);
    answer
}
