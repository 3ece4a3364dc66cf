//! What Redis lacks: keys in order, versions, memory.

mod held;
mod neighbours;
mod ranges;
mod versions;

pub(super) use held::HeldTask;
pub(super) use neighbours::{first, last, next, prev};
pub(super) use ranges::{count, del_range, prefix, range};
pub(super) use versions::{cas, getv, getv_in_slices};

use super::Task;
use crate::commands::hashes::{Columns, write_columns};
use crate::commands::sorted_sets::{Members, write_members};
use crate::engine::RowRef;
use crate::resp::Reply;

/// What a row holds, if it is long: to be written in slices.
pub(crate) fn long_held(row: RowRef<'_>) -> Option<Task> {
    match row.sorted_set() {
        Some(set) => Members::all(&set.read()).map(Task::Members),
        None => Columns::all(&row.read_columns()?).map(Task::Columns),
    }
}

/// What a row holds: its value, its columns as a map, or the members of a sorted set with their scores as one.
pub(crate) fn write_held(row: RowRef<'_>, reply: &mut Reply<'_>) {
    match row.value() {
        Some(value) => reply.bulk(value),
        None => match (row.sorted_set(), row.read_columns()) {
            (Some(set), _) => write_members(&set.read(), reply),
            (None, Some(columns)) => write_columns(&columns, reply),
            (None, None) => reply.map(0),
        },
    }
}
