//! What Redis lacks: keys in order, versions, memory.

pub(crate) mod bounds;
mod neighbours;
mod ranges;
mod versions;

pub(super) use neighbours::{first, last, next, prev};
pub(super) use ranges::{count, del_range, prefix, range};
pub(super) use versions::{cas, getv};

use super::{Context, Fault, Next};
use crate::commands::hashes::write_columns;
use crate::engine::RowRef;
use crate::resp::{Args, Reply};

/// What a row holds: its value, or its columns as a map.
pub(crate) fn write_held(row: RowRef<'_>, reply: &mut Reply<'_>) {
    match row.value() {
        Some(value) => reply.bulk(value),
        None => write_columns(row, reply),
    }
}

/// `SK.MEMORY`
pub(super) fn memory(context: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Result<Next, Fault> {
    let stats = context.session.engine().stats();
    let live = stats.index_bytes + stats.row_bytes;
    let parts = [
        ("keys", stats.keys),
        ("live_bytes", live),
        ("index_bytes", stats.index_bytes),
        ("row_bytes", stats.row_bytes),
        ("unreclaimed_bytes", stats.unreclaimed_bytes),
        ("reserved_bytes", stats.reserved_bytes),
        ("live_bytes_per_key", live.checked_div(stats.keys).unwrap_or(0)),
    ];
    reply.map(parts.len());
    for (name, value) in parts {
        reply.bulk(name.as_bytes());
        reply.count(value);
    }
    Ok(Next::Done)
}
