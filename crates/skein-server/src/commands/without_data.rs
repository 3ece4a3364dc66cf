//! The type of handlers that run without data: while the server loads it, and while a script keeps the
//! server busy. Their rows name them beside the normal handlers. All others reply LOADING or BUSY.
//!
//! `while_loading` and `while_busy` have those that are more than a part of the normal handler.

use super::CommandResult;
use crate::clients::client::ClientState;
use crate::resp::{Args, Reply};

/// The client and a server without data, as such a command sees them.
pub(crate) struct WithoutData<'e, S> {
    pub client: &'e mut ClientState,
    pub server: &'e S,
}

/// Runs a request; it is done then, or the connection must be closed. If it returns an error, the
/// partial reply is discarded.
pub(crate) type DatalessHandler<S> = fn(&mut WithoutData<'_, S>, &Args, &mut Reply) -> CommandResult;
