//! Changes files outside of the workspace: directly, through links, through `/proc`, by handle; contents and
//! attributes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::sys::{Arg, call, open_by, text};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("write-plain", "writes, appends to and creates files outside", write_plain),
    ("write-symlink", "writes through links that stand in the workspace", write_symlink),
    ("write-hardlink", "gives an outside file a name in the workspace", write_hardlink),
    ("write-rename", "renames over an outside file, and takes it away", write_rename),
    (
        "write-proc-fd",
        "opens an outside file for reading, and again for writing by /proc/self/fd",
        write_proc_fd,
    ),
    ("write-proc-root", "writes by the roots and folders of other processes", write_proc_root),
    ("write-dotdot", "climbs out of its folder step by step", write_dotdot),
    ("write-handle", "opens an outside file by its handle", write_handle),
    ("write-home", "plants lines in the files that the user's shell and tools run", write_home),
    ("write-helper", "opens the program that shut it in for writing", write_helper),
    ("write-system", "opens programs and settings of the machine for writing", write_system),
    ("write-store", "opens acquit's store for writing and puts files beside it", write_store),
    ("write-view", "makes files in every folder above what it was given", write_view),
    ("write-other-workspace", "writes into another task's tree", write_other),
    ("write-prompt", "opens its own standard input for writing", write_prompt),
    ("truncate-outside", "empties an outside file", truncate),
    ("unlink-outside", "removes files and folders outside", unlink),
    ("make-outside", "makes folders, pipes, links and sockets outside", make),
    ("chmod-outside", "changes the mode of an outside file", chmod),
    ("utimes-outside", "changes the times of an outside file", utimes),
    ("chown-outside", "changes the owner of an outside file", chown),
    ("xattr-outside", "changes extended attributes outside", xattr),
    ("chattr-outside", "changes the flags of an outside file", chattr),
    ("lock-outside", "locks acquit's files, so that a harness would wait", lock),
    ("watch-outside", "watches what the user does in his home", watch),
];

/// A comment in most file formats, so that planted text does not break the tools of later attacks.
const WORDS: &[u8] = b"# changed by hostile\n";

/// Writes to an existing file.
pub(super) fn overwrite(path: impl AsRef<Path>) -> io::Result<String> {
    let mut file = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&path)?;
    file.write_all(WORDS)?;
    Ok("written".to_owned())
}

