//! DUMP of long collections, in slices.
//!
//! As in Redis, the payload shows a single moment: the task reads a view of the key. The reply is
//! written when the payload is complete, because its length is written first.

use std::ops::ControlFlow;

use super::short::counted_body;
use super::write_payload;
use crate::commands::CommandResult;
use crate::commands::reply_limit::check_reply_bytes;
use crate::commands::task::{SLICE_BYTES, SLICE_KEYS, SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::resp::Reply;
use skein_data::{
    ColumnsReader, ElementsView, EntriesView, ListReader, MembersView, ScanDirection, ScoreRangeView,
    SetReader, StreamId, StreamReader, stream_entry,
};
use skein_rdb::ValueType;
use skein_rdb::packed::QuicklistWriter;
use skein_rdb::stream::{StreamGroup, StreamPosition, StreamWriter};
use skein_rdb::write::{write_scored, write_string};

const WAY_OUT: &str = "read the key in parts, with HSCAN, SSCAN, ZSCAN, LRANGE or XRANGE";

/// The view of a key, and the part of the body that is written.
enum DumpedView {
    Hash(MembersView, Vec<u8>),
    Set(MembersView, Vec<u8>),
    SortedSet(ScoreRangeView, Vec<u8>),
    List(ElementsView, QuicklistWriter),
    /// In a box, because it is much larger than the others.
    Stream(Box<EntriesView>, StreamWriter, StreamPosition, Vec<StreamGroup>),
}

/// Writes the payload of a long collection.
pub(crate) struct DumpTask {
    viewed: DumpedView,
}

impl DumpTask {
    pub(super) fn hash(columns: &ColumnsReader) -> Option<Self> {
        let view = columns.view()?;
        let body = counted_body(ValueType::Hash, view.left());
        Some(Self { viewed: DumpedView::Hash(view, body) })
    }

    pub(super) fn set(set: &SetReader) -> Option<Self> {
        let view = set.view_members()?;
        let body = counted_body(ValueType::Set, view.left());
        Some(Self { viewed: DumpedView::Set(view, body) })
    }

    pub(super) fn sorted_set(set: &SetReader) -> Option<Self> {
        let view = set.view(set.len().saturating_sub(1), set.len(), ScanDirection::Backward)?;
        let body = counted_body(ValueType::SortedSet2, view.left());
        Some(Self { viewed: DumpedView::SortedSet(view, body) })
    }

    pub(super) fn list(list: &ListReader) -> Option<Self> {
        let view = list.view(0, list.len())?;
        Some(Self { viewed: DumpedView::List(view, QuicklistWriter::default()) })
    }

    pub(crate) fn stream(stream: &mut StreamReader) -> Result<Option<Self>, skein_data::RowError> {
        let all = (StreamId::MIN, StreamId::MAX);
        let (position, groups) = (stream.position(), stream.whole_groups()?);
        let view = EntriesView::of(stream, all, ScanDirection::Forward, u64::MAX);
        let viewed = |view| DumpedView::Stream(Box::new(view), StreamWriter::default(), position, groups);
        Ok(view.map(|view| Self { viewed: viewed(view) }))
    }
}

impl SlicedTask for DumpTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let more = self.viewed.step()?;
        check_reply_bytes(self.held(), slice.reply_bytes_max, WAY_OUT)?;
        if !more {
            write_payload(self.viewed.take_body(), reply);
        }
        Ok(if more { TaskProgress::More } else { TaskProgress::Done })
    }

    fn held(&self) -> usize {
        match &self.viewed {
            DumpedView::Hash(_, body) | DumpedView::Set(_, body) | DumpedView::SortedSet(_, body) => {
                body.capacity()
            }
            DumpedView::List(_, list) => list.byte_len(),
            DumpedView::Stream(_, written, ..) => written.byte_len(),
        }
    }
}

impl DumpedView {
    /// Writes some members. Returns whether there are more.
    fn step(&mut self) -> CommandResult<bool> {
        let mut written = 0;
        let mut count = |bytes: usize| {
            written += bytes;
            if written > SLICE_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        Ok(match self {
            Self::Hash(view, body) => view.step(SLICE_KEYS, |name, value| {
                write_string(body, name);
                write_string(body, value);
                count(name.len() + value.len())
            })?,
            Self::Set(view, body) => view.step(SLICE_KEYS, |member, _| {
                write_string(body, member);
                count(member.len())
            })?,
            Self::SortedSet(view, body) => view.step(SLICE_KEYS, |score, member| {
                let member = member.to_vec();
                write_scored(body, &member, score);
                count(member.len())
            })?,
            Self::Stream(view, written, ..) => view.step(SLICE_KEYS, |id, fields| {
                let entry = stream_entry(id, fields);
                written.push(&entry);
                count(entry.fields.iter().map(|(name, value)| name.len() + value.len()).sum())
            })?,
            Self::List(view, list) => view.step(SLICE_KEYS, |element| {
                list.push(element);
                count(element.len())
            })?,
        })
    }

    fn take_body(&mut self) -> Vec<u8> {
        match self {
            Self::Hash(_, body) | Self::Set(_, body) | Self::SortedSet(_, body) => std::mem::take(body),
            Self::List(_, list) => std::mem::take(list).finish(),
            Self::Stream(_, written, position, groups) => {
                let mut body = Vec::new();
                std::mem::take(written).finish(&mut body, position, groups);
                body
            }
        }
    }
}
