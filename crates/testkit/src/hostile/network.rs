//! Leaves through the network: to a service on the user's loopback, and to addresses reserved for documentation.
//!
//! A connection in progress counts as success: if the first packet gets out, so does a message.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use super::sockets::socket;
use super::sys::{Arg, call};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("tcp-loopback", "connects to a service of the user", tcp_loopback),
    ("tcp6-loopback", "the same over IPv6", tcp6_loopback),
    ("tcp-fast-open", "sends data with the first packet", fast_open),
    ("mptcp", "connects by multipath TCP", mptcp),
    ("udp-loopback", "sends a datagram to a service of the user", udp_loopback),
    ("udp6-loopback", "the same over IPv6", udp6_loopback),
    ("udp-lite", "sends by protocols beside TCP and UDP", udp_lite),
    ("ping-socket", "sends pings without being root", ping),
    ("tcp-internet", "connects to an address of the internet", tcp_internet),
    ("udp-internet", "sends a datagram to an address of the internet", udp_internet),
    ("dns", "asks a name server, the name being the message", dns),
    ("metadata", "asks the cloud's metadata service for a login", metadata),
    ("bind-device", "binds to a network device, around routes", bind_device),
];

/// Timeout for an answer. Documentation addresses never answer, so it always elapses there.
const ANSWER: Duration = Duration::from_millis(300);

/// An address without an owner.
const NOWHERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NOWHERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// The metadata address of clouds. Attacks only look up a route to it: see [`metadata`].
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

fn connect(address: SocketAddr) -> io::Result<String> {
    match TcpStream::connect_timeout(&address, ANSWER) {
        Ok(mut stream) => {
            stream.set_read_timeout(Some(ANSWER))?;
            stream.write_all(b"hostile words\n")?;
            let length = stream.read(&mut [0; 64]).unwrap_or(0);
            Ok(format!("connected, {length} bytes of answer"))
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok("left, and nobody answered".to_owned()),
        Err(error) => Err(error),
    }
}

fn local(world: &World, key: &str) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), world.port(key))
}

fn tcp_loopback(world: &World, tried: &mut Tried) {
    let port = world.port("tcp");
    tried.way("127.0.0.1", connect(local(world, "tcp")));
    tried.way("127.0.0.2", connect((Ipv4Addr::new(127, 0, 0, 2), port).into()));
    tried.way("0.0.0.0", connect((Ipv4Addr::UNSPECIFIED, port).into()));
    tried.way("mapped", connect((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), port).into()));
}

fn tcp6_loopback(world: &World, tried: &mut Tried) {
    tried.way("::1", connect((Ipv6Addr::LOCALHOST, world.port("tcp6")).into()));
    tried.way("::", connect((Ipv6Addr::UNSPECIFIED, world.port("tcp6")).into()));
}

/// Returns the `sockaddr_in` of an address.
fn raw(address: Ipv4Addr, port: u16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&2_u16.to_ne_bytes());
    bytes[2..4].copy_from_slice(&port.to_be_bytes());
    bytes[4..8].copy_from_slice(&address.octets());
    bytes
}

fn send(open: &OwnedFd, to: [u8; 16], flags: i32) -> io::Result<i64> {
    let (mut to, mut words) = (to, *b"hostile words");
    let length = i64::try_from(words.len()).unwrap_or(0);
    let raw = Arg::N(open.as_raw_fd().into());
    let flags = Arg::N((flags | libc::MSG_NOSIGNAL).into());
    call(libc::SYS_sendto, &mut [raw, Arg::B(&mut words), Arg::N(length), flags, Arg::B(&mut to), Arg::N(16)])
}

fn fast_open(world: &World, tried: &mut Tried) {
    let to = raw(Ipv4Addr::LOCALHOST, world.port("tcp"));
    let sent =
        socket(libc::AF_INET, libc::SOCK_STREAM, 0).and_then(|open| send(&open, to, libc::MSG_FASTOPEN));
    tried.way("with data", sent);
    let connected = socket(libc::AF_INET, libc::SOCK_STREAM, 0).and_then(|open| {
        const FASTOPEN_CONNECT: i64 = 30;
        let mut one = 1_i32.to_ne_bytes();
        let number = Arg::N(open.as_raw_fd().into());
        let args = &mut [
            number,
            Arg::N(libc::IPPROTO_TCP.into()),
            Arg::N(FASTOPEN_CONNECT),
            Arg::B(&mut one),
            Arg::N(4),
        ];
        call(libc::SYS_setsockopt, args)?;
        let mut to = to;
        call(libc::SYS_connect, &mut [Arg::N(open.as_raw_fd().into()), Arg::B(&mut to), Arg::N(16)])?;
        send(&open, to, 0)
    });
    tried.way("by option", connected);
}

