//! Accepts connections: limits their number and the time for their headers, and uses TLS if the server has a
//! certificate.
//!
//! axum's own server lets a client take as long as it wants to send its headers, so a few hundred silent connections
//! would lock everyone out. Here each connection has a timeout.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

/// Maximum number of open connections. Others wait to be accepted.
const CONNECTIONS: usize = 2_000;
/// Timeout for the headers of a request, and for a TLS handshake.
const HEADERS: Duration = Duration::from_secs(10);
/// Maximum total size of the headers of a request.
const BUFFER: usize = 64 * 1024;
/// How long to wait when the system has no more file descriptors.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Address of a client.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Serves connections until the process ends.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: axum::Router,
) -> std::io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(std::io::Error::other)?;
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        let (tls, router) = (tls.clone(), router.clone());
        tokio::spawn(async move {
            let _held = place;
            match tls {
                None => connection(stream, peer, router).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEADERS, tls.accept(stream)).await {
                        connection(stream, peer, router).await;
                    }
                }
            }
        });
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: axum::Router,
) {
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer.ip()));
            let answer: Result<_, Infallible> = router.call(request).await;
            answer
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER);
    // Ignore clients that disconnect.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// Reads a certificate chain and its key.
pub fn tls(certificate: &Path, key: &Path) -> std::io::Result<TlsAcceptor> {
    let bad = |path: &Path, error: &dyn std::fmt::Display| {
        std::io::Error::other(format!("{}: {error}", path.display()))
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).map_err(|error| bad(certificate, &error))?.collect();
    let chain = chain.map_err(|error| bad(certificate, &error))?;
    if chain.is_empty() {
        return Err(bad(certificate, &"there is no certificate in it"));
    }
    let key_bytes = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key_bytes)
        .map_err(|error| bad(certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
