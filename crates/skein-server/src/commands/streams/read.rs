//! XREAD.

use super::answer_of;
use super::ids::parse_id;
use super::ranges::{EntriesReply, write_entries_of, write_few};
use super::read_query::ReadQuery;
use super::read_task::{ReadStreamsTask, StreamPart, write_head};
use crate::commands::blocking::{BlockingCommand, BlockingQuery, copy_request};
use crate::commands::task::AT_ONCE;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::resp::{ArgList, Args, Reply};
use skein_data::{EngineKeys, EntriesView, RowView, ScanDirection, StreamId, StreamReader, Ticket};

const ONLY_NEW: CommandError = CommandError::text(
    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
);

pub(crate) const XREAD: BlockingCommand = BlockingCommand {
    query: |args| Ok(ReadQuery::parse(args)?.blocking()),
    at_once: read_all,
    request: with_last_ids,
    can_serve,
    serve: |session, args, key, reply| (serve(session, args, key, reply), Ticket::default()),
    nothing: |reply| reply.null_array(),
    is_of_one_key: |query| query.keys.len() == 1,
    needs_key: false,
};

/// Returns the id behind which a request reads a stream. `None` behind the greatest one.
fn first_id(text: &[u8], stream: Option<&StreamReader>) -> CommandResult<Option<StreamId>> {
    let after = match text {
        b"$" => stream.map_or(StreamId::MIN, |stream| stream.head().last_id),
        b">" => return Err(ONLY_NEW),
        text => parse_id(text)?,
    };
    Ok(after.next())
}

/// Reads all streams of a request.
fn read_all(
    _: &BlockingCommand,
    context: &mut CommandContext,
    _: &BlockingQuery,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult<Option<AfterCommand>> {
    let query = ReadQuery::parse(args)?;
    let (mut found, most) = (Vec::new(), query.most.unwrap_or(u64::MAX));
    for key in query.keys.clone() {
        let id = args.get(query.id_of(key));
        let part = context.look_up(args.get(key), |row| {
            answer_of(row?, reply, |stream, _| {
                let Some(first) = first_id(id, stream.as_deref())? else { return Ok(None) };
                let Some(stream) = stream else { return Ok(None) };
                let count = stream.count((first, StreamId::MAX), most)?;
                Ok((count > 0).then_some((key, first, count)))
            })
        })?;
        found.extend(part);
    }
    if found.is_empty() {
        return Ok(None);
    }
    write_or_slice(context, args, &found, reply).map(Some)
}

/// Writes the streams of a reply, at once if they are short: for each its argument, the first id
/// and the number of entries.
fn write_or_slice(
    context: &mut CommandContext,
    args: &Args,
    found: &[(usize, StreamId, u64)],
    reply: &mut Reply,
) -> CommandResult {
    let start = reply.position();
    let mut fits = found.iter().map(|(_, _, count)| count).sum::<u64>() <= AT_ONCE as u64;
    if fits {
        write_head(found.len(), reply);
        for &(key, first, count) in found {
            let range = (first, StreamId::MAX);
            fits &= read_row(context, args.get(key), reply, |stream, reply| {
                StreamPart::write_key(args.get(key), reply);
                write_few(stream, range, ScanDirection::Forward, count, reply)
            })?
            .unwrap_or(false);
        }
    }
    if fits {
        return Ok(AfterCommand::Done);
    }
    reply.truncate(start);
    let mut parts = Vec::new();
    for &(key, first, count) in found {
        let view = read_row(context, args.get(key), reply, |stream, _| {
            Ok(EntriesView::of(stream, (first, StreamId::MAX), ScanDirection::Forward, count))
        })?;
        parts.push(StreamPart::new(args.get(key), EntriesReply::of(view.flatten().unwrap_or_default())));
    }
    Ok(AfterCommand::slices(ReadStreamsTask::new(parts)))
}

/// Reads a stream again that was there a moment ago.
fn read_row<R>(
    context: &mut CommandContext,
    key: &[u8],
    reply: &mut Reply,
    read: impl FnOnce(&mut StreamReader, &mut Reply) -> CommandResult<R>,
) -> CommandResult<Option<R>> {
    context.session.get_with(key, |row| {
        answer_of(row?, reply, |stream, reply| stream.map(|stream| read(stream, reply)).transpose())
    })
}

/// Returns the request of a client that begins to wait: with the last id of a stream for `$`.
fn with_last_ids(context: &mut CommandContext, args: &Args) -> CommandResult<ArgList> {
    let query = ReadQuery::parse(args)?;
    let mut ids = Vec::new();
    for key in query.keys.clone() {
        let id = args.get(query.id_of(key));
        if id != b"$" {
            ids.push(id.to_vec());
            continue;
        }
        let last = context.session.get_with(args.get(key), |row| {
            let last = row?.map(|row| row.stream(|stream| stream.head().last_id)).transpose()?.flatten();
            Ok::<_, CommandError>(last.unwrap_or_default())
        })?;
        ids.push(last.to_string().into_bytes());
    }
    let head = args.from(0).take(query.keys.end);
    copy_request(head.chain(ids.iter().map(Vec::as_slice)))
}

/// Returns the id behind which a waiting client reads a key.
fn waited_id(args: &Args, key: &[u8]) -> Option<(StreamId, u64)> {
    let query = ReadQuery::parse(args).ok()?;
    let at = query.keys.clone().find(|&at| args.get(at) == key)?;
    Some((parse_id(args.get(query.id_of(at))).ok()?, query.most_after_wait()))
}

fn can_serve(row: Option<RowView>, args: &Args, key: &[u8]) -> bool {
    let (Some(row), Some((id, _))) = (row, waited_id(args, key)) else { return false };
    let last = row.stream(|stream| stream.last_behind(id).ok().flatten());
    matches!(last, Ok(Some(Some(_))))
}

/// Serves a client that has waited for one of its streams.
fn serve(session: &mut EngineKeys, args: &Args, key: &[u8], reply: &mut Reply) -> CommandResult<bool> {
    let Some((id, most)) = waited_id(args, key) else { return Ok(false) };
    session.get_with(key, |row| {
        answer_of(row?, reply, |stream, reply| {
            let (Some(stream), Some(first)) = (stream, id.next()) else { return Ok(false) };
            let range = (first, StreamId::MAX);
            let left = stream.count(range, most)?;
            if left > 0 {
                write_head(1, reply);
                StreamPart::write_key(key, reply);
                write_entries_of(stream, range, left, reply)?;
            }
            Ok(left > 0)
        })
    })
}
