//! `tls-cert-file`, `tls-key-file` and `tls-ca-cert-file`: read together, when one of them is set, be it to the name that it has already.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::failed;
use super::table::{ApplyChange, ConfigParameter};
use crate::commands::CommandError;
use crate::shared::ServerShared;

/// What puts the files of TLS in force that are named, with those of them that are not as they are; nothing if none is named. The files are read at once:
/// they are short.
///
/// # Errors
/// One cannot be used, or they do not go together; the log says why.
pub(super) fn change(
    shared: &ServerShared,
    named: &[(&ConfigParameter, &[u8])],
) -> Result<Option<ApplyChange>, CommandError> {
    let Some(port) = &shared.tls else { return Ok(None) };
    let (mut files, mut first) = (port.files(), None);
    for (parameter, path) in named {
        let Some(file) = parameter.tls_file() else { continue };
        (file.put)(&mut files, OsStr::from_bytes(path).into());
        first.get_or_insert(*parameter);
    }
    let Some(first) = first else { return Ok(None) };
    let config = files.config().map_err(|error| {
        tracing::warn!(%error, "the files of TLS are not changed");
        failed(first, "Unable to update TLS configuration. Check server logs.")
    })?;
    Ok(Some(Box::new(move |shared| {
        if let Some(port) = &shared.tls {
            tracing::info!(cert = %files.cert.display(), "the files of TLS were read anew");
            port.set(files, config);
        }
    })))
}
