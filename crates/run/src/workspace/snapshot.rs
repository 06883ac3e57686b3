//! A listing of a folder that tells, without opening a file, whether anything in it changed.
//!
//! Per entry: path, kind and mode, size, inode, time of the last change of content and of the entry itself. The last
//! one (ctime) cannot be set by a program, so a change cannot be hidden by setting times back. Folders count by name
//! and mode alone, because their times change when a file comes and goes without a trace.
//!
//! What remains is the resolution of the clock: two changes within one tick carry the same time. Kernels since 6.13
//! give a fresh time to a change that follows a look; whether the file system at hand does so is measured, and where
//! it does not, a listing that holds entries younger than [`TICK_NANOSECONDS`] is not trusted later.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, chmodat, fstat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;

/// The coarsest tick of a kernel's file clock (100 Hz).
const TICK_NANOSECONDS: i128 = 10_000_000;
/// What follows the path in a row: a zero, mode and inode; for anything but a folder also size and two times.
const FOLDER_ROW: usize = 1 + 4 + 8;
const FILE_ROW: usize = FOLDER_ROW + 8 + 4 * 8;
/// Deeper than any build goes. Each level holds a descriptor while it is read, of which a process may have as few as 1,024.
const DEEPEST: usize = 250;

/// Which part of the folder is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// The `.git` directly below the root.
    OwnGit,
    /// Nothing.
    Nothing,
}

/// The listing, and what was noticed on the way.
pub(super) struct Snapshot {
    /// One row per entry, in a fixed order.
    pub(super) rows: Vec<u8>,
    /// The rows of ignore files alone.
    pub(super) ignores: Vec<u8>,
    /// Whether equal rows later mean that nothing changed.
    pub(super) trusted: bool,
    /// The latest modification, in seconds since 1970.
    pub(super) newest: i64,
    /// What the files say that they hold, together.
    pub(super) bytes: u64,
    /// Entries named `.git` below the root.
    pub(super) repositories: Vec<PathBuf>,
    /// Files with a set-uid or set-gid bit, which was taken away.
    pub(super) privileged: Vec<PathBuf>,
    /// What is neither a file nor a folder, in words.
    pub(super) odd: Vec<(PathBuf, &'static str)>,
}

impl Snapshot {
    /// Lists `root`, which must be a real folder. Entries that nobody may read are made readable for their owner on
    /// the way: what cannot be read can neither be compared nor saved.
    pub(super) fn take(root: &Path, skip: Skip) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = open(root, flags, Mode::empty())?;
        let mut walk = Walk {
            snapshot: Self {
                rows: Vec::with_capacity(16 << 10),
                ignores: Vec::new(),
                trusted: true,
                newest: 0,
                bytes: 0,
                repositories: Vec::new(),
                privileged: Vec::new(),
                odd: Vec::new(),
            },
            youngest: 0,
            path: Vec::new(),
        };
        walk.folder(folder, skip, 0)?;
        let Walk { mut snapshot, youngest, .. } = walk;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = nanoseconds(now.tv_sec, now.tv_nsec);
        snapshot.trusted = youngest + 2 * TICK_NANOSECONDS < now;
        Ok(snapshot)
    }

    /// Also trusts young entries, if the file system of `folder` never gives two changes the same time.
    pub(super) fn settle(mut self, folder: &Path) -> Self {
        self.trusted = self.trusted || tells_changes_apart(folder).unwrap_or(false);
        self
    }
}

/// The paths in the rows of a listing.
pub(super) fn paths(rows: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(rows).map(|(path, _)| path)
}

/// The rows of a listing: each path with what is known of it.
pub(super) fn split(rows: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let end = rest.iter().position(|b| *b == 0)?;
        let (path, row) = rest.split_at(end);
        let mode = u32::from_le_bytes(row.get(1..5)?.try_into().ok()?);
        let folder = FileType::from_raw_mode(mode) == FileType::Directory;
        let (known, next) = row.split_at_checked(if folder { FOLDER_ROW } else { FILE_ROW })?;
        rest = next;
        Some((path, known))
    })
}

struct Walk {
    snapshot: Snapshot,
    youngest: i128,
    path: Vec<u8>,
}

