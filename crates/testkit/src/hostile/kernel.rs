//! Attacks the kernel: settings, devices, administrative calls, unusual system calls, and capabilities.
//!
//! Calls have arguments that are wrong in the last place, so that nothing happens if they are allowed.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::files::{could_create, could_write, here};
use super::sys::{Arg, call, open_by, text};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("core-pattern", "sets the program that the kernel runs on a crash (to what it is)", core_pattern),
    ("sysrq", "opens the switch that restarts the machine", sysrq),
    ("sysctl", "opens settings of the kernel for writing", sysctl),
    ("sys-write", "opens settings of devices and of the kernel's modules for writing", sys_write),
    ("kernel-memory", "reads the kernel's memory, symbols and messages", kernel_memory),
    ("devices", "opens disks, memory and other devices", devices),
    ("mknod-disk", "makes a device of its own and opens it", mknod),
    ("cgroup", "moves itself out of its group, and makes groups", cgroup),
    ("cgroup-release", "plants a program that the kernel runs for an empty group", release_agent),
    ("keyring", "reads, adds and asks for keys of the user", keyring),
    ("bpf", "loads a program into the kernel", bpf),
    ("perf-event", "measures other processes and the kernel", perf),
    ("userfaultfd", "holds the kernel in the middle of a copy", userfaultfd),
    ("io-uring", "makes calls that a filter does not see", io_uring),
    ("huge-pages", "takes memory that no limit counts", huge_pages),
    ("kexec", "loads another kernel", kexec),
    ("modules", "loads and removes modules", modules),
    ("io-ports", "talks to hardware", io_ports),
    ("reboot", "restarts the machine (with a wrong word)", reboot),
    ("swap", "adds and removes swap", swap),
    ("hostname", "renames the machine (to what it is called)", hostname),
    ("clock", "sets the clock (to nothing)", clock),
    ("accounting", "writes down what everybody runs", accounting),
    ("syslog", "reads and silences the kernel's log", syslog),
];

fn core_pattern(_: &World, tried: &mut Tried) {
    for name in ["core_pattern", "modprobe", "hotplug", "core_pipe_limit"] {
        let path = format!("/proc/sys/kernel/{name}");
        if Path::new(&path).exists() {
            tried.way(name, fs::read(&path).and_then(|now| fs::write(&path, now)).map(|()| "written"));
        }
    }
}

fn sysrq(_: &World, tried: &mut Tried) {
    tried.way("trigger", could_write("/proc/sysrq-trigger"));
    tried.way("setting", could_write("/proc/sys/kernel/sysrq"));
}

fn sysctl(_: &World, tried: &mut Tried) {
    for name in [
        "kernel/randomize_va_space",
        "kernel/yama/ptrace_scope",
        "kernel/pid_max",
        "vm/drop_caches",
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "fs/protected_symlinks",
        "fs/file-max",
        "user/max_user_namespaces",
        "net/ipv4/ip_forward",
    ] {
        let path = Path::new("/proc/sys").join(name);
        if path.exists() {
            tried.way(name, could_write(path));
        }
    }
}

fn sys_write(_: &World, tried: &mut Tried) {
    for name in [
        "kernel/uevent_helper",
        "kernel/profiling",
        "power/state",
        "kernel/mm/transparent_hugepage/enabled",
        "module/printk/parameters/time",
        "firmware/efi/efivars",
        "kernel/debug",
        "kernel/tracing/tracing_on",
        "class/net/lo/mtu",
        "bus/pci/rescan",
    ] {
        let path = Path::new("/sys").join(name);
        if path.exists() {
            tried.way(name, if path.is_dir() { could_create(&path) } else { could_write(&path) });
        }
    }
    tried.way("the folder", could_create("/sys/kernel"));
}