fn mptcp(world: &World, tried: &mut Tried) {
    const MPTCP: i32 = 262;
    let connected = socket(libc::AF_INET, libc::SOCK_STREAM, MPTCP).and_then(|open| {
        let mut to = raw(Ipv4Addr::LOCALHOST, world.port("tcp"));
        call(libc::SYS_connect, &mut [Arg::N(open.as_raw_fd().into()), Arg::B(&mut to), Arg::N(16)])
    });
    tried.way("connect", connected);
}

fn datagram(to: SocketAddr) -> io::Result<String> {
    let from: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let open = UdpSocket::bind((from, 0))?;
    open.set_read_timeout(Some(ANSWER))?;
    open.connect(to)?;
    open.send(b"hostile words")?;
    // If nothing listens, the kernel reports it on the next call.
    match open.recv(&mut [0; 64]) {
        Ok(_) => Ok("answered".to_owned()),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Ok("left".to_owned())
        }
        Err(error) => Err(error),
    }
}

fn udp_loopback(world: &World, tried: &mut Tried) {
    tried.way("127.0.0.1", datagram(local(world, "udp")));
}

fn udp6_loopback(world: &World, tried: &mut Tried) {
    tried.way("::1", datagram((Ipv6Addr::LOCALHOST, world.port("udp6")).into()));
}

fn udp_lite(_: &World, tried: &mut Tried) {
    let to = raw(NOWHERE, 9);
    for (name, kind, protocol) in
        [("UDP lite", libc::SOCK_DGRAM, 136), ("SCTP", libc::SOCK_STREAM, 132), ("DCCP", libc::SOCK_DCCP, 33)]
    {
        tried.way(
            name,
            socket(libc::AF_INET, kind, protocol).and_then(|open| send(&open, to, libc::MSG_DONTWAIT)),
        );
    }
}

fn ping(_: &World, tried: &mut Tried) {
    let made = socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP);
    tried.way("v4", made.and_then(|open| send(&open, raw(NOWHERE, 0), libc::MSG_DONTWAIT)));
}

fn tcp_internet(_: &World, tried: &mut Tried) {
    tried.way("v4", connect((NOWHERE, 80).into()));
    tried.way("v4 at 443", connect((NOWHERE, 443).into()));
    tried.way("v6", connect((NOWHERE6, 443).into()));
}

fn udp_internet(_: &World, tried: &mut Tried) {
    tried.way("v4", datagram((NOWHERE, 443).into()));
    tried.way("v6", datagram((NOWHERE6, 443).into()));
}

fn dns(_: &World, tried: &mut Tried) {
    tried.way("UDP", datagram((NOWHERE, 53).into()));
    tried.way("TCP", connect((NOWHERE, 53).into()));
    tried.way("TLS", connect((NOWHERE, 853).into()));
}

fn metadata(_: &World, tried: &mut Tried) {
    // This only looks up a route: connecting a datagram socket sends nothing.
    let route = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|open| open.connect((METADATA, 80)));
    tried.way("a route", route.map(|()| "there is one"));
}

fn bind_device(_: &World, tried: &mut Tried) {
    let devices = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut names: Vec<String> =
        devices.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.push("eth0".to_owned());
    for name in names.iter().filter(|name| *name != "lo") {
        let bound = socket(libc::AF_INET, libc::SOCK_DGRAM, 0).and_then(|open| {
            let mut device = name.clone().into_bytes();
            let length = i64::try_from(device.len()).unwrap_or(0);
            let number = Arg::N(open.as_raw_fd().into());
            let option = Arg::N(libc::SO_BINDTODEVICE.into());
            let args =
                &mut [number, Arg::N(libc::SOL_SOCKET.into()), option, Arg::B(&mut device), Arg::N(length)];
            call(libc::SYS_setsockopt, args)?;
            send(&open, raw(NOWHERE, 9), libc::MSG_DONTWAIT)
        });
        tried.way(name, bound);
    }
}
