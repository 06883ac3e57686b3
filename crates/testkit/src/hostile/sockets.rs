//! Uses kinds of sockets that leave the machine by side channels, and sockets of other programs on this machine.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

use super::files::{detours, here};
use super::sys::{Arg, call, open_by};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("unix-abstract", "talks to a socket without a file", abstract_name),
    ("unix-path", "talks to a socket by its file", pathname),
    ("unix-datagram", "the same with datagrams", datagram),
    ("pass-descriptor", "hands a descriptor of its own to a process outside", pass),
    ("unix-shown", "talks to sockets in folders that it is shown", shown),
    ("pairs-of-odd-families", "makes pairs of sockets that nobody needs", odd_pairs),
    ("ssh-agent", "uses the keys of the user's agent", ssh_agent),
    ("docker-socket", "asks services of the machine for a container, a unit, a window", services),
    ("vsock", "talks to the host of a virtual machine", vsock),
    ("packet-socket", "reads everybody's packets", packet),
    ("raw-socket", "makes its own packets", raw),
    ("kernel-crypto", "opens the kernel's cipher sockets", alg),
    ("netlink-route", "changes routes and addresses", netlink_route),
    ("netlink-others", "opens other doors to the kernel", netlink_others),
    ("odd-families", "opens sockets of families that nobody needs", odd),
];

/// Timeout for an answer.
const ANSWER: Duration = Duration::from_millis(500);

/// Sends something and returns the answer.
fn say(mut stream: UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"hostile words\n")?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap_or(0);
    Ok(format!("connected, {length} bytes of answer"))
}

fn abstract_name(world: &World, tried: &mut Tried) {
    let address = SocketAddr::from_abstract_name(world.text("abstract"));
    tried.way("stream", address.and_then(|address| UnixStream::connect_addr(&address)).and_then(say));
    let address = SocketAddr::from_abstract_name(format!("{}-d", world.text("abstract")));
    let sent = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"hostile words", &address));
    tried.way("datagram", sent);
}

fn pathname(world: &World, tried: &mut Tried) {
    let path = world.path("socket");
    tried.way("plain", UnixStream::connect(&path).and_then(say));
    for (name, path) in detours(&path) {
        // The kernel accepts 107 bytes; a longer path is reached from its folder.
        let folder = path.parent().unwrap_or(&path);
        let entered = || {
            let file = std::fs::OpenOptions::new();
            let mut file = file.clone();
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut file, libc::O_PATH);
            let open = file.read(true).open(folder)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            UnixStream::connect(format!("/proc/self/fd/{}/{name}", open.as_raw_fd())).and_then(say)
        };
        tried.way(&name, entered());
    }
    let link = here("link-to-socket");
    let _ = std::os::unix::fs::symlink(&path, &link);
    tried.way("symlink", UnixStream::connect(&link).and_then(say));
    let _ = std::fs::remove_file(link);
}

fn shown(world: &World, tried: &mut Tried) {
    for key in ["shown", "toolchain", "cache"] {
        let folder = world.path(key);
        // If the folder itself does not exist, there is nothing to attack.
        tried.way(key, UnixStream::connect(folder.join("door")).and_then(say));
        let sent = UnixDatagram::unbound();
        tried.way(key, sent.and_then(|socket| socket.send_to(b"hostile words", folder.join("door-d"))));
        let entered = || {
            std::env::set_current_dir(&folder)?;
            UnixStream::connect("./door").and_then(say)
        };
        tried.way(key, entered());
    }
}

