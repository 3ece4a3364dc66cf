//! The contents of keys.

use std::collections::BTreeSet;

use crate::reply::WireReply;

/// The contents of a key. Elements are numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WireValue {
    Text(u32),
    List(Vec<u32>),
    Set(BTreeSet<u32>),
    /// A sorted set with members that are their scores.
    Scores(BTreeSet<u32>),
    Stream(WireStream),
}

/// A stream, and the number of entries that its group has delivered; `None` without a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct WireStream {
    pub entries: Vec<u32>,
    pub delivered: Option<usize>,
}

impl WireValue {
    /// Returns the contents as ranges show them, of a stream its values alone.
    pub fn shown(&self) -> WireReply {
        match self {
            Self::Text(value) => WireReply::element(*value),
            Self::List(elements) => WireReply::elements(elements.iter().copied()),
            Self::Set(members) => WireReply::elements(members.iter().copied()),
            Self::Scores(members) => {
                WireReply::elements(members.iter().flat_map(|member| [*member, *member]))
            }
            Self::Stream(stream) => WireReply::elements(stream.entries.iter().copied()),
        }
    }

    /// Returns whether a client that watches sees the same: groups are no part of a stream's
    /// contents.
    pub fn has_contents_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream(stream), Self::Stream(other)) => stream.entries == other.entries,
            _ => self == other,
        }
    }

    /// Returns whether a collection has no elements, so that its key does not exist.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Text(_) | Self::Stream(_) => false,
            Self::List(elements) => elements.is_empty(),
            Self::Set(members) | Self::Scores(members) => members.is_empty(),
        }
    }
}
