//! The keys of a request, from the key specifications of its command.
//!
//! ```text
//!   MSET k v k v           first, last, step      ─► k k
//!   ZMPOP 2 k k MIN        a count, then keys     ─► k k
//!   ZUNIONSTORE k 2 k k    both                   ─► k k k
//!   XREAD STREAMS k k - -  behind a word          ─► k k
//!   MIGRATE … KEYS k k     behind a word          ─► k k
//! ```

use std::ops::Range;

use skein_syntax::number::parse_i64;

use super::migration_args::MigrationArgs;
use super::{Command, is};
use crate::resp::Args;

/// The keys of a request.
pub(crate) struct RequestKeys<'a> {
    /// Keys at fixed positions.
    pub placed: Vec<&'a [u8]>,
    /// Keys after their count.
    pub counted: Vec<&'a [u8]>,
    /// Whether the count is written as a plain number.
    plain: bool,
}

impl<'a> RequestKeys<'a> {
    /// Returns all keys in Redis's order, which differs for counts that are not plain numbers.
    pub(crate) fn all(self) -> Vec<&'a [u8]> {
        let Self { placed, counted, plain } = self;
        if plain { [placed, counted].concat() } else { [counted, placed].concat() }
    }
}

/// The arguments that are keys.
struct KeyPlaces {
    placed: Vec<usize>,
    counted: Range<usize>,
    plain: bool,
}

/// Returns the keys of a request. Returns `None` if the count of keys is not a number or exceeds
/// the number of arguments, or if a request of MIGRATE has a key and a list of keys.
pub(crate) fn keys_of<'a>(command: &Command, request: &Args<'a>) -> Option<RequestKeys<'a>> {
    let KeyPlaces { placed, counted, plain } = find_places(command, request)?;
    Some(RequestKeys {
        placed: placed.into_iter().map(|at| request.get(at)).collect(),
        counted: counted.map(|at| request.get(at)).collect(),
        plain,
    })
}

/// Returns the arguments that are keys, in no particular order; `None` as [`keys_of`].
pub(crate) fn key_places(command: &Command, request: &Args) -> Option<Vec<usize>> {
    let KeyPlaces { mut placed, counted, .. } = find_places(command, request)?;
    placed.extend(counted);
    Some(placed)
}

fn find_places(command: &Command, request: &Args) -> Option<KeyPlaces> {
    let mut placed = at_places(command.keys, request);
    if let Some(find) = command.key_finder {
        if !find(request, &mut placed) {
            return None;
        }
    } else if command.searches_keys() {
        placed.extend(searched(command, request));
    }
    if command.key_count == 0 {
        return Some(KeyPlaces { placed, counted: 0..0, plain: true });
    }
    let (count, plain) = count_of(request.get(command.key_count));
    let first = command.key_count + 1;
    let most = request.len().saturating_sub(first);
    let count = usize::try_from(count).ok().filter(|count| (1..=most).contains(count))?;
    Some(KeyPlaces { placed, counted: first..first + count, plain })
}

/// Adds the keys that no specification can find to those at fixed positions, or replaces these.
/// Returns `false` if the keys of the request are wrong.
pub(crate) type KeyFinder = fn(&Args, &mut Vec<usize>) -> bool;

/// Adds the key that a request of SORT stores to.
pub(crate) fn sort_target(request: &Args, placed: &mut Vec<usize>) -> bool {
    placed.extend(stored_key(request));
    true
}

/// Adds the keys that a request of GEORADIUS stores to.
pub(crate) fn radius_targets(request: &Args, placed: &mut Vec<usize>) -> bool {
    placed.extend(stored_keys(request, 6));
    true
}

/// Adds the keys that a request of GEORADIUSBYMEMBER stores to.
pub(crate) fn radius_member_targets(request: &Args, placed: &mut Vec<usize>) -> bool {
    placed.extend(stored_keys(request, 5));
    true
}

/// Finds the keys of MIGRATE.
pub(crate) fn migrated_keys(request: &Args, placed: &mut Vec<usize>) -> bool {
    *placed = MigrationArgs::of(request).keys.collect();
    !placed.is_empty()
}

/// Adds the key of MOVE in the other database, which `stored_request` has added to the request.
pub(crate) fn moved_key(request: &Args, placed: &mut Vec<usize>) -> bool {
    placed.extend((request.len() == 4).then_some(3));
    true
}

/// Returns the key that a request of SORT stores to.
fn stored_key(args: &Args) -> Option<usize> {
    let (mut found, mut at) = (None, 2);
    while at < args.len() {
        let word = args.get(at);
        at += if is(word, "LIMIT") {
            3
        } else if is(word, "GET") || is(word, "BY") {
            2
        } else if is(word, "STORE") {
            found = Some(at + 1).filter(|key| *key < args.len()).or(found);
            2
        } else {
            1
        };
    }
    found
}

/// Returns the keys that specifications search, such as the streams of XREAD.
fn searched(command: &Command, request: &Args) -> Vec<usize> {
    let specs = command.key_specs.as_slice().iter().filter(|spec| spec.is_searched());
    specs.filter_map(|spec| spec.positions(request)).flatten().collect()
}

/// Returns the keys after STORE and after STOREDIST, from this argument on. GEORADIUS stores to the
/// later one. Of several after the same word, this returns the last one, which may be stored to;
/// Redis returns the first one.
fn stored_keys(args: &Args<'_>, first: usize) -> impl Iterator<Item = usize> + use<> {
    let (mut found, mut at) = ([None; 2], first);
    while at < args.len() {
        let known = ["STORE", "STOREDIST"].iter().position(|known| is(args.get(at), known));
        at += 1;
        if let Some(known) = known {
            found[known] = Some(at).filter(|key| *key < args.len()).or(found[known]);
            at += 1;
        }
    }
    found.into_iter().flatten()
}

fn at_places((first, last, step): (i32, i32, i32), request: &Args) -> Vec<usize> {
    let count = request.len();
    // A subcommand without a key, such as MEMORY DOCTOR, ends before the first one.
    if first == 0 || first.unsigned_abs() as usize >= count {
        return Vec::new();
    }
    let place = |at: i32| {
        let back = at.unsigned_abs() as usize;
        if at < 0 { count.saturating_sub(back) } else { back.min(count - 1) }
    };
    let places = place(first)..=place(last);
    places.step_by(step.unsigned_abs().max(1) as usize).collect()
}

/// Parses a count of keys, and returns whether it is a plain number. Redis reads other texts with
/// C's `atoi`: bytes after the digits are ignored, and a long number is cut to 32 bits.
fn count_of(text: &[u8]) -> (i32, bool) {
    if let Some(number) = parse_i64(text).filter(|number| *number >= 0) {
        return (number as i32, true);
    }
    let space = |byte: &u8| b" \t\n\x0b\x0c\r".contains(byte);
    let text = &text[text.iter().take_while(|byte| space(byte)).count()..];
    let (negative, digits) = match text {
        [sign @ (b'+' | b'-'), digits @ ..] => (*sign == b'-', digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        number.saturating_mul(10).saturating_add(if negative { -digit } else { digit })
    });
    (number as i32, false)
}
