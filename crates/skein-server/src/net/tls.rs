//! TLS on its own port: whether clients need certificates, and the certificate and key files.
//! `stream` is a connection over it.
//!
//! Supports versions 1.2 and 1.3. Sessions are never resumed: each connection must show its
//! certificate again, so that an expired certificate stops working.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use skein_sync::locks::lock;

use crate::StartError;
use crate::net::open_files::read_regular;

mod stream;

pub(crate) use stream::ServerTlsStream;

/// The most bytes of a file: several times the certificates of all public authorities.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A TLS port. All files are PEM, and regular files of at most 1 MiB. They are read at the start,
/// and again when CONFIG SET names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// The server's certificate, and the intermediate certificates up to one that clients know.
    pub cert: PathBuf,
    /// The private key of the certificate: PKCS #8, PKCS #1 or SEC 1, without a password.
    pub key: PathBuf,
    /// The certificates that sign those of clients. They are read even if no client certificate is
    /// requested.
    pub ca: Option<PathBuf>,
    /// Whether clients must have a certificate. `ca` is required unless this is `No`.
    pub clients: TlsClients,
}

/// Whether clients show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsClients {
    /// No certificate is requested.
    No,
    /// A certificate is optional, and must be valid.
    Optional,
    /// A valid certificate is required.
    #[default]
    Required,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid, or the key does not belong to the certificate.
    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, StartError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certs = certificates(&self.cert)?;
        let key = private_key(&self.key)?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(&self.cert, &error))?;
        let roots = self.ca.as_deref().map(|ca| Ok((ca, roots(ca)?))).transpose()?;
        let builder = match (self.clients, roots) {
            (TlsClients::No, _) => builder.with_no_client_auth(),
            (_, None) => {
                let why = "needs the certificates that sign client certificates; name their file, or request no client certificates";
                return Err(StartError::BadOption { name: "tls.clients", why: why.to_owned() });
            }
            (clients, Some((ca, roots))) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                let verifier =
                    if clients == TlsClients::Optional { verifier.allow_unauthenticated() } else { verifier };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| refused(ca, &error))?)
            }
        };
        let mut config = builder.with_single_cert(certs, key).map_err(|error| refused(&self.cert, &error))?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// The current TLS port. New connections use the files that were read last.
#[derive(Debug)]
pub(crate) struct TlsPort {
    pub address: SocketAddr,
    now: Mutex<(Tls, Arc<ServerConfig>)>,
}

impl TlsPort {
    pub(crate) fn new(address: SocketAddr, files: Tls, config: Arc<ServerConfig>) -> Self {
        Self { address, now: Mutex::new((files, config)) }
    }

    /// Returns the names of the files in use.
    pub(crate) fn files(&self) -> Tls {
        lock(&self.now).0.clone()
    }

    /// Returns the configuration of the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&lock(&self.now).1)
    }

    /// Makes new connections use the contents of these files.
    pub(crate) fn set(&self, files: Tls, config: Arc<ServerConfig>) {
        *lock(&self.now) = (files, config);
    }
}

/// Returns the certificates of a PEM file as trusted roots.
fn roots(path: &Path) -> Result<RootCertStore, StartError> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(path)? {
        roots.add(cert).map_err(|error| refused(path, &error))?;
    }
    Ok(roots)
}

/// Returns the certificates of a PEM file: at least one.
///
/// # Errors
/// If the file cannot be read, is not a regular file or longer than 1 MiB, is not PEM, or has no
/// certificate.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    let found = found.map_err(|error| unusable(path, &error, "a certificate"))?;
    if found.is_empty() { Err(unusable(path, &pem::Error::NoItemsFound, "a certificate")) } else { Ok(found) }
}

/// Returns the private key of a PEM file.
///
/// # Errors
/// If the file cannot be read, is not a regular file or longer than 1 MiB, is not PEM, or has no
/// key without a password.
pub fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, StartError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| unusable(path, &error, "a private key"))
}

/// Reads a file. A worker does this between two requests, so the read must neither wait nor be
/// endless.
fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    read_regular(path, FILE_BYTES_MAX).map_err(|error| bad_file(path, error.to_string()))
}

/// Reveals no contents of the file, which may be a key.
fn unusable(path: &Path, error: &pem::Error, what: &'static str) -> StartError {
    let why = match error {
        pem::Error::NoItemsFound => format!("it contains no {}", what.trim_start_matches("a ")),
        _ => "it is not PEM".to_owned(),
    };
    bad_file(path, why)
}

fn bad_file(path: &Path, why: String) -> StartError {
    let way_out = "name a PEM file of at most 1 MiB, a regular file that this process can read";
    StartError::TlsFile { path: path.to_owned(), why, way_out }
}

fn refused(path: &Path, error: &dyn std::error::Error) -> StartError {
    let way_out = "name a certificate, its private key, and the certificates that sign client certificates";
    StartError::TlsFile { path: path.to_owned(), why: error.to_string(), way_out }
}
