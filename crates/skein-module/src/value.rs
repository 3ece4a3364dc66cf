//! The value of a key, as a part of a reply.

use crate::answer::{CollectedReply, ReplyPart};
use crate::api::{OpenKey, ServerString, ValueType};

/// The texts for values that have no natural reply.
const STREAM: &[u8] = b"stream: read it by XRANGE; NOVALUES leaves out what keys hold";
const OTHER: &[u8] =
    b"a module's own value: read it by that module's commands; NOVALUES leaves out what keys hold";

/// Writes the value of a key. A string is written as it is. A hash is written as a map, sorted by
/// field. A sorted set is written as a map of members and scores, sorted by score. A set is written
/// sorted by member, and a list in its order. Any other value is written as a line that names its
/// type.
pub fn write(key: &OpenKey<'_>, answer: &mut CollectedReply) {
    match key.kind() {
        ValueType::String => answer.push(ReplyPart::Bulk(key.string())),
        ValueType::Hash => {
            let fields = key.fields();
            answer.push(ReplyPart::Map(fields.len()));
            for (field, value) in &fields {
                answer.push(ReplyPart::Bulk(field));
                answer.push(ReplyPart::Bulk(value));
            }
        }
        ValueType::SortedSet => {
            let members = key.members();
            answer.push(ReplyPart::Map(members.len()));
            for (member, score) in &members {
                answer.push(ReplyPart::Bulk(member));
                answer.push(ReplyPart::Double(*score));
            }
        }
        ValueType::Set => {
            let members = key.fields();
            answer.push(ReplyPart::Set(members.len()));
            for (member, _) in &members {
                answer.push(ReplyPart::Bulk(member));
            }
        }
        ValueType::List => {
            let elements = key.elements();
            answer.push(ReplyPart::Array(elements.len()));
            for element in &elements {
                answer.push(ReplyPart::Bulk(element));
            }
        }
        ValueType::Stream => answer.push(ReplyPart::Status(STREAM)),
        ValueType::Other => answer.push(ReplyPart::Status(OTHER)),
    }
}

/// Writes the named columns of a hash. Writes null for a missing column, and for every column if
/// the key is not a hash.
pub fn write_columns(key: &OpenKey<'_>, columns: &[Vec<u8>], answer: &mut CollectedReply) {
    answer.push(ReplyPart::Array(columns.len()));
    let is_hash = key.kind() == ValueType::Hash;
    for column in columns {
        match is_hash.then(|| key.field(&ServerString::new(column))).flatten() {
            Some(value) => answer.push(ReplyPart::Bulk(&value)),
            None => answer.push(ReplyPart::Null),
        }
    }
}
