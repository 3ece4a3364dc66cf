//! The wire protocol: parses requests and writes replies, in both versions of RESP.
//!
//! ```text
//!   socket ─► RequestBuffer (bytes, and the position of each argument) ─► Args, borrowed
//!   socket ◄─ ReplyBuffer (bytes) ◄─ Reply (RESP2 or RESP3)
//! ```
//!
//! [`request`] parses requests, [`queue`] keeps requests for later, [`reply`] writes replies,
//! [`number`] and [`double`] read and write numbers for both. [`limits`] bounds requests,
//! [`inline`] reads lines of words, `arg_list` has arguments that the server puts together.
//! [`whole`] checks written replies, `feed` gives requests to the parser in pieces. These modules
//! depend on neither sockets nor commands.
//!
//! Design: `docs/design/server.md`.

mod arg_list;
pub(crate) mod double;
#[cfg(any(test, fuzzing))]
pub(crate) mod feed;
pub(crate) mod inline;
pub(crate) mod limits;
pub(crate) mod number;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod whole;

pub(crate) use arg_list::ArgList;
pub(crate) use limits::{ProtocolError, RequestLimits};
pub(crate) use queue::RequestQueue;
pub(crate) use reply::{Protocol, Reply};
pub(crate) use request::{Args, RequestBuffer};
