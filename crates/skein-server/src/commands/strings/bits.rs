//! Values as arrays of bits, starting with the highest bit of the first byte: GETBIT, SETBIT,
//! BITCOUNT, BITPOS. See also `bit_fields` and `bit_operations`.

use skein_syntax::number::parse_i64;

use super::ranges::{clamp, is_crossed, parse_pair};
use super::{changed, value_of};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::LongReply;
use crate::commands::{CommandError, CommandResult, Replied, is, reply_or_error};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowChange, RowView, RowWriter as _};

/// Maximum number of bytes in which a bit can be addressed.
const BYTES_MAX: usize = 512 << 20;

const BAD_OFFSET: CommandError = CommandError::text("ERR bit offset is not an integer or out of range");

/// Checks the offset of a bit.
fn check_bit(offset: Option<i64>) -> CommandResult<usize> {
    let offset = offset.and_then(|offset| usize::try_from(offset).ok());
    offset.filter(|offset| offset / 8 < BYTES_MAX).ok_or(BAD_OFFSET)
}

/// Parses the offset of a bit. Returns its byte and its mask in that byte.
fn parse_offset(text: &[u8]) -> CommandResult<(usize, u8)> {
    let offset = check_bit(parse_i64(text))?;
    Ok((offset / 8, 0x80 >> (offset % 8)))
}

/// Parses the offset of an integer of this width: in bits, or after a `#` in integers. As in Redis,
/// a product that is too large wraps.
pub(super) fn parse_bit(text: &[u8], width: i64) -> CommandResult<usize> {
    match text.strip_prefix(b"#") {
        Some(index) => check_bit(parse_i64(index).map(|index| index.wrapping_mul(width))),
        None => check_bit(parse_i64(text)),
    }
}

pub(super) fn get_bit(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    reply_or_error(reply, |reply| {
        let (byte, mask) = parse_offset(args.get(2))?;
        let value = value_of(row.map(RowView::row))?.unwrap_or_default();
        reply.int(value.get(byte).is_some_and(|byte| byte & mask > 0).into());
        Ok(())
    });
}

pub(super) fn set_bit(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let (byte, mask) = parse_offset(args.get(2))?;
    let bit = match parse_i64(args.get(3)) {
        Some(bit @ (0 | 1)) => bit == 1,
        _ => return Err(CommandError::text("ERR bit is not an integer or out of range")),
    };
    let mut before = false;
    writer.update(args.get(1), |row, rows| {
        let value = value_of(row)?.unwrap_or_default();
        let present = value.get(byte).copied();
        before = present.is_some_and(|present| present & mask > 0);
        if present.is_some() && before == bit {
            return Ok(RowChange::Keep);
        }
        let new = present.unwrap_or(0) & !mask | if bit { mask } else { 0 };
        let gap = vec![0; byte.saturating_sub(value.len())];
        let (first, rest) = (&value[..byte.min(value.len())], value.get(byte + 1..).unwrap_or_default());
        changed(rows, row, &[first, &gap, &[new], rest])
    })?;
    reply.int(before.into());
    Ok(())
}

/// Parses the unit of a range. Returns whether it is bits.
fn parse_unit(text: &[u8]) -> CommandResult<bool> {
    if is(text, "BIT") {
        Ok(true)
    } else if is(text, "BYTE") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

/// The bits of a value from the first to the last, both included.
struct BitRange<'v> {
    value: &'v [u8],
    first: usize,
    last: usize,
}

impl<'v> BitRange<'v> {
    /// Returns the range from `start` to `end`, in bits or bytes; `None` if it is empty.
    fn of(value: &'v [u8], start: i64, end: i64, bits: bool) -> Option<Self> {
        let (first, last) = clamp(start, end, if bits { value.len() * 8 } else { value.len() })?;
        Some(if bits {
            Self { value, first, last }
        } else {
            Self { value, first: first * 8, last: last * 8 + 7 }
        })
    }

