//! TLS on the client's side: the trusted authorities, our certificate, and messages if a connection
//! fails.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use skein_server::{certificates, private_key};

use super::args::AccessOptions;
use crate::console;
use crate::exit::Failure;

impl AccessOptions<'_> {
    /// Returns the name that the certificate of `place`, a host and a port, must be valid for.
    pub(super) fn server_name(&self, place: &str) -> Result<ServerName<'static>, Failure> {
        name_for(self.server_name, place).map_err(|error| {
            Failure::usage(format!("{error}; say one with --{}tls-server-name", self.prefix))
        })
    }

    /// Reads the files, and warns if `--insecure` is given. `address` is for the warning.
    pub(super) fn config(&self, address: &str) -> Result<Arc<ClientConfig>, Failure> {
        if self.insecure {
            console::note(format_args!(
                "skein: warning: --{}insecure: the certificate of {address} is not checked, so an attacker on the network can read \
                 and change what is sent, the password included",
                self.prefix
            ));
        }
        self.trusting()
    }

    /// Reads the files.
    pub(super) fn trusting(&self) -> Result<Arc<ClientConfig>, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |error: &dyn std::error::Error| Failure::new(format!("cannot speak TLS: {error}"));
        let verifier: Arc<dyn ServerCertVerifier> = if self.insecure {
            Arc::new(NoVerifier(provider.clone()))
        } else {
            let roots = Arc::new(self.roots()?);
            WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                .build()
                .map_err(|error| unusable(&error))?
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            // The call itself is not dangerous: rustls uses this word for any verifier that is
            // defined elsewhere.
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let (Some(cert), Some(key)) = (self.cert, self.key) else {
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let file = |error: skein_server::StartError| Failure::new(error.to_string());
        let shown = certificates(cert).map_err(file)?;
        let config = builder.with_client_auth_cert(shown, private_key(key).map_err(file)?);
        config.map(Arc::new).map_err(|error| {
            let (cert, key) = (cert.display(), key.display());
            Failure::new(format!(
                "cannot show the certificate in {cert} with the key in {key}: {error}; name the key that it was made with"
            ))
        })
    }

    fn roots(&self) -> Result<RootCertStore, Failure> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = self.ca {
            for cert in certificates(file).map_err(|error| Failure::new(error.to_string()))? {
                roots.add(cert).map_err(|error| {
                    Failure::new(format!("cannot use {} for TLS: {error}", file.display()))
                })?;
            }
        } else {
            // Certificates of this machine that cannot be read are skipped, as other programs do: a
            // server that needs one is not trusted.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Failure::new(format!(
                    "this machine knows no authorities that sign certificates; name the server's with --{}tls-ca",
                    self.prefix
                )));
            }
        }
        Ok(roots)
    }

    /// Returns the failure if TLS is the reason why a connection failed. Returns `None` otherwise.
    pub(super) fn explain(&self, address: &str, error: &io::Error) -> Option<Failure> {
        let why = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(error) => self.reason(error),
            // Only a handshake has a time limit. A port for plain text waits for the end of a line,
            // as Redis's does.
            None if error.kind() == ErrorKind::WouldBlock => format!(
                "it did not answer in 10 seconds, so it hangs or does not speak TLS; is that its port for plain \
                 text? Then leave out --{}tls",
                self.prefix
            ),
            None => return None,
        };
        Some(Failure::new(format!("cannot speak TLS with {address}: {why}")))
    }

    fn reason(&self, error: &Error) -> String {
        let prefix = self.prefix;
        match error {
            Error::InvalidCertificate(why) => self.bad_certificate(why),
            Error::InvalidMessage(_) => format!(
                "it does not speak TLS; is that its port for plain text? Then leave out --{prefix}tls"
            ),
            Error::AlertReceived(AlertDescription::CertificateRequired) => {
                format!("it asks for a certificate; name yours with --{prefix}tls-cert and --{prefix}tls-key")
            }
            Error::AlertReceived(alert) => match self.cert {
                Some(file) => format!(
                    "it ended the connection by the alert {alert:?}; the certificate in {} has to be valid now, and signed by an \
                     authority that the server knows (its --tls-ca)",
                    file.display()
                ),
                None => format!("it ended the connection by the alert {alert:?}"),
            },
            other => other.to_string(),
        }
    }

    fn bad_certificate(&self, why: &CertificateError) -> String {
        use CertificateError as Bad;

        let prefix = self.prefix;
        match why {
            Bad::UnknownIssuer | Bad::BadSignature => {
                let known = self.ca.map_or_else(
                    || "that this machine knows".to_owned(),
                    |file| format!("of those in {}", file.display()),
                );
                format!(
                    "its certificate is signed by no authority {known}; name the right one's with --{prefix}tls-ca"
                )
            }
            Bad::Expired | Bad::ExpiredContext { .. } => {
                "its certificate has expired; give the server a new one (and look at this machine's clock)"
                    .to_owned()
            }
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "its certificate is not valid yet; look at this machine's clock and the server's".to_owned()
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => format!(
                "{why}; connect by a name that it is for, or say that name with --{prefix}tls-server-name"
            ),
            why => format!("its certificate cannot be used: {why}"),
        }
    }
}

/// Returns the name that the certificate of `place` must be valid for: `name`, or the host.
pub(super) fn name_for(name: Option<&str>, place: &str) -> io::Result<ServerName<'static>> {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    let name = name.unwrap_or_else(|| host.trim_start_matches('[').trim_end_matches(']'));
    ServerName::try_from(name.to_owned()).map_err(|_| {
        io::Error::new(ErrorKind::InvalidInput, format!("{name:?} is no name that a certificate can be for"))
    })
}

/// Checks no certificate: `--insecure`. The handshake still proves that the other end has the key
/// of its certificate.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
