//! The common parts of commands whose client waits until one of their keys can serve it.
//!
//! ```text
//!   BLPOP a b 5 ─► at_once ─┬─ a or b serves it ─► reply
//!                           ├─ in MULTI or a script ─► the reply of a command that found nothing
//!                           └─ else the client waits (`worker::blocking`, `waiting_clients`)
//! ```
//!
//! XREAD and XREADGROUP are of this kind, too. Without BLOCK their clients do not wait, and they
//! are served from all keys at once.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::command_error::ARGUMENTS_TOO_LONG;
use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::redis::long_double::LongDouble;
use crate::resp::{ArgList, Args, Reply};
use skein_data::{CollectionKind, EngineKeys, EngineWriter, RowView, Ticket};

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
    /// Whether the client waits if no key can serve it.
    pub waits: bool,
}

/// The outcome of an attempt to serve a client from one key, and the ticket that its reply waits
/// for.
pub(crate) type Served = (CommandResult<bool>, Ticket);

/// Serves a client from one key; see [`BlockingCommand::serve`].
pub(crate) type ServeFrom = fn(&mut EngineKeys, &Args, &[u8], &mut Reply) -> Served;

/// Serves a client from all of its keys, if they can. `None` if none can.
pub(crate) type AtOnce = fn(
    &BlockingCommand,
    &mut CommandContext,
    &BlockingQuery,
    &Args,
    &mut Reply,
) -> CommandResult<Option<AfterCommand>>;

/// How a blocking command is served.
pub(crate) struct BlockingCommand {
    /// Reads the request.
    pub query: fn(&Args) -> CommandResult<BlockingQuery>,
    /// Serves the client when its request runs.
    pub at_once: AtOnce,
    /// The request of a client that begins to wait.
    pub request: fn(&mut CommandContext, &Args) -> CommandResult<ArgList>,
    /// Whether a key with this row can serve the client, or tells it that it waits in vain.
    pub can_serve: fn(Option<RowView>, &Args, &[u8]) -> bool,
    /// Serves the client from this key and replies. Replies nothing and returns false if the key
    /// cannot serve it.
    pub serve: ServeFrom,
    /// Replies that there is nothing, where a client cannot wait.
    pub nothing: fn(&mut Reply),
    /// Whether it reads or writes one key alone, so that it may run beside other requests.
    pub is_of_one_key: fn(&BlockingQuery) -> bool,
    /// Whether its client must hear when a key is removed or replaced.
    pub needs_key: bool,
}

impl BlockingCommand {
    /// Returns a command that pops from the first of its keys with a list; a timeout follows them.
    pub(super) const fn pops_from_lists(serve: ServeFrom) -> Self {
        Self {
            query: pop_query,
            at_once: serve_first,
            request: |_, args| copy_request(args.from(0)),
            can_serve: |row, _, _| is_of_kind(row, CollectionKind::List),
            serve,
            nothing: |reply| reply.null_array(),
            is_of_one_key: |query| query.keys.len() == 1,
            needs_key: false,
        }
    }

    /// Returns a command that pops from the first of its keys with a sorted set.
    pub(super) const fn pops_from_sorted_sets(serve: ServeFrom) -> Self {
        Self {
            can_serve: |row, _, _| is_of_kind(row, CollectionKind::SortedSet),
            ..Self::pops_from_lists(serve)
        }
    }

    /// Runs the command where its client cannot wait.
    pub(super) fn run_at_once(
        &self,
        context: &mut CommandContext,
        args: &Args,
        reply: &mut Reply,
    ) -> CommandResult {
        let query = (self.query)(args)?;
        if let Some(after) = (self.at_once)(self, context, &query, args, reply)? {
            return Ok(after);
        }
        (self.nothing)(reply);
        Ok(AfterCommand::Done)
    }
}

fn is_of_kind(row: Option<RowView>, kind: CollectionKind) -> bool {
    row.and_then(|row| row.collection_kind()) == Some(kind)
}

/// Serves a client from its first key that can.
fn serve_first(
    command: &BlockingCommand,
    context: &mut CommandContext,
    query: &BlockingQuery,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult<Option<AfterCommand>> {
    for at in query.keys.clone() {
        let (served, ticket) = (command.serve)(&mut context.session, args, args.get(at), reply);
        context.ticket = context.ticket.max(ticket);
        match served {
            Ok(false) => {}
            // While writes are stopped, a client may still wait for a key that is absent.
            Err(fault) if fault.stops_writes() && !can_serve(command, context, args, at) => {}
            served => return served.map(|_| Some(AfterCommand::Done)),
        }
    }
    Ok(None)
}

/// Returns whether a key of the request can serve the client. One that cannot be read can.
fn can_serve(command: &BlockingCommand, context: &mut CommandContext, args: &Args, at: usize) -> bool {
    let key = args.get(at);
    context.session.get_with(key, |row| row.map_or(true, |row| (command.can_serve)(row, args, key)))
}

/// Copies a request for a client that waits.
pub(super) fn copy_request<'a>(args: impl Iterator<Item = &'a [u8]>) -> CommandResult<ArgList> {
    let mut request = ArgList::default();
    for arg in args {
        if !request.push(arg) {
            return Err(ARGUMENTS_TOO_LONG);
        }
    }
    Ok(request)
}

impl BlockingQuery {
    /// Returns when a wait that begins now ends; `None` if it has no end.
    pub(crate) fn until(&self, now: Instant) -> Option<Instant> {
        self.timeout.and_then(|timeout| now.checked_add(timeout))
    }
}

/// Parses a timeout in seconds; 0 waits for ever. As in Redis, a part of a millisecond counts as a
/// whole one.
pub(super) fn parse_timeout(text: &[u8]) -> CommandResult<Option<Duration>> {
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
fn pop_query(args: &Args) -> CommandResult<BlockingQuery> {
    let last = args.len() - 1;
    Ok(BlockingQuery { keys: 1..last, timeout: parse_timeout(args.get(last))?, waits: true })
}

/// Serves a client by one write.
pub(super) fn serve(
    session: &mut EngineKeys,
    write: impl FnOnce(&mut EngineWriter) -> CommandResult<bool>,
) -> Served {
    let (served, ticket) = session.write(write);
    (served.map_err(CommandError::from).and_then(|served| served), ticket)
}
