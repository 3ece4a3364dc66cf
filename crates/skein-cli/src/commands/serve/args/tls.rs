//! The options of the TLS port.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use skein_server::{Tls, TlsClients};

use super::listen::TLS_LISTEN;
use crate::exit::Failure;

/// A port that speaks TLS.
#[derive(clap::Args)]
#[command(next_help_heading = "TLS")]
#[expect(clippy::struct_field_names, reason = "the fields are named as the options are")]
pub struct TlsArgs {
    /// The address to listen on for TLS, besides --listen; port 0 selects a free port.
    #[arg(long, value_name = "HOST:PORT", requires_all = ["tls_cert", "tls_key"])]
    pub tls_listen: Option<String>,
    /// The server's certificate, with its intermediate certificates: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_listen")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_listen")]
    tls_key: Option<PathBuf>,
    /// The certificates of the authorities that may have signed clients' certificates: a PEM file.
    /// An empty name means none.
    // CONFIG SET clears it with an empty name, and CONFIG REWRITE writes that.
    #[arg(long, value_name = "FILE", requires = "tls_listen", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    tls_ca: Option<PathBuf>,
    /// Whether clients must show a certificate [default: yes with --tls-ca, else no].
    #[arg(long, value_name = "WHO", requires = "tls_listen")]
    tls_auth_clients: Option<AuthClients>,
}

/// Whether clients must show a certificate.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AuthClients {
    /// The server does not ask for one.
    No,
    /// If a client shows one, it must be valid.
    Optional,
    /// A client without a valid one is rejected.
    Yes,
}

impl TlsArgs {
    /// Returns the TLS port, if there is one.
    pub fn port(&self) -> Result<Option<Tls>, Failure> {
        let (Some(listen), Some(cert), Some(key)) = (&self.tls_listen, &self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let ca = self.tls_ca.clone().filter(|ca| !ca.as_os_str().is_empty());
        let clients = match (self.tls_auth_clients, &ca) {
            (Some(AuthClients::No), _) | (None, None) => TlsClients::No,
            (Some(AuthClients::Optional), _) => TlsClients::Optional,
            (Some(AuthClients::Yes), _) | (None, Some(_)) => TlsClients::Required,
        };
        let (cert, key) = (cert.clone(), key.clone());
        Ok(Some(Tls { listen: TLS_LISTEN.resolve(listen)?, cert, key, ca, clients }))
    }
}
