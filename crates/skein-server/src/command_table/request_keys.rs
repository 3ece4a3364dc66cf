//! The keys of a request, from the row of its command.
//!
//! ```text
//!   MSET k v k v           first, last, step      ─► k k
//!   ZMPOP 2 k k MIN        a count, then keys     ─► k k
//!   ZUNIONSTORE k 2 k k    both                   ─► k k k
//!   XREAD STREAMS k k - -  behind a word          ─► k k
//! ```

use skein_syntax::number::parse_i64;

use super::{CommandSpec, is};
use crate::resp::RequestArgs;

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

/// Returns the keys of a request, or `None` if the count of keys is not a number or exceeds the
/// number of arguments.
pub(crate) fn keys_of<'a>(command: &CommandSpec, request: &RequestArgs<'a>) -> Option<RequestKeys<'a>> {
    let mut placed = at_places(command.keys, request);
    match command.name {
        "sort" => placed.extend(stored_key(request)),
        "georadius" => placed.extend(stored_keys(request, 6)),
        "georadiusbymember" => placed.extend(stored_keys(request, 5)),
        "xread" | "xreadgroup" => placed.extend(read_streams(command, request)),
        _ => {}
    }
    if command.key_count == 0 {
        return Some(RequestKeys { placed, counted: Vec::new(), plain: true });
    }
    let (count, plain) = count_of(request.get(command.key_count));
    let rest = request.from(command.key_count + 1);
    let count = usize::try_from(count).ok().filter(|count| (1..=rest.len()).contains(count))?;
    Some(RequestKeys { placed, counted: rest.take(count).collect(), plain })
}

/// Returns the key that a request of SORT stores to.
fn stored_key<'a>(args: &RequestArgs<'a>) -> Option<&'a [u8]> {
    let mut found = None;
    let mut rest = args.from(2);
    while let Some(word) = rest.next() {
        if is(word, "LIMIT") {
            let _ = (rest.next(), rest.next());
        } else if is(word, "GET") || is(word, "BY") {
            let _ = rest.next();
        } else if is(word, "STORE") {
            found = rest.next().or(found);
        }
    }
    found
}

/// Returns the streams that a request of XREAD or XREADGROUP reads: half of the arguments behind
/// the word STREAMS.
fn read_streams<'a>(command: &CommandSpec, args: &RequestArgs<'a>) -> impl Iterator<Item = &'a [u8]> {
    let first = if command.name == "xread" { 1 } else { 4 };
    let word = (first..args.len()).find(|&at| is(args.get(at), "STREAMS"));
    let start = word.map_or(args.len(), |at| at + 1);
    (start..start + (args.len() - start) / 2).map(|at| args.get(at))
}

/// Returns the keys after STORE and after STOREDIST, from this argument on. GEORADIUS stores to the
/// later one. Of several after the same word, this returns the last one, which may be stored to;
/// Redis returns the first one.
fn stored_keys<'a>(args: &RequestArgs<'a>, first: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let mut found = [None; 2];
    let mut rest = args.from(first);
    while let Some(word) = rest.next() {
        let known = ["STORE", "STOREDIST"].iter().position(|known| is(word, known));
        if let Some(at) = known {
            found[at] = rest.next().or(found[at]);
        }
    }
    found.into_iter().flatten()
}

fn at_places<'a>((first, last, step): (i32, i32, i32), request: &RequestArgs<'a>) -> Vec<&'a [u8]> {
    if first == 0 {
        return Vec::new();
    }
    let count = request.len();
    let place = |at: i32| {
        let back = at.unsigned_abs() as usize;
        if at < 0 { count.saturating_sub(back) } else { back.min(count - 1) }
    };
    let places = place(first)..=place(last);
    places.step_by(step.unsigned_abs().max(1) as usize).map(|at| request.get(at)).collect()
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
