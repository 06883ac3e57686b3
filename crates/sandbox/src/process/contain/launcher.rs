//! The launcher: a fork of the harness, made before the harness has any state. It forks helpers without executing
//! anything.
//!
//! Executing this program again takes longer than everything else a helper does before its program runs: it maps tens
//! of megabytes and relocates tens of thousands of addresses. Forking a small process costs a fraction of that. But
//! the process must have a single thread, no secrets in memory and no open files. So the launcher is forked before
//! anything else, and waits for orders on a socket.
//!
//! ```text
//! harness ─┬─ launcher ╌╌ forks itself; the fork is a child of the harness
//!          └─ helper ── …                      (from here on as if it had been executed)
//! ```
//!
//! It ends with the harness, or when the harness becomes the next one by `exec`. If it is gone, or was never started,
//! helpers are executed.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Mutex;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
    shutdown, socketpair,
};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, set_parent_process_death_signal, setpgid, waitpid,
};

use super::super::status;
use super::plan::Plan;
use super::sys::{self, Forked};

/// Descriptors sent with an order: its text, the status pipe, and the program's stdout and stderr.
const WITH_AN_ORDER: usize = 4;

/// The harness's handle of the launcher.
#[derive(Debug)]
pub struct Launcher {
    pid: Pid,
    /// Orders go one way, pids the other. Each order is answered before the next is sent.
    socket: Mutex<OwnedFd>,
}

impl Launcher {
    /// Forks the launcher. Call this first, while this process has one thread and has read nothing.
    pub fn fork() -> Result<Self, Errno> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let harness = getpid();
        match sys::clone(sys::Namespaces::Inherited)? {
            Forked::Parent(pid) => Ok(Self { pid, socket: Mutex::new(ours) }),
            Forked::Child => {
                drop(ours);
                let asked = set_parent_process_death_signal(Some(Signal::KILL));
                if asked.is_err() || getppid() != Some(harness) {
                    sys::exit(0);
                }
                // Ctrl-C in a terminal must reach only the harness.
                let _ = setpgid(None, None);
                sys::forget_environment();
                sys::let_go_of_streams();
                serve(&theirs)
            }
        }
    }

    /// Starts a helper. It is a child of this process and dies with the thread that forked the launcher.
    pub(in crate::process) fn launch(
        &self,
        words: &[OsString],
        environment: &[(OsString, OsString)],
        [pipe, output, errors]: [&OwnedFd; 3],
    ) -> Result<Pid, Errno> {
        let order = order(words, environment)?;
        let descriptors = [order.as_fd(), pipe.as_fd(), output.as_fd(), errors.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(WITH_AN_ORDER))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        if !message.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(Errno::NOBUFS);
        }
        let socket = self.socket.lock().map_err(|_| Errno::IO)?;
        sendmsg(&*socket, &[IoSlice::new(b"o")], &mut message, SendFlags::NOSIGNAL)?;
        let mut answer = [0; 4];
        loop {
            match recv(&*socket, &mut answer, RecvFlags::empty()) {
                Ok((_, 4)) => break,
                Ok(_) => return Err(Errno::PIPE),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        match i32::from_ne_bytes(answer) {
            pid if pid > 0 => Pid::from_raw(pid).ok_or(Errno::IO),
            refusal => Err(Errno::from_raw_os_error(-refusal)),
        }
    }

    /// Stops the launcher and reaps it: a process keeps its children across `exec`.
    pub(in crate::process) fn end(&self) {
        if let Ok(socket) = self.socket.lock() {
            let _ = shutdown(&*socket, Shutdown::Both);
            while matches!(waitpid(Some(self.pid), WaitOptions::empty()), Err(Errno::INTR)) {}
        }
    }
}

/// Writes arguments and variables to a memfd, which has no size limit, to send them as a descriptor.
fn order(words: &[OsString], environment: &[(OsString, OsString)]) -> Result<File, Errno> {
    let mut text = format!("{}\0", words.len()).into_bytes();
    let mut add = |parts: &[&OsStr]| {
        let begin = text.len();
        for part in parts {
            text.extend_from_slice(part.as_bytes());
        }
        let whole = !text[begin..].contains(&0);
        text.push(0);
        if whole { Ok(()) } else { Err(Errno::INVAL) }
    };
    for word in words {
        add(&[word])?;
    }
    // If a variable occurs twice, the last value wins, as for an executed program.
    for (name, value) in environment.iter().map(|(name, value)| (name, value)).collect::<BTreeMap<_, _>>() {
        add(&[name, OsStr::new("="), value])?;
    }
    let mut file = File::from(memfd_create("order", MemfdFlags::CLOEXEC)?);
    let written = file.write_all(&text).and_then(|()| file.rewind());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(file)
}

