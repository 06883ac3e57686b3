//! The seccomp filter: denies system calls that no build, test or agent needs, and that escapes start with.
//!
//! It is a denylist. Namespaces, mounts and Landlock are the walls; the filter denies the calls that could take them
//! down (mounts, namespaces, modules, kernel tracing), ways around the network (other socket families, such as vsock
//! to the host of a virtual machine), and parts of the kernel with a long history of bugs. A denied call returns an
//! error instead of killing the process, so that programs which only probe for a feature continue.
#![allow(
    clippy::cast_possible_truncation,
    reason = "the kernel's numbers are wider in the C library than in its filters"
)]

use super::landlock::Around;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter,
};

/// Socket families that a program may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sockets {
    /// IPv4 and IPv6. Denied to programs without network access if there is no network namespace.
    pub(super) internet: bool,
    /// Unix sockets. Denied if nothing else keeps the program from the machine's sockets, because a filter cannot see
    /// which one it connects to. Socket pairs stay allowed: they lead nowhere else.
    pub(super) unix: bool,
}

const REFUSED: &[c_long] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_fanotify_init,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
    libc::SYS_kcmp,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    // Keyrings, which are not namespaced.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Host name and clock.
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // Flags of files, see `FILE_FLAGS`.
    FILE_SETATTR,
];

/// Since Linux 6.17.
const FILE_SETATTR: c_long = 469;

/// Ways to change flags, version and project of a file (`chattr`). Git does not see them, and they would stay with a
/// file from one stage to the next.
const FILE_FLAGS: [u32; 5] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
];

/// Ways to fake input on a terminal.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];

/// Memory, queues and semaphores that remain after their processes end. Without a separate namespace, all programs of
/// the user share them.
const SHARED: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Call numbers from here on are the x32 variants of the same calls on x86-64. No other architecture has numbers this
/// high.
const X32: u32 = 0x4000_0000;

/// Flags of `clone` and `unshare` that create namespaces.
const NEW_NAMESPACES: c_long = libc::CLONE_NEWNS as c_long
    | libc::CLONE_NEWCGROUP as c_long
    | libc::CLONE_NEWUTS as c_long
    | libc::CLONE_NEWIPC as c_long
    | libc::CLONE_NEWUSER as c_long
    | libc::CLONE_NEWPID as c_long
    | libc::CLONE_NEWNET as c_long
    | 0x80; // CLONE_NEWTIME; in `clone`, this bit is part of the exit signal instead.

const NUMBER: u32 = 0;
const ARCH: u32 = 4;

/// Returns the offset of the lower half of a call argument in `seccomp_data`.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

fn load(at: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, at)
}

fn give(answer: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, answer)
}

