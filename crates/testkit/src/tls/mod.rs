//! TLS on loopback, in front of a plain server.
//!
//! The CA certificate, its certificate for 127.0.0.1 and the key of that are next to this file. They are for
//! tests: nothing else trusts them, and the CA's own key was discarded.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Timeout for either side.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval for polling the plain side while the other is silent.
const LOOK: Duration = Duration::from_millis(20);

/// A port that makes a server reachable through TLS. It stays open until the test process ends.
pub struct Front {
    address: SocketAddr,
}

impl Front {
    /// Opens a port in front of a server on loopback.
    pub fn start(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback");
        let address = listener.local_addr().expect("it is bound");
        let config = Arc::new(config());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                std::thread::spawn(move || serve(stream, config, behind));
            }
        });
        Self { address }
    }

    /// Returns host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }
}

/// Writes the CA certificate into a folder and returns its path.
pub fn authority(folder: &Path) -> PathBuf {
    let file = folder.join("authority.pem");
    std::fs::write(&file, include_str!("authority.pem")).expect("a file");
    file
}

/// Writes the certificate for 127.0.0.1 and its key into a folder.
pub fn files(folder: &Path) -> (PathBuf, PathBuf) {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, include_str!("certificate.pem")).expect("a file");
    std::fs::write(&key, include_str!("key.pem")).expect("a file");
    (certificate, key)
}

/// Sends bytes to a server at 127.0.0.1 with this certificate and returns its answer.
pub fn ask(port: u16, words: &[u8]) -> String {
    let authority = CertificateDer::from_pem_slice(include_bytes!("authority.pem")).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(authority).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions that the provider knows")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut stream = StreamOwned::new(client, socket);
    stream.write_all(words).expect("the server reads");
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // A server may close the connection without a TLS close message.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => panic!("no answer: {error}"),
        _ => String::from_utf8_lossy(&answer).into_owned(),
    }
}

fn config() -> ServerConfig {
    let certificate =
        CertificateDer::from_pem_slice(include_bytes!("certificate.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("key.pem")).expect("its key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions that the provider knows")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a key that fits")
}

/// Forwards one connection. The client speaks first, and the server closes last.
fn serve(outer: TcpStream, config: Arc<ServerConfig>, behind: SocketAddr) -> Option<()> {
    outer.set_write_timeout(Some(PATIENCE)).ok()?;
    outer.set_read_timeout(Some(LOOK)).ok()?;
    let mut inner = TcpStream::connect(behind).ok()?;
    inner.set_read_timeout(Some(LOOK)).ok()?;
    let mut outer = StreamOwned::new(ServerConnection::new(config).ok()?, outer);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match outer.read(&mut buffer) {
            Ok(0) => return Some(()),
            Ok(count) => inner.write_all(&buffer[..count]).ok()?,
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
        match inner.read(&mut buffer) {
            Ok(0) => {
                outer.conn.send_close_notify();
                return outer.flush().ok();
            }
            Ok(count) => outer.write_all(&buffer[..count]).ok()?,
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
