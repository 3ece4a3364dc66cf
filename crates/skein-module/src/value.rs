//! The value of a key, as a part of a reply.

use crate::answer::{Answer, Part};
use crate::api::{Key, Kind, Name};

/// The texts for values that have no natural reply.
const STREAM: &[u8] = b"stream: read it by XRANGE; NOVALUES leaves out what keys hold";
const OTHER: &[u8] =
    b"a module's own value: read it by that module's commands; NOVALUES leaves out what keys hold";

/// Writes the value of a key. A string is written as it is. A hash is written as a map, sorted by
/// field. A sorted set is written as a map of members and scores, sorted by score. A set is written
/// sorted by member, and a list in its order. Any other value is written as a line that names its
/// type.
pub fn write(key: &Key<'_>, answer: &mut Answer) {
    match key.kind() {
        Kind::String => answer.push(Part::Bulk(key.string())),
        Kind::Hash => {
            let fields = key.fields();
            answer.push(Part::Map(fields.len()));
            for (field, value) in &fields {
                answer.push(Part::Bulk(field));
                answer.push(Part::Bulk(value));
            }
        }
        Kind::SortedSet => {
            let members = key.members();
            answer.push(Part::Map(members.len()));
            for (member, score) in &members {
                answer.push(Part::Bulk(member));
                answer.push(Part::Double(*score));
            }
        }
        Kind::Set => {
            let members = key.fields();
            answer.push(Part::Set(members.len()));
            for (member, _) in &members {
                answer.push(Part::Bulk(member));
            }
        }
        Kind::List => {
            let elements = key.elements();
            answer.push(Part::Array(elements.len()));
            for element in &elements {
                answer.push(Part::Bulk(element));
            }
        }
        Kind::Stream => answer.push(Part::Status(STREAM)),
        Kind::Other => answer.push(Part::Status(OTHER)),
    }
}

/// Writes the named columns of a hash. Writes null for a missing column, and for every column if
/// the key is not a hash.
pub fn write_columns(key: &Key<'_>, columns: &[Vec<u8>], answer: &mut Answer) {
    answer.push(Part::Array(columns.len()));
    let is_hash = key.kind() == Kind::Hash;
    for column in columns {
        match is_hash.then(|| key.field(&Name::new(column))).flatten() {
            Some(value) => answer.push(Part::Bulk(&value)),
            None => answer.push(Part::Null),
        }
    }
}
