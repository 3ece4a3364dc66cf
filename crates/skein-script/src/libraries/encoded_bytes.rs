//! The buffer of an encoder. It counts toward the memory limit of the script.

use std::rc::Rc;

use mlua::{Lua, LuaString, Result};

use super::errors::error;
use super::{MAX_ENCODED_BYTES, too_long};
use crate::engine::NO_MEMORY;
use crate::run_state::RunState;
use crate::work_meter::{Stopped, WorkMeter, shared_state, stopped_error};

/// The most bytes of a number as text or in a binary form.
const NUMBER_BYTES: usize = 64;

/// The reason why an encoder ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodingEnd {
    /// The buffer is full.
    Full,
    /// The host has stopped the script.
    Stopped,
}

impl From<Stopped> for EncodingEnd {
    fn from(Stopped: Stopped) -> Self {
        EncodingEnd::Stopped
    }
}

/// Bytes up to a limit. The buffer never reserves more, and drops further bytes: encoders ask
/// [`check`](Self::check) after each value.
pub(super) struct EncodedBytes {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl EncodedBytes {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, is_full: false }
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    #[inline]
    pub(super) fn extend(&mut self, more: &[u8]) {
        if self.has_room(more.len()) {
            self.bytes.extend_from_slice(more);
        }
    }

    /// Adds zeros.
    pub(super) fn extend_zeros(&mut self, count: usize) {
        if self.has_room(count) {
            self.bytes.resize(self.bytes.len() + count, 0);
        }
    }

    /// Lets a function append a number.
    #[inline]
    pub(super) fn number(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if self.has_room(NUMBER_BYTES) {
            append(&mut self.bytes);
        }
    }

    #[inline]
    fn has_room(&mut self, more: usize) -> bool {
        more <= self.bytes.capacity() - self.bytes.len() || self.grow(more)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> bool {
        let needed = self.bytes.len().saturating_add(more);
        self.is_full |= needed > self.limit;
        if !self.is_full {
            let capacity = needed.max(self.bytes.capacity() * 2).min(self.limit);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        !self.is_full
    }

    /// Errors if bytes did not fit.
    #[inline]
    pub(super) fn check(&self) -> std::result::Result<(), EncodingEnd> {
        if self.is_full { Err(EncodingEnd::Full) } else { Ok(()) }
    }
}

/// The limits of one call of an encoder.
pub(super) struct EncodingLimits {
    state: Option<Rc<RunState>>,
    bytes_max: usize,
}

impl EncodingLimits {
    /// Returns the limits of the running script.
    pub(super) fn of(lua: &Lua) -> Self {
        let state = shared_state(lua);
        let left = state.as_ref().map_or(usize::MAX, |state| state.memory.left_for_buffer());
        Self { state, bytes_max: left.min(MAX_ENCODED_BYTES) }
    }

    pub(super) fn buffer(&self) -> EncodedBytes {
        EncodedBytes::new(self.bytes_max)
    }

    pub(super) fn meter(&self) -> WorkMeter<'_> {
        WorkMeter::new(self.state.as_deref())
    }

    /// Counts an element with a text of so many bytes. Fails if the script is to stop.
    #[inline]
    pub(super) fn spend(&self, lua: &Lua, bytes: usize) -> Result<()> {
        self.meter().spend(bytes).map_err(|Stopped| self.error(lua, EncodingEnd::Stopped))
    }

    /// Returns the error that a script sees.
    pub(super) fn error(&self, lua: &Lua, end: EncodingEnd) -> mlua::Error {
        match end {
            EncodingEnd::Stopped => stopped_error(self.state.as_deref()),
            EncodingEnd::Full if self.bytes_max < MAX_ENCODED_BYTES => {
                mlua::Error::MemoryError(NO_MEMORY.to_owned())
            }
            EncodingEnd::Full => error(lua, too_long(MAX_ENCODED_BYTES)),
        }
    }

    /// Returns the encoded bytes as a string of Lua.
    pub(super) fn finish(&self, lua: &Lua, out: &EncodedBytes) -> Result<LuaString> {
        out.check().map_err(|end| self.error(lua, end))?;
        lua.create_string(&out.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{EncodedBytes, EncodingEnd};

    #[test]
    fn a_buffer_never_takes_more_than_its_limit() {
        let mut out = EncodedBytes::new(1000);
        for _ in 0..30 {
            out.extend(&[1; 33]);
        }
        assert_eq!((out.len(), out.check()), (990, Ok(())));
        out.extend_zeros(10);
        assert_eq!((out.len(), out.check()), (1000, Ok(())));
        out.push(0);
        out.number(|bytes| bytes.push(1));
        assert_eq!((out.len(), out.check()), (1000, Err(EncodingEnd::Full)));
        assert!(out.bytes.capacity() <= 1000, "{}", out.bytes.capacity());
    }
}
