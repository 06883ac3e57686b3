//! A small HTTP server on loopback that records requests and sends configured answers, for notifications, pages and
//! webhooks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method, such as `POST`.
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Headers with lowercase names.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: String,
}

impl Received {
    /// Returns a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Parses the body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// An answer: status and body. Status 0 closes the connection without an answer.
pub type Answer = (u16, String);

/// A server that runs as long as the test.
pub struct Receiver {
    /// Address: `http://127.0.0.1:…`.
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Starts a server. `answer` gets the request and the number of earlier requests.
    pub fn start(answer: impl Fn(&Received, usize) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(request) = read(&stream) else { continue };
                let before = {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push(request.clone());
                    kept.len() - 1
                };
                let (status, body) = answer(&request, before);
                if status > 0 {
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                    );
                    let _ = (&stream)
                        .write_all(head.as_bytes())
                        .and_then(|()| (&stream).write_all(body.as_bytes()));
                }
            }
        });
        Self { url, received }
    }

    /// Returns all requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    /// Maximum size of a test's request.
    const LARGEST: usize = 16 * 1024 * 1024;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap_or(0));
    let mut body = vec![0; usize::min(length, LARGEST)];
    reader.read_exact(&mut body).ok()?;
    Some(Received { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}
