//! TLS connections to a PostgreSQL server, with the parameters of libpq.
//!
//! | `sslmode` | encrypted | server is verified |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer` (default) | if the server offers it | no |
//! | `require` | yes | by `sslrootcert` if it is given, else no |
//! | `verify-ca` | yes | its certificate is signed by `sslrootcert` |
//! | `verify-full` | yes | and is for the host in the address |
//!
//! `sslrootcert` is a PEM file, or `system` (the default of the modes that verify) for the system's certificates.
//! `sslcert` and `sslkey` are a client certificate and its key. SCRAM passwords are bound to the connection if the
//! server supports it; `channel_binding=require` enforces it.

mod binding;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Where systems keep CA certificates.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS parameters of a URL, and the URL without those that the driver does not support.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) url: String,
    verify: Verify,
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// How much of the server's certificate is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Verify {
    #[default]
    Nothing,
    Chain,
    ChainAndName,
}

impl Parameters {
    /// Parses a URL such as `postgres://host/db?sslmode=verify-full`.
    pub(super) fn of(url: &str) -> Self {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut parameters = Self::default();
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-ca")) => parameters.verify = Verify::Chain,
                Some(("sslmode", "verify-full")) => parameters.verify = Verify::ChainAndName,
                Some(("sslrootcert", path)) => parameters.root = Some(decoded(path)),
                Some(("sslcert", path)) => parameters.certificate = Some(decoded(path)),
                Some(("sslkey", path)) => parameters.key = Some(decoded(path)),
                _ => kept.push(pair),
            }
        }
        if parameters.verify != Verify::Nothing {
            kept.push("sslmode=require");
        } else if parameters.root.is_some() && kept.contains(&"sslmode=require") {
            parameters.verify = Verify::Chain;
        }
        let query = kept.join("&");
        parameters.url = if query.is_empty() { address.to_owned() } else { format!("{address}?{query}") };
        parameters
    }

    /// Reads the certificates and creates the connector.
    pub(super) fn connector(&self) -> Result<Connector, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Settings)?;
        let verifier: Arc<dyn ServerCertVerifier> = match self.verify {
            Verify::Nothing => Arc::new(Unverified(provider)),
            Verify::Chain => Arc::new(ChainOnly(self.verifier(provider)?)),
            Verify::ChainAndName => self.verifier(provider)?,
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let config = match (&self.certificate, &self.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let read = |source| TlsError::File { path: key.clone(), source };
                let secret = PrivateKeyDer::from_pem_file(key).map_err(read)?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, secret)
                    .map_err(TlsError::Settings)?
            }
            (_, _) => return Err(TlsError::HalfACertificate),
        };
        Ok(Connector(Arc::new(config)))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
        let mut roots = RootCertStore::empty();
        let path = match &self.root {
            Some(path) if path != Path::new("system") => path.clone(),
            _ => SYSTEM
                .iter()
                .map(PathBuf::from)
                .find(|path| path.is_file())
                .ok_or(TlsError::NoSystemCertificates)?,
        };
        for certificate in certificates(&path)? {
            // Skip an unusable certificate, but keep the others.
            let _ = roots.add(certificate);
        }
        if roots.is_empty() {
            return Err(TlsError::NoCertificate { path });
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|_| TlsError::NoCertificate { path })
    }
}

/// Decodes the path in a parameter, in which special characters are percent-encoded (`%2F`).
fn decoded(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        if let (b'%', Some(byte)) = (first, code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(std::ffi::OsString::from(String::from_utf8_lossy(&bytes).into_owned()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = |source| TlsError::File { path: path.to_owned(), source };
    let all: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(read)?.collect::<Result<_, _>>().map_err(read)?;
    if all.is_empty() { Err(TlsError::NoCertificate { path: path.to_owned() }) } else { Ok(all) }
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of certificates or keys cannot be read.
    #[error("read {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the reader.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// A file contains no certificate.
    #[error("use {}: it has no usable certificate", path.display())]
    NoCertificate {
        /// Path of the file.
        path: PathBuf,
    },
    /// This system has no CA certificates.
    #[error("find the system's certificates")]
    NoSystemCertificates,
    /// A client certificate without its key, or the reverse.
    #[error("use a client certificate: `sslcert` and `sslkey` are needed together")]
    HalfACertificate,
    /// Certificate and key do not match, or have an unknown type.
    #[error("set up TLS")]
    Settings(#[source] rustls::Error),
}

/// Verifies the certificate chain, but not the host name.
#[derive(Debug)]
struct ChainOnly(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for ChainOnly {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Accepts any certificate, as `prefer` and `require` specify. The server must still have its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Creates TLS connections for the driver.
#[derive(Clone, Debug)]
pub(super) struct Connector(Arc<ClientConfig>);

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = ToServer;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<ToServer, Self::Error> {
        // The driver also calls this for local sockets, which have no name and no TLS.
        let name = ServerName::try_from(host.to_owned()).ok();
        Ok(ToServer { connector: Arc::clone(&self.0).into(), name })
    }
}

/// A connection to one server, to be made.
pub(super) struct ToServer {
    connector: tokio_rustls::TlsConnector,
    name: Option<ServerName<'static>>,
}

impl TlsConnect<Socket> for ToServer {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name =
                self.name.ok_or(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a host"))?;
            self.connector.connect(name, socket).await.map(Box::new).map(Encrypted)
        })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        certificate
            .and_then(|certificate| binding::of(certificate))
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_from_the_address_and_the_rest_stays() {
        let found = Parameters::of(
            "postgres://u:p@h/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem&application_name=x",
        );
        assert_eq!(found.url, "postgres://u:p@h/d?application_name=x&sslmode=require");
        assert_eq!(found.verify, Verify::ChainAndName);
        assert_eq!(found.root.as_deref(), Some(Path::new("/a b.pem")));
        assert_eq!(Parameters::of("postgres://h/d").url, "postgres://h/d");
        assert_eq!(Parameters::of("postgres://h/d?sslmode=require").verify, Verify::Nothing);
        assert_eq!(Parameters::of("postgres://h/d?sslmode=require&sslrootcert=/r").verify, Verify::Chain);
        assert_eq!(Parameters::of("postgres://h/d?sslmode=prefer&sslrootcert=/r").verify, Verify::Nothing);
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let of = |query: &str| Parameters::of(&format!("postgres://h/d?{query}")).connector().err();
        let missing = of("sslmode=verify-full&sslrootcert=/nowhere/root.pem");
        assert!(missing.is_some_and(|error| error.to_string().contains("/nowhere/root.pem")));
        let empty = of("sslmode=verify-ca&sslrootcert=/dev/null");
        assert!(matches!(empty, Some(TlsError::NoCertificate { .. })));
        assert!(matches!(of("sslmode=require&sslcert=/c.pem"), Some(TlsError::HalfACertificate)));
        assert!(of("sslmode=require").is_none());
    }
}
