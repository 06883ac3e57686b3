//! Lists a directory in a way that shows changes without opening files.
//!
//! Each entry has path, type and mode, size, inode, mtime and ctime. Programs cannot set the ctime, so they cannot hide
//! a change by setting times back. Directories count by name and mode only, because their times also change when a file
//! appears and disappears again.
//!
//! The limit is the resolution of the clock: two changes within one tick have the same time. Kernels since 6.13 assign
//! a new time to a change that follows a stat. This code measures whether the file system does so. If it does not, a
//! listing with entries younger than [`TICK_NANOSECONDS`] is not trusted later.

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
/// Size of what follows the path in a row: a zero, mode and inode; except for directories also size and two times.
const FOLDER_ROW: usize = 1 + 4 + 8;
const FILE_ROW: usize = FOLDER_ROW + 8 + 4 * 8;
/// Maximum depth; no build goes deeper. Each level holds an open descriptor, and a process may be limited to 1,024.
const DEEPEST: usize = 250;

/// Which part of the directory to skip.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// The `.git` directly below the root.
    OwnGit,
    Nothing,
}

/// The listing, and facts found while making it.
pub(super) struct Snapshot {
    /// One row per entry, in a fixed order.
    pub(super) rows: Vec<u8>,
    /// Rows of ignore files only.
    pub(super) ignores: Vec<u8>,
    /// Whether equal rows later mean that nothing changed.
    pub(super) trusted: bool,
    /// Latest modification time, in seconds since 1970.
    pub(super) newest: i64,
    /// Total apparent size of the files.
    pub(super) bytes: u64,
    /// Entries named `.git` below the root.
    pub(super) repositories: Vec<PathBuf>,
    /// Files that had a set-uid or set-gid bit. The bit was cleared.
    pub(super) privileged: Vec<PathBuf>,
    /// Whether a file has a second name.
    pub(super) linked: bool,
    /// Entries that are neither a file nor a directory, with a description.
    pub(super) odd: Vec<(PathBuf, &'static str)>,
}

impl Snapshot {
    /// Lists `root`, which must be a real directory. Makes unreadable entries readable for their owner, because they
    /// could neither be compared nor saved otherwise.
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
                linked: false,
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

    /// Trusts young entries too, if the file system of `folder` never gives two changes the same time.
    pub(super) fn settle(mut self, folder: &Path) -> Self {
        self.trusted = self.trusted || tells_changes_apart(folder).unwrap_or(false);
        self
    }
}

/// Returns the paths in the rows of a listing.
pub(super) fn paths(rows: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(rows).map(|(path, _)| path)
}

/// Splits the rows of a listing into path and metadata.
pub(super) fn split(rows: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let end = rest.iter().position(|b| *b == 0)?;
        let (path, row) = rest.split_at(end);
        let (known, next) = row.split_at_checked(if is_folder(row) { FOLDER_ROW } else { FILE_ROW })?;
        rest = next;
        Some((path, known))
    })
}

/// Returns whether the metadata of a row is that of a directory.
pub(super) fn is_folder(meta: &[u8]) -> bool {
    let mode = meta.get(1..5).and_then(|mode| mode.try_into().ok()).map(u32::from_le_bytes);
    mode.is_some_and(|mode| FileType::from_raw_mode(mode) == FileType::Directory)
}

/// Returns inode, size, mtime and ctime (each as seconds and nanoseconds) from the metadata of a row, unless it is that of
/// a directory.
pub(super) fn on_disk(meta: &[u8]) -> Option<(u64, u64, [i64; 4])> {
    let (words, []) = meta.get(1 + 4..FILE_ROW)?.as_chunks::<8>() else { return None };
    let &[inode, size, times @ ..] = <&[[u8; 8]; 6]>::try_from(words).ok()?;
    Some((u64::from_le_bytes(inode), u64::from_le_bytes(size), times.map(i64::from_le_bytes)))
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
                // Removed since it was listed. The process that removed it is still running, and the next listing will
                // differ.
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
        // On a directory, such a bit only passes on the group, and whole file systems set it. Only a file gains
        // privileges from it.
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
            self.snapshot.linked |= stat.st_nlink > 1;
        }
        if name.to_bytes() == b".git" {
            self.snapshot.repositories.push(PathBuf::from(OsStr::from_bytes(&self.path)));
        }
        if kind == FileType::Fifo && name.to_bytes().starts_with(b".git") {
            // It holds nothing that could be lost, and git would block on it when reading attributes, ignore rules or
            // submodules.
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

/// Returns whether listing failed because of the depth.
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

/// Returns mtime and ctime, each as seconds and nanoseconds.
fn times(stat: &Stat) -> [i64; 4] {
    // The kernel's nanoseconds are below a billion. Their integer type differs between platforms.
    let small = |n| i64::try_from(n).unwrap_or(0);
    [stat.st_mtime, small(stat.st_mtime_nsec), stat.st_ctime, small(stat.st_ctime_nsec)]
}

fn nanoseconds(seconds: i64, nanos: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Changes a scratch file a few times with a stat after each change. With a coarse clock, two stats show the same time.
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