impl Walk {
    fn folder(&mut self, folder: OwnedFd, skip: Skip, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::from(Errno::NAMETOOLONG));
        }
        let mut names: Vec<CString> = Vec::new();
        let mut dir = Dir::read_from(&folder)?;
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            let own = skip == Skip::OwnGit && name.to_bytes() == b".git";
            if !own && !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        for name in names {
            let stat = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // Gone since it was listed: whoever removed it is still at work, and the next listing will differ.
                Err(Errno::NOENT) => continue,
                Err(e) => return Err(e.into()),
            };
            let before = self.path.len();
            if before > 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.entry(folder.as_fd(), &name, stat, depth)?;
            self.path.truncate(before);
        }
        Ok(())
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &CString, stat: Stat, depth: usize) -> io::Result<()> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mode = Mode::from_raw_mode(stat.st_mode);
        let needed = match kind {
            FileType::Directory => Mode::RWXU,
            FileType::RegularFile => Mode::RUSR,
            _ => Mode::empty(),
        };
        // A folder hands its group on by such a bit, as whole file systems do; only a file runs by it.
        let privileges = match kind {
            FileType::RegularFile => mode & (Mode::SUID | Mode::SGID),
            _ => Mode::empty(),
        };
        if !privileges.is_empty() {
            self.snapshot.privileged.push(PathBuf::from(OsStr::from_bytes(&self.path)));
        }
        let stat = if mode.contains(needed) && privileges.is_empty() {
            stat
        } else {
            chmodat(folder, name, (mode | needed) - privileges, AtFlags::empty())?;
            statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?
        };
        if kind == FileType::RegularFile {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            self.snapshot.bytes = self.snapshot.bytes.saturating_add(size);
        }
        if name.to_bytes() == b".git" {
            self.snapshot.repositories.push(PathBuf::from(OsStr::from_bytes(&self.path)));
        }
        if kind == FileType::Fifo && name.to_bytes().starts_with(b".git") {
            // Holds nothing that could be lost, and git would wait at it forever: for attributes, ignore rules, submodules.
            return unlinkat(folder, name, AtFlags::empty()).map_err(io::Error::from);
        }
        if let Some(what) = odd(kind) {
            self.snapshot.odd.push((PathBuf::from(OsStr::from_bytes(&self.path)), what));
        }
        let start = self.snapshot.rows.len();
        let rows = &mut self.snapshot.rows;
        rows.extend_from_slice(&self.path);
        rows.push(0);
        rows.extend_from_slice(&stat.st_mode.to_le_bytes());
        rows.extend_from_slice(&stat.st_ino.to_le_bytes());
        if kind == FileType::Directory {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = openat(folder, name, flags, Mode::empty())?;
            return self.folder(inner, Skip::Nothing, depth + 1);
        }
        rows.extend_from_slice(&stat.st_size.to_le_bytes());
        for part in times(&stat) {
            rows.extend_from_slice(&part.to_le_bytes());
        }
        if name.to_bytes() == b".gitignore" {
            let row = self.snapshot.rows[start..].to_vec();
            self.snapshot.ignores.extend_from_slice(&row);
        }
        let [modified, _, changed, changed_nanos] = times(&stat);
        self.snapshot.newest = self.snapshot.newest.max(modified);
        self.youngest = self.youngest.max(nanoseconds(changed, changed_nanos));
        Ok(())
    }
}

/// Whether a listing was given up because of its depth.
pub(super) fn too_deep(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}

fn odd(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile | FileType::Directory => None,
        FileType::Symlink => Some("a symbolic link"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Some("a device"),
    }
}

/// Modification and change, each as seconds and nanoseconds.
fn times(stat: &Stat) -> [i64; 4] {
    // The kernel's nanoseconds are below a billion; their integer type differs between platforms.
    let small = |n| i64::try_from(n).unwrap_or(0);
    [stat.st_mtime, small(stat.st_mtime_nsec), stat.st_ctime, small(stat.st_ctime_nsec)]
}

fn nanoseconds(seconds: i64, nanos: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Changes a scratch file a few times, looking after each: with a coarse clock two looks see the same time.
fn tells_changes_apart(folder: &Path) -> io::Result<bool> {
    const LOOKS: usize = 4;
    let path = folder.join("clock");
    let mut file = File::create(&path)?;
    let mut last = None;
    for _ in 0..LOOKS {
        file.write_all(b".")?;
        let stat = fstat(&file)?;
        let now = Some(times(&stat));
        if last == now {
            return Ok(false);
        }
        last = now;
    }
    Ok(true)
}
