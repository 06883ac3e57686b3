//! Parses the head of a proxy request, strictly. The client is hostile, so everything that two parsers could
//! understand differently is rejected.

use super::name::Target;

/// Maximum number of headers. Agents send a dozen.
const MOST_HEADERS: usize = 128;

/// A request to the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `CONNECT`: relay bytes in both directions.
    Tunnel {
        /// The target.
        to: Target,
    },
    /// One plain HTTP request.
    Plain {
        /// The target.
        to: Target,
        /// The head to send to the server.
        head: Vec<u8>,
        /// The body that follows.
        body: Body,
    },
}

/// Length of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunked encoding.
    Chunked,
}

/// Why a head was rejected. Completes the sentence "the request has …".
pub type Malformed = &'static str;

/// Finds the end of a head in the bytes so far. Looks at each byte once, because a client may send them one by one.
#[derive(Default)]
pub struct Scan {
    seen: usize,
    line: usize,
}

impl Scan {
    /// Returns the length of the head once it is complete. Rejects a line with wrong line endings at once, so that
    /// nothing waits for an end that never comes.
    pub fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        while let Some(byte) = bytes.get(self.seen) {
            let at = self.seen;
            let after_cr = at > 0 && bytes[at - 1] == b'\r';
            match byte {
                b'\n' if !after_cr => return Err("a line that does not end with CR LF"),
                b'\n' if at == self.line + 1 => return Ok(Some(at + 1)),
                b'\n' => self.line = at + 1,
                _ if after_cr => return Err("a CR within a line"),
                0 => return Err("a NUL in its head"),
                _ => {}
            }
            self.seen += 1;
        }
        Ok(None)
    }
}

/// Parses a complete head.
pub fn read(head: &[u8]) -> Result<Request, Malformed> {
    let text = head.strip_suffix(b"\r\n\r\n").ok_or("no end of its head")?;
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let first = std::str::from_utf8(first).map_err(|_| "a first line that is not text")?;
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, version] = words[..] else { return Err("a first line that is not of HTTP/1") };
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err("a method that is none");
    }
    if target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("an address with characters that no address has");
    }
    let chunks_known = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return Err("a version of HTTP that is neither 1.0 nor 1.1"),
    };
    let headers = headers(lines)?;
    let body = body(&headers)?;
    if body == Body::Chunked && !chunks_known {
        return Err("chunks, which HTTP/1.0 does not know");
    }
    if method == "CONNECT" {
        return Ok(Request::Tunnel { to: Target::authority(target, None)? });
    }
    let (scheme, rest) = target.split_once("://").ok_or("no address of another host: this is a proxy")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err("an address that is not http: others go through CONNECT");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.contains('#') {
        return Err("a fragment in its address");
    }
    let to = Target::authority(authority, Some(80))?;
    let head = rewritten(method, path, &to, &headers)?;
    Ok(Request::Plain { to, head, body })
}

/// A header: name in lower case, trimmed value.
type Header<'a> = (String, &'a [u8]);

fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Header<'a>>, Malformed> {
    let mut headers = Vec::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':').ok_or("a header without a colon")?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // This also rejects a space before the colon, and folded lines.
        if name.is_empty() || !name.iter().copied().all(is_token) {
            return Err("a header whose name is none");
        }
        if value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
            return Err("a header with control characters");
        }
        if headers.len() == MOST_HEADERS {
            return Err("too many headers");
        }
        headers.push((String::from_utf8_lossy(name).to_ascii_lowercase(), value));
    }
    Ok(headers)
}

fn body(headers: &[Header]) -> Result<Body, Malformed> {
    let all = |wanted: &str| {
        headers.iter().filter(|(name, _)| name == wanted).map(|(_, value)| *value).collect::<Vec<_>>()
    };
    match (&all("content-length")[..], &all("transfer-encoding")[..]) {
        ([], []) => Ok(Body::Length(0)),
        ([length], []) => number(length).map(Body::Length).ok_or("a content-length that is no number"),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Body::Chunked),
        ([], _) => Err("a transfer-encoding other than chunked"),
        (_, []) => Err("several content-lengths"),
        (_, _) => Err("both content-length and transfer-encoding"),
    }
}

/// Parses digits only: no sign, no list.
fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Writes the head for the server. The URL decides the host, and the Host header is ignored. Closes after one
/// request.
fn rewritten(method: &str, path: &str, to: &Target, headers: &[Header]) -> Result<Vec<u8>, Malformed> {
    /// Hop-by-hop headers. `transfer-encoding` is one too, but the body is passed on unchanged.
    const ONE_HOP: [&str; 9] = [
        "host",
        "connection",
        "proxy-connection",
        "proxy-authorization",
        "proxy-authenticate",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
    ];
    let mut dropped: Vec<String> = ONE_HOP.iter().map(|name| (*name).to_owned()).collect();
    for (_, value) in headers.iter().filter(|(name, _)| name == "connection") {
        for name in value.split(|byte| *byte == b',') {
            dropped.push(String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase());
        }
    }
    if dropped.iter().any(|name| name == "content-length" || name == "transfer-encoding") {
        return Err("a connection header that would take away the length of its body");
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host = to.to_string();
    let host = host.strip_suffix(":80").unwrap_or(&host);
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
    for (name, value) in headers.iter().filter(|(name, _)| !dropped.contains(name)) {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(head)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
