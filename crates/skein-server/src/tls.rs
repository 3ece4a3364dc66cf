//! TLS on a port of its own: what is asked of clients, and the files that say who we are and whom we believe.
//!
//! Versions 1.2 and 1.3. No session is resumed: each connection shows its certificate anew, so one that has expired gets in no more.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use skein_sync::locks::lock;

use crate::StartError;
use crate::open_files::read_regular;

mod stream;

pub(crate) use stream::ServerTlsStream;

/// The longest file, in bytes: about as many certificates as there are public authorities, several times.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A port that speaks TLS. All files are PEM, regular files of at most 1 MiB; they are read at the start, and again when CONFIG SET names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Our certificate, and those between it and one that clients know.
    pub cert: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC 1, without a password.
    pub key: PathBuf,
    /// The certificates that have signed those of clients; read also where none is asked for.
    pub ca: Option<PathBuf>,
    /// Whether clients must have one; unless it is `No`, `ca` is needed.
    pub clients: TlsClients,
}

/// Whether clients show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsClients {
    /// None is asked for.
    No,
    /// One that is shown must be good.
    Optional,
    /// Without a good one nobody gets in.
    #[default]
    Required,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or is not what it should be; the key is not the certificate's.
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
                let why = "needs the certificates that have signed those of clients; name their file, or ask for none";
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

/// The port as it is now: who connects meets the files that were last read.
#[derive(Debug)]
pub(crate) struct TlsPort {
    pub address: SocketAddr,
    now: Mutex<(Tls, Arc<ServerConfig>)>,
}

impl TlsPort {
    pub(crate) fn new(address: SocketAddr, files: Tls, config: Arc<ServerConfig>) -> Self {
        Self { address, now: Mutex::new((files, config)) }
    }

    /// The names of the files in force.
    pub(crate) fn files(&self) -> Tls {
        lock(&self.now).0.clone()
    }

    /// What the next connection begins with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&lock(&self.now).1)
    }

    /// Has connections from now on begin with what was read from these files.
    pub(crate) fn set(&self, files: Tls, config: Arc<ServerConfig>) {
        *lock(&self.now) = (files, config);
    }
}

/// The certificates of a PEM file as those whom we believe.
fn roots(path: &Path) -> Result<RootCertStore, StartError> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(path)? {
        roots.add(cert).map_err(|error| refused(path, &error))?;
    }
    Ok(roots)
}

/// The certificates of a PEM file: at least one.
///
/// # Errors
/// The file cannot be read, is no regular file or longer than 1 MiB, is not PEM, or has none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    let found = found.map_err(|error| unusable(path, &error, "a certificate"))?;
    if found.is_empty() { Err(unusable(path, &pem::Error::NoItemsFound, "a certificate")) } else { Ok(found) }
}

/// The private key of a PEM file.
///
/// # Errors
/// The file cannot be read, is no regular file or longer than 1 MiB, is not PEM, or has none that is not locked by a password.
pub fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, StartError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| unusable(path, &error, "a private key"))
}

/// A worker reads it between two requests, so it is neither waited for nor endless.
fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    read_regular(path, FILE_BYTES_MAX).map_err(|error| bad_file(path, error.to_string()))
}

/// Nothing of what a file holds is said: it may be a key.
fn unusable(path: &Path, error: &pem::Error, what: &'static str) -> StartError {
    let why = match error {
        pem::Error::NoItemsFound => format!("there is no {} in it", what.trim_start_matches("a ")),
        _ => "it is not PEM".to_owned(),
    };
    bad_file(path, why)
}

fn bad_file(path: &Path, why: String) -> StartError {
    let way_out = "name a PEM file of up to 1 MiB, a regular one, that this process may read";
    StartError::TlsFile { path: path.to_owned(), why, way_out }
}

fn refused(path: &Path, error: &dyn std::error::Error) -> StartError {
    let way_out = "name a certificate, its own key, and the certificates that clients' are signed by";
    StartError::TlsFile { path: path.to_owned(), why: error.to_string(), way_out }
}
