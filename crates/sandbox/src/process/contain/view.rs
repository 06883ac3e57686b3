//! The program's file system (the view): a new root with only what the policy shows.
//!
//! First opens everything to show as detached mounts, while the machine's file system is still the root. Then creates
//! an empty root and attaches them to it one by one. Some of these directories were writable for an agent, so no step
//! follows a symlink: a planted one would lead out of the new root.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode as FileMode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
    move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use super::super::walls::{Missing, Wall};
use super::kernel::{self, Depth, restrict_mount};
use super::landlock;
use super::layer::{self, Layers};
use crate::sandbox::{Entry, Policy, What};

/// Devices that every program may expect.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Parts of /proc through which a root program could change the machine despite its namespaces. Mounted read-only.
const PROC_READ_ONLY: [&str; 4] = ["sys", "irq", "bus", "fs"];
/// Parts of /proc that leak information about the machine or act on it.
const PROC_HIDDEN: [&str; 8] =
    ["kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "sched_debug", "latency_stats", "scsi"];

/// Virtual file systems of the kernel: they cannot be overlaid, and cannot contain sockets.
const KERNEL_FOLDERS: [&str; 2] = ["/sys", "/proc"];

/// Path at which the new root is mounted before it becomes the root. Every machine has this directory, and it is
/// unused by then.
pub(super) const PLACE: &str = "/proc";

/// An empty file in the new root during setup; copies of it cover hidden files.
const EMPTY: &str = ".empty";

/// Size limit of the new root itself: it has only names.
const ROOT_SIZE: &str = "4m";
/// Size limit of a scratch directory, as a share of memory; the kernel's default for /dev/shm.
const SCRATCH_SIZE: &str = "50%";

/// The fraction of a user's inotify instances and watches that one sandbox gets, and the minimum.
const INOTIFY_SHARE: u64 = 4;
const LEAST_INOTIFY: u64 = 16;

const NO_DEVICES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(super) const NO_PRIVILEGES: u64 = libc::MOUNT_ATTR_NOSUID;
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

/// A failed operation and its path.
pub(super) struct Trouble {
    pub(super) errno: Errno,
    pub(super) place: String,
}

type Result<T> = std::result::Result<T, Trouble>;

fn at(place: impl AsRef<Path>) -> impl FnOnce(Errno) -> Trouble {
    let place = place.as_ref().to_string_lossy().into_owned();
    move |errno| Trouble { errno, place }
}

/// Something to place in the new root.
enum Piece {
    Mount(PathBuf, OwnedFd),
    Link(PathBuf, PathBuf),
    Hidden(PathBuf),
}

/// Makes the policy's file system the root of this process, and returns the walls that the machine cannot build. Must
/// run in separate mount and pid namespaces. `limit` is the maximum number of processes.
pub(super) fn enter(policy: &Policy, limit: u32) -> Result<Missing> {
    let mut missing = Missing::default();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(at("/"))?;
    let mut layers = Layers::new(&policy.view);
    let mut pieces = Vec::new();
    for entry in &policy.view {
        take(entry, &mut layers, &mut missing, &mut pieces)?;
    }
    let devices = take_devices()?;
    let proc = new_file_system("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC);

    let root = Root { root: empty_folder().map_err(at("/"))?, last: RefCell::default() };
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&root, "", CWD, PLACE, onto).map_err(at(PLACE))?;
    file(&root, Path::new(EMPTY))?;

    for (name, device) in devices {
        hang(&root, &Path::new("/dev").join(name), &device)?;
    }
    for (name, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        link(&root, &Path::new("/dev").join(name), Path::new(to))?;
    }
    hang(&root, Path::new("/dev/shm"), &scratch().map_err(at("/dev/shm"))?)?;
    // Separate terminals. Some containers refuse them, and few programs need one.
    let terminals = [("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")];
    if let Ok(terminals) = new_file_system("devpts", &terminals, MountAttrFlags::MOUNT_ATTR_NOEXEC) {
        hang(&root, Path::new("/dev/pts"), &terminals)?;
    }
    if let Ok(proc) = proc {
        hang(&root, Path::new("/proc"), &proc)?;
        limit_namespace(&root);
        if limit_processes(&root, limit).is_err() {
            missing.add(Wall::Processes);
        }
        close_proc(&root)?;
    } else {
        // The machine's /proc would show all its processes, so mount none.
        folder(&root, Path::new("/proc"))?;
        missing.add(Wall::Proc);
        missing.add(Wall::Processes);
    }
    let mut hidden = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Mount(place, mount) => hang(&root, &place, &mount)?,
            Piece::Link(place, to) => link(&root, &place, &to)?,
            Piece::Hidden(place) => hidden.extend(hide(&root, &place)?),
        }
    }
    // Do this last: entries inside a hidden directory had to be attached first.
    for mount in hidden {
        restrict_mount(&mount, READ_ONLY, Depth::This).map_err(at("/"))?;
    }
    unlinkat(&root, EMPTY, AtFlags::empty()).map_err(at("/"))?;
    restrict_mount(&root.root, READ_ONLY, Depth::This).map_err(at("/"))?;
    fchdir(&root).map_err(at("/"))?;
    pivot_root(".", ".").map_err(at("/"))?;
    unmount(".", UnmountFlags::DETACH).map_err(at("/"))?;
    chdir("/").map_err(at("/"))?;
    Ok(missing)
}

