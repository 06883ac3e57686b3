//! The part of HTTP/1.1 that clients of models need: one request, one answer, whole or chunked, then close.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Maximum length of a header line.
const LONGEST_LINE: u64 = 64 * 1024;
/// Maximum size of a body. Agents send a few hundred kilobytes; this stops a mistake.
const LONGEST_BODY: u64 = 64 * 1024 * 1024;

/// A request as received.
pub(crate) struct Raw {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Headers with lowercase names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the path without the query.
    pub(crate) fn place(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Returns whether the client asks to upgrade the connection.
    pub(crate) fn wants_upgrade(&self) -> bool {
        self.header("upgrade").is_some()
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(LONGEST_LINE).read_line(&mut line)?;
    if line.ends_with('\n') { Ok(line.trim_end().to_owned()) } else { Err(wrong("the request broke off")) }
}

/// Reads one request.
pub(crate) fn read(stream: &TcpStream) -> io::Result<Raw> {
    let mut from = BufReader::new(stream);
    let first = line(&mut from)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(wrong("no request line"));
    };
    let mut raw = Raw { method, path, headers: Vec::new(), body: Vec::new() };
    loop {
        let line = line(&mut from)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| wrong("a header without a colon"))?;
        raw.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    if raw.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if raw.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        raw.body = chunks(&mut from)?;
    } else if let Some(length) = raw.header("content-length") {
        let length: u64 = length.parse().map_err(|_| wrong("a length that is no number"))?;
        from.take(length.min(LONGEST_BODY)).read_to_end(&mut raw.body)?;
    }
    Ok(raw)
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| wrong("a chunk without a size"))?;
        if size == 0 {
            // Trailers, then an empty line.
            while !line(from)?.is_empty() {}
            return Ok(body);
        }
        if body.len() as u64 + size > LONGEST_BODY {
            return Err(wrong("a body that is too long"));
        }
        from.take(size).read_to_end(&mut body)?;
        line(from)?;
    }
}

fn head(status: u16, kind: &str, headers: &[(String, String)], framing: &str) -> String {
    // Clients look only at the status code.
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}{framing}\r\n\r\n")
}

/// Answers with a whole body.
pub(crate) fn whole(
    mut to: &TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &serde_json::Value,
) -> io::Result<()> {
    let body = body.to_string();
    let framing = format!("content-length: {}", body.len());
    to.write_all(head(status, "application/json", headers, &framing).as_bytes())?;
    to.write_all(body.as_bytes())
}

/// A chunked answer, so that the client can tell the end from a broken connection.
pub(crate) struct Chunked<'a>(&'a TcpStream);

impl<'a> Chunked<'a> {
    /// Starts with the headers of an event stream.
    pub(crate) fn begin(mut to: &'a TcpStream) -> io::Result<Self> {
        let head = head(200, "text/event-stream", &[], "transfer-encoding: chunked");
        to.write_all(head.as_bytes())?;
        Ok(Self(to))
    }

    pub(crate) fn send(&mut self, piece: &str) -> io::Result<()> {
        self.0.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n")
    }
}
