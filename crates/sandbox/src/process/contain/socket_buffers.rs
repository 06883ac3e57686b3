//! Measures the buffers of all sockets in this network namespace, as the kernel lists them. This includes sockets
//! without a descriptor: those that wait for `accept`, are in flight themselves, or lost their sender.

use std::fs;

use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Maximum amount of data that a Unix socket can queue: the kernel allows twice `net.core.wmem_max`, which is 208
/// KiB by default.
pub(super) const UNIX_BUFFER: u64 = 416 * 1024;
/// Messages that a Unix datagram socket can queue. The kernel lists only the length of the first.
const DATAGRAMS: u64 = 10;

const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const REQUEST_DUMP: u16 = 0x301;
const SHOW_QUEUES: u32 = 0x10;
const QUEUES: u16 = 4;
const HEADER: usize = 16;
const MESSAGE: usize = 16;

/// Returns an upper bound of the bytes in socket buffers.
pub(super) fn buffers() -> Result<u64, Errno> {
    Ok(unix()? + internet())
}

fn unix() -> Result<u64, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    let mut request = Vec::with_capacity(40);
    request.extend(40_u32.to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    // Family, all states, no inode, what to show, no cookie.
    request.extend([AddressFamily::UNIX.as_raw().to_ne_bytes()[0], 0, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(SHOW_QUEUES.to_ne_bytes());
    request.extend(u64::MAX.to_ne_bytes());
    send(&socket, &request, SendFlags::empty())?;
    let mut bytes = 0;
    let mut answer = vec![0; 64 * 1024];
    loop {
        let (_, length) = recv(&socket, &mut answer, RecvFlags::empty())?;
        match read(answer.get(..length).unwrap_or_default(), &mut bytes) {
            Part::More => {}
            Part::Last => return Ok(bytes),
            Part::Refused => return Err(Errno::OPNOTSUPP),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    More,
    Last,
    Refused,
}

fn read(mut answer: &[u8], bytes: &mut u64) -> Part {
    if answer.is_empty() {
        return Part::Refused;
    }
    while let (Some(length), Some(kind)) = (number(answer, 0), half(answer, 4)) {
        let length = length as usize;
        let Some(body) = answer.get(HEADER..length) else { return Part::Refused };
        match kind {
            DONE => return Part::Last,
            ERROR => return Part::Refused,
            _ => *bytes += queued(body),
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Part::More
}

/// Returns the bytes that one listed socket has queued.
fn queued(body: &[u8]) -> u64 {
    const LISTENS: u8 = 10;
    const DATAGRAM: u8 = 2;
    let (Some(&kind), Some(&state)) = (body.get(1), body.get(2)) else { return 0 };
    let mut rest = body.get(MESSAGE..).unwrap_or_default();
    while let (Some(length), Some(attribute)) = (half(rest, 0), half(rest, 2)) {
        if attribute == QUEUES {
            // For a listening socket, this is the number of pending connections, which the kernel does not list.
            return match number(rest, 4) {
                None | Some(0) => 0,
                Some(waiting) if state == LISTENS => u64::from(waiting) * UNIX_BUFFER,
                Some(first) if kind == DATAGRAM => (u64::from(first) * DATAGRAMS).max(UNIX_BUFFER),
                // Small messages take much more memory than their length.
                Some(bytes) => u64::from(bytes).max(UNIX_BUFFER),
            };
        }
        rest = rest.get(usize::from(length).next_multiple_of(4).max(4)..).unwrap_or_default();
    }
    0
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

/// Returns the queued bytes of internet sockets.
fn internet() -> u64 {
    let lists = ["tcp", "tcp6", "udp", "udp6"].map(|name| fs::read_to_string(format!("/proc/net/{name}")));
    lists.iter().flatten().map(|list| queues(list)).sum()
}

fn queues(list: &str) -> u64 {
    let of_line = |line: &str| {
        let (sent, received) = line.split_ascii_whitespace().nth(4)?.split_once(':')?;
        Some(u64::from_str_radix(sent, 16).ok()? + u64::from_str_radix(received, 16).ok()?)
    };
    list.lines().skip(1).filter_map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_internet_sockets_are_read() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n   \
                    0: 0100007F:1F90 00000000:0000 0A 00000010:00000100 00:00000000 00000000     0        0 1\n";
        assert_eq!(queues(list), 0x110);
    }

    #[test]
    fn an_answer_that_is_cut_short_is_refused_or_ends() {
        let mut bytes = 0;
        assert_eq!(read(&[], &mut bytes), Part::Refused);
        assert_eq!(read(&[200, 0, 0, 0, 20, 0, 0, 0], &mut bytes), Part::Refused);
        assert_eq!(read(&[1, 0, 0], &mut bytes), Part::More);
        assert_eq!(queued(&[1, 1, 1]), 0);
        assert_eq!(bytes, 0);
    }
}
