//! DUMP of values that are encoded at once.
//!
//! | kind       | small                         | otherwise                          |
//! | ---------- | ----------------------------- | ---------------------------------- |
//! | hash       | a listpack of pairs           | pairs                              |
//! | set        | integers in order             | members                            |
//! | sorted set | a listpack, by scores         | members and scores, from the last  |
//! | list       | nodes with a listpack each    | the same                           |
//! | stream     | nodes of entries, and groups  | the same                           |

use std::ops::ControlFlow;

use super::long::DumpTask;
use super::write_payload;
use crate::commands::Replied;
use crate::commands::keys::{integers_of, is_list, is_packed};
use crate::commands::task::{AT_ONCE, AT_ONCE_BYTES, LongReply};
use crate::config::settings::EncodingLimits;
use crate::resp::double::write_double;
use crate::resp::{Args, Reply};
use skein_data::{
    CollectionKind, ColumnsReader, ListEnd, ListReader, RowView, ScanDirection, SetReader, StreamId,
    StreamReader, stream_entry,
};
use skein_rdb::ValueType;
use skein_rdb::packed::{ListpackWriter, QuicklistWriter, write_intset};
use skein_rdb::stream::StreamWriter;
use skein_rdb::write::{write_length, write_scored, write_string, write_type};

pub(crate) fn dump(row: Option<RowView>, _: &Args, reply: &mut Reply, long: &mut LongReply) -> Replied {
    let Some(row) = row else {
        reply.null();
        return Ok(());
    };
    answer_row(row, reply, long)
}

/// Replies with the payload of a row.
pub(super) fn answer_row(row: RowView, reply: &mut Reply, long: &mut LongReply) -> Replied {
    if let Some(value) = row.value() {
        write_payload(of_blob(ValueType::String, value), reply);
        return Ok(());
    }
    match row.collection_kind() {
        Some(CollectionKind::SortedSet) => row.sorted_set(|set| {
            answer(set.is_empty(), sorted_set(set), || DumpTask::sorted_set(set), reply, long);
        })?,
        Some(CollectionKind::Set) => row.set_of(CollectionKind::Set, |set| {
            answer(set.is_empty(), plain_set(set), || DumpTask::set(set), reply, long);
        })?,
        Some(CollectionKind::List) => row.list(|elements| {
            answer(elements.is_empty(), list(elements), || DumpTask::list(elements), reply, long);
        })?,
        Some(CollectionKind::Stream) => {
            row.stream(|stream| answer_stream(stream, reply, long))?.transpose()?
        }
        Some(CollectionKind::Hash) | None => row.columns(|columns| {
            answer(columns.is_empty(), hash(columns), || DumpTask::hash(columns), reply, long);
        })?,
    };
    Ok(())
}

/// Replies with the body if there is one, and begins a task otherwise. A collection that was
/// removed since its row was read has no members, and counts as absent.
fn answer(
    is_empty: bool,
    body: Option<Vec<u8>>,
    task: impl FnOnce() -> Option<DumpTask>,
    reply: &mut Reply,
    long: &mut LongReply,
) {
    match body {
        _ if is_empty => reply.null(),
        Some(body) => write_payload(body, reply),
        None => long.begin(reply, task),
    }
}

