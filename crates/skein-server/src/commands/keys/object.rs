//! OBJECT: the encoding that Redis would use for the row of a key.

use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use crate::commands::subcommands::{help, subcommand};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::config::settings::EncodingLimits;
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, ColumnsReader, RowView, ScanDirection, SetReader};

const HELP: &[&str] = &[
    "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "ENCODING <key>",
    "    Return the encoding that Redis would use for the value.",
    "FREQ <key>",
    "    Return how often a key is used, if maxmemory-policy is one of LFU.",
    "IDLETIME <key>",
    "    Return the idle time of the key, in steps of up to a quarter of an hour. Not with LFU.",
    "REFCOUNT <key>",
    "    Return 1: values are not shared.",
    "HELP",
    "    Prints this help.",
];

const NO_FREQUENCY: CommandError = CommandError::text(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching \
     between policies at runtime LRU and LFU data will take some time to adjust.",
);
const NO_IDLE_TIME: CommandError = CommandError::text(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies \
     at runtime LRU and LFU data will take some time to adjust.",
);
const NOT_ON_DISK: CommandError =
    CommandError::text("ERR idle time not tracked: the disk engine does not note the use of keys");

/// Bytes of the longest string that Redis keeps in one allocation with its header.
const EMBEDDED_MAX: usize = 44;

pub(crate) fn object(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let subcommand = subcommand(args)?;
    if subcommand == "help" {
        help(HELP, reply);
        return Ok(AfterCommand::Done);
    }
    let limits = context.shared.settings.encodings.limits();
    let store = &context.shared.data.store;
    let (frequency, idle, on_disk) =
        (store.frequency(args.get(2)), store.idle_time(args.get(2)), store.disk().is_some());
    context.look_up_unused(args.get(2), |row| {
        let Some(row) = row? else {
            reply.null();
            return Ok(());
        };
        match subcommand {
            "encoding" => reply.bulk(encoding(row, &limits)?.as_bytes()),
            "refcount" => reply.int(1),
            "freq" => reply.int(frequency.ok_or(NO_FREQUENCY)?.into()),
            _ if on_disk => return Err(NOT_ON_DISK),
            _ => reply.places(idle.ok_or(NO_IDLE_TIME)?.as_secs()),
        }
        Ok(())
    })?;
    Ok(AfterCommand::Done)
}

/// Returns the encoding that Redis would use.
pub(crate) fn encoding(row: RowView<'_>, limits: &EncodingLimits) -> CommandResult<&'static str> {
    Ok(match row.value() {
        Some(value) if parse_i64(value).is_some() => "int",
        Some(value) if value.len() <= EMBEDDED_MAX => "embstr",
        Some(_) => "raw",
        None => match row.collection_kind() {
            Some(CollectionKind::SortedSet) => row.sorted_set(|set| sorted_set_encoding(set, limits))?,
            Some(CollectionKind::Set) => row.set_of(CollectionKind::Set, |set| set_encoding(set, limits))?,
            Some(CollectionKind::List) => Some("quicklist"),
            Some(CollectionKind::Stream) => Some("stream"),
            Some(CollectionKind::Hash) | None => row.columns(|columns| hash_encoding(columns, limits))?,
        }
        .unwrap_or(HASH_TABLE),
    })
}

fn set_encoding(set: &SetReader<'_>, limits: &EncodingLimits) -> &'static str {
    if integers_of(set, limits).is_some() { "intset" } else { HASH_TABLE }
}

/// Returns the members in their numeric order, if Redis would keep them as an array of integers.
pub(crate) fn integers_of(set: &SetReader, limits: &EncodingLimits) -> Option<Vec<i64>> {
    let mut integers = (set.len() <= limits.set_integers as u64).then(Vec::new)?;
    let mut are_integers = true;
    set.walk(0, ScanDirection::Forward, |_, member| {
        let integer = parse_i64(&member.to_vec());
        are_integers = integer.is_some();
        integers.extend(integer);
        if are_integers { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    integers.sort_unstable();
    are_integers.then_some(integers)
}

/// Returns whether Redis would keep a sorted set as a list.
pub(crate) fn is_list(set: &SetReader, limits: &EncodingLimits) -> bool {
    let mut list = set.len() <= limits.sorted_set_entries as u64;
    if list {
        set.walk(0, ScanDirection::Forward, |_, member| {
            list = member.len() <= limits.sorted_set_value;
            if list { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    list
}

fn sorted_set_encoding(set: &SetReader<'_>, limits: &EncodingLimits) -> &'static str {
    if is_list(set, limits) { "listpack" } else { "skiplist" }
}

const HASH_TABLE: &str = "hashtable";

fn hash_encoding(columns: &ColumnsReader<'_>, limits: &EncodingLimits) -> &'static str {
    if is_packed(columns, limits) { "listpack" } else { HASH_TABLE }
}

/// Returns whether Redis would keep a hash as a list.
pub(crate) fn is_packed(columns: &ColumnsReader, limits: &EncodingLimits) -> bool {
    let mut list = columns.len() <= limits.hash_entries;
    if list {
        columns.walk(None, |name, value| {
            list = name.len().max(value.len()) <= limits.hash_value;
            if list { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    list
}