    /// Returns the bytes of the range and their positions. Bits outside the range are set to
    /// `outside`.
    fn bytes(&self, outside: bool) -> impl Iterator<Item = (usize, u8)> {
        let (first, last) = (self.first / 8, self.last / 8);
        let before = !(0xff >> (self.first % 8));
        let after = 0x7f_u8 >> (self.last % 8);
        self.value[first..=last].iter().zip(first..).map(move |(byte, at)| {
            let mask = if at == first { before } else { 0 } | if at == last { after } else { 0 };
            (at, if outside { byte | mask } else { byte & !mask })
        })
    }

    /// Returns the whole words between the first and the last byte.
    fn words(&self) -> &'v [[u8; 8]] {
        self.value.get(self.first / 8 + 1..self.last / 8).unwrap_or_default().as_chunks().0
    }

    /// Returns the rest of the range after the first byte and `count` words.
    fn after_words(&self, count: usize) -> Self {
        Self { first: (self.first / 8 + 1 + count * 8) * 8, ..*self }
    }

    fn count(&self) -> u64 {
        let words = self.words();
        let ones: u64 = words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum();
        let rest = self.after_words(words.len());
        let beside = self.bytes(false).take(1).chain(rest.bytes(false));
        ones + beside.map(|(_, byte)| u64::from(byte.count_ones())).sum::<u64>()
    }

    fn find(&self, bit: bool) -> Option<usize> {
        let (skipped, outside) = if bit { (0, false) } else { (0xff, true) };
        let alike = self.words().iter().take_while(|word| **word == [skipped; 8]).count();
        let rest = self.after_words(alike);
        let (at, byte) =
            self.bytes(outside).take(1).chain(rest.bytes(outside)).find(|(_, byte)| *byte != skipped)?;
        let zeros = if bit { byte.leading_zeros() } else { byte.leading_ones() };
        Some(at * 8 + zeros as usize)
    }
}

/// Longer values are processed alone, not in a batch with up to 63 other reads.
const IN_BATCH_MAX: usize = 1 << 20;
/// Replies with the number that `read` returns. In a batch, puts off the reply for a long value. The
/// row is visible only during one lookup, so there are no slices.
pub(super) fn answer_unless_long(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    long: &mut LongReply,
    read: fn(Option<RowView>, &Args) -> CommandResult<i64>,
) -> Replied {
    let is_long = row.and_then(|row| row.value()).is_some_and(|value| value.len() > IN_BATCH_MAX);
    if is_long && matches!(long, LongReply::PutOff) {
        reply.put_off();
    } else {
        reply.int(read(row, args)?);
    }
    Ok(())
}

/// Returns the reply to BITCOUNT. As in Redis, the arguments are checked only if the key exists.
pub(super) fn count(row: Option<RowView>, args: &Args) -> CommandResult<i64> {
    let Some(value) = value_of(row.map(RowView::row))? else { return Ok(0) };
    let (start, end) = match args.len() {
        2 => (0, -1),
        4 | 5 => parse_pair(args, 2)?,
        _ => return Err(SYNTAX),
    };
    if is_crossed(start, end) {
        return Ok(0);
    }
    let bits = args.len() == 5 && parse_unit(args.get(4))?;
    Ok(BitRange::of(value, start, end, bits).map_or(0, |bits| bits.count().cast_signed()))
}

/// Returns the reply to BITPOS.
pub(super) fn position(row: Option<RowView>, args: &Args) -> CommandResult<i64> {
    let bit = match parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)? {
        bit @ (0 | 1) => bit == 1,
        _ => return Err(CommandError::text("ERR The bit argument must be 1 or 0.")),
    };
    let Some(value) = value_of(row.map(RowView::row))? else { return Ok(if bit { -1 } else { 0 }) };
    if args.len() > 6 {
        return Err(SYNTAX);
    }
    let parse = |at: usize| parse_i64(args.get(at)).ok_or(NOT_AN_INTEGER);
    let start = if args.len() > 3 { parse(3)? } else { 0 };
    let bits = args.len() == 6 && parse_unit(args.get(5))?;
    let end = if args.len() > 4 { parse(4)? } else { -1 };
    let Some(bits) = BitRange::of(value, start, end, bits) else { return Ok(-1) };
    let found = match bits.find(bit) {
        // Without an explicit end, the value counts as followed by zeros.
        None if !bit && args.len() < 5 => Some(value.len() * 8),
        found => found,
    };
    Ok(found.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)))
}
