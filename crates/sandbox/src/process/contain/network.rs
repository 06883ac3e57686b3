//! The program's network: a separate, empty namespace and, if the policy allows hosts, a socket to the proxy.
//!
//! Init opens listening sockets inside, where the program can reach them, and passes them to a process outside, which
//! accepts on them: a socket stays in the network namespace it was created in. That process, the proxy, connects only
//! to the policy's hosts.

use std::fs::OpenOptions;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::kernel;
use super::sys::{self, Forked, Namespaces};
use acquit_core::sandbox::Host;

use crate::network::{self, Listener, Outside, Role};
use crate::sandbox::{PROXY_PORT, Reach};

/// Maximum number of sockets in one message; the kernel's limit is 253.
const MOST: usize = 64;

/// A socket pair for passing the listening sockets out.
pub(super) struct Door {
    pub(super) inside: OwnedFd,
    pub(super) outside: OwnedFd,
}

impl Door {
    pub(super) fn new() -> Result<Self, Errno> {
        let (inside, outside) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok(Self { inside, outside })
    }
}

/// Returns the machine's own servers that a policy allows. Each gets a socket at the same port inside, so that
/// programs without proxy support reach them too.
fn servers(hosts: &[Host]) -> impl Iterator<Item = &Host> {
    let is_own = |host: &&Host| {
        host.name() == "localhost" || host.address().is_some_and(|address| address.is_loopback())
    };
    hosts.iter().filter(is_own).filter(|host| host.port() != PROXY_PORT).take(MOST - 1)
}

/// Inside: brings the network up and passes the sockets out.
pub(super) fn open(reach: &Reach, door: Option<OwnedFd>) -> Result<(), Errno> {
    kernel::loopback_up()?;
    let (Reach::Hosts { hosts, .. }, Some(door)) = (reach, door) else { return Ok(()) };
    let listen = |port: u16| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    };
    let mut sockets = vec![listen(PROXY_PORT)?];
    for host in servers(hosts) {
        sockets.push(listen(host.port())?);
    }
    pass(&door, &sockets.iter().map(AsFd::as_fd).collect::<Vec<_>>())
}

/// Passes descriptors to the other side.
pub(super) fn pass(door: &OwnedFd, descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::NOBUFS);
    }
    sendmsg(door, &[IoSlice::new(b"s")], &mut message, SendFlags::NOSIGNAL).map(drop)
}

/// Outside: receives the sockets and starts the proxy on them. The proxy dies with this process.
pub(super) fn serve(hosts: &[Host], log: &std::path::Path, door: &OwnedFd) -> Result<(), Errno> {
    let sockets = receive(door)?;
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log);
    let log = log.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let own = rustix::process::getpid();
    match sys::clone(Namespaces::Inherited)? {
        Forked::Parent(_) => Ok(()),
        Forked::Child => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            if getppid() != Some(own) || sockets.is_empty() {
                sys::exit(0);
            }
            sys::reset_signals();
            sys::let_go_of_streams();
            // An inherited end of the status pipe would make the harness wait for the program's start.
            let mut kept: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
            kept.push(log.as_fd());
            sys::close_all_but(&kept);
            let roles = std::iter::once(Role::Proxy).chain(servers(hosts).cloned().map(Role::Forward));
            let listeners =
                sockets.into_iter().zip(roles).map(|(socket, role)| Listener { socket: socket.into(), role });
            network::serve(listeners.collect(), hosts, log, Outside::system())
        }
    }
}

/// Receives what the other side passes. Nothing, if it has ended.
pub(super) fn receive(door: &OwnedFd) -> Result<Vec<OwnedFd>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    recvmsg(door, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let mut sockets = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            sockets.extend(descriptors);
        }
    }
    Ok(sockets)
}
