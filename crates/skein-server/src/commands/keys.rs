//! Commands on keys of any kind. `object` has OBJECT, `random` RANDOMKEY, `remove` DEL and UNLINK.

pub(super) mod object;
mod random;
mod remove;
pub(crate) mod table;

use super::task::{RangeFormat, RangeTask};
use super::{AfterCommand, CommandContext, CommandResult, scan};
use crate::redis::glob::Glob;
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, RowView, ScanDirection};

pub(super) use object::{integers_of, is_list, is_packed, object};

pub(super) fn exists_one(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    reply.int(row.is_some().into());
}

/// Replies with the number of keys that exist. A key that is named twice counts twice.
fn count_present(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    is_use: bool,
) -> CommandResult {
    let keys: Vec<&[u8]> = args.from(1).collect();
    let present = context.session.count_present(&keys, is_use)?;
    let lookups = &mut context.client.lookups;
    (lookups.hits, lookups.misses) = (present as u64, (keys.len() - present) as u64);
    reply.count(present);
    Ok(AfterCommand::Done)
}

pub(super) fn kind(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    reply.simple(kind_name(row));
}

/// Returns Redis's name for the kind of a row.
pub(super) fn kind_name(row: Option<RowView<'_>>) -> &'static str {
    match row {
        None => "none",
        Some(row) if row.value().is_some() => "string",
        Some(row) => match row.collection_kind() {
            Some(CollectionKind::SortedSet) => "zset",
            Some(CollectionKind::Set) => "set",
            Some(CollectionKind::List) => "list",
            Some(CollectionKind::Stream) => "stream",
            Some(CollectionKind::Hash) | None => "hash",
        },
    }
}

/// Runs KEYS. If keys are ordered and the pattern begins with literal bytes, it visits only the
/// keys with that prefix.
pub(super) fn keys(context: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    let pattern = args.get(1);
    let (range, shape) = (scan::within(context, Some(pattern)), RangeFormat::Matching(Glob::new(pattern)));
    let keyspace = context.client.keyspace();
    let task = RangeTask::new(keyspace, range, ScanDirection::Forward, usize::MAX, shape, None);
    Ok(AfterCommand::slices(task))
}
