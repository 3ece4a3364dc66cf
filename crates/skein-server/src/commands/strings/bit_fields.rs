//! BITFIELD and `BITFIELD_RO`: integers of any width at any bit of a value.
//!
//! ```text
//!   bit    0       8       16          u5 at bit 6: the bits 6 to 10, the highest one first
//!          ......▒▒▒▒▒.....
//! ```
//!
//! A request has several operations, which run in order on one copy of the value, and one reply for
//! each. The copy has all bytes that an operation may write; further bytes read as zeros. As in
//! Redis, a key that is absent or too short is extended even if no operation changes a bit.

use skein_syntax::number::parse_i64;

use super::bits::parse_bit;
use super::{TOO_LONG, changed, value_of};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowChange, RowView, RowWriter as _, VALUE_BYTES_MAX};

const BAD_TYPE: CommandError = CommandError::text(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);

/// Bytes that hold an integer of 64 bits which begins inside the first of them.
const WINDOW: usize = 9;

/// The type of an integer: `i1` to `i64`, `u1` to `u63`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldType {
    signed: bool,
    bits: u32,
}

impl FieldType {
    fn parse(text: &[u8]) -> Option<Self> {
        // As in Redis, the text ends at a zero byte.
        let text = text.split(|byte| *byte == 0).next()?;
        let (signed, digits) = match text {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return None,
        };
        let most = if signed { 64 } else { 63 };
        let bits = parse_i64(digits).filter(|bits| (1..=most).contains(bits))?;
        Some(Self { signed, bits: u32::try_from(bits).ok()? })
    }

    /// Returns a number with its bits above the type's width set as the type wants them.
    fn extended(self, number: u64) -> i64 {
        let unused = 64 - self.bits;
        let shifted = number << unused;
        if self.signed { shifted.cast_signed() >> unused } else { (shifted >> unused).cast_signed() }
    }

    /// Returns the integer at a bit. Bytes after the end count as zeros.
    fn read(self, bytes: &[u8], offset: usize) -> i64 {
        let mut window = [0; 16];
        let present = bytes.get(offset / 8..).unwrap_or_default();
        window.iter_mut().take(WINDOW).zip(present).for_each(|(to, byte)| *to = *byte);
        let word = u128::from_be_bytes(window) << (offset % 8) >> (128 - self.bits);
        self.extended(word as u64)
    }

    /// Replaces the integer at a bit. REQUIRES: the bytes are present.
    fn write(self, bytes: &mut [u8], offset: usize, number: i64) {
        let mut window = [0; 16];
        let span = (offset % 8 + self.bits as usize).div_ceil(8);
        let place = &mut bytes[offset / 8..offset / 8 + span];
        window[..span].copy_from_slice(place);
        let below = 128 - self.bits - (offset % 8) as u32;
        let mask = (u128::MAX >> (128 - self.bits)) << below;
        let number = u128::from(number.cast_unsigned()) << below;
        let word = u128::from_be_bytes(window) & !mask | number & mask;
        place.copy_from_slice(&word.to_be_bytes()[..span]);
    }

    /// Returns the sum of two numbers as the type keeps it; or how the sum is out of range.
    fn sum(self, value: i64, by: i64) -> Result<i64, OutOfRange> {
        let (over, under) =
            if self.signed { self.is_out(value, by) } else { self.is_out_unsigned(value, by) };
        let wrapped = self.extended(value.wrapping_add(by).cast_unsigned());
        match (over, under) {
            (true, _) => Err(OutOfRange { wrapped, limit: self.greatest() }),
            (_, true) => Err(OutOfRange { wrapped, limit: self.least() }),
            _ => Ok(wrapped),
        }
    }

    fn greatest(self) -> i64 {
        i64::MAX >> (if self.signed { 64 } else { 63 } - self.bits)
    }

    fn least(self) -> i64 {
        if self.signed { !self.greatest() } else { 0 }
    }

    /// Returns whether a sum is above the range, and whether it is below. As in Redis, the distance
    /// to the limit wraps: a number far below the range counts as above it.
    fn is_out(self, value: i64, by: i64) -> (bool, bool) {
        let (most, least, narrow) = (self.greatest(), self.least(), self.bits != 64);
        let (up, down) = (most.wrapping_sub(value), least.wrapping_sub(value));
        let over = value > most || (by > up && (narrow || (value >= 0 && by > 0)));
        let under = value < least || (by < down && (narrow || (value < 0 && by < 0)));
        (over, under)
    }

    /// Does the same without signs. A negative number counts as a great one, as in Redis.
    fn is_out_unsigned(self, value: i64, by: i64) -> (bool, bool) {
        let sum = i128::from(value.cast_unsigned()) + i128::from(by);
        (value < 0 || sum > i128::from(self.greatest()), sum < 0)
    }
}

