//! The forge behind TLS, with a certificate of an authority that nobody knows, and a proxy that knows where it is.
//!
//! Both stand in front of the plain forge: one takes the encryption off, the other leads connections to it. The certificates lie beside
//! this file and hold for a hundred years; their keys protect nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{PATIENCE, lock};

/// The certificate of the authority.
pub const CA: &str = include_str!("tls/ca.pem");
const CERTIFICATE: &str = include_str!("tls/cert.pem");
const KEY: &str = include_str!("tls/key.pem");

/// The name in the certificate that no resolver knows.
pub const NAME: &str = "forge.invalid";

/// Takes the encryption off what comes, and hands it on. Gives its port.
pub(super) fn front(to: SocketAddr) -> u16 {
    let config = Arc::new(config().expect("the certificates of this folder"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || pass(stream, config, to));
        }
    });
    port
}

fn config() -> Option<ServerConfig> {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).ok()?];
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).ok()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    builder.with_no_client_auth().with_single_cert(chain, key).ok()
}

/// One request and its answer: clients of the forge are told to close after each.
fn pass(stream: TcpStream, config: Arc<ServerConfig>, to: SocketAddr) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut from = BufReader::new(StreamOwned::new(connection, stream));
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if from.read_until(b'\n', &mut request)? == 0 {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    from.by_ref().take(length.unwrap_or(0)).read_to_end(&mut request)?;
    let mut plain = TcpStream::connect(to)?;
    plain.write_all(&request)?;
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer)?;
    let stream = from.get_mut();
    stream.write_all(&answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// A proxy that leads everything to one port of the loopback, whatever it is asked for, and keeps what that was.
pub struct Proxy {
    /// Its address.
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// A proxy to this port.
    pub fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || lead(stream, to, &kept));
            }
        });
        Self { url, asked }
    }

    /// The first lines of all that it was asked.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.asked).clone()
    }
}

fn lead(stream: TcpStream, to: u16, kept: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut from = stream.try_clone()?;
    // Byte by byte: what comes after the head is not for the proxy.
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    lock(kept).push(text.lines().next().unwrap_or_default().to_owned());
    let there = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    (&stream).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut up, mut down) = (there.try_clone()?, there);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut up);
        let _ = up.shutdown(std::net::Shutdown::Write);
    });
    io::copy(&mut down, &mut &stream)?;
    stream.shutdown(std::net::Shutdown::Write)
}