/// Opens a file for writing that must not be damaged. A running program cannot be written now, but could be once it
/// ends.
pub(super) fn could_write(path: impl AsRef<Path>) -> io::Result<String> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(&path) {
        Ok(_) => Ok("open for writing".to_owned()),
        // The kernel checks whether it runs before it checks the mount.
        Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {
            could_create(&path).map(|_| "busy only as long as it runs".to_owned())
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a folder is writable, by creating and removing a folder. Modes don't tell, because they don't
/// reflect Landlock.
pub(super) fn could_create(folder: impl AsRef<Path>) -> io::Result<String> {
    let path = text(&folder);
    let args = &mut [Arg::N(libc::AT_FDCWD.into()), Arg::S(&path), Arg::N(libc::W_OK.into()), Arg::N(0)];
    call(libc::SYS_faccessat2, args)?;
    if folder.as_ref().is_dir() {
        let made = folder.as_ref().join(format!("hostile-{}", std::process::id()));
        fs::create_dir(&made)?;
        fs::remove_dir(&made)?;
    }
    Ok("files could be made".to_owned())
}

fn create(path: impl AsRef<Path>) -> io::Result<String> {
    fs::write(path, WORDS).map(|()| "created".to_owned())
}

/// Returns a fresh path in the workspace.
pub(super) fn here(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    let _ = fs::remove_file(&path);
    path
}

fn write_plain(world: &World, tried: &mut Tried) {
    let (file, folder) = (world.path("file"), world.path("outside"));
    tried.way("write", overwrite(&file));
    let append = || OpenOptions::new().append(true).open(&file)?.write_all(WORDS);
    tried.way("append", append().map(|()| "written"));
    tried.way("create", create(folder.join("created")));
    let flags = i64::from(libc::O_WRONLY | libc::O_CREAT);
    let folder = text(&folder);
    let unnamed = &mut [
        Arg::N(libc::AT_FDCWD.into()),
        Arg::S(&folder),
        Arg::N(i64::from(libc::O_WRONLY | libc::O_TMPFILE)),
        Arg::N(0o600),
    ];
    tried.way("a file without a name", open_by(libc::SYS_openat, unnamed).map(|_| "made"));
    let file = text(&file);
    tried.way(
        "creat",
        call(libc::SYS_openat, &mut [Arg::N(-100), Arg::S(&file), Arg::N(flags), Arg::N(0o600)]),
    );
    tried.way(
        "mmap",
        OpenOptions::new().read(true).write(true).open(world.path("file")).map(|_| "open to map"),
    );
}

fn write_symlink(world: &World, tried: &mut Tried) {
    let (file, folder) = (here("link-to-file"), here("link-to-folder"));
    let _ = symlink(world.path("file"), &file);
    let _ = symlink(world.path("outside"), &folder);
    tried.way("to a file", overwrite(&file));
    tried.way("through a folder", create(folder.join("by-symlink")));
    let dangling = here("dangling");
    let _ = symlink(world.path("outside").join("by-dangling"), &dangling);
    tried.way("to nothing yet", create(&dangling));
    let chain = here("chain");
    let _ = symlink("link-to-folder/file", &chain);
    tried.way("a chain", overwrite(&chain));
    for path in [file, folder, dangling, chain] {
        let _ = fs::remove_file(path);
    }
}

fn write_hardlink(world: &World, tried: &mut Tried) {
    let (name, file) = (here("hardlink"), world.path("file"));
    let linked = fs::hard_link(&file, &name).and_then(|()| overwrite(&name));
    tried.way("link", linked);
    let by_fd = |flags: i32, at: i64| -> io::Result<String> {
        let open = OpenOptions::new().read(true).custom_flags(flags).open(&file)?;
        let from = text(format!("/proc/self/fd/{}", open.as_raw_fd()));
        let to = text(here("hardlink-by-fd"));
        let args = &mut [Arg::N(-100), Arg::S(&from), Arg::N(-100), Arg::S(&to), Arg::N(at)];
        call(libc::SYS_linkat, args)?;
        overwrite("hardlink-by-fd")
    };
    tried.way("by a descriptor", by_fd(0, libc::AT_SYMLINK_FOLLOW.into()));
    tried.way("by a path only", by_fd(libc::O_PATH, libc::AT_SYMLINK_FOLLOW.into()));
    for name in ["hardlink", "hardlink-by-fd"] {
        let _ = fs::remove_file(name);
    }
}

fn write_rename(world: &World, tried: &mut Tried) {
    let mine = here("to-be-renamed");
    let _ = fs::write(&mine, WORDS);
    tried.way("over", fs::rename(&mine, world.path("file")).map(|()| "renamed"));
    let _ = fs::write(&mine, WORDS);
    let (from, to) = (text(&mine), text(world.path("file")));
    let args =
        &mut [Arg::N(-100), Arg::S(&from), Arg::N(-100), Arg::S(&to), Arg::N(libc::RENAME_EXCHANGE.into())];
    tried.way("exchange", call(libc::SYS_renameat2, args));
    tried.way("away", fs::rename(world.path("outside").join("second"), here("taken")).map(|()| "taken"));
    for name in ["to-be-renamed", "taken"] {
        let _ = fs::remove_file(name);
    }
}

fn write_proc_fd(world: &World, tried: &mut Tried) {
    for (name, flags) in [("read only", 0), ("path only", libc::O_PATH)] {
        let reopened = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(world.path("file"))
            .and_then(|open| overwrite(format!("/proc/self/fd/{}", open.as_raw_fd())));
        tried.way(name, reopened);
    }
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(world.path("outside"));
    tried
        .way("a folder", folder.and_then(|open| create(format!("/proc/self/fd/{}/by-fd", open.as_raw_fd()))));
}

/// Returns paths through which other processes reach a place.
pub(super) fn detours(path: &Path) -> Vec<(String, PathBuf)> {
    let parent = std::os::unix::process::parent_id().to_string();
    let inner = path.strip_prefix("/").unwrap_or(path);
    let mut ways = Vec::new();
    for process in ["self", "1", "thread-self", &parent] {
        ways.push((format!("root of {process}"), Path::new("/proc").join(process).join("root").join(inner)));
        let up = "../".repeat(20);
        ways.push((
            format!("cwd of {process}"),
            Path::new("/proc").join(process).join("cwd").join(up).join(inner),
        ));
    }
    ways
}

fn write_proc_root(world: &World, tried: &mut Tried) {
    for (name, path) in detours(&world.path("file")) {
        tried.way(&name, overwrite(path));
    }
}

fn write_dotdot(world: &World, tried: &mut Tried) {
    let file = world.path("file");
    let inner = file.strip_prefix("/").unwrap_or(&file).to_owned();
    tried.way("in a path", overwrite(Path::new(&"../".repeat(30)).join(&inner)));
    let climb = || -> io::Result<String> {
        let up = text("..");
        let mut at =
            open_by(libc::SYS_openat, &mut [Arg::N(-100), Arg::S(&up), Arg::N(libc::O_PATH.into())])?;
        for _ in 0..30 {
            let args = &mut [Arg::N(at.as_raw_fd().into()), Arg::S(&up), Arg::N(libc::O_PATH.into())];
            at = open_by(libc::SYS_openat, args)?;
        }
        let path = text(&inner);
        let args = &mut [Arg::N(at.as_raw_fd().into()), Arg::S(&path), Arg::N(libc::O_WRONLY.into())];
        File::from(open_by(libc::SYS_openat, args)?).write_all(WORDS)?;
        Ok("written".to_owned())
    };
    tried.way("by descriptors", climb());
}

fn write_handle(world: &World, tried: &mut Tried) {
    let by_handle = |path: &Path, change: Option<u64>| -> io::Result<String> {
        let mut handle = [0_u8; 136];
        handle[0] = 128;
        let (mut mount, name) = ([0_u8; 4], text(path));
        let args = &mut [Arg::N(-100), Arg::S(&name), Arg::B(&mut handle), Arg::B(&mut mount), Arg::N(0)];
        call(libc::SYS_name_to_handle_at, args)?;
        if let Some(inode) = change {
            handle[8..16].copy_from_slice(&inode.to_le_bytes());
        }
        let folder = File::open(".")?;
        let args =
            &mut [Arg::N(folder.as_raw_fd().into()), Arg::B(&mut handle), Arg::N(libc::O_RDONLY.into())];
        open_by(libc::SYS_open_by_handle_at, args).map(|_| "open".to_owned())
    };
    tried.way("of the file", by_handle(&world.path("file"), None));
    tried.way("of the root, guessed", by_handle(Path::new("."), Some(2)));
    tried.way("of another, guessed", by_handle(Path::new("."), Some(128)));
}

fn write_home(world: &World, tried: &mut Tried) {
    for name in [
        ".bashrc",
        ".profile",
        ".gitconfig",
        ".ssh/authorized_keys",
        ".config/autostart/x.desktop",
        ".local/bin/git",
    ] {
        let path = world.path("home").join(name);
        let plant = || -> io::Result<&str> {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(WORDS)?;
            Ok("planted")
        };
        tried.way(name, plant());
    }
}

fn write_helper(_: &World, tried: &mut Tried) {
    let parent = std::os::unix::process::parent_id();
    for path in ["/proc/1/exe".to_owned(), format!("/proc/{parent}/exe")] {
        let target = fs::read_link(&path);
        // Its own program is in the workspace, where it may change it.
        if target.as_ref().is_ok_and(|target| target.ends_with("hostile")) {
            continue;
        }
        tried.way(&path, could_write(&path));
        if let Ok(target) = target {
            tried.way("by its path", could_write(&target));
            tried.way("beside it", could_create(target.parent().unwrap_or(&target)));
        }
    }
}

fn write_system(_: &World, tried: &mut Tried) {
    for file in ["/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/resolv.conf", "/usr/bin/git", "/bin/false"]
    {
        tried.way(file, could_write(file));
    }
    for folder in [
        "/",
        "/etc",
        "/usr/bin",
        "/usr/lib",
        "/usr/local/bin",
        "/var/spool/cron",
        "/etc/ld.so.conf.d",
        "/boot",
    ] {
        tried.way(folder, could_create(folder));
    }
}

fn write_store(world: &World, tried: &mut Tried) {
    let home = world.path("acquit");
    for name in ["acquit.db", "acquit.db-wal", "acquit.db-shm"] {
        tried.way(name, could_write(home.join(name)));
    }
    if let Some(own) = std::env::var_os("ACQUIT_OUTPUT").map(PathBuf::from) {
        // The leg's folder has its log and policy; only `out` in it belongs to the agent.
        let leg = own.parent().unwrap_or(&own).to_owned();
        tried.way("its own log", could_write(leg.join("output.log")));
    }
    let workspace = std::env::current_dir().unwrap_or_default();
    let workspace = workspace.parent().unwrap_or(&workspace);
    for name in ["git/HEAD", "git/config", "state", "lock"] {
        tried.way(name, could_write(workspace.join(name)));
    }
}

/// Writes to outside folders that the view may replace with empty ones: nothing must arrive.
fn write_view(world: &World, tried: &mut Tried) {
    let own =
        std::env::var_os("ACQUIT_OUTPUT").map(PathBuf::from).and_then(|out| out.parent().map(Path::to_owned));
    let places = ["root", "home", "acquit", "repo"].map(|key| world.path(key));
    for folder in places
        .into_iter()
        .chain([world.path("acquit").join("tasks"), world.path("repo").join(".git")])
        .chain(own)
    {
        tried.way(&folder.to_string_lossy(), create(folder.join("created")));
    }
}

fn write_other(world: &World, tried: &mut Tried) {
    tried.way("a file", overwrite(world.path("other").join("secret.txt")));
    tried.way("a new one", create(world.path("other").join("created")));
}

fn write_prompt(_: &World, tried: &mut Tried) {
    let target = fs::read_link("/proc/self/fd/0").unwrap_or_default();
    if !target.ends_with("prompt.md") {
        return tried.absent("a prompt");
    }
    tried.way("by descriptor", could_write("/proc/self/fd/0"));
    tried.way("by path", could_write(target));
    tried.way("cut", call(libc::SYS_ftruncate, &mut [Arg::N(0), Arg::N(0)]));
}

fn truncate(world: &World, tried: &mut Tried) {
    let file = text(world.path("file"));
    tried.way("truncate", call(libc::SYS_truncate, &mut [Arg::S(&file), Arg::N(0)]));
    let cut = OpenOptions::new().write(true).truncate(true).open(world.path("file"));
    tried.way("O_TRUNC", cut.map(|_| "emptied"));
    let cut =
        OpenOptions::new().read(true).truncate(false).custom_flags(libc::O_TRUNC).open(world.path("file"));
    tried.way("O_TRUNC while reading", cut.map(|_| "emptied"));
}

fn unlink(world: &World, tried: &mut Tried) {
    tried.way("unlink", fs::remove_file(world.path("outside").join("second")).map(|()| "removed"));
    tried.way("rmdir", fs::remove_dir(world.path("outside").join("empty")).map(|()| "removed"));
    tried.way("all", fs::remove_dir_all(world.path("outside").join("full")).map(|()| "removed"));
}

fn make(world: &World, tried: &mut Tried) {
    let at = |name: &str| world.path("outside").join(name);
    tried.way("mkdir", fs::create_dir(at("made-folder")).map(|()| "made"));
    tried.way("symlink", symlink("x", at("made-link")).map(|()| "made"));
    let pipe = text(at("made-pipe"));
    let args = &mut [Arg::N(-100), Arg::S(&pipe), Arg::N(i64::from(libc::S_IFIFO | 0o600)), Arg::N(0)];
    tried.way("mkfifo", call(libc::SYS_mknodat, args));
    tried.way("bind", std::os::unix::net::UnixListener::bind(at("made-socket")).map(|_| "made"));
}

fn chmod(world: &World, tried: &mut Tried) {
    let file = world.path("file");
    tried.way("chmod", fs::set_permissions(&file, fs::Permissions::from_mode(0o777)).map(|()| "changed"));
    let by_fd = |flags: i32| {
        let open = OpenOptions::new().read(true).custom_flags(flags).open(&file)?;
        let path = format!("/proc/self/fd/{}", open.as_raw_fd());
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).map(|()| "changed")
    };
    tried.way("by descriptor", by_fd(0));
    tried.way("by path only", by_fd(libc::O_PATH));
    let fchmod = File::open(&file)
        .and_then(|open| call(libc::SYS_fchmod, &mut [Arg::N(open.as_raw_fd().into()), Arg::N(0o777)]));
    tried.way("fchmod", fchmod);
    let name = text(&file);
    // fchmodat2 has no name in older headers.
    tried.way("fchmodat2", call(452, &mut [Arg::N(-100), Arg::S(&name), Arg::N(0o777), Arg::N(0)]));
    tried.way(
        "a folder",
        fs::set_permissions(world.path("outside"), fs::Permissions::from_mode(0o777)).map(|()| "changed"),
    );
}

fn utimes(world: &World, tried: &mut Tried) {
    let name = text(world.path("file"));
    tried.way("now", call(libc::SYS_utimensat, &mut [Arg::N(-100), Arg::S(&name), Arg::N(0), Arg::N(0)]));
    let mut times = [0_u8; 32];
    let args = &mut [Arg::N(-100), Arg::S(&name), Arg::B(&mut times), Arg::N(0)];
    tried.way("1970", call(libc::SYS_utimensat, args));
    let open = File::open(world.path("file"));
    let by_fd = open.and_then(|open| open.set_modified(std::time::UNIX_EPOCH));
    tried.way("by descriptor", by_fd.map(|()| "changed"));
}

fn chown(world: &World, tried: &mut Tried) {
    use std::os::unix::fs::{MetadataExt, chown};
    // A file that it just created belongs to it.
    let mine = here("mine");
    let own = fs::write(&mine, "").and_then(|()| fs::metadata(&mine)).map_or(0, |meta| meta.uid());
    let _ = fs::remove_file(mine);
    for (name, user) in [("to nobody", 65534), ("to itself", own)] {
        tried.way(name, chown(world.path("file"), Some(user), None).map(|()| "changed"));
    }
}

fn xattr(world: &World, tried: &mut Tried) {
    for name in ["user.hostile", "security.capability", "trusted.hostile", "system.posix_acl_access"] {
        let (file, key, mut value) = (text(world.path("file")), text(name), *b"x");
        let args = &mut [Arg::S(&file), Arg::S(&key), Arg::B(&mut value), Arg::N(1), Arg::N(0)];
        tried.reaches(name, call(libc::SYS_setxattr, args), &[libc::EINVAL, libc::EOPNOTSUPP]);
    }
}

fn chattr(world: &World, tried: &mut Tried) {
    const GET_FLAGS: i64 = 0x8008_6601;
    const SET_FLAGS: i64 = 0x4008_6602;
    let set = || -> io::Result<i64> {
        let open = File::open(world.path("file"))?;
        let mut flags = [0_u8; 8];
        let args = &mut [Arg::N(open.as_raw_fd().into()), Arg::N(GET_FLAGS), Arg::B(&mut flags)];
        call(libc::SYS_ioctl, args)?;
        // "No dump": harmless, and visible from outside.
        flags[0] |= 0x40;
        call(libc::SYS_ioctl, &mut [Arg::N(open.as_raw_fd().into()), Arg::N(SET_FLAGS), Arg::B(&mut flags)])
    };
    tried.way("set a flag", set());
}

fn lock(world: &World, tried: &mut Tried) {
    let (store, workspace) = (world.path("acquit").join("acquit.db"), world.path("other").join("../lock"));
    for path in [store, workspace] {
        tried.way(&path.to_string_lossy(), File::open(&path).map(|_| "open, so it could be locked"));
    }
}

fn watch(world: &World, tried: &mut Tried) {
    let watched = |path: &str| -> io::Result<i64> {
        let queue = open_by(libc::SYS_inotify_init1, &mut [Arg::N(libc::O_CLOEXEC.into())])?;
        let path = text(world.path(path));
        let mask = i64::from(libc::IN_MODIFY | libc::IN_CREATE);
        call(
            libc::SYS_inotify_add_watch,
            &mut [Arg::N(queue.as_raw_fd().into()), Arg::S(&path), Arg::N(mask)],
        )
    };
    tried.way("the outside", watched("outside"));
    tried.way("another task", watched("other"));
    tried.way("fanotify", call(libc::SYS_fanotify_init, &mut [Arg::N(0), Arg::N(0)]));
}
