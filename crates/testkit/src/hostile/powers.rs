//! Gains privileges: other users, capabilities, privileged programs, calls that a filter may not know, the user's
//! terminal.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::{Command, Stdio};

use super::files::here;
use super::sys::{Arg, call, text};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("personality", "asks for a memory layout that is easy to attack", personality),
    ("i386-calls", "makes calls as a 32-bit program, which a filter may not know", i386),
    ("x32-calls", "makes calls with the numbers of x32", x32),
    ("setuid-programs", "starts programs that gain powers", setuid_programs),
    ("setuid-plant", "makes a program of its own that gains powers", setuid_plant),
    ("setuid-bits", "makes programs that lend their owner's rights, in every way", setuid_bits),
    ("setuid-call", "becomes other users", setuid_call),
    ("capabilities", "uses, raises and keeps capabilities", capabilities),
    ("terminal-input", "types into the user's terminal", terminal),
];

fn personality(_: &World, tried: &mut Tried) {
    const NO_RANDOM: i64 = 0x004_0000;
    const READ_IMPLIES_EXEC: i64 = 0x040_0000;
    tried.way("fixed addresses", call(libc::SYS_personality, &mut [Arg::N(NO_RANDOM)]));
    tried.way("everything executable", call(libc::SYS_personality, &mut [Arg::N(READ_IMPLIES_EXEC)]));
}

#[cfg(target_arch = "x86_64")]
fn i386(world: &World, tried: &mut Tried) {
    use super::sys::int80;
    let result = |got: i64| {
        // A 32-bit program sees the lower half.
        let [a, b, c, d, ..] = got.to_le_bytes();
        let got = i64::from(i32::from_le_bytes([a, b, c, d]));
        if got < 0 {
            Err(io::Error::from_raw_os_error(i32::try_from(-got).unwrap_or(libc::EIO)))
        } else {
            Ok(got)
        }
    };
    // unshare of a user namespace, socket by its own number (packets), ptrace of the first process, a signal to the
    // victim.
    tried.way("getpid", result(int80(20, 0, 0, 0)));
    tried.way("unshare", result(int80(310, 0x1000_0000, 0, 0)));
    tried.way("socket", result(int80(359, libc::AF_ALG, libc::SOCK_SEQPACKET, 0)));
    tried.way("kill", result(int80(37, world.pid("victim").max(2), 0, 0)));
}

#[cfg(not(target_arch = "x86_64"))]
fn i386(_: &World, tried: &mut Tried) {
    tried.absent("32-bit calls");
}

#[cfg(target_arch = "x86_64")]
fn x32(_: &World, tried: &mut Tried) {
    const BIT: i64 = 0x4000_0000;
    tried.way("getpid", call(BIT | libc::SYS_getpid, &mut []));
    tried.way("unshare", call(BIT | libc::SYS_unshare, &mut [Arg::N(0x1000_0000)]));
    tried.way("ptrace", call(BIT | 0x209, &mut [Arg::N(0x4206), Arg::N(1), Arg::N(0), Arg::N(0)]));
}

#[cfg(not(target_arch = "x86_64"))]
fn x32(_: &World, tried: &mut Tried) {
    tried.absent("x32 calls");
}

fn setuid_programs(world: &World, tried: &mut Tried) {
    let kept = call(
        libc::SYS_prctl,
        &mut [Arg::N(libc::PR_GET_NO_NEW_PRIVS.into()), Arg::N(0), Arg::N(0), Arg::N(0), Arg::N(0)],
    );
    let bound = kept.and_then(|set| {
        if set == 1 { Err(io::Error::from_raw_os_error(libc::EPERM)) } else { Ok("programs may gain powers") }
    });
    tried.way("no_new_privs", bound);
    let _ = fs::create_dir("m");
    for (program, args) in [
        ("sudo", &["-n", "true"][..]),
        ("pkexec", &["true"]),
        ("newuidmap", &["1", "0", "0", "1"]),
        ("mount", &["-t", "tmpfs", "none", "m"]),
    ] {
        if program == "mount" && !world.shut_in() {
            continue;
        }
        let ran = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match ran {
            Ok(status) if status.success() => _ = tried.way(program, Ok("it worked")),
            Ok(_) => _ = tried.way(program, Err::<&str, _>(io::Error::from_raw_os_error(libc::EPERM))),
            Err(_) => tried.absent(program),
        }
    }
    let at = text("m");
    let _ = call(libc::SYS_umount2, &mut [Arg::S(&at), Arg::N(2)]);
    let _ = fs::remove_dir("m");
}

fn setuid_plant(_: &World, tried: &mut Tried) {
    let program = here("planted");
    let _ = fs::write(&program, "#!/bin/sh\n");
    // Without a foreign owner the mode alone means nothing; with one it is a way in.
    let planted = std::os::unix::fs::chown(&program, Some(65534), None)
        .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)));
    tried.way("of another user", planted.map(|()| "made"));
    let (at, key) = (text(&program), text("security.capability"));
    let mut value = [0_u8; 20];
    value[3] = 2;
    value[5] = 0x20;
    let args = &mut [Arg::S(&at), Arg::S(&key), Arg::B(&mut value), Arg::N(20), Arg::N(0)];
    tried.way("with capabilities", call(libc::SYS_setxattr, args));
    let _ = fs::remove_file(program);
}

