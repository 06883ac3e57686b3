//! A proxy on loopback that forwards every request to one address.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A proxy that forwards everything to one address and records the requests.
pub struct Proxy {
    /// Address of the proxy.
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy to this address.
    pub fn start(to: SocketAddr) -> Self {
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

    /// Returns the first line of every request.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn lead(stream: TcpStream, to: SocketAddr, kept: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut from = stream.try_clone()?;
    // Byte by byte, because data after the head does not belong to the proxy.
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let first = text.lines().next().unwrap_or_default().to_owned();
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(first);
    let there = TcpStream::connect(to)?;
    (&stream).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut up, mut down) = (there.try_clone()?, there);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut up);
        let _ = up.shutdown(std::net::Shutdown::Write);
    });
    io::copy(&mut down, &mut &stream)?;
    stream.shutdown(std::net::Shutdown::Write)
}