fn odd_pairs(_: &World, tried: &mut Tried) {
    for (name, family, kind) in [
        ("inet", libc::AF_INET, libc::SOCK_STREAM),
        ("netlink", libc::AF_NETLINK, libc::SOCK_RAW),
        ("packet", libc::AF_PACKET, libc::SOCK_RAW),
        ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM),
        ("tipc", 30, libc::SOCK_STREAM),
        ("tipc", 30, libc::SOCK_SEQPACKET),
    ] {
        let mut pair = [0_u8; 8];
        let made = call(
            libc::SYS_socketpair,
            &mut [Arg::N(family.into()), Arg::N(kind.into()), Arg::N(0), Arg::B(&mut pair)],
        );
        // A family without socket pairs says so after it created a socket. The filter says that the family does not
        // exist.
        let made = match made {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(0),
            other => other,
        };
        tried.way(name, made.map(|_| "made"));
    }
}

fn datagram(world: &World, tried: &mut Tried) {
    let path = format!("{}-d", world.text("socket"));
    tried.way("send", UnixDatagram::unbound().and_then(|socket| socket.send_to(b"hostile words", path)));
}

/// Sends a descriptor over a socket: a msghdr with one byte and one descriptor, laid out by hand.
pub(super) fn send_descriptor(over: &UnixStream, sent: &std::fs::File) -> io::Result<i64> {
    let mut byte = *b"x";
    let mut vector = [0_u8; 16];
    vector[..8].copy_from_slice(&(byte.as_mut_ptr() as u64).to_ne_bytes());
    vector[8] = 1;
    let mut control = [0_u8; 24];
    control[0] = 20;
    control[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    control[12..16].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
    control[16..20].copy_from_slice(&sent.as_raw_fd().to_ne_bytes());
    let mut header = [0_u8; 56];
    header[16..24].copy_from_slice(&(vector.as_mut_ptr() as u64).to_ne_bytes());
    header[24] = 1;
    header[32..40].copy_from_slice(&(control.as_mut_ptr() as u64).to_ne_bytes());
    header[40] = 24;
    call(libc::SYS_sendmsg, &mut [Arg::N(over.as_raw_fd().into()), Arg::B(&mut header), Arg::N(0)])
}

fn pass(world: &World, tried: &mut Tried) {
    let passed = |stream: UnixStream| send_descriptor(&stream, &std::fs::File::open(".")?);
    tried.way("by path", UnixStream::connect(world.path("socket")).and_then(passed));
    let address = SocketAddr::from_abstract_name(world.text("abstract"));
    tried.way("by name", address.and_then(|address| UnixStream::connect_addr(&address)).and_then(passed));
}

fn ssh_agent(world: &World, tried: &mut Tried) {
    let named = std::env::var_os("SSH_AUTH_SOCK").map(std::path::PathBuf::from);
    for path in named.into_iter().chain([world.path("home").join(".ssh/agent.sock"), world.path("agent")]) {
        tried.way("connect", UnixStream::connect(path).and_then(say));
    }
}

fn services(_: &World, tried: &mut Tried) {
    for path in [
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/systemd/notify",
        "/run/snapd.socket",
        "/var/lib/lxd/unix.socket",
        "/tmp/.X11-unix/X0",
        "/run/user/0/bus",
        "/run/user/1000/bus",
        "/run/user/1000/wayland-0",
        "/run/user/1000/gnupg/S.gpg-agent",
        "/run/nscd/socket",
    ] {
        // Only connect; send nothing to a service of the machine.
        tried.way(path, UnixStream::connect(Path::new(path)).map(|_| "connected"));
    }
}

/// Creates a socket of this kind.
pub(super) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    let args =
        &mut [Arg::N(family.into()), Arg::N(i64::from(kind | libc::SOCK_CLOEXEC)), Arg::N(protocol.into())];
    open_by(libc::SYS_socket, args)
}

fn vsock(_: &World, tried: &mut Tried) {
    tried.way("stream", socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(|_| "made"));
    tried.way("datagram", socket(libc::AF_VSOCK, libc::SOCK_DGRAM, 0).map(|_| "made"));
}

fn packet(_: &World, tried: &mut Tried) {
    for (name, kind) in [("raw", libc::SOCK_RAW), ("cooked", libc::SOCK_DGRAM)] {
        tried.way(name, socket(libc::AF_PACKET, kind, 0x0300).map(|_| "made"));
    }
    tried.way("xdp", socket(libc::AF_XDP, libc::SOCK_RAW, 0).map(|_| "made"));
}

