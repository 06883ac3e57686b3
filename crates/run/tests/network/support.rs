//! A proxy for a test, servers behind it, and a client that says exactly what it is told.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use acquit_core::sandbox::Host;
use acquit_core::time::Timestamp;
use acquit_run::network::{Connection, Limits, Listener, Outside, Role, read_log, serve};

/// Nothing on the loopback takes so long.
pub const LONG: Duration = Duration::from_secs(20);

/// A proxy.
pub struct Proxy {
    pub address: SocketAddr,
    pub forward: Option<SocketAddr>,
    folder: tempfile::TempDir,
}

/// What a proxy is made of.
pub struct Setup<'a> {
    pub hosts: &'a [String],
    pub names: Vec<(&'a str, Vec<IpAddr>)>,
    pub forward: Option<String>,
    pub limits: Limits,
    /// Whether names are looked up without end.
    pub stuck: bool,
}

impl<'a> Setup<'a> {
    pub fn new(hosts: &'a [String]) -> Self {
        Self { hosts, names: Vec::new(), forward: None, limits: Limits::default(), stuck: false }
    }

    pub fn name(mut self, name: &'a str, address: &str) -> Self {
        self.names.push((name, vec![address.parse().unwrap()]));
        self
    }

    pub fn start(self) -> Proxy {
        self.start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(self, folder: tempfile::TempDir) -> Proxy {
        let stuck = self.stuck;
        let log = OpenOptions::new().create(true).append(true).open(folder.path().join("log")).unwrap();
        let hosts: Vec<Host> = self.hosts.iter().map(|host| host.parse().unwrap()).collect();
        let names: Vec<(String, Vec<IpAddr>)> =
            self.names.into_iter().map(|(name, found)| (name.to_owned(), found)).collect();
        let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = listen();
        let address = socket.local_addr().unwrap();
        let mut listeners = vec![Listener { socket, role: Role::Proxy }];
        let forward = self.forward.map(|host| {
            let socket = listen();
            let address = socket.local_addr().unwrap();
            listeners.push(Listener { socket, role: Role::Forward(host.parse().unwrap()) });
            address
        });
        let outside = Outside {
            resolve: Arc::new(move |name| {
                if stuck {
                    loop {
                        std::thread::park();
                    }
                }
                let found = names.iter().find(|(known, _)| known == name);
                found.map(|(_, found)| found.clone()).ok_or_else(|| std::io::Error::other("no such name"))
            }),
            now: || Timestamp(1),
            limits: self.limits,
        };
        std::thread::spawn(move || serve(listeners, &hosts, log, outside));
        Proxy { address, forward, folder }
    }
}

impl Proxy {
    /// Says something, and reads to the end.
    pub fn say(&self, words: &str) -> String {
        let mut client = self.client();
        client.write_all(words.as_bytes()).unwrap();
        rest(&mut client)
    }

    /// Makes the log as long as if much had been logged.
    pub fn fill_log(&self, size: usize) {
        let line = format!("{}\n", " ".repeat(99));
        let text = line.repeat(size / line.len());
        std::fs::write(self.folder.path().join("log"), text).unwrap();
    }

    pub fn log_size(&self) -> u64 {
        self.folder.path().join("log").metadata().unwrap().len()
    }

    /// Another proxy that goes on with the same log.
    pub fn restarted(self, hosts: &[String]) -> Self {
        Setup::new(hosts).start_in(self.folder)
    }

    pub fn client(&self) -> TcpStream {
        connect(self.address)
    }

    /// The log once it fits; a test that waits in vain shows what there was.
    pub fn log_when(&self, fits: impl Fn(&[Connection]) -> bool) -> Vec<Connection> {
        let until = Instant::now() + LONG;
        loop {
            let log = read_log(&self.folder.path().join("log"));
            if fits(&log) {
                return log;
            }
            assert!(Instant::now() < until, "{log:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client
}

/// All that comes until the end. A reset is an end too.
pub fn rest(client: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match client.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}, after {}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// A server that does something with each connection, in a thread of its own.
pub fn server(act: fn(TcpStream)) -> SocketAddr {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in socket.incoming() {
            std::thread::spawn(move || act(client.unwrap()));
        }
    });
    address
}

/// Sends back what comes, and ends when that ends.
pub fn echo(mut client: TcpStream) {
    let mut back = client.try_clone().unwrap();
    let _ = std::io::copy(&mut client, &mut back);
    let _ = back.shutdown(std::net::Shutdown::Write);
}

/// Answers with all it got within the time that a body on the loopback needs, as a server that closes after one request.
pub fn mirror(mut client: TcpStream) {
    client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut got = Vec::new();
    let _ = client.read_to_end(&mut got);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", got.len());
    let _ = client.write_all(head.as_bytes());
    let _ = client.write_all(&got);
}