/// Opens what an entry shows. Skips optional entries that do not exist.
fn take<'a>(
    entry: &'a Entry,
    layers: &mut Layers<'a>,
    missing: &mut Missing,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    let place = entry.at.as_path();
    let mount = match &entry.what {
        What::Link { to } => {
            pieces.push(Piece::Link(place.to_owned(), to.clone()));
            return Ok(());
        }
        What::Hidden => {
            pieces.push(Piece::Hidden(place.to_owned()));
            return Ok(());
        }
        What::Read => return take_to_read(place, layers, missing, pieces),
        What::Write => real(place).and_then(|found| copy(found, Path::new(""), NO_DEVICES)),
        What::Bound { source } => copy(CWD, source, NO_DEVICES),
        What::Scratch => scratch(),
        // There is no fallback: without its lower directories this would be a different directory.
        What::Layered { lower, inside, upper } => layers.layered(inside, lower, upper),
        What::Overlaid { whole, upper } => match layers.written(place, whole, upper) {
            Ok(mount) => Ok(mount),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            // Read-only is better than missing.
            Err(_) => {
                missing.add(Wall::Overlay);
                return take_to_read(place, layers, missing, pieces);
            }
        },
    };
    pieces.push(Piece::Mount(place.to_owned(), mount.map_err(at(place))?));
    Ok(())
}

/// Opens a path for reading: a file as it is, a directory through a layer, which disconnects sockets of the machine.
///
/// A directory with mounts below it is shown entry by entry, because the kernel does not overlay it.
fn take_to_read(
    place: &Path,
    layers: &mut Layers<'_>,
    missing: &mut Missing,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    let above = match layers.above(place) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => return Ok(()),
        other => other.map_err(at(place))?,
    };
    let name = Path::new(place.file_name().unwrap_or_default());
    let kind = match statat(&*above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(()),
        other => FileType::from_raw_mode(other.map_err(at(place))?.st_mode),
    };
    // A symlink stays one: nothing follows it.
    let as_it_is = || copy(&*above, name, READ_ONLY | NO_DEVICES);
    let is_kernel = || KERNEL_FOLDERS.iter().any(|folder| place.starts_with(folder));
    let mount = if kind != FileType::Directory || is_kernel() {
        as_it_is()
    } else if layers.has_mounts_below(place) {
        for (child, link) in layer::children(place) {
            match link {
                _ if layers.hides(&child) => {}
                Some(to) => pieces.push(Piece::Link(child, to)),
                None => take_to_read(&child, layers, missing, pieces)?,
            }
        }
        return Ok(());
    } else {
        layers.read(place).or_else(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::ACCESS => Err(errno),
            _ => {
                if kernel::landlock_version() < Some(landlock::WITH_SOCKETS) {
                    missing.add(Wall::Sockets);
                }
                as_it_is()
            }
        })
    };
    match mount {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
        other => {
            pieces.push(Piece::Mount(place.to_owned(), other.map_err(at(place))?));
            Ok(())
        }
    }
}

