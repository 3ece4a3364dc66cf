//! `tls-cert-file`, `tls-key-file` and `tls-ca-cert-file`. If one of them is set, even to its
//! current path, all three are read together.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::table::{ApplyChange, tls_file};
use super::{NamedValue, failed};
use crate::commands::CommandResult;
use crate::shared::ServerShared;

/// Returns a function that applies the named TLS files together with the unchanged ones, or `None`
/// if none is named. Reads the files on the worker's thread, because they are short.
///
/// # Errors
/// If a file cannot be used or the files do not fit together. The server's log has the
/// reason.
pub(super) fn change(shared: &ServerShared, named: &[NamedValue<'_>]) -> CommandResult<Option<ApplyChange>> {
    let Some(port) = &shared.identity.tls else { return Ok(None) };
    let (mut files, mut first) = (port.files(), None);
    for named in named {
        let Some(file) = tls_file(named.row) else { continue };
        (file.put)(&mut files, OsStr::from_bytes(named.text).into());
        first.get_or_insert(named.name);
    }
    let Some(first) = first else { return Ok(None) };
    let config = files.config().map_err(|error| {
        tracing::warn!(%error, "the new TLS files are not usable; the previous ones stay in use");
        failed(first, "Unable to update TLS configuration. Check server logs.")
    })?;
    Ok(Some(Box::new(move |shared| {
        if let Some(port) = &shared.identity.tls {
            tracing::info!(cert = %files.cert.display(), "the TLS files were reloaded");
            port.set(files, config);
        }
    })))
}
