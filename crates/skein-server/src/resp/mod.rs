//! The wire: requests in, replies out, in both versions of the Redis serialization protocol.
//!
//! ```text
//!   socket ─► Input (bytes + where each argument lies) ─► Args, borrowed
//!   socket ◄─ Output (bytes) ◄─ Reply (RESP2 or RESP3)
//! ```
//!
//! [`request`] knows requests, [`queue`] keeps some for later, [`reply`] knows replies, [`number`] and [`double`] read and write numbers for both.
//! None of them knows sockets or commands.

pub(crate) mod double;
#[cfg(any(test, fuzzing))]
pub(crate) mod feed;
pub(crate) mod inline;
pub(crate) mod limits;
pub(crate) mod number;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod request;

pub(crate) use limits::{ProtocolError, RequestLimits};
pub(crate) use queue::RequestQueue;
pub(crate) use reply::{Protocol, ReplyWriter};
pub(crate) use request::{RequestArgs, RequestBuffer};
