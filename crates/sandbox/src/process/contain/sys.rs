//! System calls that no safe library wraps. All unsafe code of this crate is here and in `kernel.rs`.
//!
//! The helper has a single thread all its life, so its forks are consistent: no lock is held by a thread that does
//! not exist in the child.
#![allow(
    unsafe_code,
    reason = "the helper forks, waits for signals and executes: no safe interface exists for these"
)]

use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, set_dumpable_behavior};

use super::super::exit::Exit;

/// Namespaces of a new process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Namespaces {
    /// New user, pid, mount and ipc namespaces.
    Own,
    /// As `Own`, and a new network namespace.
    OwnWithNetwork,
    /// Those of its parent.
    Inherited,
}

const OWN: c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;

/// Which side of a fork this is.
pub(super) enum Forked {
    Parent(Pid),
    Child,
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Forks this process.
pub(super) fn clone(namespaces: Namespaces) -> Result<Forked, Errno> {
    fork(match namespaces {
        Namespaces::Own => OWN,
        Namespaces::OwnWithNetwork => OWN | libc::CLONE_NEWNET,
        Namespaces::Inherited => 0,
    })
}

/// Forks a process that becomes a child of this process's parent.
pub(super) fn clone_as_sibling() -> Result<Forked, Errno> {
    fork(libc::CLONE_PARENT)
}

fn fork(kind: c_int) -> Result<Forked, Errno> {
    let flags = libc::c_long::from(kind | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without CLONE_VM and without its own stack, the child is a copy of this single-threaded process.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    let refusal = last_error();
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(pid) if pid > 0 => Pid::from_raw(pid).map(Forked::Parent).ok_or(refusal),
        Ok(_) | Err(_) => Err(refusal),
    }
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set before anything reads it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Blocks signals, so that they can be waited for.
pub(super) fn hold(signals: &[Signal]) {
    let set = set_of(signals);
    // SAFETY: the set is valid, and a null old set is allowed.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
}

/// Waits for one of the blocked signals.
pub(super) fn wait_signal(signals: &[Signal]) -> Signal {
    let set = set_of(signals);
    loop {
        // SAFETY: the set is valid, and a null siginfo is allowed.
        let raw = unsafe { libc::sigwaitinfo(&raw const set, ptr::null_mut()) };
        if let Some(signal) = signals.iter().find(|signal| signal.as_raw() == raw) {
            return *signal;
        }
    }
}

/// Returns a descriptor that becomes readable when one of the blocked signals is pending.
pub(super) fn signals(signals: &[Signal]) -> Result<OwnedFd, Errno> {
    let set = set_of(signals);
    // SAFETY: the set is valid, and the result is a new descriptor with no other owner.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            descriptor if descriptor >= 0 => Ok(OwnedFd::from_raw_fd(descriptor)),
            _ => Err(last_error()),
        }
    }
}

/// Waits for one of the blocked signals, up to `limit`.
pub(super) fn wait_signal_for(signals: &[Signal], limit: Duration) -> Option<Signal> {
    let set = set_of(signals);
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()),
    };
    // SAFETY: the set and the timeout are valid, and a null siginfo is allowed.
    let raw = unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const timeout) };
    signals.iter().find(|signal| signal.as_raw() == raw).copied()
}

/// Resets every signal to its default action and unblocks all. `exec` would pass ignored and blocked signals on, and
/// the standard library (SIGPIPE) or the harness's parent may have changed some.
pub(super) fn reset_signals() {
    // All zeros means default action, no flags and no mask on every architecture. Call the kernel directly: the C
    // library refuses to change two signals that it uses internally, which a careless parent may have left ignored.
    let default = [0_u64; 8];
    for signal in 1..=libc::SIGRTMAX() {
        let (none, set_size) = (ptr::null_mut::<u64>(), size_of::<u64>());
        // SAFETY: the default action runs no code of ours, and the array is longer than what the kernel reads. The
        // kernel refuses signals whose action cannot change, which is fine.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, set_size) };
    }
    let none = set_of(&[]);
    // SAFETY: the set is valid, and a null old set is allowed.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) };
}

/// Takes the status pipe from stdin. `None` if stdin is no pipe: nothing waits for a report then.
pub(super) fn take_stdin() -> Option<OwnedFd> {
    let stdin = std::io::stdin();
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(stdin.as_fd()).ok()?.st_mode);
    if kind != rustix::fs::FileType::Fifo {
        return None;
    }
    rustix::io::fcntl_dupfd_cloexec(stdin.as_fd(), 3).ok()
}

