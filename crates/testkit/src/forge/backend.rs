//! Git over HTTP: git's own `http-backend`, with authentication.
#![allow(
    clippy::disallowed_methods,
    reason = "tests serve repositories with git itself, away from run::process"
)]

use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::model::http::Raw;

/// The client of a request.
pub(super) enum Who {
    /// Not authenticated.
    Nobody,
    /// A user without write access.
    Reader,
    /// A user with write access.
    Writer(String),
}

/// Serves one request of git.
pub(super) fn serve(root: &Path, raw: &Raw, who: Who, mut to: &TcpStream) -> io::Result<()> {
    let writes = raw.path.contains("git-receive-pack");
    let user = match who {
        Who::Nobody => {
            return to.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"forge\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
        Who::Reader if writes => {
            return to.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
        Who::Reader => "reader".to_owned(),
        Who::Writer(user) => user,
    };
    let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
    let header = |name: &str| raw.header(name).unwrap_or_default().to_owned();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &raw.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", raw.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_USER", user)
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let input = raw.body.clone();
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    let end = output.stdout.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&output.stdout[..end]).into_owned();
    let body = output.stdout.get(end + 4..).unwrap_or_default();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let mut others = String::new();
    for line in head.lines().filter(|line| !line.starts_with("Status: ")) {
        others.push_str(line);
        others.push_str("\r\n");
    }
    let length = body.len();
    to.write_all(
        format!("HTTP/1.1 {status}\r\n{others}content-length: {length}\r\nconnection: close\r\n\r\n")
            .as_bytes(),
    )?;
    to.write_all(body)
}

/// Decodes base64 text.
pub(super) fn decode(text: &str) -> String {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
