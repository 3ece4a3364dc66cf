//! The options of the TLS port.

use skein_server::{ServeOptions, Tls, TlsClients};

use super::listen::TLS_LISTEN;
use crate::exit::Failure;

/// Returns the TLS port, if there is one.
pub fn port(given: &ServeOptions) -> Result<Option<Tls>, Failure> {
    let (Some(listen), Some(cert), Some(key)) = (&given.tls_listen, &given.tls_cert, &given.tls_key) else {
        return Ok(None);
    };
    let ca = given.tls_ca.clone().filter(|ca| !ca.as_os_str().is_empty());
    let default = if ca.is_some() { TlsClients::Required } else { TlsClients::No };
    let clients = given.tls_auth_clients.unwrap_or(default);
    let (cert, key) = (cert.clone(), key.clone());
    Ok(Some(Tls { listen: TLS_LISTEN.resolve(listen)?, cert, key, ca, clients }))
}