/// Opens a path of the machine. Policies have real paths, so a symlink in one was placed later, perhaps by an agent.
fn real(place: &Path) -> std::result::Result<OwnedFd, Errno> {
    openat2(CWD, place, ANYTHING, FileMode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn take_devices() -> Result<Vec<(&'static str, OwnedFd)>> {
    let mut devices = Vec::new();
    for name in DEVICES {
        let place = Path::new("/dev").join(name);
        match copy(CWD, &place, NO_PRIVILEGES) {
            Ok(device) => devices.push((name, device)),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(at(place)(errno)),
        }
    }
    Ok(devices)
}

/// Returns a detached, recursive copy of the mount at a path.
pub(super) fn copy(root: impl AsFd, place: &Path, attributes: u64) -> std::result::Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
        | OpenTreeFlags::AT_EMPTY_PATH;
    let mount = open_tree(root, place, flags)?;
    restrict_mount(&mount, attributes, Depth::AndBelow)?;
    Ok(mount)
}

fn scratch() -> std::result::Result<OwnedFd, Errno> {
    new_file_system("tmpfs", &[("mode", "1777"), ("size", SCRATCH_SIZE)], MountAttrFlags::empty())
}

fn new_file_system(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> std::result::Result<OwnedFd, Errno> {
    let system = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(&system, *key)?;
        } else {
            fsconfig_set_string(&system, *key, *value)?;
        }
    }
    fsconfig_create(&system)?;
    let usual = if kind == "devpts" {
        MountAttrFlags::MOUNT_ATTR_NOSUID
    } else {
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
    };
    fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, usual | attributes)
}

/// Attaches a mount at a path of the new root.
fn hang(root: &Root, place: &Path, mount: &OwnedFd) -> Result<()> {
    let is_folder = FileType::from_raw_mode(fstat(mount).map_err(at(place))?.st_mode) == FileType::Directory;
    let target = if is_folder { folder(root, place)? } else { file(root, place)? };
    attach(root, place, mount, &target)
}

/// Attaches a mount to a path that was opened before.
fn attach(root: &Root, place: &Path, mount: &OwnedFd, target: &OwnedFd) -> Result<()> {
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", onto).map_err(at(place))?;
    // From now on, this path refers to another directory.
    if root.last.borrow().as_ref().is_some_and(|(last, _)| last.starts_with(place)) {
        root.last.take();
    }
    Ok(())
}

fn link(root: &Root, place: &Path, to: &Path) -> Result<()> {
    let (parent, name) = parent(root, place)?;
    match symlinkat(to, &*parent, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(at(place)(errno)),
    }
}

/// Covers the file or directory at a path, if there is one. Returns the mount of a directory, to make it read-only at
/// the end.
fn hide(root: &Root, place: &Path) -> Result<Option<OwnedFd>> {
    let Some(target) = find(root, place).map_err(at(place))? else { return Ok(None) };
    let kind = FileType::from_raw_mode(fstat(&target).map_err(at(place))?.st_mode);
    let nothing = match kind {
        FileType::Directory => empty_folder(),
        FileType::Symlink => return Ok(None),
        _ => copy(root, Path::new(EMPTY), READ_ONLY | NO_DEVICES),
    };
    let nothing = nothing.map_err(at(place))?;
    attach(root, place, &nothing, &target)?;
    Ok((kind == FileType::Directory).then_some(nothing))
}

pub(super) fn empty_folder() -> std::result::Result<OwnedFd, Errno> {
    new_file_system("tmpfs", &[("mode", "0755"), ("size", ROOT_SIZE)], MountAttrFlags::empty())
}

/// Sets the process limit of the pid namespace. The kernel enforces it, so no fork bomb can outrun it.
fn limit_processes(root: &Root, limit: u32) -> std::result::Result<(), Errno> {
    /// The lowest value that the kernel accepts.
    const LEAST: u32 = 301;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(root, "proc/sys/kernel/pid_max", flags, FileMode::empty())?;
    // Before Linux 6.14 there was one value for the whole machine, which we must not change: it belongs to another
    // user, or, for root, would be refused only later by the read-only mount. So check the version.
    if !kernel_has_own_pid_max() {
        return Err(Errno::OPNOTSUPP);
    }
    rustix::io::write(&file, limit.max(LEAST).to_string().as_bytes()).map(drop)
}

