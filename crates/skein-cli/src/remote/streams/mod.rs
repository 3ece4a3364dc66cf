//! Reads and writes of streams, part by part, in the order of `skein_data::StreamPart`.
//!
//! ```text
//!   read: the source                   write: the target
//!   XINFO STREAM FULL ─┐
//!   XPENDING, in pages ┴─► Groups    ─► RESTORE of a stream without entries
//!   XRANGE, in pages     ─► Entries   ─► XADD, XADD ...
//!                           Position  ─► XSETID
//! ```
//!
//! `RESTORE` makes the groups, because no other command sets the times of consumers, or makes an
//! entry pending that was deleted. It has no entries, so no request or reply has a whole stream.

mod read;
mod write;

pub use read::{StreamPiece, StreamRead, is_changed};
pub use write::{stream_commands, write_stream_part};