fn statement(code: u32, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// Executes the next `skip` instructions only if the loaded value is `k`.
fn only_if(k: u32, skip: u8) -> sock_filter {
    jump(BPF_JMP | BPF_JEQ | BPF_K, k, 0, skip)
}

fn refuse(errno: i32) -> sock_filter {
    give(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}

fn number(call: c_long) -> u32 {
    // Call numbers are small, so this does not fail.
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// Builds the filter that asks init about every execution of a file. The other filter has denied the calls of other
/// architectures, which have other numbers.
pub(super) fn executions() -> Vec<sock_filter> {
    let mut list = vec![load(NUMBER)];
    for call in [libc::SYS_execve, libc::SYS_execveat] {
        list.extend([only_if(number(call), 1), give(libc::SECCOMP_RET_USER_NOTIF)]);
    }
    list.push(give(libc::SECCOMP_RET_ALLOW));
    list
}

/// Builds the filter program.
pub(super) fn program(sockets: Sockets, around: Around) -> Vec<sock_filter> {
    let allow = || give(libc::SECCOMP_RET_ALLOW);
    let mut list = vec![
        load(ARCH),
        jump(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        refuse(libc::ENOSYS),
        load(NUMBER),
        jump(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
        refuse(libc::ENOSYS),
    ];
    for call in REFUSED {
        list.extend([only_if(number(*call), 1), refuse(libc::EPERM)]);
    }
    if around == Around::Machine {
        for call in SHARED {
            // The errors of a kernel without these calls, which programs can handle.
            list.extend([only_if(number(*call), 1), refuse(libc::ENOSYS)]);
        }
    }
    // The flags of `clone3` are in memory, which a filter cannot read. With ENOSYS, the C library falls back to
    // `clone`.
    list.extend([only_if(number(libc::SYS_clone3), 1), refuse(libc::ENOSYS)]);
    for (call, flags) in [(libc::SYS_clone, NEW_NAMESPACES & !0x80), (libc::SYS_unshare, NEW_NAMESPACES)] {
        let flags = u32::try_from(flags).unwrap_or(u32::MAX);
        list.extend([
            only_if(number(call), 4),
            load(argument(0)),
            jump(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
            refuse(libc::EPERM),
            allow(),
        ]);
    }
    list.extend(huge_pages());
    list.extend(controls());
    list.extend(families(sockets));
    list.extend(modes());
    list.push(allow());
    list
}

/// Denies memory in huge pages. The kernel has few of them and counts them as nobody's memory. The answer is that of a
/// machine that has none.
fn huge_pages() -> Vec<sock_filter> {
    let calls: &[(c_long, u32, i32)] = &[
        (libc::SYS_mmap, 3, libc::MAP_HUGETLB),
        (libc::SYS_memfd_create, 1, libc::MFD_HUGETLB.cast_signed()),
        (libc::SYS_shmget, 2, libc::SHM_HUGETLB),
    ];
    let check = |(call, index, flag): &(c_long, u32, i32)| {
        [
            only_if(number(*call), 4),
            load(argument(*index)),
            jump(BPF_JMP | BPF_JSET | BPF_K, flag.cast_unsigned(), 0, 1),
            refuse(libc::ENOMEM),
            give(libc::SECCOMP_RET_ALLOW),
        ]
    };
    calls.iter().flat_map(check).collect()
}

/// Denies operations on devices and files.
fn controls() -> Vec<sock_filter> {
    let mut body = vec![load(argument(1))];
    for operation in TYPING.into_iter().chain(FILE_FLAGS) {
        body.extend([only_if(operation, 1), refuse(libc::EPERM)]);
    }
    body.push(give(libc::SECCOMP_RET_ALLOW));
    let skip = u8::try_from(body.len()).unwrap_or(u8::MAX);
    body.insert(0, only_if(number(libc::SYS_ioctl), skip));
    body
}

/// Denies file modes that run a file with its owner's rights. A set-uid program left in a working tree would wait for
/// someone outside to run it.
///
/// `chmod` may set the set-gid bit: directories use it (`git init --shared`), and a filter cannot tell directories
/// from files. Collecting the work removes that bit from files.
fn modes() -> Vec<sock_filter> {
    const SET_UID: u32 = libc::S_ISUID;
    const EITHER: u32 = libc::S_ISUID | libc::S_ISGID;
    /// Flags with which `open` uses its mode argument.
    const CREATES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();
    /// Since Linux 6.6.
    const FCHMODAT2: c_long = 452;
    // The call, the index of its mode argument, and the denied mode bits.
    let calls: &[(c_long, u32, u32)] = &[
        (libc::SYS_fchmod, 1, SET_UID),
        (libc::SYS_fchmodat, 2, SET_UID),
        (FCHMODAT2, 2, SET_UID),
        (libc::SYS_mknodat, 2, EITHER),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1, SET_UID),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, 1, EITHER),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1, EITHER),
    ];
    let opens: &[(c_long, u32)] = &[
        (libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1),
    ];
    let is_set = |bits: u32, yes: u8, no: u8| jump(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no);
    let allow = || give(libc::SECCOMP_RET_ALLOW);
    let mut list = Vec::new();
    for (call, mode, refused) in calls {
        let check = [load(argument(*mode)), is_set(*refused, 0, 1), refuse(libc::EPERM), allow()];
        list.push(only_if(number(*call), 4));
        list.extend(check);
    }
    // Without those flags, the mode register holds garbage.
    for (call, flags) in opens {
        list.extend([
            only_if(number(*call), 6),
            load(argument(*flags)),
            is_set(CREATES, 0, 3),
            load(argument(*flags + 1)),
            is_set(EITHER, 0, 1),
            refuse(libc::EPERM),
            allow(),
        ]);
    }
    // The mode of `openat2` is in memory, which a filter cannot read. Callers fall back to `openat`, as on older
    // kernels.
    list.extend([only_if(number(libc::SYS_openat2), 1), refuse(libc::ENOSYS)]);
    list
}

/// Allows socket families.
fn families(sockets: Sockets) -> Vec<sock_filter> {
    let internet: &[i32] = if sockets.internet { &[libc::AF_INET, libc::AF_INET6] } else { &[] };
    let unix: &[i32] = if sockets.unix { &[libc::AF_UNIX] } else { &[] };
    let mut body = vec![load(argument(0))];
    for family in internet.iter().chain(unix) {
        body.extend([only_if(family.cast_unsigned(), 1), give(libc::SECCOMP_RET_ALLOW)]);
    }
    // Of netlink, allow only NETLINK_ROUTE: name resolution needs it to list addresses.
    body.extend([
        only_if(libc::AF_NETLINK.cast_unsigned(), 3),
        load(argument(2)),
        only_if(libc::NETLINK_ROUTE.cast_unsigned(), 1),
        give(libc::SECCOMP_RET_ALLOW),
        refuse(libc::EAFNOSUPPORT),
    ]);
    let skip = u8::try_from(body.len()).unwrap_or(u8::MAX);
    body.insert(0, only_if(number(libc::SYS_socket), skip));
    // `socketpair` works for some families without real pairs, with the memory use and the bugs of that family.
    body.extend([
        only_if(number(libc::SYS_socketpair), 4),
        load(argument(0)),
        only_if(libc::AF_UNIX.cast_unsigned(), 1),
        give(libc::SECCOMP_RET_ALLOW),
        refuse(libc::EAFNOSUPPORT),
    ]);
    body
}
