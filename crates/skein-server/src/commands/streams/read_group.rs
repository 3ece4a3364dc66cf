//! XREADGROUP. A reply that is too long is refused before an entry is delivered.

use std::ops::ControlFlow;

use super::ids::parse_id;
use super::read_query::{ReadFor, ReadQuery};
use super::read_task::{StreamPart, write_head};
use super::replies::{write_counted, write_entry, write_gone};
use super::{answer_of, no_group};
use crate::commands::blocking::{BlockingCommand, BlockingQuery, Served, copy_request, serve};
use crate::commands::command_error::WRONG_TYPE;
use crate::commands::reply_limit::{ReplyLimit, check_reply_bytes};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::resp::{Args, Protocol, Reply};
use skein_data::{
    Delivery, EngineKeys, EngineWriter, EntryFields, RowView, ScanDirection, StreamId, StreamReader,
    name_within,
};

const LAST_ID: CommandError = CommandError::text(
    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
);
/// The advice in the error for a reply that is too long.
const WAY_OUT: &str = "use COUNT";
const GROUP_IS_GONE: CommandError =
    CommandError::text("NOGROUP the consumer group this client was blocked on no longer exists");
const KEY_IS_GONE: CommandError = CommandError::text("UNBLOCKED the stream key no longer exists");

pub(crate) const XREADGROUP: BlockingCommand = BlockingCommand {
    query: |args| Ok(ReadQuery::parse_of_group(args)?.0.blocking()),
    at_once: read_all,
    request: |_, args| copy_request(args.from(0)),
    can_serve,
    serve: serve_waiting,
    nothing: |reply| reply.null_array(),
    is_of_one_key: |query| query.keys.len() == 1,
    needs_key: true,
};

/// The entries that a consumer asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupRead {
    /// Entries that no consumer of the group has read.
    New,
    /// Its own pending entries, from this id on.
    Pending(StreamId),
}

/// Decides which entries of a stream to read. Returns `None` if there is nothing to read.
fn decide(
    stream: Option<&mut StreamReader>,
    key: &[u8],
    id: &[u8],
    read_for: ReadFor<'_>,
) -> CommandResult<Option<GroupRead>> {
    let absent = || absent(key, read_for.group);
    let stream = stream.ok_or_else(absent)?;
    let group = stream.group(read_for.group)?.ok_or_else(absent)?;
    match GroupRead::parse(id)? {
        GroupRead::New if stream.last_behind(group.last_id)?.is_none() => Ok(None),
        read => Ok(Some(read)),
    }
}

fn absent(key: &[u8], group: &[u8]) -> CommandError {
    let key = name_within(key);
    no_group(&[b"No such key '", key, b"' or consumer group '", group, b"' in XREADGROUP with GROUP option"])
}

impl GroupRead {
    fn parse(id: &[u8]) -> CommandResult<Self> {
        let id = match id {
            b"$" => return Err(LAST_ID),
            b">" => StreamId::MAX,
            id => parse_id(id)?,
        };
        // As in Redis, where the greatest id stands for new entries.
        Ok(id.next().map_or(Self::New, Self::Pending))
    }
}

