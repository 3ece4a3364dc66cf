//! XREADGROUP.

use super::ids::parse_id;
use super::read_query::{ReadFor, ReadQuery};
use super::read_task::{StreamPart, write_head};
use super::replies::{write_counted, write_entry, write_gone};
use super::{answer_of, no_group};
use crate::commands::blocking::{BlockingCommand, BlockingQuery, Served, copy_request, serve};
use crate::commands::command_error::WRONG_TYPE;
use crate::commands::reply_limit::check_reply_bytes;
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{Delivery, EngineKeys, EngineWriter, RowView, StreamId, StreamReader, name_within};

const LAST_ID: CommandError = CommandError::text(
    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
);
const GROUP_IS_GONE: CommandError =
    CommandError::text("NOGROUP the consumer group this client was blocked on no longer exists");
const KEY_IS_GONE: CommandError = CommandError::text("UNBLOCKED the stream key no longer exists");

pub(in crate::commands) const XREADGROUP: BlockingCommand = BlockingCommand {
    query: |args| Ok(ReadQuery::parse_of_group(args)?.0.blocking()),
    at_once: read_all,
    request: |_, args| copy_request(args.from(0)),
    can_serve,
    serve: serve_waiting,
    nothing: |reply| reply.null_array(),
    is_of_one_key: |query| query.keys.len() == 1,
    needs_key: true,
};

/// What a consumer reads of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupRead {
    /// Entries that no consumer of the group has read.
    New,
    /// Its own pending entries, from this id on.
    Pending(StreamId),
}

/// Decides what to read of a stream; `None` if nothing is there to read.
fn decide(
    stream: Option<&mut StreamReader<'_>>,
    key: &[u8],
    id: &[u8],
    read_for: ReadFor<'_>,
) -> Result<Option<GroupRead>, CommandError> {
    let absent = || {
        no_group(&[
            b"No such key '",
            name_within(key),
            b"' or consumer group '",
            read_for.group,
            b"' in XREADGROUP with GROUP option",
        ])
    };
    let stream = stream.ok_or_else(absent)?;
    let group = stream.group(read_for.group)?.ok_or_else(absent)?;
    let id = match id {
        b"$" => return Err(LAST_ID),
        b">" => StreamId::MAX,
        id => parse_id(id)?,
    };
    // As in Redis, where the greatest id stands for new entries.
    match id.next() {
        Some(first) => Ok(Some(GroupRead::Pending(first))),
        None => Ok(stream.last_behind(group.last_id)?.map(|_| GroupRead::New)),
    }
}

/// Reads all streams of a request.
fn read_all(
    _: &BlockingCommand,
    context: &mut CommandContext<'_>,
    _: &BlockingQuery,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<Option<AfterCommand>, CommandError> {
    let (query, read_for) = ReadQuery::parse_of_group(args)?;
    let mut found = Vec::new();
    for at in query.keys.clone() {
        let (key, id) = (args.get(at), args.get(query.id_of(at)));
        let read = context
            .look_up(key, |row| answer_of(row?, reply, |stream, _| decide(stream, key, id, read_for)))?;
        found.extend(read.map(|read| (key, read)));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let (most, limit) = (query.most, context.shared.settings.reply_bytes_max.get());
    let (written, ticket) = context.session.write(|writer| {
        let start = reply.position();
        write_head(found.len(), reply);
        for &(key, read) in &found {
            read_one(writer, key, read, read_for, most, reply)?;
        }
        check_reply_bytes(reply.position() - start, limit, "use COUNT")
    });
    context.ticket = context.ticket.max(ticket);
    written??;
    Ok(Some(AfterCommand::Done))
}

/// Reads one stream for a consumer, and writes its key and the entries.
fn read_one(
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    read: GroupRead,
    read_for: ReadFor<'_>,
    most: Option<u64>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let ReadFor { group, consumer, is_acknowledged } = read_for;
    let asked = Delivery { group, consumer, most, now: writer.now() };
    let start = reply.position();
    let done = writer.change_stream(key, false, |stream| {
        // The closure may run again.
        reply.truncate(start);
        StreamPart::write_key(key, reply);
        write_counted(reply, |reply, count| match read {
            GroupRead::New => stream.deliver(&asked, is_acknowledged, |id, fields| {
                *count += 1;
                write_entry(id, fields, reply);
            }),
            GroupRead::Pending(first) => stream.show_pending(&asked, first, |id, fields| {
                *count += 1;
                match fields {
                    Some(fields) => write_entry(id, fields, reply),
                    None => write_gone(id, reply),
                }
            }),
        })
        .map_err(CommandError::from)
    })?;
    done.flatten().ok_or(GROUP_IS_GONE)
}

/// Returns whether a key can serve a waiting client. So does a key without the stream or the group:
/// then the client waits in vain.
fn can_serve(row: Option<RowView<'_>>, args: &RequestArgs<'_>, _: &[u8]) -> bool {
    let (Some(row), Ok((_, read_for))) = (row, ReadQuery::parse_of_group(args)) else { return true };
    let can = row.stream(|stream| match stream.group(read_for.group)? {
        None => Ok(true),
        Some(group) => Ok::<_, CommandError>(stream.last_behind(group.last_id)?.is_some()),
    });
    // If the row cannot be read, the client waits on.
    can.is_ok_and(|can| can.is_none_or(|can| can.unwrap_or(false)))
}

/// Serves a client that has waited for new entries of one of its streams.
fn serve_waiting(
    session: &mut EngineKeys<'_>,
    args: &RequestArgs<'_>,
    key: &[u8],
    reply: &mut ReplyWriter<'_>,
) -> Served {
    serve(session, |writer| {
        let (query, read_for) = ReadQuery::parse_of_group(args)?;
        write_head(1, reply);
        let is_there = writer.change_stream(key, false, |stream| {
            Ok::<_, CommandError>(stream.group(read_for.group)?.is_some())
        });
        match is_there {
            Ok(Some(true)) => {}
            Ok(Some(false)) => return Err(GROUP_IS_GONE),
            Ok(None) => return Err(KEY_IS_GONE),
            Err(fault) if fault.bytes() == WRONG_TYPE.as_bytes() => return Err(KEY_IS_GONE),
            Err(fault) => return Err(fault),
        }
        read_one(writer, key, GroupRead::New, read_for, Some(query.most_after_wait()), reply)?;
        Ok(true)
    })
}
