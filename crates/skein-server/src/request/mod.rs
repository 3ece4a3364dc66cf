//! A request between the parser and the command: its keys, their versions, its errors.
//!
//! `stored_request` is a request with the keys of the store. `key_version` tells whether a key was
//! written since an earlier look, and `scan_cursors` has the positions of SCAN. `command_error` is the
//! error of a command, as the client reads it.

pub(crate) mod command_error;
pub(crate) mod key_version;
pub(crate) mod scan_cursors;
pub(crate) mod stored_request;