/// Does the same with a stream, which may have no entries.
pub(crate) fn answer_stream(stream: &mut StreamReader, reply: &mut Reply, long: &mut LongReply) -> Replied {
    if stream.len() > AT_ONCE as u64 {
        let mut failed = None;
        long.begin(reply, || match DumpTask::stream(stream) {
            Ok(task) => task,
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        return failed.map_or(Ok(()), |error| Err(error.into()));
    }
    let mut written = StreamWriter::default();
    stream.entries((StreamId::MIN, StreamId::MAX), ScanDirection::Forward, |id, fields| {
        written.push(&stream_entry(id, fields));
        ControlFlow::Continue(())
    })?;
    let (position, groups) = (stream.position(), stream.whole_groups()?);
    let mut body = Vec::new();
    written.finish(&mut body, &position, &groups);
    write_payload(body, reply);
    Ok(())
}

fn of_blob(kind: ValueType, blob: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    write_type(&mut body, kind);
    write_string(&mut body, blob);
    body
}

/// Begins the body of a value with a number of members.
pub(super) fn counted_body(kind: ValueType, count: u64) -> Vec<u8> {
    let mut body = Vec::new();
    write_type(&mut body, kind);
    write_length(&mut body, count);
    body
}

/// Continues until this many bytes are too many.
fn until(bytes: usize, most: usize) -> ControlFlow<()> {
    if bytes > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Returns the body if it is short.
fn if_short(body: Vec<u8>, most: usize) -> Option<Vec<u8>> {
    until(body.len(), most).is_continue().then_some(body)
}

fn hash(columns: &ColumnsReader) -> Option<Vec<u8>> {
    if is_packed(columns, &EncodingLimits::DEFAULT) {
        let mut pack = ListpackWriter::default();
        columns.walk(None, |name, value| {
            pack.push(name);
            pack.push(value);
            ControlFlow::Continue(())
        });
        return Some(of_blob(ValueType::HashListpack, &pack.finish()));
    }
    let most = match columns {
        // Columns in their row have no view.
        _ if columns.in_row() => usize::MAX,
        _ if columns.len() <= AT_ONCE => AT_ONCE_BYTES,
        _ => return None,
    };
    let mut body = counted_body(ValueType::Hash, columns.len() as u64);
    columns.walk(None, |name, value| {
        write_string(&mut body, name);
        write_string(&mut body, value);
        until(body.len(), most)
    });
    if_short(body, most)
}

fn plain_set(set: &SetReader) -> Option<Vec<u8>> {
    if let Some(integers) = integers_of(set, &EncodingLimits::DEFAULT) {
        return Some(of_blob(ValueType::SetIntset, &write_intset(&integers)));
    }
    let mut body = counted_body(ValueType::Set, few(set.len())?);
    set.members_after(None, |member, _| {
        write_string(&mut body, member);
        until(body.len(), AT_ONCE_BYTES)
    });
    if_short(body, AT_ONCE_BYTES)
}

/// Returns the number of members, if they are few.
fn few(len: u64) -> Option<u64> {
    (len <= AT_ONCE as u64).then_some(len)
}

fn sorted_set(set: &SetReader) -> Option<Vec<u8>> {
    if is_list(set, &EncodingLimits::DEFAULT) {
        let mut pack = ListpackWriter::default();
        set.walk(0, ScanDirection::Forward, |score, member| {
            pack.push(&member.to_vec());
            push_score(&mut pack, score);
            ControlFlow::Continue(())
        });
        return Some(of_blob(ValueType::SortedSetListpack, &pack.finish()));
    }
    let len = few(set.len())?;
    let mut body = counted_body(ValueType::SortedSet2, len);
    set.walk(len.saturating_sub(1), ScanDirection::Backward, |score, member| {
        write_scored(&mut body, &member.to_vec(), score);
        until(body.len(), AT_ONCE_BYTES)
    });
    if_short(body, AT_ONCE_BYTES)
}

/// Redis writes scores up to this as integers, if they are.
const INTEGER_SCORE_MAX: f64 = 4_611_686_018_427_387_904.0;

fn push_score(pack: &mut ListpackWriter, score: f64) {
    if score.fract() == 0.0 && score.abs() <= INTEGER_SCORE_MAX {
        return pack.push_number(score as i64);
    }
    let mut text = Vec::new();
    write_double(&mut text, score);
    pack.push(&text);
}

fn list(elements: &ListReader) -> Option<Vec<u8>> {
    few(elements.len())?;
    let (mut list, mut bytes) = (QuicklistWriter::default(), 0);
    elements.walk(ListEnd::Front, |element| {
        list.push(element);
        bytes += element.len();
        until(bytes, AT_ONCE_BYTES)
    });
    until(bytes, AT_ONCE_BYTES).is_continue().then(|| list.finish())
}
