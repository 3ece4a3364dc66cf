//! Formats: the layout that `struct` reads and writes.
//!
//! | option | item | | option | item |
//! | --- | --- | --- | --- | --- |
//! | `b` `B` | 1 byte | | `f` | a float of 4 bytes |
//! | `h` `H` | 2 bytes | | `d` | a float of 8 bytes |
//! | `i` `I` | 4 bytes, or the number that follows | | `s` | a string up to a zero byte |
//! | `l` `L` `T` | 8 bytes | | `c` | a string of 1 byte, or as many as follow |
//! | `x` | a zero byte | | `<` `>` | the byte order of the items that follow |
//! | space | nothing | | `!` | the greatest alignment: 8, or the number that follows |
//!
//! Small letters of integers are signed. A format ends at a zero byte.

use mlua::{Lua, Result};

use crate::libraries::encoded_bytes::EncodingLimits;
use crate::libraries::errors::{argument_error, error};

/// The greatest size of an integer.
pub(super) const MAX_INTEGER_SIZE: usize = 32;
/// The alignment of `!` without a number: that of C's types.
const NATIVE_ALIGNMENT: usize = 8;

/// An item of a format.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Integer {
        size: usize,
        signed: bool,
    },
    Float,
    Double,
    /// A zero byte.
    Padding,
    /// As many bytes of a string. Zero means all of it.
    Characters(usize),
    /// A string with a zero byte behind it.
    Text,
    /// An option for the items that follow, or one without a meaning. See [`Format::control`].
    Control(u8),
}

impl Item {
    /// Returns the size, as far as the format says it.
    pub(super) fn size(self) -> usize {
        match self {
            Item::Integer { size, .. } | Item::Characters(size) => size,
            Item::Float => 4,
            Item::Double => 8,
            Item::Padding => 1,
            Item::Text | Item::Control(_) => 0,
        }
    }
}

/// A format that is being read.
pub(super) struct Format<'f> {
    rest: &'f [u8],
    big_endian: bool,
    alignment: usize,
    limits: &'f EncodingLimits,
}

impl<'f> Format<'f> {
    pub(super) fn new(format: &'f [u8], limits: &'f EncodingLimits) -> Self {
        let end = format.iter().position(|&byte| byte == 0).unwrap_or(format.len());
        Self { rest: &format[..end], big_endian: cfg!(target_endian = "big"), alignment: 1, limits }
    }

    /// Whether the items are in big-endian order.
    pub(super) fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Returns the number of bytes before an item at `position` that align it.
    pub(super) fn padding(&self, position: usize, item: Item) -> usize {
        let size = match item {
            Item::Characters(_) => 0,
            _ => item.size().min(self.alignment),
        };
        // Sizes that are not a power of two pad as the mask of their predecessor says.
        let mask = size.saturating_sub(1);
        size.wrapping_sub(position & mask) & mask
    }

    /// Returns the next item, or `None` at the end. Fails if the script is to stop.
    pub(super) fn next(&mut self, lua: &Lua) -> Result<Option<Item>> {
        let Some((&option, rest)) = self.rest.split_first() else { return Ok(None) };
        self.limits.spend(lua, 0)?;
        self.rest = rest;
        let signed = option.is_ascii_lowercase();
        Ok(Some(match option {
            b'b' | b'B' => Item::Integer { size: 1, signed },
            b'h' | b'H' => Item::Integer { size: 2, signed },
            b'l' | b'L' | b'T' => Item::Integer { size: 8, signed },
            b'i' | b'I' => Item::Integer { size: self.integer_size(lua)?, signed },
            b'f' => Item::Float,
            b'd' => Item::Double,
            b'x' => Item::Padding,
            b'c' => Item::Characters(self.number(lua)?.unwrap_or(1)),
            b's' => Item::Text,
            option => Item::Control(option),
        }))
    }

    /// Applies an option to the items that follow. Fails if the option has no meaning.
    pub(super) fn control(&mut self, lua: &Lua, option: u8) -> Result<()> {
        match option {
            b' ' => {}
            b'<' => self.big_endian = false,
            b'>' => self.big_endian = true,
            b'!' => {
                let alignment = self.number(lua)?.unwrap_or(NATIVE_ALIGNMENT);
                if !alignment.is_power_of_two() {
                    return Err(error(lua, format_args!("alignment {alignment} is not a power of 2")));
                }
                self.alignment = alignment;
            }
            _ => {
                let option = char::from(option);
                return Err(argument_error(lua, 1, format_args!("invalid format option '{option}'")));
            }
        }
        Ok(())
    }

    fn integer_size(&mut self, lua: &Lua) -> Result<usize> {
        let size = self.number(lua)?.unwrap_or(4);
        if size > MAX_INTEGER_SIZE {
            let text = format!("integral size {size} is larger than limit of {MAX_INTEGER_SIZE}");
            return Err(error(lua, text));
        }
        Ok(size)
    }

    /// Returns the number at the front, if there is one.
    fn number(&mut self, lua: &Lua) -> Result<Option<usize>> {
        let digits = self.rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.rest.len());
        self.limits.spend(lua, digits)?;
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if number.is_empty() {
            return Ok(None);
        }
        let add = |value: i32, digit: &u8| value.checked_mul(10)?.checked_add(i32::from(digit - b'0'));
        match number.iter().try_fold(0, add) {
            Some(value) => Ok(usize::try_from(value).ok()),
            None => Err(error(lua, "integral size overflow")),
        }
    }
}
