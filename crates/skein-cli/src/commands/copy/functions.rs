//! The libraries of functions, which belong to no database: they are copied with all databases, by
//! `FUNCTION DUMP` of the source and `FUNCTION RESTORE` at the target.

use skeindb::client::Reply;

use crate::exit::Failure;
use crate::remote::{CommandPeer, ServerPeer, stops_all};

/// The libraries of a copy.
pub enum CopiedFunctions {
    /// So many libraries are at the target. Others that it had are there, too.
    All(usize),
    /// They are not copied, for this reason.
    Refused(String),
}

/// Copies all libraries, and replaces those of the same names.
///
/// # Errors
/// A server was lost, or the target accepts no writes.
pub fn copy(from: &mut ServerPeer, to: &mut impl CommandPeer) -> Result<CopiedFunctions, Failure> {
    let libraries = match from.call(&[b"FUNCTION", b"LIST"])? {
        Reply::Array(libraries) => libraries.len(),
        // Redis before version 7.
        Reply::Error(text) if text.starts_with("ERR unknown command") => 0,
        Reply::Error(text) => return Ok(CopiedFunctions::Refused(from.refused(&text).message)),
        reply => return Err(from.unexpected(&reply)),
    };
    if libraries == 0 {
        return Ok(CopiedFunctions::All(0));
    }
    let payload = match from.call(&[b"FUNCTION", b"DUMP"])? {
        Reply::Bulk(payload) => payload,
        Reply::Error(text) => return Ok(CopiedFunctions::Refused(from.refused(&text).message)),
        reply => return Err(from.unexpected(&reply)),
    };
    match to.call(&[b"FUNCTION", b"RESTORE", &payload, b"REPLACE"])? {
        Reply::Error(text) if stops_all(&text) => Err(to.refused(&text)),
        Reply::Error(text) => Ok(CopiedFunctions::Refused(to.refused(&text).message)),
        _ => Ok(CopiedFunctions::All(libraries)),
    }
}
