//! System calls for building walls that no safe library wraps.
#![allow(unsafe_code, reason = "mount_setattr, Landlock, seccomp and interface flags have no safe interface")]

use std::ffi::{c_int, c_long, c_uint};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};

fn result(value: c_long) -> Result<c_long, Errno> {
    if value >= 0 {
        return Ok(value);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// Whether a change of mount attributes is recursive.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    This,
    AndBelow,
}

/// Adds attributes (`MOUNT_ATTR_…`) to a mount.
pub(super) fn restrict_mount(mount: impl AsFd, attributes: u64, depth: Depth) -> Result<(), Errno> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let recursive = match depth {
        Depth::This => 0,
        Depth::AndBelow => libc::AT_RECURSIVE,
    };
    // SAFETY: the path and the attributes are valid and outlive the call.
    result(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// The rights that a Landlock ruleset handles. Others stay unrestricted.
#[repr(C)]
pub(super) struct Handled {
    pub(super) files: u64,
    pub(super) network: u64,
    pub(super) scopes: u64,
}

/// Rights on everything beneath a path.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: c_int,
}

/// Returns the Landlock ABI version of the running kernel, if Landlock is enabled.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: c_uint = 1;
    let none = std::ptr::null::<Handled>();
    // SAFETY: with this flag the kernel reads nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    result(version).ok().and_then(|version| u32::try_from(version).ok()).filter(|version| *version > 0)
}

pub(super) fn landlock_ruleset(handled: &Handled, size: usize) -> Result<OwnedFd, Errno> {
    // SAFETY: the kernel reads at most `size` bytes, and `handled` is not shorter.
    let fd = result(unsafe {
        let handled: *const Handled = handled;
        libc::syscall(libc::SYS_landlock_create_ruleset, handled, size.min(size_of::<Handled>()), 0)
    })?;
    let fd = c_int::try_from(fd).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel just created this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn landlock_allow(ruleset: &OwnedFd, place: impl AsFd, allowed: u64) -> Result<(), Errno> {
    const PATH_BENEATH: c_int = 1;
    let rule = Beneath { allowed, parent: place.as_fd().as_raw_fd() };
    // SAFETY: the rule is valid and outlives the call.
    result(unsafe {
        let rule = &raw const rule;
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, rule, 0)
    })
    .map(drop)
}

/// Applies the rules to this process and its future children. Requires `no_new_privs`.
pub(super) fn landlock_enforce(ruleset: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: only a descriptor is passed.
    result(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}

/// Applies a seccomp filter to this process and its future children.
pub(super) fn filter_calls(filter: &[libc::sock_filter]) -> Result<(), Errno> {
    let len = libc::c_ushort::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the filter, with the given length, and writes nothing.
    result(unsafe {
        let program = &raw const program;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, program)
    })
    .map(drop)
}

/// Applies a seccomp filter to this process and its future children, and returns the descriptor on which to answer the
/// calls that it asks about.
pub(super) fn listen_to_calls(filter: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    let len = libc::c_ushort::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the filter, with the given length, and writes nothing.
    let fd = result(unsafe {
        let (mode, flag) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        libc::syscall(libc::SYS_seccomp, mode, flag, &raw const program)
    })?;
    let fd = c_int::try_from(fd).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel just created this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A request of a process to execute a file. The process waits for the answer.
pub(super) struct Call {
    id: u64,
    /// The thread that asks.
    pub(super) pid: c_int,
    /// The descriptor of the folder that a relative path starts from. `None` for the working directory.
    pub(super) folder: Option<c_int>,
    /// Address of the path.
    pub(super) path: u64,
    /// Address of the list of arguments.
    pub(super) words: u64,
}

/// An answer to a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel performs the call.
    Continue,
    /// The call fails.
    Refuse(Errno),
}

/// Waits for the next call.
pub(super) fn next_call(listener: &OwnedFd) -> Result<Call, Errno> {
    // SAFETY: all zeros is a valid value, and the kernel requires it.
    let mut heard: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is valid for writes, and the number of the call contains its size.
    result(c_long::from(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard)
    }))?;
    let arguments = heard.data.args;
    let pid = c_int::try_from(heard.pid).map_err(|_| Errno::SRCH)?;
    // The kernel takes the lower half of the register, as a signed number.
    #[allow(clippy::cast_possible_truncation, reason = "the upper half has no meaning")]
    let folder = (arguments[0] as u32).cast_signed();
    let id = heard.id;
    Ok(if c_long::from(heard.data.nr) == libc::SYS_execveat {
        let folder = Some(folder).filter(|folder| *folder != libc::AT_FDCWD);
        Call { id, pid, folder, path: arguments[1], words: arguments[2] }
    } else {
        Call { id, pid, folder: None, path: arguments[0], words: arguments[1] }
    })
}

/// Returns whether the caller still waits for the answer to a call.
pub(super) fn is_waiting(listener: &OwnedFd, call: &Call) -> bool {
    // SAFETY: the number is valid, and the kernel only reads it.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id) };
    answer == 0
}

/// Answers a call. If the process has ended meanwhile, nothing happens.
pub(super) fn answer_call(listener: &OwnedFd, call: &Call, answer: Answer) {
    let (error, flags) = match answer {
        Answer::Continue => (0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1)),
        Answer::Refuse(errno) => (-errno.raw_os_error(), 0),
    };
    let response = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags };
    // SAFETY: the structure is valid, and the kernel only reads it.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
}

/// Returns the memory used by a socket's buffers, in bytes.
pub(super) fn socket_memory(socket: impl AsFd) -> Result<u64, Errno> {
    const SO_MEMINFO: c_int = 55;
    /// Indices into the list: receive buffer, sent but not read yet, queued for sending.
    const COUNTED: [usize; 3] = [0, 2, 5];
    let mut list = [0_u32; 9];
    let mut length = libc::socklen_t::try_from(size_of_val(&list)).unwrap_or(0);
    // SAFETY: the list and its length are valid for writes, and the kernel writes no more than the length.
    result(c_long::from(unsafe {
        let list = list.as_mut_ptr().cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, list, &raw mut length)
    }))?;
    Ok(COUNTED.iter().map(|place| u64::from(list[*place])).sum())
}

/// Brings up the loopback interface of this network namespace.
pub(super) fn loopback_up() -> Result<(), Errno> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(libc::c_short::MAX);
    // SAFETY: the request is valid and outlives the call.
    result(c_long::from(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request)
    }))
    .map(drop)
}