/// Sets the kernel's limits for this user namespace: no further namespaces, and a share of the user's inotify
/// instances and watches. If the kernel lacks one of them, its value stays, which `doctor` reports.
fn limit_namespace(root: &Root) {
    let path = |name: &str| format!("proc/sys/user/{name}");
    let set = |name: &str, value: u64| -> std::result::Result<(), Errno> {
        let file = openat(root, path(name), OFlags::WRONLY | OFlags::CLOEXEC, FileMode::empty())?;
        rustix::io::write(&file, value.to_string().as_bytes()).map(drop)
    };
    // Except mount namespaces: the kernel creates one for each detached mount, and more of those follow.
    for kind in ["cgroup", "ipc", "net", "pid", "time", "user", "uts"] {
        let _ = set(&format!("max_{kind}_namespaces"), 0);
    }
    // A new namespace starts without its own limit, so read the machine's limit per user.
    for (own, whole) in [
        ("max_inotify_instances", "proc/sys/fs/inotify/max_user_instances"),
        ("max_inotify_watches", "proc/sys/fs/inotify/max_user_watches"),
    ] {
        let read = || -> Option<u64> {
            let file = openat(root, whole, OFlags::RDONLY | OFlags::CLOEXEC, FileMode::empty()).ok()?;
            let mut text = [0; 32];
            let length = rustix::io::read(&file, &mut text).ok()?;
            str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
        };
        if let Some(whole) = read() {
            let _ = set(own, (whole / INOTIFY_SHARE).max(LEAST_INOTIFY));
        }
    }
}

fn kernel_has_own_pid_max() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let mut parts = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 14)
}

fn close_proc(root: &Root) -> Result<()> {
    for name in PROC_READ_ONLY {
        let inside = Path::new("proc").join(name);
        match copy(root, &inside, READ_ONLY) {
            Ok(mount) => hang(root, &Path::new("/").join(&inside), &mount)?,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(at(inside)(errno)),
        }
    }
    for name in PROC_HIDDEN {
        hide(root, &Path::new("/proc").join(name))?;
    }
    Ok(())
}

pub(super) const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
pub(super) const ANYTHING: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a path below a root. The kernel refuses symlinks and paths that leave the root.
pub(super) fn open(root: impl AsFd, place: &Path, flags: OFlags) -> std::result::Result<OwnedFd, Errno> {
    let inside = place.strip_prefix("/").unwrap_or(place);
    let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
    openat2(root, inside, flags, FileMode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// The new root.
struct Root {
    root: OwnedFd,
    /// The last parent directory of a placed entry. Most places share it with the previous one.
    last: RefCell<Option<(PathBuf, Rc<OwnedFd>)>>,
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

/// Opens the parent directory of a path, creating it if missing, and returns the file name.
fn parent<'a>(root: &Root, place: &'a Path) -> Result<(Rc<OwnedFd>, &'a OsStr)> {
    let name = place.file_name().ok_or(Errno::INVAL).map_err(at(place))?;
    let above = place.parent().unwrap_or(Path::new("/"));
    if let Some((_, opened)) = root.last.borrow().as_ref().filter(|(last, _)| last == above) {
        return Ok((Rc::clone(opened), name));
    }
    let opened = Rc::new(folder(root, above)?);
    root.last.replace(Some((above.to_owned(), Rc::clone(&opened))));
    Ok((opened, name))
}

/// Opens the directory at a path, creating it if missing.
fn folder(root: &Root, place: &Path) -> Result<OwnedFd> {
    match open(root, place, FOLDER) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
        other => return other.map_err(at(place)),
    }
    let (parent, name) = parent(root, place)?;
    let make = || {
        let mode = FileMode::from_raw_mode(0o755);
        if mkdirat(&*parent, name, mode) == Err(Errno::EXIST) {
            // An agent placed something else here, in a directory that it can write.
            unlinkat(&*parent, name, AtFlags::empty())?;
            mkdirat(&*parent, name, mode)?;
        }
        openat(&*parent, name, FOLDER, FileMode::empty())
    };
    make().map_err(at(place))
}

/// Opens the file at a path, creating it if missing.
fn file(root: &Root, place: &Path) -> Result<OwnedFd> {
    let (parent, name) = parent(root, place)?;
    let make = || {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY;
        openat(&*parent, name, flags, FileMode::from_raw_mode(0o644))
    };
    let make_or_find = || -> std::result::Result<OwnedFd, Errno> {
        match make() {
            Err(Errno::EXIST) => {}
            made => return made,
        }
        let found = openat(&*parent, name, ANYTHING, FileMode::empty())?;
        if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::Symlink {
            return Ok(found);
        }
        unlinkat(&*parent, name, AtFlags::empty())?;
        make()
    };
    make_or_find().map_err(at(place))
}

/// Opens what is at a path, if anything. Follows no symlinks.
fn find(root: &Root, place: &Path) -> std::result::Result<Option<OwnedFd>, Errno> {
    match open(root, place, ANYTHING) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        other => other.map(Some),
    }
}
