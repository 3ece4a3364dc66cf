//! XGROUP.

use super::ids::{parse_id, parse_id_or_edge};
use super::no_group;
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::subcommands::{help, subcommand, unknown_or_wrong};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{
    ENTRIES_READ_UNKNOWN, EngineWriter, Group, GroupStart, StreamId, StreamWriter, name_within,
};
use skein_syntax::number::parse_i64;

const NO_KEY: CommandError = CommandError::text(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);
const IS_THERE: CommandError = CommandError::text("BUSYGROUP Consumer Group name already exists");

const HELP: &[&str] = &[
    "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CREATE <key> <group> <id|$> [MKSTREAM] [ENTRIESREAD <number>]",
    "    Make a group that reads the entries behind an id; MKSTREAM makes the stream, too.",
    "CREATECONSUMER <key> <group> <consumer>",
    "    Make a consumer.",
    "DELCONSUMER <key> <group> <consumer>",
    "    Remove a consumer and its pending entries; return their number.",
    "DESTROY <key> <group>",
    "    Remove a group.",
    "SETID <key> <group> <id|$> [ENTRIESREAD <number>]",
    "    Let a group read on behind another id.",
    "HELP",
    "    Prints this help.",
];

/// The id and the options of CREATE and SETID.
struct StartQuery<'a> {
    id: &'a [u8],
    makes: bool,
    entries_read: i64,
}

impl<'a> StartQuery<'a> {
    fn parse(args: &Args<'a>, is_create: bool) -> CommandResult<Self> {
        let mut query = Self { id: args.get(4), makes: false, entries_read: ENTRIES_READ_UNKNOWN };
        let mut at = 5;
        while at < args.len() {
            if is_create && is(args.get(at), "MKSTREAM") {
                query.makes = true;
                at += 1;
            } else if is(args.get(at), "ENTRIESREAD") && at + 1 < args.len() {
                query.entries_read = parse_i64(args.get(at + 1)).ok_or(NOT_AN_INTEGER)?;
                if query.entries_read < ENTRIES_READ_UNKNOWN {
                    return Err(CommandError::text("ERR value for ENTRIESREAD must be positive or -1"));
                }
                at += 2;
            } else {
                return Err(unknown_or_wrong(args));
            }
        }
        Ok(query)
    }

    /// Returns where the group begins to read.
    fn start(
        &self,
        stream: &StreamWriter,
        parse: impl FnOnce(&[u8]) -> CommandResult<StreamId>,
    ) -> CommandResult<GroupStart> {
        let last_id = if self.id == b"$" { stream.head().last_id } else { parse(self.id)? };
        Ok(GroupStart { last_id, entries_read: self.entries_read })
    }
}

pub(super) fn xgroup(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let subcommand = subcommand(args)?;
    if subcommand == "help" {
        help(HELP, reply);
        return Ok(AfterCommand::Done);
    }
    context.write(|writer| match subcommand {
        "create" => create(writer, args, reply),
        "setid" => set_id(writer, args, reply),
        "destroy" => destroy(writer, args, reply),
        "createconsumer" => create_consumer(writer, args, reply),
        _ => delete_consumer(writer, args, reply),
    })?;
    Ok(AfterCommand::Done)
}

fn create(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let query = StartQuery::parse(args, true)?;
    let made = writer.change_stream(args.get(2), query.makes, |stream| {
        let start = query.start(stream, parse_id)?;
        Ok::<_, CommandError>(stream.create_group(args.get(3), start)?)
    })?;
    if !made.ok_or(NO_KEY)? {
        return Err(IS_THERE);
    }
    reply.ok();
    Ok(())
}

/// Returns the error for a group that the stream lacks.
fn absent(args: &Args) -> CommandError {
    no_group(&[b"No such consumer group '", args.get(3), b"' for key name '", name_within(args.get(2)), b"'"])
}

fn set_id(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let query = StartQuery::parse(args, false)?;
    let set = writer.change_stream(args.get(2), false, |stream| {
        stream.group(args.get(3))?.ok_or_else(|| absent(args))?;
        let start = query.start(stream, parse_id_or_edge)?;
        Ok::<_, CommandError>(stream.set_group(args.get(3), start)?)
    })?;
    set.ok_or(NO_KEY)?;
    reply.ok();
    Ok(())
}

fn destroy(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let removed = writer.change_stream(args.get(2), false, |stream| {
        Ok::<_, CommandError>(stream.destroy_group(args.get(3))?)
    })?;
    reply.int(i64::from(removed.ok_or(NO_KEY)?));
    Ok(())
}

/// Changes a group that must be there.
fn change_group<R>(
    writer: &mut EngineWriter,
    args: &Args,
    mut change: impl FnMut(&mut StreamWriter, &mut Group) -> Result<R, skein_data::RowError>,
) -> CommandResult<R> {
    let changed = writer.change_stream(args.get(2), false, |stream| {
        let mut group = stream.group(args.get(3))?.ok_or_else(|| absent(args))?;
        Ok::<_, CommandError>(change(stream, &mut group)?)
    })?;
    changed.ok_or(NO_KEY)
}

fn create_consumer(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let now = writer.now();
    let made = change_group(writer, args, |stream, group| {
        stream.create_consumer(args.get(3), group, args.get(4), now)
    })?;
    reply.int(i64::from(made));
    Ok(())
}

fn delete_consumer(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let pending =
        change_group(writer, args, |stream, group| stream.delete_consumer(args.get(3), group, args.get(4)))?;
    reply.places(pending);
    Ok(())
}
