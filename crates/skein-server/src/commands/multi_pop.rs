//! The arguments of LMPOP, ZMPOP and their blocking forms: keys, an end, and a count.

use super::command_error::SYNTAX;
use super::{CommandError, is};
use crate::resp::RequestArgs;
use skein_syntax::number::parse_i64;

/// What such a request pops: up to `most` entries from an end of the first key that has any.
pub(super) struct MultiPop<E> {
    /// The argument that holds the number of keys; the keys follow it.
    count_at: usize,
    keys: usize,
    pub end: E,
    pub most: u64,
}

impl<E> MultiPop<E> {
    /// Reads a request whose argument `count_at` is the number of keys.
    pub(super) fn parse(
        args: &RequestArgs<'_>,
        count_at: usize,
        parse_end: impl FnOnce(&[u8]) -> Result<E, CommandError>,
    ) -> Result<Self, CommandError> {
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

    /// Returns the keys of the request that was read.
    pub(super) fn keys<'a>(&self, args: &RequestArgs<'a>) -> impl Iterator<Item = &'a [u8]> {
        args.from(self.count_at + 1).take(self.keys)
    }
}

/// Parses a positive number of keys or members.
pub(super) fn parse_positive(text: &[u8], refusal: &'static str) -> Result<u64, CommandError> {
    let number = parse_i64(text).filter(|number| *number > 0).ok_or(CommandError::text(refusal))?;
    Ok(number.unsigned_abs())
}

/// Parses the number of keys in argument `at`. Errors if no argument follows the keys.
fn parse_keys(args: &RequestArgs<'_>, at: usize) -> Result<usize, CommandError> {
    let keys = parse_positive(args.get(at), "ERR numkeys should be greater than 0")?;
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    if keys >= args.len() - at - 1 { Err(SYNTAX) } else { Ok(keys) }
}
