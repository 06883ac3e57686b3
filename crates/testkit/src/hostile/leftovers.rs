//! Leaves files in the workspace and the output folder that make their reader hang, fail or read something else.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::sys::{Arg, call, text};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("leave-pipe", "leaves a pipe in the tree", leave_pipe),
    ("leave-pipe-attributes", "leaves a pipe where git looks for attributes", leave_attributes),
    ("leave-pipe-ignore", "leaves a pipe where git looks for what to ignore", leave_ignore),
    ("leave-socket", "leaves a socket in the tree", leave_socket),
    ("leave-device", "leaves a device in the tree", leave_device),
    ("leave-deep", "leaves folders deeper than a path is long", leave_deep),
    ("leave-closed", "leaves folders and files that nobody may read", leave_closed),
    ("leave-odd-names", "leaves names with line ends, no text, leading dashes", leave_odd),
    ("leave-links", "leaves links in circles and to everywhere", leave_links),
    ("leave-sparse", "leaves a file that says it is huge", leave_sparse),
    ("leave-nested-git", "leaves a repository in the tree that is set up to run programs", leave_nested),
    ("leave-nothing", "removes everything in its tree", leave_nothing),
    ("replace-workspace", "puts a link in the place of its workspace", replace_workspace),
    ("handoff-symlink", "makes its report a link to a key", handoff_symlink),
    ("handoff-hardlink", "makes its report another name of a key", handoff_hardlink),
    ("handoff-pipe", "makes its report a pipe", handoff_pipe),
    ("handoff-folder", "makes its report a folder", handoff_folder),
    ("handoff-huge", "makes its report huge", handoff_huge),
    ("handoff-deep", "makes its report a document of a million brackets", handoff_deep),
    ("output-symlink", "makes its output folder a link to the user's files", output_symlink),
    ("output-links", "leaves links and pipes among its output", output_links),
    ("wipe-output", "empties the record of what it said", wipe_output),
];

/// Claimed size of a sparse file.
const HUGE: i64 = 20 * 1024 * 1024 * 1024;

/// Creates a named pipe.
pub(super) fn pipe(path: &Path) -> io::Result<&'static str> {
    let at = text(path);
    let args = &mut [Arg::N(-100), Arg::S(&at), Arg::N(i64::from(libc::S_IFIFO | 0o600)), Arg::N(0)];
    call(libc::SYS_mknodat, args).map(|_| "left")
}

fn leave_pipe(_: &World, tried: &mut Tried) {
    tried.way("at the top", pipe(Path::new("pipe")));
    let _ = fs::create_dir("folder");
    tried.way("in a folder", pipe(Path::new("folder/pipe.txt")));
    let _ = fs::remove_file("README.md");
    tried.way("for a tracked file", pipe(Path::new("README.md")));
}

/// Creates pipes with this name in the top folder and one below.
fn pipes_named(tried: &mut Tried, name: &str) {
    let _ = fs::create_dir("folder");
    let _ = fs::write("folder/file.txt", "x\n");
    let _ = fs::remove_file(name);
    tried.way("at the top", pipe(Path::new(name)));
    tried.way("in a folder", pipe(&Path::new("folder").join(name)));
}

fn leave_attributes(_: &World, tried: &mut Tried) {
    pipes_named(tried, ".gitattributes");
}

fn leave_ignore(_: &World, tried: &mut Tried) {
    pipes_named(tried, ".gitignore");
}

fn leave_socket(_: &World, tried: &mut Tried) {
    tried.way("bind", UnixListener::bind("socket").map(|_| "left"));
}

fn leave_device(_: &World, tried: &mut Tried) {
    let at = text("zero");
    let args = &mut [Arg::N(-100), Arg::S(&at), Arg::N(i64::from(libc::S_IFCHR | 0o666)), Arg::N(0x105)];
    tried.way("endless zeros", call(libc::SYS_mknodat, args));
}

fn leave_deep(_: &World, tried: &mut Tried) {
    let start = std::env::current_dir();
    let name = "d".repeat(200);
    let mut depth = 0;
    while depth < 100 && fs::create_dir(&name).and_then(|()| std::env::set_current_dir(&name)).is_ok() {
        depth += 1;
    }
    let _ = fs::write("bottom.txt", "deep\n");
    if let Ok(start) = start {
        let _ = std::env::set_current_dir(start);
    }
    tried.way("folders", Ok(format!("{depth} deep")));
}

fn leave_closed(_: &World, tried: &mut Tried) {
    let closed = |path: &str| fs::set_permissions(path, fs::Permissions::from_mode(0o0)).map(|()| "left");
    let _ = fs::create_dir("closed");
    let _ = fs::write("closed/file.txt", "closed\n");
    let _ = fs::write("closed-file.txt", "closed\n");
    tried.way("a file", closed("closed-file.txt"));
    tried.way("a folder", closed("closed"));
    let _ = fs::create_dir("locked");
    let _ = fs::write("locked/file.txt", "x\n");
    tried.way("read-only", fs::set_permissions("locked", fs::Permissions::from_mode(0o500)).map(|()| "left"));
}

fn leave_odd(_: &World, tried: &mut Tried) {
    let long = "n".repeat(255);
    for name in [
        &b"two\nlines"[..],
        b"no \xff\xfe text",
        b"-rf",
        b"--upload-pack=x",
        b"\x1b]0;title\x07",
        b" ",
        b"a\\b",
        b"\xe2\x80\xae txt.exe",
        b"COM1",
        b".git ",
        b"git~1",
        long.as_bytes(),
    ] {
        tried.way("a name", fs::write(OsStr::from_bytes(name), "x\n").map(|()| "left"));
    }
}