fn kernel_memory(_: &World, tried: &mut Tried) {
    for file in ["/proc/kcore", "/proc/kmsg", "/proc/keys"] {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file);
        // The list of keys is readable by everyone, and empty without keys.
        let told = opened.and_then(|_| match file {
            "/proc/keys" if fs::read(file)?.is_empty() => Err(io::Error::from_raw_os_error(libc::ENOKEY)),
            _ => Ok("open"),
        });
        tried.way(file, told);
    }
    let symbols = fs::read_to_string("/proc/kallsyms").and_then(|text| {
        let first = text.lines().find(|line| !line.starts_with("0000000000000000"));
        first.map(|_| "addresses").ok_or_else(|| io::Error::from_raw_os_error(libc::EPERM))
    });
    tried.way("symbols", symbols);
}

fn devices(_: &World, tried: &mut Tried) {
    for name in [
        "mem",
        "kmem",
        "port",
        "kmsg",
        "vda",
        "vda1",
        "sda",
        "sda1",
        "nvme0n1",
        "dm-0",
        "loop0",
        "loop-control",
        "kvm",
        "fuse",
        "net/tun",
        "vhost-net",
        "vhost-vsock",
        "uinput",
        "input/event0",
        "fb0",
        "dri/card0",
        "snd/timer",
        "video0",
        "tty0",
        "tty1",
        "rtc0",
        "hpet",
        "nvram",
        "userfaultfd",
        "mapper/control",
        "btrfs-control",
        "autofs",
        "cuse",
        "rfkill",
        "sg0",
    ] {
        let path = Path::new("/dev").join(name);
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
        tried.way(name, opened.map(|_| "open"));
    }
}

fn mknod(_: &World, tried: &mut Tried) {
    // Memory, a virtual disk, a loop device, and a null device, which must not be created either.
    for (name, kind, major, minor) in [
        ("memory", libc::S_IFCHR, 1, 1),
        ("disk", libc::S_IFBLK, 254, 0),
        ("another disk", libc::S_IFBLK, 8, 0),
        ("loop", libc::S_IFBLK, 7, 0),
        ("null", libc::S_IFCHR, 1, 3),
    ] {
        let path = here("device");
        let at = text(&path);
        let number = i64::from((major << 8) | minor);
        let made = call(
            libc::SYS_mknodat,
            &mut [Arg::N(-100), Arg::S(&at), Arg::N(i64::from(kind | 0o600)), Arg::N(number)],
        );
        let opened = made.and_then(|_| fs::File::open(&path));
        tried.way(name, opened.map(|_| "made and opened"));
        let _ = fs::remove_file(&path);
    }
}

fn cgroup(_: &World, tried: &mut Tried) {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap_or("/")
        .trim_start_matches('/')
        .to_owned();
    let folder = Path::new("/sys/fs/cgroup").join(own);
    tried.way("its own group", fs::write(folder.join("cgroup.procs"), "0").map(|()| "joined"));
    tried.way("the top group", could_write("/sys/fs/cgroup/cgroup.procs"));
    tried.way("kill", could_write(folder.join("cgroup.kill")));
    tried.way("limits", could_write(folder.join("memory.max")));
    tried.way("controllers", could_write(folder.join("cgroup.subtree_control")));
    let made = folder.join("hostile");
    tried.way("a new group", fs::create_dir(&made).map(|()| "made"));
    let _ = fs::remove_dir(made);
}

fn release_agent(_: &World, tried: &mut Tried) {
    for name in ["memory", "pids", "cpu", "systemd", "rdma", "unified"] {
        tried.way(name, could_write(format!("/sys/fs/cgroup/{name}/release_agent")));
    }
}

fn keyring(_: &World, tried: &mut Tried) {
    const SESSION: i64 = -3;
    const USER: i64 = -4;
    let (kind, name) = (text("user"), text("hostile"));
    let mut value = *b"x";
    let args = &mut [Arg::S(&kind), Arg::S(&name), Arg::B(&mut value), Arg::N(1), Arg::N(SESSION)];
    tried.way("add to the session", call(libc::SYS_add_key, args));
    let args = &mut [Arg::S(&kind), Arg::S(&name), Arg::N(0), Arg::N(0)];
    tried.reaches("ask", call(libc::SYS_request_key, args), &[libc::ENOKEY]);
    let mut buffer = [0_u8; 512];
    for ring in [SESSION, USER] {
        let args = &mut [Arg::N(11), Arg::N(ring), Arg::B(&mut buffer), Arg::N(512)];
        tried.reaches("read", call(libc::SYS_keyctl, args), &[libc::ENOKEY]);
    }
    let args = &mut [Arg::N(0), Arg::N(USER), Arg::N(0)];
    tried.reaches("find", call(libc::SYS_keyctl, args), &[libc::ENOKEY]);
}