/// Reads all streams of a request.
fn read_all(
    _: &BlockingCommand,
    context: &mut CommandContext,
    _: &BlockingQuery,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult<Option<AfterCommand>> {
    let (query, read_for) = ReadQuery::parse_of_group(args)?;
    let (most, limit) = (query.most, context.shared.settings.reply_bytes_max.get());
    if query.keys.len() == 1 {
        return read_single(context, args, &query, read_for, reply);
    }
    // As in Redis, nothing is read if one of the streams has no such group.
    let (mut found, mut bytes) = (Vec::new(), 0);
    for at in query.keys.clone() {
        let (key, id) = (args.get(at), args.get(query.id_of(at)));
        let read = context.look_up(key, |row| {
            answer_of(row?, reply, |mut stream, _| {
                let read = decide(stream.as_deref_mut(), key, id, read_for)?;
                if let (Some(stream), Some(read)) = (stream, read) {
                    bytes += reply_bytes(stream, key, read, &query, read_for, limit)?;
                }
                Ok(read)
            })
        })?;
        check_reply_bytes(bytes, limit, WAY_OUT)?;
        found.extend(read.map(|read| (key, read)));
    }
    if found.is_empty() {
        // As in Redis, a client to which nothing could be delivered does not begin to wait.
        return context.session.engine().log_stopped().map_or(Ok(None), |stopped| Err(stopped.into()));
    }
    context.write(|writer| {
        let start = reply.position();
        write_head(found.len(), reply);
        let (body, mut left) = (reply.position(), found.len());
        for &(key, read) in &found {
            let before = reply.position();
            let part = GroupPart { key, read: &Ok(read), read_for, most, limit: None };
            if !read_one(writer, &part, reply)?.ok_or(GROUP_IS_GONE)? {
                // The request names the stream twice, and the first time has read all.
                reply.truncate(before);
                left -= 1;
            }
        }
        if left < found.len() {
            let parts = reply.written(body).to_vec();
            reply.truncate(start);
            write_head(left, reply);
            reply.raw(&parts);
        }
        Ok::<_, CommandError>(())
    })?;
    Ok(Some(AfterCommand::Done))
}

/// Reads the only stream of a request: its group is looked up once.
fn read_single(
    context: &mut CommandContext,
    args: &Args,
    query: &ReadQuery<'_>,
    read_for: ReadFor<'_>,
    reply: &mut Reply,
) -> CommandResult<Option<AfterCommand>> {
    let (key, read) = (args.get(query.keys.start), GroupRead::parse(args.get(query.id_of(query.keys.start))));
    let limit = ReplyLimit::new(context.shared, reply, WAY_OUT);
    let (start, mut is_there) = (reply.position(), true);
    let written = context.write(|writer| {
        write_head(1, reply);
        let part = GroupPart { key, read: &read, read_for, most: query.most, limit: Some(&limit) };
        let found = read_one(writer, &part, reply)?;
        is_there = found.is_some();
        found.ok_or_else(|| absent(key, read_for.group))
    });
    context.client.lookups.note(is_there);
    let has_entries = written?;
    if !has_entries {
        reply.truncate(start);
    }
    Ok(has_entries.then_some(AfterCommand::Done))
}

/// Returns about how many bytes the part of a stream takes in the reply. Stops counting beyond
/// `limit`. So a reply that is too long is refused before the first of several streams is read.
fn reply_bytes(
    stream: &mut StreamReader,
    key: &[u8],
    read: GroupRead,
    query: &ReadQuery<'_>,
    read_for: ReadFor<'_>,
    limit: usize,
) -> CommandResult<usize> {
    let (mut bytes, mut count) = (key.len(), 0);
    let mut entry = Vec::new();
    let mut add = |id, fields: Option<EntryFields<'_>>| {
        entry.clear();
        let mut out = Reply::new(&mut entry, Protocol::default());
        match fields {
            Some(fields) => write_entry(id, fields, &mut out),
            None => write_gone(id, &mut out),
        }
        (bytes, count) = (bytes + entry.len(), count + 1);
        let goes_on = bytes <= limit && count < most_of(query.most);
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let Some(group) = stream.group(read_for.group)? else { return Ok(0) };
    match read {
        GroupRead::New => {
            if let Some(first) = group.last_id.next() {
                stream.entries((first, StreamId::MAX), ScanDirection::Forward, |id, fields| {
                    add(id, Some(fields))
                })?;
            }
        }
        GroupRead::Pending(first) => {
            let Some(consumer) = stream.consumer(&group, read_for.consumer)? else { return Ok(bytes) };
            for id in stream.owned_from(&group, &consumer, first, most_of(query.most))? {
                let shown = stream.entry(id, |fields| add(id, Some(fields)))?;
                if shown.unwrap_or_else(|| add(id, None)).is_break() {
                    break;
                }
            }
        }
    }
    Ok(bytes)
}

/// The request of a consumer for one stream.
struct GroupPart<'a> {
    key: &'a [u8],
    /// An error counts only if the stream and the group are there.
    read: &'a CommandResult<GroupRead>,
    read_for: ReadFor<'a>,
    /// The most entries; `None` for all.
    most: Option<u64>,
    /// The limit of the reply, unless it is known that it fits.
    limit: Option<&'a ReplyLimit>,
}

fn most_of(count: Option<u64>) -> usize {
    count.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Reads one stream for a consumer, and writes its key and the entries. Returns whether there was
/// something to read; `None` without the stream or the group. Changes nothing if the reply becomes
/// too long.
fn read_one(
    writer: &mut EngineWriter,
    part: &GroupPart<'_>,
    reply: &mut Reply,
) -> CommandResult<Option<bool>> {
    let &GroupPart { key, read, read_for, most, limit } = part;
    let ReadFor { group, consumer, is_acknowledged } = read_for;
    let asked = Delivery { group, consumer, most: most_of(most), now: writer.now() };
    let check = |reply: &Reply<'_>| limit.map_or(Ok(()), |limit| limit.check(reply));
    let start = reply.position();
    let done = writer.change_stream(key, false, |stream| {
        // The closure may run again.
        reply.truncate(start);
        StreamPart::write_key(key, reply);
        let read = match read {
            Ok(read) => *read,
            Err(fault) => return if stream.group(group)?.is_some() { Err(fault.clone()) } else { Ok(None) },
        };
        write_counted(reply, |reply, count| match read {
            GroupRead::New => {
                let delivered = stream.deliver(&asked, is_acknowledged, |id, fields| {
                    *count += 1;
                    write_entry(id, fields, reply);
                    check(reply)
                });
                Ok(delivered?.map(|delivered| delivered > 0))
            }
            GroupRead::Pending(first) => {
                let shown = stream.show_pending(&asked, first, |id, fields| {
                    *count += 1;
                    match fields {
                        Some(fields) => write_entry(id, fields, reply),
                        None => write_gone(id, reply),
                    }
                    check(reply)
                });
                Ok(shown?.map(|()| true))
            }
        })
    })?;
    Ok(done.flatten())
}

/// Returns whether a key can serve a waiting client. So does a key without the stream or the group:
/// then the client waits in vain.
fn can_serve(row: Option<RowView>, args: &Args, _: &[u8]) -> bool {
    let (Some(row), Ok((_, read_for))) = (row, ReadQuery::parse_of_group(args)) else { return true };
    let can = row.stream(|stream| match stream.group(read_for.group)? {
        None => Ok(true),
        Some(group) => Ok::<_, CommandError>(stream.last_behind(group.last_id)?.is_some()),
    });
    // If the row cannot be read, the client waits on.
    can.is_ok_and(|can| can.is_none_or(|can| can.unwrap_or(false)))
}

/// Serves a client that has waited for new entries of one of its streams.
fn serve_waiting(session: &mut EngineKeys, args: &Args, key: &[u8], reply: &mut Reply) -> Served {
    serve(session, |writer| {
        let (query, read_for) = ReadQuery::parse_of_group(args)?;
        let start = reply.position();
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
        let most = Some(query.most_after_wait());
        let part = GroupPart { key, read: &Ok(GroupRead::New), read_for, most, limit: None };
        let has_entries = read_one(writer, &part, reply)?.ok_or(GROUP_IS_GONE)?;
        if !has_entries {
            reply.truncate(start);
        }
        Ok(has_entries)
    })
}
