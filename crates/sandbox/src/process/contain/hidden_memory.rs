//! Measures memory and files that no process shows as its own: shared memory, socket and pipe buffers, and files that
//! are in flight between processes or only mapped.
//!
//! Where the kernel does not report a size, assumes the maximum.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{kernel, socket_buffers};

/// Maximum amount of data that a descriptor in flight can hold: a socket with both buffers full.
const IN_FLIGHT: u64 = 1024 * 1024;
/// Capacity of each pipe once its user has many of them.
const PIPE: u64 = 8 * 1024;

/// Which sockets this process can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// The sandbox's own: it has a network namespace.
    Own,
    /// The machine's, so only sockets that a process of the sandbox has open are counted.
    Machine,
}

/// Hidden memory of all processes in the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hoard {
    /// Mapped shared memory in bytes, each page counted once.
    pub(super) mapped: u64,
    /// Bytes in buffers of sockets and pipes.
    pub(super) buffers: u64,
    /// Descriptors that were sent over sockets but not received yet.
    pub(super) in_flight: u64,
    /// Whether unnamed files in memory are mapped: their size cannot be read.
    pub(super) hides_memory: bool,
    /// Whether unnamed files on a disk are mapped.
    pub(super) hides_files: bool,
}

impl Hoard {
    /// Inspects every process. `before` is the number of sockets at the start.
    pub(super) fn look(sockets: Sockets, before: u64) -> Self {
        let mut hoard = Self::default();
        let listed = if sockets == Sockets::Own { socket_buffers::buffers().ok() } else { None };
        let (mut seen, mut pipes) = (BTreeSet::new(), 0);
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let process = entry.path();
            hoard.add_mappings(&process);
            hoard.add_descriptors(number, &process, listed.is_none(), &mut seen, &mut pipes);
        }
        let unlisted = match (sockets, listed) {
            (Sockets::Own, None) => {
                // The kernel cannot list sockets, but counts them. Those that no process has open wait for `accept`.
                let held = seen.iter().filter(|link| link.starts_with(b"socket:")).count() as u64;
                self::sockets().saturating_sub(before + held) * socket_buffers::UNIX_BUFFER
            }
            _ => 0,
        };
        hoard.buffers += listed.unwrap_or(0) + unlisted + hoard.in_flight * IN_FLIGHT + pipes * PIPE;
        hoard
    }

    fn add_mappings(&mut self, process: &Path) {
        let text = |name: &str| fs::read_to_string(process.join(name));
        let (Ok(rollup), Ok(maps)) = (text("smaps_rollup"), fs::read(process.join("maps"))) else {
            // A zombie has no mappings. An unreadable program shows only RssShmem, so count all of it.
            self.mapped += field(&text("status").unwrap_or_default(), "RssShmem:") * 1024;
            return;
        };
        self.mapped += field(&rollup, "Pss_Shmem:") * 1024;
        for line in maps.split(|byte| *byte == b'\n') {
            match nameless(line) {
                Some(Place::Memory) => self.hides_memory = true,
                Some(Place::Disk) => self.hides_files = true,
                None => {}
            }
        }
    }

    fn add_descriptors(
        &mut self,
        number: i32,
        process: &Path,
        measure: bool,
        seen: &mut BTreeSet<Vec<u8>>,
        pipes: &mut u64,
    ) {
        let mut handle = None;
        for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let Ok(link) = fs::read_link(entry.path()) else { continue };
            let link = link.into_os_string().into_encoded_bytes();
            let (is_pipe, is_socket) = (link.starts_with(b"pipe:"), link.starts_with(b"socket:"));
            if !(is_pipe || is_socket) || !seen.insert(link) {
                continue;
            }
            if is_pipe {
                *pipes += 1;
                continue;
            }
            let name = entry.file_name();
            let about = fs::read_to_string(process.join("fdinfo").join(&name)).unwrap_or_default();
            self.in_flight += field(&about, "scm_fds:");
            let (true, Some(descriptor)) = (measure, name.to_str().and_then(|name| name.parse().ok())) else {
                continue;
            };
            if handle.is_none() {
                handle = Pid::from_raw(number).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            }
            let Some(process) = &handle else { continue };
            if let Ok(socket) = pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()) {
                self.buffers += kernel::socket_memory(&socket).unwrap_or(0);
            }
        }
    }
}

/// Returns the number of sockets in this network namespace: a cheap hint that their buffers are worth measuring.
pub(super) fn sockets() -> u64 {
    field(&fs::read_to_string("/proc/net/sockstat").unwrap_or_default(), "sockets: used")
}

/// Returns the number after `word` at the start of a line.
fn field(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    Disk,
}

/// Returns the location of the file in a `maps` line, if it has no name any longer. A program can choose file names,
/// so a file that only looks like one in memory counts as such; it is found by its descriptor or not at all.
fn nameless(line: &[u8]) -> Option<Place> {
    const IN_MEMORY: [&[u8]; 4] = [b"/memfd:", b"/dev/zero (deleted)", b"/SYSV", b"/dev/shm/"];
    if !line.ends_with(b" (deleted)") {
        return None;
    }
    let name = line.iter().position(|byte| *byte == b'/').and_then(|start| line.get(start..))?;
    Some(if IN_MEMORY.iter().any(|begin| name.starts_with(begin)) { Place::Memory } else { Place::Disk })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_lists_are_read() {
        assert_eq!(field("00-ff ---p [rollup]\nPss:  9 kB\nPss_Shmem:        2048 kB\n", "Pss_Shmem:"), 2048);
        assert_eq!(field("pos:\t0\nscm_fds: 253\n", "scm_fds:"), 253);
        assert_eq!(field("sockets: used 1289\nTCP: inuse 5\n", "sockets: used"), 1289);
        for (line, place) in [
            (&b"7f-8f rw-s 00000000 fd:00 42    /nowhere/x (deleted)"[..], Some(Place::Disk)),
            (b"7f-8f rw-s 0 fd:00 42    /nowhere/memfd: /memfd:x (deleted)", Some(Place::Disk)),
            (b"7f-8f rw-s 0 00:01 1    /dev/zero (deleted)", Some(Place::Memory)),
            (b"7f-8f rw-s 0 00:01 9    /memfd:x (deleted)", Some(Place::Memory)),
            (b"7f-8f r-xp 0 fd:0 3    /usr/lib/x", None),
        ] {
            assert_eq!(nameless(line), place, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_buffer_that_nobody_reads_is_counted() {
        use std::io::Write;
        let (mut here, there) = std::os::unix::net::UnixStream::pair().expect("a pair");
        here.write_all(&vec![0; 100_000]).expect("room");
        // The writer is gone, so no descriptor accounts for these bytes.
        drop(here);
        let bytes = socket_buffers::buffers().expect("a list of sockets");
        assert!(bytes >= 100_000, "{bytes}");
        drop(there);
    }
}
