//! What a script returns, in the client's version of RESP.

use skein_script::ReplySink;

use crate::resp::ReplyWriter;

impl ReplySink for ReplyWriter<'_> {
    fn null(&mut self) {
        Self::null(self);
    }

    fn boolean(&mut self, value: bool) {
        Self::boolean(self, value);
    }

    fn integer(&mut self, value: i64) {
        self.int(value);
    }

    fn double(&mut self, value: f64) {
        Self::double(self, value);
    }

    fn bulk(&mut self, bytes: &[u8]) {
        Self::bulk(self, bytes);
    }

    fn status(&mut self, text: &[u8]) {
        self.simple_bytes(text);
    }

    fn error(&mut self, text: &[u8]) {
        self.error_bytes(text);
    }

    fn array(&mut self, len: usize) {
        Self::array(self, len);
    }

    fn map(&mut self, pairs: usize) {
        Self::map(self, pairs);
    }

    fn set(&mut self, len: usize) {
        Self::set(self, len);
    }

    fn big_number(&mut self, digits: &[u8]) {
        Self::big_number(self, digits);
    }

    fn verbatim(&mut self, format: &[u8], text: &[u8]) {
        Self::verbatim(self, format, text);
    }
}