fn raw(_: &World, tried: &mut Tried) {
    for (name, family) in [("v4", libc::AF_INET), ("v6", libc::AF_INET6)] {
        for protocol in [libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_RAW] {
            tried.way(name, socket(family, libc::SOCK_RAW, protocol).map(|_| "made"));
        }
    }
}

fn alg(_: &World, tried: &mut Tried) {
    tried.way("socket", socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0).map(|_| "made"));
}

fn netlink_route(_: &World, tried: &mut Tried) {
    const DELETE_ADDRESS: u16 = 21;
    const SET_LINK: u16 = 19;
    // An address that does not exist, on a link that does not exist: with permission, the kernel says so.
    for (name, kind, length) in [("address", DELETE_ADDRESS, 32_usize), ("link", SET_LINK, 32)] {
        let asked = || -> io::Result<&str> {
            let open = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
            let mut message = vec![0_u8; length];
            message[..4].copy_from_slice(&u32::try_from(length).unwrap_or(0).to_ne_bytes());
            message[4..6].copy_from_slice(&kind.to_ne_bytes());
            message[6..8].copy_from_slice(&5_u16.to_ne_bytes());
            message[16] = 2;
            message[20..24].copy_from_slice(&9999_u32.to_ne_bytes());
            let raw = Arg::N(open.as_raw_fd().into());
            let size = Arg::N(i64::try_from(length).unwrap_or(0));
            call(libc::SYS_sendto, &mut [raw, Arg::B(&mut message), size, Arg::N(0), Arg::N(0), Arg::N(0)])?;
            let mut answer = [0_u8; 512];
            let raw = Arg::N(open.as_raw_fd().into());
            let flags = Arg::N(libc::MSG_DONTWAIT.into());
            call(
                libc::SYS_recvfrom,
                &mut [raw, Arg::B(&mut answer), Arg::N(512), flags, Arg::N(0), Arg::N(0)],
            )?;
            let error = -i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
            match error {
                libc::EPERM | libc::EACCES => Err(io::Error::from_raw_os_error(error)),
                _ => Ok("allowed, but there is no such thing"),
            }
        };
        tried.way(name, asked());
    }
}

fn netlink_others(_: &World, tried: &mut Tried) {
    // Socket diagnosis, netfilter, audit, uevents, connector, generic.
    for (name, protocol) in [
        ("sock_diag", 4),
        ("xfrm", 6),
        ("audit", 9),
        ("connector", 11),
        ("netfilter", 12),
        ("uevent", 15),
        ("generic", 16),
        ("crypto", 21),
    ] {
        tried.way(name, socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol).map(|_| "made"));
    }
}

fn odd(_: &World, tried: &mut Tried) {
    for (name, family, kind) in [
        ("ax25", 3, libc::SOCK_DGRAM),
        ("ipx", 4, libc::SOCK_DGRAM),
        ("appletalk", 5, libc::SOCK_DGRAM),
        ("key", 15, libc::SOCK_RAW),
        ("rds", 21, libc::SOCK_SEQPACKET),
        ("llc", 26, libc::SOCK_DGRAM),
        ("can", 29, libc::SOCK_RAW),
        ("tipc", 30, libc::SOCK_STREAM),
        ("bluetooth", 31, libc::SOCK_RAW),
        ("rxrpc", 33, libc::SOCK_DGRAM),
        ("nfc", 39, libc::SOCK_STREAM),
        ("kcm", 41, libc::SOCK_DGRAM),
        ("qipcrtr", 42, libc::SOCK_DGRAM),
        ("smc", 43, libc::SOCK_STREAM),
        ("mctp", 45, libc::SOCK_DGRAM),
    ] {
        tried.way(name, socket(family, kind, 0).map(|_| "made"));
    }
}
