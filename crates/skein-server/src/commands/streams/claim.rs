//! XCLAIM and XAUTOCLAIM.

use super::ids::{parse_id, parse_start};
use super::no_group;
use super::replies::{ID_BYTES, write_counted, write_entry, write_id};
use crate::commands::command_error::SYNTAX;
use crate::commands::reply_limit::ReplyLimit;
use crate::commands::{
    AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, Replied, is, quoted,
};
use crate::resp::{Args, Reply};
use skein_data::{Claim, Delivery, EngineWriter, StreamId, name_within};
use skein_syntax::number::parse_i64;

/// The entries that XAUTOCLAIM looks at for each one that it may take.
const TRIED_FACTOR: usize = 10;
/// The entries that it takes unless COUNT says otherwise.
const COUNT: usize = 100;
/// Redis's greatest COUNT.
const COUNT_MAX: i64 = i64::MAX / 16;
const BAD_COUNT: CommandError = CommandError::text("ERR COUNT must be > 0");

/// Parses an option's number; a bad one is an error of this command.
fn parse_number(text: &[u8], what: &str, command: &str) -> CommandResult<i64> {
    parse_i64(text).ok_or_else(|| CommandError::owned(format!("ERR Invalid {what} argument for {command}")))
}

fn absent(args: &Args) -> CommandError {
    no_group(&[b"No such key '", name_within(args.get(1)), b"' or consumer group '", args.get(2), b"'"])
}

/// A request of XCLAIM.
struct ClaimQuery {
    ids: Vec<StreamId>,
    claim: Claim,
    shows_ids: bool,
    last_id: StreamId,
}

impl ClaimQuery {
    fn parse(args: &Args, now: u64) -> CommandResult<Self> {
        let min_idle = parse_number(args.get(4), "min-idle-time", "XCLAIM")?;
        let ids: Vec<StreamId> = args.from(5).map_while(|text| parse_id(text).ok()).collect();
        let (mut delivered, mut deliveries) = (None, None);
        let (mut force, mut shows_ids, mut last_id) = (false, false, StreamId::MIN);
        let signed_now = now.cast_signed();
        let mut rest = args.from(5 + ids.len());
        while let Some(word) = rest.next() {
            let is_last = rest.len() == 0;
            let mut number = |what: &str| parse_number(rest.next().unwrap_or_default(), what, "XCLAIM");
            match word {
                _ if is(word, "FORCE") => force = true,
                _ if is(word, "JUSTID") => shows_ids = true,
                _ if is_last => return Err(unrecognized(word)),
                _ if is(word, "IDLE") => {
                    delivered = Some(signed_now.wrapping_sub(number("IDLE option")?));
                }
                _ if is(word, "TIME") => delivered = Some(number("TIME option")?),
                _ if is(word, "RETRYCOUNT") => deliveries = Some(number("RETRYCOUNT option")?),
                _ if is(word, "LASTID") => last_id = parse_id(rest.next().unwrap_or_default())?,
                _ => return Err(unrecognized(word)),
            }
        }
        // -1 counts as no time in Redis, and so does a time that is not in the past.
        let delivered = delivered.and_then(|time| u64::try_from(time).ok()).filter(|time| *time <= now);
        let claim = Claim {
            min_idle: u64::try_from(min_idle).unwrap_or(0),
            delivered: delivered.unwrap_or(now),
            deliveries: deliveries.and_then(|count| u64::try_from(count).ok()),
            keeps_deliveries: shows_ids,
            force,
        };
        Ok(Self { ids, claim, shows_ids, last_id })
    }
}

fn unrecognized(word: &[u8]) -> CommandError {
    let shown = quoted(word, QUOTED_BYTES_MAX);
    CommandError::owned([b"ERR Unrecognized XCLAIM option '", shown, b"'"].concat())
}

/// Runs a command that claims entries. Its reply may become too long, and is refused before
/// anything is claimed.
pub(super) fn run(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    claim: fn(&mut EngineWriter, &Args, &ReplyLimit, &mut Reply) -> CommandResult<()>,
) -> CommandResult {
    let limit = ReplyLimit::new(context.shared, reply, "claim fewer entries at a time");
    context.write(|writer| claim(writer, args, &limit, reply))?;
    Ok(AfterCommand::Done)
}

