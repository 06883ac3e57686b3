//! System calls by number, as an attacker makes them. All unsafe code of the attacks is in this file.
#![allow(
    unsafe_code,
    reason = "attacks are made of calls that no safe library offers, in ways none would allow"
)]

use std::ffi::{CStr, CString, c_long};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An argument of a call.
pub(super) enum Arg<'a> {
    /// A number or flags.
    N(i64),
    /// A NUL-terminated text.
    S(&'a CStr),
    /// A buffer that the kernel may read and write.
    B(&'a mut [u8]),
}

/// Makes a system call. Buffers must be as large as the call expects.
pub(super) fn call(number: c_long, args: &mut [Arg<'_>]) -> io::Result<i64> {
    let mut raw: [c_long; 6] = [0; 6];
    for (place, arg) in raw.iter_mut().zip(args.iter_mut()) {
        *place = match arg {
            Arg::N(number) => *number,
            Arg::S(text) => text.as_ptr() as c_long,
            Arg::B(bytes) => bytes.as_mut_ptr() as c_long,
        };
    }
    // SAFETY: pointers are to values that outlive the call; the attack passes their lengths separately.
    let got = unsafe { libc::syscall(number, raw[0], raw[1], raw[2], raw[3], raw[4], raw[5]) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got) }
}

/// Makes a call that returns a descriptor.
pub(super) fn open_by(number: c_long, args: &mut [Arg<'_>]) -> io::Result<OwnedFd> {
    let got = call(number, args)?;
    let raw = i32::try_from(got).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the kernel just returned it, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Converts a path for the kernel.
pub(super) fn text(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap_or_default()
}

/// The side of a fork.
pub(super) enum Forked {
    /// The parent, with the pid of the child.
    Parent(i32),
    /// The child.
    Child,
}

/// Forks.
pub(super) fn fork() -> io::Result<Forked> {
    // SAFETY: attacks have one thread, so the copy is complete.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Ok(Forked::Parent(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(code) }
}

/// Schedules its own end after this many seconds.
pub(super) fn alarm(seconds: u32) {
    // SAFETY: always sound; the default action is to end the process.
    unsafe { libc::alarm(seconds) };
}

/// Makes a file size limit an error instead of a signal that ends the process.
pub(super) fn survive_file_limit() {
    // SAFETY: ignoring a signal runs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Ignores signals that ask a process to end.
pub(super) fn ignore_requests() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGALRM, libc::SIGPIPE] {
        // SAFETY: ignoring a signal runs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Reaps a child and returns its wait status.
pub(super) fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the pointer is valid.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

/// Allocates and touches this many bytes of memory, and never frees them.
pub(super) fn take_memory(bytes: usize) -> io::Result<()> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

/// Does the same with memory that children share.
pub(super) fn take_shared_memory(bytes: usize) -> io::Result<()> {
    map(bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
}

/// Fills a file through a mapping that stays. The file must have this size.
pub(super) fn fill_by_mapping(file: &std::fs::File, bytes: usize) -> io::Result<()> {
    map(bytes, libc::MAP_SHARED, std::os::fd::AsRawFd::as_raw_fd(file))
}

/// Keeps a file open through a mapping of its first page, which is never touched.
pub(super) fn keep_by_mapping(file: &std::fs::File) -> io::Result<()> {
    // SAFETY: a new mapping that nothing else uses or reads.
    let place = unsafe {
        let file = std::os::fd::AsRawFd::as_raw_fd(file);
        libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file, 0)
    };
    if place == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn map(bytes: usize, flags: i32, file: i32) -> io::Result<()> {
    // SAFETY: a new mapping that nothing else uses; one byte of each page is written, inside of it.
    unsafe {
        let place =
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0);
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for offset in (0..bytes).step_by(4096) {
            place.cast::<u8>().add(offset).write_volatile(1);
        }
    }
    Ok(())
}

/// Makes a call as a 32-bit program would.
#[cfg(target_arch = "x86_64")]
pub(super) fn int80(number: i32, first: i32, second: i32, third: i32) -> i64 {
    let mut got: i64 = number.into();
    // SAFETY: the calls used take only numbers. The compiler reserves rbx, so it is restored.
    unsafe {
        std::arch::asm!(
            "xchg {first:r}, rbx", "int 0x80", "xchg {first:r}, rbx",
            first = inout(reg) i64::from(first) => _,
            inout("rax") got, in("rcx") i64::from(second), in("rdx") i64::from(third),
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    got
}
