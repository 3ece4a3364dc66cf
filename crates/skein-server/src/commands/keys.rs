//! Commands on keys, whatever they hold.

use super::{Context, Fault, Next};
use crate::engine::{RowRef, Writer};
use crate::resp::{Args, Reply};

pub(super) fn exists_one(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    reply.int(row.is_some().into());
}

/// A key that is named twice counts twice.
pub(super) fn exists(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let keys: Vec<&[u8]> = args.from(1).collect();
    reply.count(context.session.count_present(&keys)?);
    Ok(Next::Done)
}

pub(super) fn kind(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    reply.simple(kind_name(row));
}

/// What Redis calls what the row holds.
pub(super) fn kind_name(row: Option<RowRef<'_>>) -> &'static str {
    match row {
        None => "none",
        Some(row) if row.has_columns() => "hash",
        Some(_) => "string",
    }
}

pub(super) fn del(writer: &mut Writer<'_, '_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    // Looked up some at a time ahead of their removal, so that the reads overlap.
    const AHEAD: usize = 32;
    let mut count = 0;
    for first in (1..args.len()).step_by(AHEAD) {
        let keys = args.from(first).take(AHEAD);
        if args.len() > 2 {
            writer.prefetch(&keys.clone().collect::<Vec<_>>());
        }
        for key in keys {
            count += usize::from(writer.remove(key)?);
        }
    }
    reply.count(count);
    Ok(())
}