pub(super) fn claim(
    writer: &mut EngineWriter,
    args: &Args,
    limit: &ReplyLimit,
    reply: &mut Reply,
) -> Replied {
    let (now, start) = (writer.now(), reply.position());
    let claimed = writer.change_stream(args.get(1), false, |stream| {
        stream.group(args.get(2))?.ok_or_else(|| absent(args))?;
        let query = ClaimQuery::parse(args, now)?;
        let asked = Delivery { group: args.get(2), consumer: args.get(3), most: query.ids.len(), now };
        // The closure may run again.
        reply.truncate(start);
        write_counted(reply, |reply, count| {
            stream.claim(&asked, &query.claim, &query.ids, query.last_id, |id, fields| {
                *count += 1;
                if query.shows_ids {
                    write_id(id, reply);
                } else {
                    write_entry(id, fields, reply);
                }
                limit.check(reply)
            })
        })?;
        Ok::<_, CommandError>(())
    })?;
    claimed.ok_or_else(|| absent(args))
}

/// A request of XAUTOCLAIM.
struct AutoClaimQuery {
    min_idle: u64,
    first: StreamId,
    most: usize,
    shows_ids: bool,
}

impl AutoClaimQuery {
    fn parse(args: &Args) -> CommandResult<Self> {
        let min_idle = parse_number(args.get(4), "min-idle-time", "XAUTOCLAIM")?;
        let min_idle = u64::try_from(min_idle).unwrap_or(0);
        let mut query = Self { min_idle, first: parse_start(args.get(5))?, most: COUNT, shows_ids: false };
        let mut rest = args.from(6);
        while let Some(word) = rest.next() {
            if is(word, "JUSTID") {
                query.shows_ids = true;
                continue;
            }
            let value = rest.next().filter(|_| is(word, "COUNT")).ok_or(SYNTAX)?;
            let count = parse_i64(value).filter(|count| (1..=COUNT_MAX).contains(count));
            query.most = usize::try_from(count.ok_or(BAD_COUNT)?).map_err(|_| BAD_COUNT)?;
        }
        Ok(query)
    }
}

pub(super) fn auto_claim(
    writer: &mut EngineWriter,
    args: &Args,
    limit: &ReplyLimit,
    reply: &mut Reply,
) -> Replied {
    let query = AutoClaimQuery::parse(args)?;
    let (now, start) = (writer.now(), reply.position());
    let asked = Delivery { group: args.get(2), consumer: args.get(3), most: query.most, now };
    let claim = Claim {
        min_idle: query.min_idle,
        delivered: now,
        deliveries: None,
        keeps_deliveries: query.shows_ids,
        force: false,
    };
    let claimed = writer.change_stream(args.get(1), false, |stream| {
        // The closure may run again. The id of the next entry is written first, and is known last.
        reply.truncate(start);
        let (mut gone, mut entries) = (Vec::new(), Vec::new());
        let mut out = Reply::new(&mut entries, reply.protocol());
        let tried = query.most.saturating_mul(TRIED_FACTOR);
        let next = write_counted(&mut out, |out, count| {
            stream.claim_from(&asked, &claim, query.first, tried, |id, fields| {
                match fields {
                    None => gone.push(id),
                    Some(_) if query.shows_ids => {
                        *count += 1;
                        write_id(id, out);
                    }
                    Some(fields) => {
                        *count += 1;
                        write_entry(id, fields, out);
                    }
                }
                limit.check_bytes(out.position() + gone.len() * ID_BYTES)
            })
        })?;
        let next = next.ok_or_else(|| absent(args))?;
        reply.array(3);
        write_id(next, reply);
        reply.raw(&entries);
        reply.array(gone.len());
        for id in gone {
            write_id(id, reply);
        }
        Ok::<_, CommandError>(())
    })?;
    claimed.ok_or_else(|| absent(args))
}
