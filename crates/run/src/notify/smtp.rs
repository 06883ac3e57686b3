//! SMTP client (RFC 5321): greeting, STARTTLS, login, one message. Every answer is limited in time and size.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use acquit_core::agent::shorten;
use acquit_core::config::channel::{Email, Encryption};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{Error, TIME_LIMIT};
use crate::secrets::Secret;

/// Maximum length of a line of an answer, and maximum number of lines.
const LINE: u64 = 2_000;
const LINES: usize = 100;
/// Maximum length of a server's message to show.
const WORDS: usize = 200;

/// A connection, encrypted or not.
trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

struct Server {
    wire: BufReader<Box<dyn Wire>>,
    ends: Instant,
}

pub(super) fn send(email: &Email, password: Option<&Secret>, message: &str) -> Result<(), Error> {
    let ends = Instant::now() + 2 * TIME_LIMIT;
    let socket = connect(email)?;
    let mut server = match email.encryption {
        Encryption::Tls => Server::over(encrypted(email, socket)?, ends),
        Encryption::None => Server::over(Box::new(socket), ends),
        Encryption::Starttls => {
            let mut plain = Server::over(Box::new(socket.try_clone().map_err(away)?), ends);
            plain.expect(220)?;
            let offers = plain.hello()?;
            if !offers.iter().any(|line| line.eq_ignore_ascii_case("STARTTLS")) {
                return Err(Error::Away("the server offers no STARTTLS".to_owned()));
            }
            plain.say("STARTTLS", 220)?;
            // Data that arrived before encryption may be forged.
            if !plain.wire.buffer().is_empty() {
                return Err(Error::Away("the server spoke before the connection was encrypted".to_owned()));
            }
            Server::over(encrypted(email, socket)?, ends)
        }
    };
    if email.encryption != Encryption::Starttls {
        server.expect(220)?;
    }
    let offers = server.hello()?;
    if let (Some(user), Some(password)) = (&email.user, password) {
        server.log_in(&offers, user, password)?;
    }
    server.say(&format!("MAIL FROM:<{}>", email.from), 250)?;
    for to in &email.to {
        server.say(&format!("RCPT TO:<{to}>"), 250)?;
    }
    server.say("DATA", 354)?;
    server.say(&format!("{message}\r\n."), 250)?;
    // The server has accepted the message; its reply to this does not matter.
    let _ = server.say("QUIT", 221);
    Ok(())
}

fn away(error: impl std::fmt::Display) -> Error {
    Error::Away(error.to_string())
}

fn connect(email: &Email) -> Result<TcpStream, Error> {
    let host = email.host.trim_start_matches('[').trim_end_matches(']');
    let mut last = Error::Away(format!("{host} has no address"));
    for address in (host, email.port).to_socket_addrs().map_err(away)? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            Ok(socket) => {
                socket.set_read_timeout(Some(TIME_LIMIT)).map_err(away)?;
                socket.set_write_timeout(Some(TIME_LIMIT)).map_err(away)?;
                return Ok(socket);
            }
            Err(error) => last = away(error),
        }
    }
    Err(last)
}

fn encrypted(email: &Email, socket: TcpStream) -> Result<Box<dyn Wire>, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &email.ca {
        let file = |source: rustls::pki_types::pem::Error| Error::Away(format!("{path}: {source}"));
        for certificate in CertificateDer::pem_file_iter(path).map_err(file)? {
            roots.add(certificate.map_err(file)?).map_err(away)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(away)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = email.host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(away)?;
    let client = ClientConnection::new(Arc::new(config), name).map_err(away)?;
    Ok(Box::new(StreamOwned::new(client, socket)))
}

impl Server {
    fn over(wire: Box<dyn Wire>, ends: Instant) -> Self {
        Self { wire: BufReader::new(wire), ends }
    }

    /// Greets the server and returns the extensions that it offers.
    fn hello(&mut self) -> Result<Vec<String>, Error> {
        self.say("EHLO acquit.invalid", 250)
    }

    fn log_in(&mut self, offers: &[String], user: &str, password: &Secret) -> Result<(), Error> {
        let ways =
            offers.iter().find_map(|line| line.to_ascii_uppercase().strip_prefix("AUTH ").map(str::to_owned));
        let ways = ways.unwrap_or_default();
        let has = |way: &str| ways.split_whitespace().any(|known| known == way);
        if has("PLAIN") || !has("LOGIN") {
            let mut both = format!("\0{user}\0").into_bytes();
            both.extend_from_slice(password.bytes());
            return self.say(&format!("AUTH PLAIN {}", STANDARD.encode(&both)), 235).map(drop);
        }
        self.say("AUTH LOGIN", 334)?;
        self.say(&STANDARD.encode(user), 334)?;
        self.say(&STANDARD.encode(password.bytes()), 235).map(drop)
    }

    /// Sends a command that must be answered with this code.
    fn say(&mut self, words: &str, code: u16) -> Result<Vec<String>, Error> {
        let wire = self.wire.get_mut();
        wire.write_all(format!("{words}\r\n").as_bytes()).map_err(away)?;
        wire.flush().map_err(away)?;
        self.expect(code)
    }

    /// Reads an answer: its lines without the code.
    fn expect(&mut self, code: u16) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        loop {
            if Instant::now() > self.ends || lines.len() > LINES {
                return Err(Error::Away("the server does not come to an end".to_owned()));
            }
            let mut line = Vec::new();
            let count = (&mut self.wire).take(LINE).read_until(b'\n', &mut line).map_err(away)?;
            if count == 0 {
                return Err(Error::Away("the server closed the connection".to_owned()));
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let (head, rest) = line.split_at_checked(3).ok_or(Error::Nonsense("an answer without a code"))?;
            let given: u16 = head.parse().map_err(|_| Error::Nonsense("an answer without a code"))?;
            let (more, words) = (rest.starts_with('-'), rest.get(1..).unwrap_or_default().trim().to_owned());
            lines.push(words);
            if more {
                continue;
            }
            if given == code || (code == 250 && given == 251) {
                return Ok(lines);
            }
            let plain: String = lines.join(" ").chars().filter(|letter| !letter.is_control()).collect();
            return Err(Error::Mail { code: given, words: shorten(&plain, WORDS) });
        }
    }
}
