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

/// Defines methods of the trait by those of [`Reply`].
macro_rules! as_in_reply {
    ($($name:ident: $of_reply:ident($($value:ident: $kind:ty),*);)+) => { $(
        fn $name(&mut self, $($value: $kind),*) {
            self.writer.$of_reply($($value),*);
        }
    )+ };
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

    as_in_reply! {
        null: null();
        boolean: boolean(value: bool);
        integer: int(value: i64);
        double: double(value: f64);
        bulk: bulk(bytes: &[u8]);
        status: simple_bytes(text: &[u8]);
        error: error_bytes(text: &[u8]);
        array: array(len: usize);
        map: map(pairs: usize);
        set: set(len: usize);
        big_number: big_number(digits: &[u8]);
        verbatim: verbatim(format: &[u8], text: &[u8]);
    }
}
