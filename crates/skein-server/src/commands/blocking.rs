//! Commands whose client waits until one of their keys can serve it: what they have in common.
//!
//! ```text
//!   BLPOP a b 5 ─► try_now ─┬─ a or b serves it ─► reply
//!                           ├─ in MULTI or a script ─► the reply of a command that found nothing
//!                           └─ else the client waits (`worker::blocking`, `waiting_clients`)
//! ```

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::long_double::LongDouble;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{CollectionKind, EngineKeys, EngineWriter, Ticket};

const BAD_TIMEOUT: CommandError = CommandError::text("ERR timeout is not a float or out of range");
const NEGATIVE: CommandError = CommandError::text("ERR timeout is negative");
const TOO_LONG: CommandError = CommandError::text("ERR timeout is out of range");

/// The longest timeout: Redis's milliseconds have 63 bits.
const LONGEST: Duration = Duration::from_millis(i64::MAX.unsigned_abs());

/// The keys of a blocking request, and how long its client waits.
pub(crate) struct BlockingQuery {
    /// The arguments that are its keys.
    pub keys: Range<usize>,
    /// The longest wait; `None` for ever.
    pub timeout: Option<Duration>,
}

/// The outcome of an attempt to serve a client from one key, and the ticket that its reply waits
/// for.
pub(crate) type Served = (Result<bool, CommandError>, Ticket);

/// Serves a client from one key; see [`BlockingCommand::serve`].
pub(crate) type ServeFrom = fn(&mut EngineKeys<'_>, &RequestArgs<'_>, &[u8], &mut ReplyWriter<'_>) -> Served;

/// How a blocking command is served.
pub(crate) struct BlockingCommand {
    /// The kind of collection that can serve it.
    pub kind: CollectionKind,
    /// Reads the request.
    pub query: fn(&RequestArgs<'_>) -> Result<BlockingQuery, CommandError>,
    /// Serves the client from this key and replies. Replies nothing and returns false if the key is
    /// absent.
    pub serve: ServeFrom,
    /// Replies that there is nothing, where a client cannot wait.
    pub nothing: fn(&mut ReplyWriter<'_>),
    /// Whether it reads or writes one key alone, so that it may run beside other requests.
    pub is_of_one_key: fn(&BlockingQuery) -> bool,
}

impl BlockingCommand {
    /// Returns a command that pops from the first of its keys; a timeout follows them.
    pub(super) const fn pops(kind: CollectionKind, serve: ServeFrom) -> Self {
        Self {
            kind,
            query: pop_query,
            serve,
            nothing: |reply| reply.null_array(),
            is_of_one_key: |query| query.keys.len() == 1,
        }
    }

    /// Serves the client from its first key that can. Returns whether there was one.
    pub(crate) fn try_now(
        &self,
        context: &mut CommandContext<'_>,
        query: &BlockingQuery,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<bool, CommandError> {
        for at in query.keys.clone() {
            let (served, ticket) = (self.serve)(&mut context.session, args, args.get(at), reply);
            context.ticket = context.ticket.max(ticket);
            if served? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs the command where its client cannot wait.
    pub(super) fn run_at_once(
        &self,
        context: &mut CommandContext<'_>,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> CommandResult {
        let query = (self.query)(args)?;
        if !self.try_now(context, &query, args, reply)? {
            (self.nothing)(reply);
        }
        Ok(AfterCommand::Done)
    }
}

impl BlockingQuery {
    /// Returns when a wait that begins now ends; `None` if it has no end.
    pub(crate) fn until(&self, now: Instant) -> Option<Instant> {
        self.timeout.and_then(|timeout| now.checked_add(timeout))
    }
}

/// Parses a timeout in seconds; 0 waits for ever. As in Redis, a part of a millisecond counts as a
/// whole one.
pub(super) fn parse_timeout(text: &[u8]) -> Result<Option<Duration>, CommandError> {
    let seconds = LongDouble::parse(text).ok_or(BAD_TIMEOUT)?.to_f64();
    let seconds = (seconds * 1000.0).ceil() / 1000.0;
    if seconds < 0.0 {
        return Err(NEGATIVE);
    }
    let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| *timeout <= LONGEST);
    let timeout = timeout.ok_or(TOO_LONG)?;
    Ok((!timeout.is_zero()).then_some(timeout))
}

/// Reads keys that a timeout follows.
fn pop_query(args: &RequestArgs<'_>) -> Result<BlockingQuery, CommandError> {
    let last = args.len() - 1;
    Ok(BlockingQuery { keys: 1..last, timeout: parse_timeout(args.get(last))? })
}

/// Serves a client by one write.
pub(super) fn serve(
    session: &mut EngineKeys<'_>,
    write: impl FnOnce(&mut EngineWriter<'_, '_>) -> Result<bool, CommandError>,
) -> Served {
    let (served, ticket) = session.write(write);
    (served.map_err(CommandError::from).and_then(|served| served), ticket)
}