/// Sets the set-uid and set-gid bits. Anyone outside who executes such a file gets the privileges of the user that
/// runs acquit.
fn setuid_bits(_: &World, tried: &mut Tried) {
    const FCHMODAT2: i64 = 452;
    let program = here("lending");
    let at = text(&program);
    for bits in [0o4755, 0o4600, 0o6711] {
        let _ = fs::write(&program, "x");
        let file = fs::File::open(&program);
        let raw = file.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd);
        let here = i64::from(libc::AT_FDCWD);
        tried.way("fchmod", call(libc::SYS_fchmod, &mut [Arg::N(raw.into()), Arg::N(bits)]));
        tried.way("fchmodat", call(libc::SYS_fchmodat, &mut [Arg::N(here), Arg::S(&at), Arg::N(bits)]));
        tried.way("fchmodat2", call(FCHMODAT2, &mut [Arg::N(here), Arg::S(&at), Arg::N(bits), Arg::N(0)]));
        let _ = fs::remove_file(&program);
        let flags = i64::from(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY);
        tried.way(
            "openat",
            call(libc::SYS_openat, &mut [Arg::N(here), Arg::S(&at), Arg::N(flags), Arg::N(bits)]),
        );
        let _ = fs::remove_file(&program);
        let mut how = [0_u8; 24];
        how[..8].copy_from_slice(&flags.to_ne_bytes());
        how[8..16].copy_from_slice(&bits.to_ne_bytes());
        tried.way(
            "openat2",
            call(libc::SYS_openat2, &mut [Arg::N(here), Arg::S(&at), Arg::B(&mut how), Arg::N(24)]),
        );
        let _ = fs::remove_file(&program);
        let node = i64::from(libc::S_IFREG) | bits;
        tried.way(
            "mknodat",
            call(libc::SYS_mknodat, &mut [Arg::N(here), Arg::S(&at), Arg::N(node), Arg::N(0)]),
        );
        let _ = fs::remove_file(&program);
        #[cfg(target_arch = "x86_64")]
        {
            tried.way("creat", call(libc::SYS_creat, &mut [Arg::S(&at), Arg::N(bits)]));
            tried.way("chmod", call(libc::SYS_chmod, &mut [Arg::S(&at), Arg::N(bits)]));
            let _ = fs::remove_file(&program);
            tried.way("mknod", call(libc::SYS_mknod, &mut [Arg::S(&at), Arg::N(node), Arg::N(0)]));
            let _ = fs::remove_file(&program);
        }
    }
    // Files must get neither bit; folders may get the set-gid bit, as `git init --shared` sets it.
    for bits in [0o2755, 0o2600] {
        let flags = i64::from(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY);
        let here = i64::from(libc::AT_FDCWD);
        let made = call(libc::SYS_openat, &mut [Arg::N(here), Arg::S(&at), Arg::N(flags), Arg::N(bits)]);
        tried.way("set-gid", made);
        let _ = fs::remove_file(&program);
    }
    let usual = fs::create_dir(&program)
        .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o2775)));
    if usual.is_err() {
        tried.way("a shared folder is refused", Ok("broken"));
    }
    let _ = fs::remove_dir(&program);
}

fn setuid_call(_: &World, tried: &mut Tried) {
    let nobody = 65534;
    tried.way("groups", call(libc::SYS_setgroups, &mut [Arg::N(0), Arg::N(0)]));
    tried.way("group", call(libc::SYS_setresgid, &mut [Arg::N(nobody), Arg::N(nobody), Arg::N(nobody)]));
    tried.way("user", call(libc::SYS_setresuid, &mut [Arg::N(nobody), Arg::N(nobody), Arg::N(nobody)]));
}

fn capabilities(_: &World, tried: &mut Tried) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
        let value = status.lines().find_map(|line| line.strip_prefix(set)).unwrap_or_default().trim();
        let none = value.bytes().all(|digit| digit == b'0');
        tried.way(set, if none { Err(io::Error::from_raw_os_error(libc::EPERM)) } else { Ok(value) });
    }
    let mut header = [0_u8; 8];
    header[..4].copy_from_slice(&0x2008_0522_u32.to_ne_bytes());
    let mut all = [0xff_u8; 24];
    tried.way("capset", call(libc::SYS_capset, &mut [Arg::B(&mut header), Arg::B(&mut all)]));
    let args = &mut [Arg::N(47), Arg::N(2), Arg::N(21), Arg::N(0), Arg::N(0)];
    tried.way("ambient", call(libc::SYS_prctl, args));
}

fn terminal(world: &World, tried: &mut Tried) {
    const TIOCSTI: i64 = 0x5412;
    for number in 0..3 {
        let mut letter = *b"x";
        let typed = call(libc::SYS_ioctl, &mut [Arg::N(number), Arg::N(TIOCSTI), Arg::B(&mut letter)]);
        tried.way(&format!("descriptor {number}"), typed);
    }
    for path in ["/dev/tty", "/dev/console", world.text("terminal")] {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
            .open(path);
        let typed = opened.and_then(|open| {
            let mut letter = *b"x";
            let raw = std::os::fd::AsRawFd::as_raw_fd(&open);
            if path == world.text("terminal") {
                io::Write::write_all(&mut &open, b"hostile words\r")?;
            }
            let typed =
                call(libc::SYS_ioctl, &mut [Arg::N(raw.into()), Arg::N(TIOCSTI), Arg::B(&mut letter)]);
            Ok(if typed.is_ok() { "typed" } else { "open" })
        });
        tried.way(path, typed);
    }
}
