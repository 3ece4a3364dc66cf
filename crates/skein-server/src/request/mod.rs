//! A request between the parser and the command: its keys, their versions, its errors.
//!
//! `databases` knows where the keys of each database are, and `moved_keys` moves the keys of a request
//! there. `key_version` tells whether a key was written since an earlier look, and `scan_cursors` has the
//! positions of SCAN. `command_error` is the error of a command, as the client reads it.

pub(crate) mod command_error;
pub(crate) mod databases;
pub(crate) mod key_version;
pub(crate) mod moved_keys;
pub(crate) mod scan_cursors;
