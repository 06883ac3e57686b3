//! The few calls to the kernel that no safe library offers. What is unsafe in this crate is here and in `kernel.rs`.
//!
//! The helper has one thread from its start to its end, so a copy of it made by `clone` is whole: no lock is held by a
//! thread that is not there.
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

/// The namespaces of a new process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Namespaces {
    /// New ones: user, pid, mount and ipc.
    Own,
    /// And network.
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

/// Forks, as `fork` does.
pub(super) fn clone(namespaces: Namespaces) -> Result<Forked, Errno> {
    fork(match namespaces {
        Namespaces::Own => OWN,
        Namespaces::OwnWithNetwork => OWN | libc::CLONE_NEWNET,
        Namespaces::Inherited => 0,
    })
}

/// Forks a process whose parent is the parent of this one.
pub(super) fn clone_as_sibling() -> Result<Forked, Errno> {
    fork(libc::CLONE_PARENT)
}

fn fork(kind: c_int) -> Result<Forked, Errno> {
    let flags = libc::c_long::from(kind | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without CLONE_VM and without a stack of its own the child is a copy of this single-threaded process.
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
    // SAFETY: sigemptyset makes the set whole before anything reads it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Keeps signals back until they are waited for.
pub(super) fn hold(signals: &[Signal]) {
    let set = set_of(signals);
    // SAFETY: the set is whole, and nobody wants the old one.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
}

/// Waits for one of the held signals.
pub(super) fn wait_signal(signals: &[Signal]) -> Signal {
    let set = set_of(signals);
    loop {
        // SAFETY: the set is whole; no information is asked for.
        let raw = unsafe { libc::sigwaitinfo(&raw const set, ptr::null_mut()) };
        if let Some(signal) = signals.iter().find(|signal| signal.as_raw() == raw) {
            return *signal;
        }
    }
}

/// A descriptor that can be read when one of the held signals has come.
pub(super) fn signals(signals: &[Signal]) -> Result<OwnedFd, Errno> {
    let set = set_of(signals);
    // SAFETY: the set is whole, and what is given back is a new descriptor that nobody else owns.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            descriptor if descriptor >= 0 => Ok(OwnedFd::from_raw_fd(descriptor)),
            _ => Err(last_error()),
        }
    }
}

/// Waits for one of the held signals, or until the time is up.
pub(super) fn wait_signal_for(signals: &[Signal], limit: Duration) -> Option<Signal> {
    let set = set_of(signals);
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()),
    };
    // SAFETY: the set and the time are whole; no information is asked for.
    let raw = unsafe { libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const timeout) };
    signals.iter().find(|signal| signal.as_raw() == raw).copied()
}

/// Gives every signal its default meaning and holds none: `exec` would pass ignored and held ones on, and both the
/// standard library (SIGPIPE) and whoever started the harness may have changed some.
pub(super) fn reset_signals() {
    // All zeros are the default, with no flag and no mask, on every architecture. The kernel is called directly because
    // the C library refuses to touch two signals of its own, which a careless parent may have left ignored.
    let default = [0_u64; 8];
    for signal in 1..=libc::SIGRTMAX() {
        let (none, set_size) = (ptr::null_mut::<u64>(), size_of::<u64>());
        // SAFETY: the default is no code of ours, and the array is longer than what is read. The kernel refuses for
        // those signals that cannot change, which is right.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, set_size) };
    }
    let none = set_of(&[]);
    // SAFETY: the set is whole, and nobody wants the old one.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) };
}

/// Takes the status pipe from its place as standard input. When that is something else, nobody waits for a report.
pub(super) fn take_stdin() -> Option<OwnedFd> {
    let stdin = std::io::stdin();
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(stdin.as_fd()).ok()?.st_mode);
    if kind != rustix::fs::FileType::Fifo {
        return None;
    }
    rustix::io::fcntl_dupfd_cloexec(stdin.as_fd(), 3).ok()
}