fn bpf(_: &World, tried: &mut Tried) {
    // An array of one entry; a socket filter that does nothing; the id of the next program.
    for (name, command) in [("a map", 0), ("a program", 5), ("programs of others", 11)] {
        let mut attributes = [0_u8; 128];
        if command == 0 {
            for (at, value) in [(0, 2_u32), (4, 4), (8, 4), (12, 1)] {
                attributes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
        }
        let args = &mut [Arg::N(command), Arg::B(&mut attributes), Arg::N(128)];
        tried.reaches(
            name,
            call(libc::SYS_bpf, args),
            &[libc::EINVAL, libc::ENOENT, libc::EFAULT, libc::E2BIG],
        );
    }
}

fn perf(world: &World, tried: &mut Tried) {
    for (name, pid) in [("itself", 0), ("everybody", -1), ("the victim", world.pid("victim"))] {
        let mut attributes = [0_u8; 112];
        // A software counter: the CPU clock.
        attributes[0] = 1;
        attributes[4] = 112;
        let processor = if pid == -1 { 0 } else { -1 };
        let args =
            &mut [Arg::B(&mut attributes), Arg::N(pid.into()), Arg::N(processor), Arg::N(-1), Arg::N(0)];
        tried.way(name, call(libc::SYS_perf_event_open, args));
    }
}

fn userfaultfd(_: &World, tried: &mut Tried) {
    tried.way("for the kernel", call(libc::SYS_userfaultfd, &mut [Arg::N(0)]));
    tried.way("for itself", call(libc::SYS_userfaultfd, &mut [Arg::N(1)]));
    tried.way("by device", fs::File::open("/dev/userfaultfd").map(|_| "open"));
}

fn io_uring(_: &World, tried: &mut Tried) {
    let mut parameters = [0_u8; 120];
    tried.way("setup", call(libc::SYS_io_uring_setup, &mut [Arg::N(2), Arg::B(&mut parameters)]));
    let args = &mut [Arg::N(-1), Arg::N(0), Arg::N(0), Arg::N(0), Arg::N(0), Arg::N(0)];
    tried.reaches("enter", call(libc::SYS_io_uring_enter, args), &[libc::EBADF]);
    let args = &mut [Arg::N(-1), Arg::N(0), Arg::N(0), Arg::N(0)];
    tried.reaches("register", call(libc::SYS_io_uring_register, args), &[libc::EBADF, libc::EINVAL]);
}

/// The kernel sets huge pages aside for whoever asks first, and counts them as nobody's memory.
fn huge_pages(_: &World, tried: &mut Tried) {
    let name = c"huge";
    tried.way(
        "file",
        open_by(libc::SYS_memfd_create, &mut [Arg::S(name), Arg::N(libc::MFD_HUGETLB.into())])
            .map(|_| "open"),
    );
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    let args = &mut [Arg::N(0), Arg::N(2 << 20), Arg::N(3), Arg::N(flags.into()), Arg::N(-1), Arg::N(0)];
    tried.way("mapping", call(libc::SYS_mmap, args));
    let flags = libc::IPC_CREAT | libc::SHM_HUGETLB | 0o600;
    tried.way("segment", call(libc::SYS_shmget, &mut [Arg::N(0), Arg::N(2 << 20), Arg::N(flags.into())]));
}

fn kexec(_: &World, tried: &mut Tried) {
    let args = &mut [Arg::N(0), Arg::N(1000), Arg::N(0), Arg::N(0xffff)];
    tried.reaches("load", call(libc::SYS_kexec_load, args), &[libc::EINVAL]);
    let args = &mut [Arg::N(-1), Arg::N(-1), Arg::N(0), Arg::N(0), Arg::N(0xffff)];
    tried.reaches("load a file", call(libc::SYS_kexec_file_load, args), &[libc::EINVAL, libc::EBADF]);
}

fn modules(_: &World, tried: &mut Tried) {
    let none = text("");
    tried.reaches(
        "init",
        call(libc::SYS_init_module, &mut [Arg::N(0), Arg::N(0), Arg::S(&none)]),
        &[libc::EFAULT, libc::ENOEXEC],
    );
    tried.reaches(
        "by file",
        call(libc::SYS_finit_module, &mut [Arg::N(-1), Arg::S(&none), Arg::N(0)]),
        &[libc::EBADF],
    );
    let name = text("no_such_module_hostile");
    tried.reaches("remove", call(libc::SYS_delete_module, &mut [Arg::S(&name), Arg::N(0)]), &[libc::ENOENT]);
}

#[cfg(target_arch = "x86_64")]
fn io_ports(_: &World, tried: &mut Tried) {
    tried.way("iopl", call(libc::SYS_iopl, &mut [Arg::N(3)]));
    tried.way("ioperm", call(libc::SYS_ioperm, &mut [Arg::N(0x80), Arg::N(1), Arg::N(1)]));
}

#[cfg(not(target_arch = "x86_64"))]
fn io_ports(_: &World, tried: &mut Tried) {
    tried.absent("ports");
}

fn reboot(_: &World, tried: &mut Tried) {
    // The first magic number is wrong: with permission, the kernel returns EINVAL.
    let args = &mut [Arg::N(1), Arg::N(2), Arg::N(0), Arg::N(0)];
    tried.reaches("reboot", call(libc::SYS_reboot, args), &[libc::EINVAL]);
}

fn swap(_: &World, tried: &mut Tried) {
    let nothing = text("no-such-file-for-swap");
    tried.reaches(
        "on",
        call(libc::SYS_swapon, &mut [Arg::S(&nothing), Arg::N(0)]),
        &[libc::ENOENT, libc::EINVAL],
    );
    tried.reaches("off", call(libc::SYS_swapoff, &mut [Arg::S(&nothing)]), &[libc::ENOENT, libc::EINVAL]);
}

fn hostname(_: &World, tried: &mut Tried) {
    let mut name = fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    name.pop_if(|byte| *byte == b'\n');
    let length = i64::try_from(name.len()).unwrap_or(0);
    if length == 0 {
        return tried.absent("a name");
    }
    tried.way("name", call(libc::SYS_sethostname, &mut [Arg::B(&mut name), Arg::N(length)]));
    // Longer than any name: with permission, the kernel returns EINVAL.
    let args = &mut [Arg::B(&mut name), Arg::N(100_000)];
    tried.reaches("domain", call(libc::SYS_setdomainname, args), &[libc::EINVAL]);
}

fn clock(_: &World, tried: &mut Tried) {
    tried.way("settimeofday", call(libc::SYS_settimeofday, &mut [Arg::N(0), Arg::N(0)]));
    // An empty adjustment, in the mode that needs permission to set.
    let mut timex = [0_u8; 208];
    timex[0] = 1;
    timex[1] = 0x80;
    tried.way("adjtimex", call(libc::SYS_adjtimex, &mut [Arg::B(&mut timex)]));
}

fn accounting(_: &World, tried: &mut Tried) {
    let nothing = text("no-such-file-for-accounting");
    tried.reaches("acct", call(libc::SYS_acct, &mut [Arg::S(&nothing)]), &[libc::ENOENT]);
}

fn syslog(_: &World, tried: &mut Tried) {
    let mut buffer = [0_u8; 4096];
    tried.way("read all", call(libc::SYS_syslog, &mut [Arg::N(3), Arg::B(&mut buffer), Arg::N(4096)]));
    // A level that does not exist.
    tried.reaches(
        "silence",
        call(libc::SYS_syslog, &mut [Arg::N(8), Arg::N(0), Arg::N(100)]),
        &[libc::EINVAL],
    );
}
