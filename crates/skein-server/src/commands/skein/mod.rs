//! Commands that Redis does not have: ordered keys, versions, memory.

mod key_contents;
mod neighbours;
mod ranges;
mod versions;

pub(super) use key_contents::KeyContentsTask;
pub(super) use neighbours::{first, last, next, prev};
pub(super) use ranges::{count, del_range, prefix, range};
pub(super) use versions::{cas, getv, getv_in_slices};

use super::SlicedTask;
use crate::commands::hashes::{ColumnsReply, write_columns};
use crate::commands::sorted_sets::{MembersReply, write_members};
use crate::resp::ReplyWriter;
use skein_data::RowRef;

/// Returns a task that writes the contents of a row in slices, or `None` if the row is short.
pub(crate) fn long_contents(row: RowRef<'_>) -> Option<SlicedTask> {
    match row.sorted_set() {
        Some(set) => MembersReply::all(&set.read()).map(SlicedTask::Members),
        None => ColumnsReply::all(&row.read_columns()?).map(SlicedTask::Columns),
    }
}

/// Writes the contents of a row: its value, its columns as a map, or the members of a sorted set
/// with their scores as a map.
pub(crate) fn write_contents(row: RowRef<'_>, reply: &mut ReplyWriter<'_>) {
    match row.value() {
        Some(value) => reply.bulk(value),
        None => match (row.sorted_set(), row.read_columns()) {
            (Some(set), _) => write_members(&set.read(), reply),
            (None, Some(columns)) => write_columns(&columns, reply),
            (None, None) => reply.map(0),
        },
    }
}