/// Makes `path` the standard input of this process and those that it starts.
pub(super) fn open_stdin(path: &Path) -> Result<(), Errno> {
    let file = File::open(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // SAFETY: 0 is the standard input, which no owned descriptor stands for; after this it still is.
    if unsafe { libc::dup2(file.as_raw_fd(), 0) } == 0 { Ok(()) } else { Err(last_error()) }
}

/// Lets no descriptor from `first` on pass through `exec`.
pub(super) fn close_on_exec_from(first: c_int) -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: only a flag of descriptors changes; none is closed.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if done == 0 {
        return Ok(());
    }
    // Filters of containers refuse the call with one error or another: then one by one.
    let directory = std::fs::read_dir("/proc/self/fd").map_err(|_| last_error())?;
    let open = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<c_int>().ok());
    for descriptor in open.filter(|descriptor| *descriptor >= first) {
        // SAFETY: as above. One that was closed meanwhile is refused.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// The `PATH` that the program will have.
pub(super) fn environment_path() -> Option<OsString> {
    // SAFETY: one thread, and nobody changes the environment: what getenv points to stays as it is while it is copied.
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
    /// The variables of this process, which a program that it becomes gets.
    static mut environ: *mut *mut c_char;
}

/// Overwrites the variables that this process was started with, where everybody who may look at it would see them.
pub(super) fn forget_environment() {
    // SAFETY: one thread, and a list of strings that are this process's own and end with null, as the list does. They lie where
    // the kernel put them and may be written to. Whoever looks afterwards finds no variable.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            ptr::write_bytes(*next, 0, CStr::from_ptr(*next).count_bytes());
            next = next.add(1);
        }
        environ = ptr::null_mut();
    }
}

/// Gives this process other variables, for the program that it will become.
pub(super) fn set_environment(variables: Vec<CString>) {
    let mut list: Vec<*mut c_char> = variables.into_iter().map(CString::into_raw).collect();
    list.push(ptr::null_mut());
    // SAFETY: one thread; the list ends with null, and neither it nor its strings are ever given back.
    unsafe { environ = list.leak().as_mut_ptr() };
}

/// Becomes another program with the same environment; comes back with the reason if not.
pub(super) fn exec(file: &CStr, argv: &[CString]) -> Errno {
    let mut pointers: Vec<*const c_char> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: the list ends with null, and its strings outlive the call.
    unsafe { libc::execv(file.as_ptr(), pointers.as_ptr()) };
    last_error()
}

/// Ends this process without running anything on the way.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: always sound; nothing of a copied process needs to be cleaned up.
    unsafe { libc::_exit(code) }
}

/// Ends as a process with this wait status did.
pub(super) fn end_as(status: c_int) -> ! {
    if libc::WIFSIGNALED(status) { end_by(libc::WTERMSIG(status)) } else { exit(libc::WEXITSTATUS(status)) }
}

/// Keeps other processes of the same user out of this one's memory and descriptors.
pub(super) fn hide() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Makes the standard streams lead nowhere, for a process that has no use for those of another.
pub(super) fn let_go_of_streams() {
    let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") else { return };
    for stream in 0..3 {
        // SAFETY: the standard streams are nobody's owned descriptors; after this they still are open.
        unsafe { libc::dup2(nowhere.as_raw_fd(), stream) };
    }
}

/// Makes these the standard output and error of this process and those that it starts.
pub(super) fn become_output(output: &OwnedFd, errors: &OwnedFd) -> Result<(), Errno> {
    for (from, stream) in [(output, 1), (errors, 2)] {
        // SAFETY: the standard streams are nobody's owned descriptors; after this they still are open.
        if unsafe { libc::dup2(from.as_raw_fd(), stream) } != stream {
            return Err(last_error());
        }
    }
    Ok(())
}

/// Closes every descriptor but the standard streams and these, for a process that has no use for what it inherited.
pub(super) fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<c_int> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    kept.sort_unstable();
    let mut first = 3;
    for last in kept.into_iter().chain([c_int::MAX]) {
        if last > first {
            // SAFETY: nothing of this process uses any of them again: it is a copy that goes on with what is kept.
            unsafe { libc::syscall(libc::SYS_close_range, first, last - 1, 0) };
        }
        first = last.saturating_add(1);
    }
}

/// Ends by a signal, so that the parent sees what it would have seen without a helper; but leaves no core of it.
pub(super) fn end_by(signal: c_int) -> ! {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    reset_signals();
    // SAFETY: a signal to oneself.
    unsafe { libc::kill(libc::getpid(), signal) };
    // Some signals of a program do not end a process that gets them by kill; shells use this number then.
    exit(128 + signal)
}

/// A process that ended and what it used, with everything that it had waited for.
pub(in crate::process) struct Reaped {
    pub(in crate::process) exit: Exit,
    pub(in crate::process) user: Duration,
    pub(in crate::process) system: Duration,
}

/// Reaps a child that is known to have ended.
pub(in crate::process) fn reap(pid: Pid) -> Result<Reaped, Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::zeroed();
    loop {
        // SAFETY: both places are valid for what is written to them.
        let got = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr()) };
        if got > 0 {
            break;
        }
        match last_error() {
            Errno::INTR => {}
            errno => return Err(errno),
        }
    }
    // SAFETY: all zeros are a value of it, and wait4 has written the real one.
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
