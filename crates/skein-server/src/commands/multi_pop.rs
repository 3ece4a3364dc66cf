//! The common parts of LMPOP, ZMPOP and their blocking forms, which pop from the first of several
//! keys.

use super::blocking::{BlockingQuery, Served, parse_timeout, serve};
use super::command_error::SYNTAX;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineKeys, EngineWriter};
use skein_syntax::number::parse_i64;

/// Pops the requested entries from a key, and replies with them. Returns whether there were any.
pub(super) type PopSeveral<E> = fn(&mut EngineWriter, &MultiPop<E>, &[u8], &mut Reply) -> CommandResult<bool>;

/// The entries that such a request pops: up to `most` from an end of the first key with any.
pub(super) struct MultiPop<E> {
    /// The argument that holds the number of keys; the keys follow it.
    count_at: usize,
    keys: usize,
    pub end: E,
    pub most: u64,
}

impl<E> MultiPop<E> {
    /// Reads a request that has the number of keys in argument `count_at`.
    fn parse(
        args: &Args,
        count_at: usize,
        parse_end: impl FnOnce(&[u8]) -> CommandResult<E>,
    ) -> CommandResult<Self> {
        let keys = parse_keys(args, count_at)?;
        let end = parse_end(args.get(count_at + 1 + keys))?;
        let mut rest = args.from(count_at + 2 + keys);
        let mut most = None;
        while let Some(word) = rest.next() {
            let (true, None, Some(number)) = (is(word, "COUNT"), most, rest.next()) else {
                return Err(SYNTAX);
            };
            most = Some(parse_positive(number, "ERR count should be greater than 0")?);
        }
        Ok(Self { count_at, keys, end, most: most.unwrap_or(1) })
    }

    /// Returns the keys and the timeout of the blocking form, which has a timeout before the number of
    /// keys.
    pub(super) fn blocking_query(
        args: &Args,
        parse_end: impl FnOnce(&[u8]) -> CommandResult<E>,
    ) -> CommandResult<BlockingQuery> {
        let first = 3;
        let keys = Self::parse(args, 2, parse_end)?.keys;
        Ok(BlockingQuery { keys: first..first + keys, timeout: parse_timeout(args.get(1))?, waits: true })
    }

    /// Serves a waiting client of the blocking form from a key that has entries.
    pub(super) fn serve(
        session: &mut EngineKeys,
        args: &Args,
        key: &[u8],
        reply: &mut Reply,
        parse_end: impl FnOnce(&[u8]) -> CommandResult<E>,
        pop: PopSeveral<E>,
    ) -> Served {
        serve(session, |writer| pop(writer, &Self::parse(args, 2, parse_end)?, key, reply))
    }

    /// Runs the command: pops from the first key that has any.
    pub(super) fn run(
        context: &mut CommandContext,
        args: &Args,
        reply: &mut Reply,
        parse_end: impl FnOnce(&[u8]) -> CommandResult<E>,
        pop: PopSeveral<E>,
    ) -> CommandResult {
        let asked = Self::parse(args, 1, parse_end)?;
        let popped = context.write(|writer| {
            for key in asked.keys(args) {
                if pop(writer, &asked, key, reply)? {
                    return Ok::<_, CommandError>(true);
                }
            }
            Ok(false)
        });
        if !popped? {
            reply.null_array();
        }
        Ok(AfterCommand::Done)
    }

    /// Returns the keys of the request that was read.
    fn keys<'a>(&self, args: &Args<'a>) -> impl Iterator<Item = &'a [u8]> {
        args.from(self.count_at + 1).take(self.keys)
    }
}

/// Returns whether a request may name several keys. Then it must see all of them at one moment.
pub(super) fn has_several_keys(args: &Args) -> bool {
    args.get(1) != b"1"
}

/// Parses a positive number of keys or members.
pub(super) fn parse_positive(text: &[u8], refusal: &'static str) -> CommandResult<u64> {
    let number = parse_i64(text).filter(|number| *number > 0).ok_or(CommandError::text(refusal))?;
    Ok(number.unsigned_abs())
}

/// Parses the number of keys in argument `at`. Errors if no argument follows the keys.
fn parse_keys(args: &Args, at: usize) -> CommandResult<usize> {
    let keys = parse_positive(args.get(at), "ERR numkeys should be greater than 0")?;
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    if keys >= args.len() - at - 1 { Err(SYNTAX) } else { Ok(keys) }
}
