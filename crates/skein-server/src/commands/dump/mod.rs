//! `DUMP` and `RESTORE`: the contents of a key in Redis's format, so that keys move between SkeinDB
//! and Redis both ways.
//!
//! ```text
//!   DUMP     row ─┬─ short ─► body ─► payload::seal ─► reply
//!                 └─ long ──► a view of the key ─► body, in slices ─► the same
//!   RESTORE  payload::open ─► ValueReader ─► RestoredValue ─► one write
//! ```
//!
//! The formats are in `skein_rdb`. Here is the choice between them, which is that of Redis 7.0: a
//! small collection is one blob.
//!
//! MIGRATE writes payloads at once, on a thread of its own (`whole`).
//!
//! Read in this order: `short`, `long`, `whole`, `restore`, `restored_value`, `streams`.

mod long;
mod restore;
mod restored_value;
mod short;
mod streams;
mod whole;

pub(super) use restore::restore;
pub(super) use short::{answer_stream, dump};
pub(super) use whole::write_whole_payload;

use crate::resp::Reply;
use skein_rdb::payload;

/// Replies with the payload of a body: the type and the value.
fn write_payload(mut body: Vec<u8>, reply: &mut Reply) {
    payload::seal(&mut body);
    reply.bulk(&body);
}