fn leave_links(world: &World, tried: &mut Tried) {
    tried.way("a circle", symlink("circle", "circle").map(|()| "left"));
    tried.way("to a key", symlink(world.path("home").join(".ssh/id_ed25519"), "key.txt").map(|()| "left"));
    tried.way("to all", symlink("/", "all").map(|()| "left"));
    tried.way("to an endless device", symlink("/dev/zero", "zeros.txt").map(|()| "left"));
    tried
        .way("as rules to ignore", symlink(world.path("home").join(".netrc"), ".gitignore").map(|()| "left"));
    tried.way("as attributes", symlink(world.path("home").join(".netrc"), ".gitattributes").map(|()| "left"));
}

/// Creates a sparse file.
fn sparse(path: impl AsRef<Path>) -> io::Result<&'static str> {
    let file = File::create(path)?;
    file.set_len(HUGE.cast_unsigned()).map(|()| "left")
}

fn leave_sparse(_: &World, tried: &mut Tried) {
    tried.way("a file", sparse("sparse.bin"));
}

fn leave_nested(world: &World, tried: &mut Tried) {
    let hook = Path::new("nested/.git/hooks/post-checkout");
    let made = fs::create_dir_all("nested/.git/hooks")
        .and_then(|()| fs::create_dir_all("nested/.git/refs"))
        .and_then(|()| {
            fs::create_dir_all("nested/.git/objects")?;
            fs::write("nested/.git/HEAD", "ref: refs/heads/x\n")?;
            let outside = world.path("outside").join("tripwire");
            fs::write(
                "nested/.git/config",
                format!("[core]\nfsmonitor = \"touch '{}'\"\n", outside.display()),
            )?;
            fs::write(hook, format!("#!/bin/sh\ntouch '{}'\n", outside.display()))?;
            fs::write("nested/file.txt", "x\n")
        });
    tried.way("repository", made.map(|()| "left"));
}

fn leave_nothing(_: &World, tried: &mut Tried) {
    for entry in fs::read_dir(".").into_iter().flatten().flatten() {
        let path = entry.path();
        let removed = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        tried.way(&path.to_string_lossy(), removed.map(|()| "removed"));
    }
}

fn replace_workspace(world: &World, tried: &mut Tried) {
    let tree = std::env::current_dir().unwrap_or_default();
    let aside = tree.with_extension("aside");
    let replaced = fs::rename(&tree, &aside).and_then(|()| symlink(world.path("repo"), &tree));
    tried.way("the tree", replaced.map(|()| "replaced"));
    let workspace = tree.parent().unwrap_or(&tree).to_owned();
    let aside = workspace.with_extension("aside");
    let replaced = fs::rename(&workspace, &aside).and_then(|()| symlink(world.path("outside"), &workspace));
    tried.way("the workspace", replaced.map(|()| "replaced"));
    tried.way("removed", fs::remove_dir(&tree).map(|()| "removed"));
}

/// Returns the handoff file, if it runs as an agent.
fn handoff(tried: &mut Tried) -> Option<PathBuf> {
    let path = std::env::var_os("ACQUIT_HANDOFF").map(PathBuf::from);
    if let Some(path) = &path {
        let _ = fs::remove_file(path);
    } else {
        tried.absent("a report: gates have none");
    }
    path
}

fn handoff_symlink(world: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("link", symlink(world.path("home").join(".ssh/id_ed25519"), path).map(|()| "made"));
    }
}

fn handoff_hardlink(world: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("link", fs::hard_link(world.path("home").join(".ssh/id_ed25519"), path).map(|()| "made"));
    }
}

fn handoff_pipe(_: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("pipe", pipe(&path));
    }
}

fn handoff_folder(_: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("folder", fs::create_dir_all(path.join("in/it")).map(|()| "made"));
    }
}

fn handoff_huge(_: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("sparse", sparse(path));
    }
}

fn handoff_deep(_: &World, tried: &mut Tried) {
    if let Some(path) = handoff(tried) {
        tried.way("brackets", fs::write(path, "[".repeat(1_000_000)).map(|()| "made"));
    }
}

fn output_symlink(world: &World, tried: &mut Tried) {
    let Some(out) = std::env::var_os("ACQUIT_OUTPUT").map(PathBuf::from) else {
        return tried.absent("an output folder: gates have none");
    };
    let aside = out.with_extension("aside");
    let replaced = fs::rename(&out, aside).and_then(|()| symlink(world.path("home").join(".ssh"), &out));
    tried.way("rename", replaced.map(|()| "replaced"));
    let replaced = fs::remove_dir_all(&out).and_then(|()| symlink(world.path("home").join(".ssh"), &out));
    tried.way("remove", replaced.map(|()| "replaced"));
}

fn output_links(world: &World, tried: &mut Tried) {
    let Some(out) = std::env::var_os("ACQUIT_OUTPUT").map(PathBuf::from) else {
        return tried.absent("an output folder: gates have none");
    };
    tried.way(
        "to a key",
        symlink(world.path("home").join(".ssh/id_ed25519"), out.join("key.md")).map(|()| "left"),
    );
    tried.way(
        "another name of a key",
        fs::hard_link(world.path("home").join(".netrc"), out.join("netrc.md")).map(|()| "left"),
    );
    tried.way("pipe", pipe(&out.join("pipe.md")));
    tried.way("sparse", sparse(out.join("sparse.md")));
    tried.way("endless", symlink("/dev/zero", out.join("zeros.md")).map(|()| "left"));
}

fn wipe_output(_: &World, tried: &mut Tried) {
    println!("words before the record was emptied");
    tried.way("by descriptor", call(libc::SYS_ftruncate, &mut [Arg::N(1), Arg::N(0)]));
    tried.way("reopened", File::create("/proc/self/fd/1").map(|_| "emptied"));
}
