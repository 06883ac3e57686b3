//! Misuses the only way out under `model`: the proxy, found through the environment as any tool does.
//!
//! Names end in `.invalid` or are loopback and documentation addresses, so that a proxy that lets them through reaches
//! no host.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("proxy-listed", "connects to the host that is listed: the one thing that is allowed", listed),
    ("proxy-unlisted", "asks for hosts that are not listed", unlisted),
    ("proxy-metadata", "asks for the cloud's metadata service", metadata),
    ("proxy-loopback", "asks for services of the user, under every name of loopback", loopback),
    ("proxy-odd-port", "asks for the listed host at ports that are not", odd_port),
    ("proxy-smuggle", "hides a second request in the first", smuggle),
    ("proxy-plain", "asks without CONNECT", plain),
    ("proxy-huge", "sends a request without end", huge),
    ("proxy-flood", "opens more connections than anyone needs, and holds them", flood),
];

const ANSWER: Duration = Duration::from_secs(2);

/// More connections than a tool opens at a time.
const MANY: usize = 300;

/// Returns the proxy address from the environment.
fn address() -> Option<SocketAddr> {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let value = names.iter().find_map(|name| std::env::var(name).ok())?;
    let value =
        value.split_once("://").map_or(value.as_str(), |(_, rest)| rest).trim_end_matches('/').to_owned();
    value.rsplit_once('@').map_or(value.as_str(), |(_, host)| host).parse().ok()
}

fn open() -> io::Result<TcpStream> {
    let address = address().ok_or_else(|| io::Error::other("no proxy"))?;
    let stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(stream)
}

/// Sends a request; 2xx is success, everything else a refusal.
fn ask(request: &str) -> io::Result<String> {
    let mut stream = open()?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut part = [0; 1024];
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") && answer.len() < 65536 {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&part[..length]),
            Err(error) if answer.is_empty() => return Err(refused(&error)),
            Err(_) => break,
        }
    }
    let status = String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned();
    if !status.starts_with('2') {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let _ = stream.write_all(b"hostile words\n");
    let length = stream.read(&mut part).unwrap_or(0);
    Ok(format!("{status}, and {length} bytes"))
}

/// A connection that ends without an answer is a refusal too.
fn refused(error: &io::Error) -> io::Error {
    let errno = error.raw_os_error().filter(|errno| *errno != libc::EAGAIN).unwrap_or(libc::ECONNRESET);
    io::Error::from_raw_os_error(errno)
}

fn connect(to: &str) -> io::Result<String> {
    ask(&format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"))
}

/// Returns whether there is a proxy to misuse.
fn there(tried: &mut Tried) -> bool {
    let there = address().is_some();
    if !there {
        tried.absent("a proxy");
    }
    there
}

fn listed(world: &World, tried: &mut Tried) {
    if there(tried) {
        tried.way("CONNECT", connect(&format!("127.0.0.1:{}", world.port("listed"))));
    }
}

fn unlisted(_: &World, tried: &mut Tried) {
    if there(tried) {
        for to in [
            "unlisted.invalid:443",
            "192.0.2.1:443",
            "[2001:db8::1]:443",
            "unlisted.invalid",
            "*:443",
            ":443",
        ] {
            tried.way(to, connect(to));
        }
    }
}

fn metadata(_: &World, tried: &mut Tried) {
    if there(tried) {
        for to in [
            "169.254.169.254:80",
            "[::ffff:169.254.169.254]:80",
            "2852039166:80",
            "0xa9fea9fe:80",
            "[fd00:ec2::254]:80",
        ] {
            tried.way(to, connect(to));
        }
    }
}

fn loopback(world: &World, tried: &mut Tried) {
    if there(tried) {
        let port = world.port("tcp");
        for host in [
            "127.0.0.1",
            "localhost",
            "LOCALHOST.",
            "127.1",
            "127.0.0.2",
            "0.0.0.0",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "localhost.localdomain",
            "ip6-localhost",
        ] {
            tried.way(host, connect(&format!("{host}:{port}")));
        }
        // The listed host under a name that is not listed.
        for host in ["localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"] {
            tried.way(host, connect(&format!("{host}:{}", world.port("listed"))));
        }
    }
}

fn odd_port(world: &World, tried: &mut Tried) {
    if there(tried) {
        for port in ["22", "25", "0", "65536", "-1", "", "443 "] {
            tried.way(port, connect(&format!("127.0.0.1:{port}")));
        }
        tried.way("wrapped", connect(&format!("127.0.0.1:{}", u32::from(world.port("listed")) + 65536)));
        tried.way("two", connect(&format!("127.0.0.1:{}:{}", world.port("listed"), world.port("tcp"))));
    }
}

fn smuggle(world: &World, tried: &mut Tried) {
    if there(tried) {
        let (listed, victim) = (world.port("listed"), world.port("tcp"));
        for (name, request) in [
            ("host", format!("CONNECT 127.0.0.1:{victim} HTTP/1.1\r\nHost: 127.0.0.1:{listed}\r\n\r\n")),
            ("user", format!("CONNECT 127.0.0.1:{listed}@127.0.0.1:{victim} HTTP/1.1\r\n\r\n")),
            ("line", format!("CONNECT 127.0.0.1:{victim}\r\nX: 127.0.0.1:{listed} HTTP/1.1\r\n\r\n")),
            ("zero", format!("CONNECT 127.0.0.1:{victim}\0.127.0.0.1:{listed} HTTP/1.1\r\n\r\n")),
            ("bare line feeds", format!("CONNECT 127.0.0.1:{victim} HTTP/1.1\n\n")),
            ("long", format!("CONNECT {}127.0.0.1:{victim} HTTP/1.1\r\n\r\n", "0".repeat(300))),
        ] {
            tried.way(name, ask(&request));
        }
    }
}

fn plain(world: &World, tried: &mut Tried) {
    if there(tried) {
        let victim = world.port("tcp");
        for method in ["GET", "POST", "OPTIONS", "TRACE"] {
            tried.way(
                method,
                ask(&format!(
                    "{method} http://127.0.0.1:{victim}/ HTTP/1.1\r\nHost: 127.0.0.1:{victim}\r\n\r\n"
                )),
            );
        }
        tried.way("SOCKS", ask("\x05\x01\0"));
    }
}

fn huge(_: &World, tried: &mut Tried) {
    if there(tried) {
        let endless = format!(
            "CONNECT 127.0.0.1:1 HTTP/1.1\r\n{}",
            "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(200_000)
        );
        tried.way("headers", ask(&endless).map_err(|error| refused(&error)));
        tried.way("one line", ask(&"A".repeat(1_000_000)).map_err(|error| refused(&error)));
    }
}

fn flood(world: &World, tried: &mut Tried) {
    if there(tried) {
        let held: Vec<TcpStream> = (0..MANY).map_while(|_| open().ok()).collect();
        let count = held.len();
        drop(held);
        // The proxy must still work for the next client.
        let after = connect(&format!("127.0.0.1:{}", world.port("listed")));
        match after {
            Ok(_) => _ = tried.way("held", Err::<&str, _>(io::Error::from_raw_os_error(libc::EMFILE))),
            Err(error) => {
                _ = tried.way("after it", Ok(format!("{count} held, then nobody was served: {error}")));
            }
        }
    }
}
