//! The reader of encoded keys.

use super::DecodeError;
use super::error::Problem;

/// The deepest nesting of sequences that is decoded. It bounds the stack.
const NESTING_MAX: u8 = 128;

/// Reads the parts of an encoded key from its front.
///
/// It counts the bytes, for errors, and inverts them inside [`Reverse`](std::cmp::Reverse).
#[derive(Debug)]
pub struct KeyReader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// `0xff` inside of a `Reverse`, otherwise 0. Every byte is read with an exclusive or of it.
    mask: u8,
    nesting: u8,
}

impl<'a> KeyReader<'a> {
    /// Returns a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        KeyReader { bytes, position: 0, mask: 0, nesting: 0 }
    }

    /// Returns the number of bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Reads `N` bytes of a part of type `T`.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn take<T: ?Sized, const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let rest = self.rest();
        let Some(&taken) = rest.first_chunk::<N>() else {
            return Err(self.error::<T>(Problem::TooShort { needed: N, left: rest.len() }));
        };
        self.position += N;
        Ok(taken.map(|byte| byte ^ self.mask))
    }

    /// Reads all bytes that are left.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        let taken = self.rest().iter().map(|byte| byte ^ self.mask).collect();
        self.position = self.bytes.len();
        taken
    }

    /// Reads up to the next byte of 0 or 1, and this byte. Appends the bytes before it to `out`,
    /// and returns it.
    pub(super) fn take_run<T: ?Sized>(&mut self, start: usize, out: &mut Vec<u8>) -> Result<u8, DecodeError> {
        let rest = self.rest();
        let Some(run) = rest.iter().position(|byte| byte ^ self.mask <= 1) else {
            return Err(DecodeError::new::<T>(start, Problem::Unterminated));
        };
        out.extend(rest[..run].iter().map(|byte| byte ^ self.mask));
        self.position += run + 1;
        Ok(rest[run] ^ self.mask)
    }

    /// Checks that a key of type `T` ends here.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end<T: ?Sized>(&self) -> Result<(), DecodeError> {
        match self.rest().len() {
            0 => Ok(()),
            left => Err(self.error::<T>(Problem::Trailing { left })),
        }
    }

    /// Reads a part with all bytes inverted.
    pub(super) fn inverted<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        self.mask = !self.mask;
        let part = read(self);
        self.mask = !self.mask;
        part
    }

    /// Reads a sequence of type `T`. Returns an error if it is nested too deep in others.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.nesting == NESTING_MAX {
            return Err(self.error::<T>(Problem::Nested { limit: NESTING_MAX }));
        }
        self.nesting += 1;
        let part = read(self);
        self.nesting -= 1;
        part
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    fn error<T: ?Sized>(&self, problem: Problem) -> DecodeError {
        DecodeError::new::<T>(self.position, problem)
    }
}