/// Parses an order.
fn read_order(mut file: File) -> Option<(Vec<OsString>, Vec<CString>)> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    let text = text.strip_suffix(&[0])?;
    let mut parts = text.split(|byte| *byte == 0);
    let count = str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let words = parts.by_ref().take(count).map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>();
    let environment = parts.map(|part| CString::new(part).ok()).collect::<Option<_>>()?;
    (words.len() == count).then_some((words, environment))
}

/// Main loop of the launcher.
fn serve(socket: &OwnedFd) -> ! {
    while let Ok(Some(order)) = receive(socket) {
        let answer = match sys::clone_as_sibling() {
            Ok(Forked::Child) => become_helper(order),
            Ok(Forked::Parent(pid)) => pid.as_raw_nonzero().get(),
            Err(errno) => -errno.raw_os_error(),
        };
        drop(order);
        if send(socket, &answer.to_ne_bytes(), SendFlags::NOSIGNAL).is_err() {
            break;
        }
    }
    sys::exit(0)
}

/// Waits for an order. `None` if the harness closed the socket.
fn receive(socket: &OwnedFd) -> Result<Option<[OwnedFd; WITH_AN_ORDER]>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(WITH_AN_ORDER))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    let mut all = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            all.extend(descriptors);
        }
    }
    Ok((received.bytes > 0).then_some(all).and_then(|all| all.try_into().ok()))
}

/// Turns a fork of the launcher into a helper, in the state in which an executed one starts.
fn become_helper([order, pipe, output, errors]: [OwnedFd; WITH_AN_ORDER]) -> ! {
    // Use a separate process group, as an executed helper does.
    let _ = setpgid(None, None);
    let begun = sys::become_output(&output, &errors);
    drop((output, errors));
    let understood = read_order(File::from(order));
    sys::close_all_but(&[pipe.as_fd()]);
    let (Ok(()), Some((words, environment))) = (begun, understood) else {
        status::report_failure(pipe, super::Failure::new(super::Step::Arguments, Errno::INVAL));
        sys::exit(super::NOT_STARTED)
    };
    sys::set_environment(environment);
    super::go(Plan::parse(words.into_iter()), Some(pipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&[u8]]) -> Vec<OsString> {
        words.iter().map(|word| OsString::from_vec(word.to_vec())).collect()
    }

    #[test]
    fn an_order_says_what_it_was_given() {
        let given = words(&[b"--cwd", b"", b"a b", b"\xff\n"]);
        let environment = [("A".into(), "".into()), ("B".into(), OsString::from_vec(b"=\xfe".to_vec()))];
        let (heard, variables) = read_order(order(&given, &environment).unwrap()).unwrap();
        assert_eq!(heard, given);
        assert_eq!(variables, [c"A=", c"B==\xfe"].map(CString::from));
        let (heard, variables) = read_order(order(&[], &[]).unwrap()).unwrap();
        assert_eq!((heard.len(), variables.len()), (0, 0));
    }

    #[test]
    fn of_a_variable_that_is_named_twice_the_last_value_counts() {
        let environment = [("A".into(), "1".into()), ("B".into(), "2".into()), ("A".into(), "3".into())];
        let (_, variables) = read_order(order(&[], &environment).unwrap()).unwrap();
        assert_eq!(variables, [c"A=3", c"B=2"].map(CString::from));
    }

    #[test]
    fn what_no_program_could_be_given_is_refused() {
        assert_eq!(order(&words(&[b"a\0b"]), &[]).unwrap_err(), Errno::INVAL);
        assert_eq!(order(&[], &[("A\0".into(), "".into())]).unwrap_err(), Errno::INVAL);
    }

    #[test]
    fn half_an_order_is_none() {
        for text in [&b""[..], b"1\0", b"2\0a\0", b"x\0a\0", b"1\0a"] {
            let mut file = File::from(memfd_create("order", MemfdFlags::CLOEXEC).unwrap());
            file.write_all(text).unwrap();
            file.rewind().unwrap();
            assert!(read_order(file).is_none(), "{text:?}");
        }
    }
}
