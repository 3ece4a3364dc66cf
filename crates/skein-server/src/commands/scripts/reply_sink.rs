//! The value of a script, in the client's version of RESP, up to `max-reply`.

use std::cell::Cell;

use skein_script::{ReplySink, WRITTEN_RESERVE};

use crate::commands::CommandResult;
use crate::commands::reply_limit::check_reply_bytes;
use crate::resp::Reply;

const WAY_OUT: &str = "return less from the script, or raise max-reply; the writes of the script stay";

/// The reply of a script.
pub(super) struct ScriptReply<'r, 'w> {
    writer: &'r mut Reply<'w>,
    start: usize,
    bytes_max: usize,
    /// The bytes of replies that the script has received since it wrote. It may return as much
    /// beyond the limit, up to the reserve of scripts: popped values exist nowhere else.
    received: &'r Cell<usize>,
}

impl<'r, 'w> ScriptReply<'r, 'w> {
    pub(super) fn new(writer: &'r mut Reply<'w>, bytes_max: usize, received: &'r Cell<usize>) -> Self {
        Self { start: writer.position(), writer, bytes_max, received }
    }

    fn check(&self, more: usize) -> CommandResult<()> {
        let most = self.bytes_max.saturating_add(self.received.get().min(WRITTEN_RESERVE));
        let bytes = (self.writer.position() - self.start).saturating_add(more);
        check_reply_bytes(bytes, most, WAY_OUT)
    }
}

impl ReplySink for ScriptReply<'_, '_> {
    fn admits(&self, bytes: usize) -> bool {
        self.check(bytes).is_ok()
    }

    fn clear(&mut self) {
        self.writer.truncate(self.start);
    }

    fn too_long(&mut self) {
        if let Err(fault) = self.check(usize::MAX) {
            fault.write(self.writer);
        }
    }

    fn null(&mut self) {
        self.writer.null();
    }

    fn boolean(&mut self, value: bool) {
        self.writer.boolean(value);
    }

    fn integer(&mut self, value: i64) {
        self.writer.int(value);
    }

    fn double(&mut self, value: f64) {
        self.writer.double(value);
    }

    fn bulk(&mut self, bytes: &[u8]) {
        self.writer.bulk(bytes);
    }

    fn status(&mut self, text: &[u8]) {
        self.writer.simple_bytes(text);
    }

    fn error(&mut self, text: &[u8]) {
        self.writer.error_bytes(text);
    }

    fn array(&mut self, len: usize) {
        self.writer.array(len);
    }

    fn map(&mut self, pairs: usize) {
        self.writer.map(pairs);
    }

    fn set(&mut self, len: usize) {
        self.writer.set(len);
    }

    fn big_number(&mut self, digits: &[u8]) {
        self.writer.big_number(digits);
    }

    fn verbatim(&mut self, format: &[u8], text: &[u8]) {
        self.writer.verbatim(format, text);
    }
}