/// Makes `path` the stdin of this process and its children.
pub(super) fn open_stdin(path: &Path) -> Result<(), Errno> {
    let file = File::open(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // SAFETY: no owned descriptor refers to 0, the standard input, and it stays open.
    if unsafe { libc::dup2(file.as_raw_fd(), 0) } == 0 { Ok(()) } else { Err(last_error()) }
}

/// Sets close-on-exec for all descriptors from `first` on.
pub(super) fn close_on_exec_from(first: c_int) -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: this changes only a flag of descriptors and closes none.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if done == 0 {
        return Ok(());
    }
    // Seccomp filters of containers deny this call with various errors. Then set the flag one by one.
    let directory = std::fs::read_dir("/proc/self/fd").map_err(|_| last_error())?;
    let open = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<c_int>().ok());
    for descriptor in open.filter(|descriptor| *descriptor >= first) {
        // SAFETY: as above. It fails for a descriptor that was closed meanwhile.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Returns the `PATH` that the program will have.
pub(super) fn environment_path() -> Option<OsString> {
    // SAFETY: there is one thread and nothing changes the environment, so the value stays valid while it is copied.
    unsafe {
        let value = libc::getenv(c"PATH".as_ptr());
        if value.is_null() {
            None
        } else {
            Some(OsString::from_vec(CStr::from_ptr(value).to_bytes().to_vec()))
        }
    }
}

unsafe extern "C" {
    /// The environment of this process. An executed program gets it.
    static mut environ: *mut *mut c_char;
}

/// Overwrites the variables that this process was started with, because other processes can read them in `/proc`.
pub(super) fn forget_environment() {
    // SAFETY: there is one thread. The list and its strings belong to this process, are null-terminated, and are
    // writable where the kernel placed them. Later readers find no variables.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            ptr::write_bytes(*next, 0, CStr::from_ptr(*next).count_bytes());
            next = next.add(1);
        }
        environ = ptr::null_mut();
    }
}

/// Sets the environment of the program to execute.
pub(super) fn set_environment(variables: Vec<CString>) {
    let mut list: Vec<*mut c_char> = variables.into_iter().map(CString::into_raw).collect();
    list.push(ptr::null_mut());
    // SAFETY: there is one thread; the list is null-terminated, and neither it nor its strings are ever freed.
    unsafe { environ = list.leak().as_mut_ptr() };
}

/// Executes a program with the same environment. Returns only on failure.
pub(super) fn exec(file: &CStr, argv: &[CString]) -> Errno {
    let mut pointers: Vec<*const c_char> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: the list is null-terminated, and its strings outlive the call.
    unsafe { libc::execv(file.as_ptr(), pointers.as_ptr()) };
    last_error()
}

/// Exits immediately, without running destructors or exit handlers.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: always sound; a forked process has nothing to clean up.
    unsafe { libc::_exit(code) }
}

/// Exits with the same status as another process, given its wait status.
pub(super) fn end_as(status: c_int) -> ! {
    if libc::WIFSIGNALED(status) { end_by(libc::WTERMSIG(status)) } else { exit(libc::WEXITSTATUS(status)) }
}

/// Denies other processes of the same user access to this one's memory and descriptors.
pub(super) fn hide() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Redirects the standard streams to `/dev/null`.
pub(super) fn let_go_of_streams() {
    let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") else { return };
    for stream in 0..3 {
        // SAFETY: no owned descriptor refers to the standard streams, and they stay open.
        unsafe { libc::dup2(nowhere.as_raw_fd(), stream) };
    }
}

/// Sets stdout and stderr of this process and its children.
pub(super) fn become_output(output: &OwnedFd, errors: &OwnedFd) -> Result<(), Errno> {
    for (from, stream) in [(output, 1), (errors, 2)] {
        // SAFETY: no owned descriptor refers to the standard streams, and they stay open.
        if unsafe { libc::dup2(from.as_raw_fd(), stream) } != stream {
            return Err(last_error());
        }
    }
    Ok(())
}

/// Closes every inherited descriptor except the standard streams and `kept`.
pub(super) fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<c_int> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    kept.sort_unstable();
    let mut first = 3;
    for last in kept.into_iter().chain([c_int::MAX]) {
        if last > first {
            // SAFETY: this process is a fork that uses none of them again, only `kept`.
            unsafe { libc::syscall(libc::SYS_close_range, first, last - 1, 0) };
        }
        first = last.saturating_add(1);
    }
}

/// Dies by a signal, so that the parent sees the same status as without a helper. Writes no core file.
pub(super) fn end_by(signal: c_int) -> ! {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    reset_signals();
    // SAFETY: a signal to this process.
    unsafe { libc::kill(libc::getpid(), signal) };
    // Some signals do not kill a process when sent with `kill`. Then use the exit code that shells use.
    exit(128 + signal)
}

/// The status and CPU times of a process, including the descendants it waited for.
pub(in crate::process) struct Reaped {
    pub(in crate::process) exit: Exit,
    pub(in crate::process) user: Duration,
    pub(in crate::process) system: Duration,
}

/// Reaps a child that has ended.
pub(in crate::process) fn reap(pid: Pid) -> Result<Reaped, Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::zeroed();
    loop {
        // SAFETY: both pointers are valid for writes.
        let got = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr()) };
        if got > 0 {
            break;
        }
        match last_error() {
            Errno::INTR => {}
            errno => return Err(errno),
        }
    }
    // SAFETY: all zeros is a valid value, and wait4 has written the real one.
    let usage: libc::rusage = unsafe { usage.assume_init() };
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    Ok(Reaped { exit, user: duration(usage.ru_utime), system: duration(usage.ru_stime) })
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_usec).unwrap_or(0) * 1000)
}
