//! The strategies that draw operations.

use std::ops::Bound;

use proptest::prelude::*;

use super::{KeyWrite, Name};
use crate::contents::{Columns, Scores, Text};
use crate::list_operations::list_write;
use crate::stream_operations::stream_write;

/// Names of keys. Some are the beginning of others, and all have at most 8 bytes.
pub fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec!["", "a", "ab", "abc", "abcdefgh", "b", "ba", "c", "\0", "\u{7f}zz"])
        .prop_map(Text::from)
}

pub fn value() -> impl Strategy<Value = Text> {
    prop_oneof![
        4 => prop::sample::select(vec!["", "x", "7", "-3", "007", "9223372036854775807", "grey goose"])
            .prop_map(Text::from),
        1 => (0..9000usize).prop_map(|len| Text(vec![b'v'; len])),
    ]
}

fn columns() -> impl Strategy<Value = Columns> {
    prop::collection::btree_map(name(), value(), 1..4)
}

fn scores() -> impl Strategy<Value = Scores> {
    prop::collection::btree_map(name(), -3..3i32, 1..6)
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    prop::collection::btree_set(name(), 1..5).prop_map(|names| names.into_iter().collect())
}

/// An offset from the present time. A key never expires in the millisecond of an operation.
fn offset() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![-1000, 400, 1500, 1_000_000])
}

fn by() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![1, -1, 0, 40, i64::MAX, i64::MIN])
}

fn value_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    prop_oneof![
        3 => (name(), value()).prop_map(|(key, value)| W::Put(key, value)),
        1 => (name(), value(), offset()).prop_map(|(key, value, offset)| W::PutUntil(key, value, offset)),
        1 => (name(), value()).prop_map(|(key, value)| W::PutIfAbsent(key, value)),
        1 => (name(), prop::option::of(value()), value()).prop_map(|(key, old, new)| W::Swap(key, old, new)),
        2 => (name(), by()).prop_map(|(key, by)| W::Increment(key, by)),
    ]
}

fn columns_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    let expires = prop::option::of(offset());
    prop_oneof![
        2 => (name(), columns()).prop_map(|(key, columns)| W::PutColumns(key, columns)),
        1 => (name(), 60..80u8).prop_map(|(key, count)| W::PutManyColumns(key, count)),
        1 => (name(), names()).prop_map(|(key, names)| W::RemoveColumns(key, names)),
        1 => (name(), columns(), expires).prop_map(|(key, new, expires)| W::ReplaceColumns(key, new, expires)),
        1 => (name(), name(), by()).prop_map(|(key, name, by)| W::IncrementColumn(key, name, by)),
    ]
}

fn scores_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    let expires = prop::option::of(offset());
    prop_oneof![
        3 => (name(), scores()).prop_map(|(key, scores)| W::PutScores(key, scores)),
        1 => (name(), names()).prop_map(|(key, names)| W::RemoveScores(key, names)),
        1 => (name(), scores(), expires).prop_map(|(key, new, expires)| W::ReplaceScores(key, new, expires)),
    ]
}

fn members_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    let members = prop::collection::btree_set(name(), 1..6);
    prop_oneof![
        2 => (name(), members).prop_map(|(key, members)| W::AddMembers(key, members)),
        1 => (name(), names()).prop_map(|(key, names)| W::RemoveMembers(key, names)),
        1 => (name(), name(), name()).prop_map(|(from, to, member)| W::MoveMember(from, to, member)),
    ]
}

fn whole_write() -> impl Strategy<Value = KeyWrite> {
    use KeyWrite as W;
    prop_oneof![
        2 => name().prop_map(W::Remove),
        1 => (name(), prop::option::of(offset())).prop_map(|(key, offset)| W::Expire(key, offset)),
        1 => (name(), name(), any::<bool>()).prop_map(|(from, to, replace)| W::Rename(from, to, replace)),
        1 => (name(), name(), any::<bool>()).prop_map(|(from, to, replace)| W::Copy(from, to, replace)),
    ]
}

/// Writes to two streams, so that each becomes long.
fn stream_write_of() -> impl Strategy<Value = KeyWrite> {
    let key = prop::sample::select(vec![Text::from("s"), Text::from("stream")]);
    (key, stream_write()).prop_map(|(key, write)| KeyWrite::Stream(key, write))
}

pub fn key_write() -> impl Strategy<Value = KeyWrite> {
    prop_oneof![8 => value_write(), 6 => columns_write(), 5 => scores_write(), 3 => members_write(), 4 => list_write(), 6 => stream_write_of(), 5 => whole_write()]
}

/// Bounds of a range, in order or not.
pub fn bounds() -> impl Strategy<Value = (Bound<Name>, Bound<Name>)> {
    let bound = || {
        prop_oneof![
            Just(Bound::Unbounded),
            name().prop_map(Bound::Included),
            name().prop_map(Bound::Excluded),
        ]
    };
    (bound(), bound())
}