/// A sum that is outside of its type's range.
#[derive(Debug, PartialEq, Eq)]
struct OutOfRange {
    /// Its lowest bits.
    wrapped: i64,
    /// The nearest number in the range.
    limit: i64,
}

/// The treatment of a number that is out of range.
#[derive(Debug, Clone, Copy)]
enum OverflowRule {
    Wrap,
    Saturate,
    Fail,
}

impl OverflowRule {
    fn parse(text: &[u8]) -> CommandResult<Self> {
        let known = [("WRAP", Self::Wrap), ("SAT", Self::Saturate), ("FAIL", Self::Fail)];
        let found = known.into_iter().find(|(word, _)| is(text, word));
        found.map(|(_, rule)| rule).ok_or(CommandError::text("ERR Invalid OVERFLOW type specified"))
    }

    /// Returns the number to store, or `None` to store nothing.
    fn apply(self, sum: Result<i64, OutOfRange>) -> Option<i64> {
        match (sum, self) {
            (Ok(number), _) => Some(number),
            (Err(out), Self::Wrap) => Some(out.wrapped),
            (Err(out), Self::Saturate) => Some(out.limit),
            (Err(_), Self::Fail) => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum FieldAction {
    Get,
    Set(i64, OverflowRule),
    IncrBy(i64, OverflowRule),
}

/// Makes an action of its number.
type MakeAction = fn(i64, OverflowRule) -> FieldAction;

/// One operation of a request.
#[derive(Debug, Clone, Copy)]
struct FieldOperation {
    field: FieldType,
    /// The first bit.
    offset: usize,
    action: FieldAction,
}

impl FieldOperation {
    /// Runs the operation. Returns its reply, `None` for null, and whether it changed a bit.
    /// REQUIRES: the bytes that it writes are present.
    fn run(&self, bytes: &mut [u8]) -> (Option<i64>, bool) {
        let before = self.field.read(bytes, self.offset);
        let (stored, tells_new) = match self.action {
            FieldAction::Get => return (Some(before), false),
            FieldAction::Set(number, rule) => (rule.apply(self.field.sum(number, 0)), false),
            FieldAction::IncrBy(by, rule) => (rule.apply(self.field.sum(before, by)), true),
        };
        let Some(stored) = stored else { return (None, false) };
        self.field.write(bytes, self.offset, stored);
        (Some(if tells_new { stored } else { before }), stored != before)
    }
}

/// All operations of a request.
struct FieldOperations {
    operations: Vec<FieldOperation>,
    /// The number of bytes up to the last one that an operation may write; 0 if all of them read.
    written: usize,
}

impl FieldOperations {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut parsed = Self { operations: Vec::new(), written: 0 };
        let mut rule = OverflowRule::Wrap;
        let mut rest = args.from(2);
        while let Some(word) = rest.next() {
            if is(word, "OVERFLOW") {
                rule = OverflowRule::parse(rest.next().ok_or(SYNTAX)?)?;
                continue;
            }
            let known: [(_, _, MakeAction); 3] = [
                ("GET", 2, |_, _| FieldAction::Get),
                ("SET", 3, FieldAction::Set),
                ("INCRBY", 3, FieldAction::IncrBy),
            ];
            let found = known.into_iter().find(|(name, ..)| is(word, name));
            let (_, numbers, action) =
                found.filter(|(_, numbers, _)| rest.len() >= *numbers).ok_or(SYNTAX)?;
            let mut next = || rest.next().unwrap_or_default();
            let field = FieldType::parse(next()).ok_or(BAD_TYPE)?;
            let offset = parse_bit(next(), field.bits.into())?;
            let number = if numbers == 3 { parse_i64(next()).ok_or(NOT_AN_INTEGER)? } else { 0 };
            let action = action(number, rule);
            if !matches!(action, FieldAction::Get) {
                parsed.written = parsed.written.max((offset + field.bits as usize).div_ceil(8));
            }
            parsed.operations.push(FieldOperation { field, offset, action });
        }
        Ok(parsed)
    }

    /// Runs all operations and replies. Returns whether one of them changed a bit. REQUIRES: the
    /// bytes that they write are present.
    fn run(&self, bytes: &mut [u8], reply: &mut Reply) -> bool {
        reply.array(self.operations.len());
        self.operations.iter().fold(false, |changes, operation| {
            let (number, changed) = operation.run(bytes);
            match number {
                Some(number) => reply.int(number),
                None => reply.null(),
            }
            changes | changed
        })
    }

    /// Replies with the values that the operations read. REQUIRES: no operation writes.
    fn read(&self, bytes: &[u8], reply: &mut Reply) {
        reply.array_of(&self.operations, |reply, operation| {
            reply.int(operation.field.read(bytes, operation.offset));
        });
    }
}

pub(super) fn bit_field(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let asked = FieldOperations::parse(args)?;
    let start = reply.position();
    writer.update(args.get(1), |row, rows| {
        reply.truncate(start);
        let value = value_of(row)?.unwrap_or_default();
        if asked.written == 0 {
            asked.read(value, reply);
            return Ok(RowChange::Keep);
        }
        let len = value.len().max(asked.written);
        if len > VALUE_BYTES_MAX {
            return Err(TOO_LONG);
        }
        let mut bytes = vec![0; len];
        bytes[..value.len()].copy_from_slice(value);
        let changes = asked.run(&mut bytes, reply);
        if changes || len > value.len() { changed(rows, row, &[&bytes]) } else { Ok(RowChange::Keep) }
    })?;
    Ok(())
}

pub(super) fn bit_field_ro(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    let read = || {
        let asked = FieldOperations::parse(args)?;
        if asked.written > 0 {
            return Err(CommandError::text("ERR BITFIELD_RO only supports the GET subcommand"));
        }
        Ok((asked, value_of(row.map(RowView::row))?.unwrap_or_default()))
    };
    match read() {
        Ok((asked, value)) => asked.read(value, reply),
        Err(fault) => fault.write(reply),
    }
}

/// Returns the use of the key of BITFIELD, which only reads if all operations are GET.
pub(super) fn bit_field_key_flags(args: &Args<'_>) -> &'static str {
    if only_gets(args) { "RO access" } else { "RW access update" }
}

/// Returns whether a request of BITFIELD has no operation that writes.
fn only_gets(args: &Args) -> bool {
    let mut rest = args.from(2);
    while let Some(word) = rest.next() {
        let skipped = match word {
            _ if is(word, "GET") => 2,
            _ if is(word, "OVERFLOW") => 1,
            _ => return false,
        };
        if rest.len() < skipped {
            return false;
        }
        let _ = rest.nth(skipped - 1);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> FieldType {
        FieldType::parse(text.as_bytes()).expect(text)
    }

    #[test]
    fn types() {
        assert_eq!(field("i64"), FieldType { signed: true, bits: 64 });
        assert_eq!(field("u63"), FieldType { signed: false, bits: 63 });
        assert_eq!(field("u8\0x"), FieldType { signed: false, bits: 8 });
        for text in ["", "i", "i0", "i65", "u64", "U8", "i-1", "8", "i08", "u 8"] {
            assert_eq!(FieldType::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn an_integer_is_read_as_it_was_written() {
        for bits in 1..=64_u32 {
            for offset in 0..17 {
                for number in [0, 1, -1, i64::MIN, i64::MAX, 0x0123_4567_89ab_cdef] {
                    for (signed, around) in [(true, 0xff), (false, 0)] {
                        let field = FieldType { signed, bits: if signed { bits } else { bits.min(63) } };
                        let mut bytes = [around; 11];
                        field.write(&mut bytes, offset, number);
                        assert_eq!(field.read(&bytes, offset), field.extended(number.cast_unsigned()));
                        // The other bits are unchanged.
                        field.write(&mut bytes, offset, if around == 0 { 0 } else { -1 });
                        assert_eq!(bytes, [around; 11], "{field:?} at {offset}");
                    }
                }
            }
        }
    }

    #[test]
    fn bits_after_the_end_are_zeros() {
        assert_eq!(field("u8").read(b"\xff", 4), 0xf0);
        assert_eq!(field("i8").read(b"\xff", 4), -16);
        assert_eq!(field("u8").read(b"\xff", 80), 0);
    }

    #[test]
    fn sums_out_of_range() {
        let out = |wrapped, limit| Err(OutOfRange { wrapped, limit });
        for (kind, value, by, sum) in [
            ("u8", 250, 5, Ok(255)),
            ("u8", 250, 6, out(0, 255)),
            ("u8", 0, -1, out(255, 0)),
            ("u8", -1, 0, out(255, 255)),
            ("u63", i64::MAX, 1, out(0, i64::MAX)),
            ("i8", 127, 1, out(-128, 127)),
            ("i8", -128, -1, out(127, -128)),
            ("i8", 200, 0, out(-56, 127)),
            ("i8", -200, 0, out(56, -128)),
            // Redis's distance to the upper limit wraps.
            ("i8", i64::MIN, 0, out(0, 127)),
            ("i64", i64::MAX, 1, out(i64::MIN, i64::MAX)),
            ("i64", i64::MIN, -1, out(i64::MAX, i64::MIN)),
            ("i64", i64::MIN, i64::MAX, Ok(-1)),
        ] {
            assert_eq!(field(kind).sum(value, by), sum, "{kind} {value} {by}");
        }
    }
}
