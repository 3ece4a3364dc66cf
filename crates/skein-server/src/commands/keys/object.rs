//! OBJECT: what Redis would keep a key's row as.

use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use crate::commands::subcommands::{Subcommands, help, subcommand};
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::engine::{ColumnsReader, RowRef, ScanDirection, SetReader};
use crate::resp::{ReplyWriter, RequestArgs};

const HELP: &[&str] = &[
    "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "ENCODING <key>",
    "    What Redis would keep the key's value as.",
    "FREQ <key>",
    "    An error: how often keys are used is not counted.",
    "IDLETIME <key>",
    "    An error: when keys were used is not noted.",
    "REFCOUNT <key>",
    "    1: values are not shared.",
    "HELP",
    "    Prints this help.",
];

/// Bytes of the longest text that Redis keeps in one piece with its head.
const EMBEDDED_MAX: usize = 44;

/// Redis keeps hashes of so many fields, none of which is longer than that, as a list.
const LIST_FIELDS_MAX: usize = 512;
const LIST_BYTES_MAX: usize = 64;

pub(in crate::commands) const SUBCOMMANDS: Subcommands =
    &[("encoding", 3), ("freq", 3), ("idletime", 3), ("refcount", 3), ("help", 2)];

pub(in crate::commands) fn object(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let subcommand = subcommand("object", SUBCOMMANDS, args)?;
    if subcommand == "help" {
        help(HELP, reply);
        return Ok(AfterCommand::Done);
    }
    context.look_up(args.get(2), |row| {
        let Some(row) = row? else {
            reply.null();
            return Ok(());
        };
        match subcommand {
            "encoding" => reply.bulk(encoding(row).as_bytes()),
            "refcount" => reply.int(1),
            "freq" => {
                return Err(CommandError::text(
                    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when \
                     switching between policies at runtime LRU and LFU data will take some time to adjust.",
                ));
            }
            _ => return Err(CommandError::text("ERR when a key was used last is not noted; there is no idle time")),
        }
        Ok(())
    })?;
    Ok(AfterCommand::Done)
}

fn encoding(row: RowRef<'_>) -> &'static str {
    match row.value() {
        Some(value) if parse_i64(value).is_some() => "int",
        Some(value) if value.len() <= EMBEDDED_MAX => "embstr",
        Some(_) => "raw",
        None => match row.sorted_set() {
            Some(set) => set_encoding(&set.read()),
            None => hash_encoding(row.read_columns().as_ref()),
        },
    }
}

/// Redis keeps sorted sets of so many members, none of which is longer than that, as a list.
const LIST_MEMBERS_MAX: u64 = 128;

fn set_encoding(set: &SetReader<'_>) -> &'static str {
    let mut list = set.len() <= LIST_MEMBERS_MAX;
    if list {
        set.walk(0, ScanDirection::Forward, |_, member| {
            list = member.len() <= LIST_BYTES_MAX;
            if list { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    if list { "listpack" } else { "skiplist" }
}

fn hash_encoding(columns: Option<&ColumnsReader<'_>>) -> &'static str {
    let mut list = columns.is_none_or(|columns| columns.len() <= LIST_FIELDS_MAX);
    if let (true, Some(columns)) = (list, columns) {
        columns.walk(None, |name, value| {
            list = name.len().max(value.len()) <= LIST_BYTES_MAX;
            if list { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    if list { "listpack" } else { "hashtable" }
}
