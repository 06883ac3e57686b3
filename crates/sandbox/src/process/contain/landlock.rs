//! Landlock: a second wall after the mounts, and the first one if there are no namespaces.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode as FileMode, OFlags, fstat, open};
use rustix::io::Errno;

use super::kernel::{self, Handled};
use crate::sandbox::machine::LANDLOCK;
use crate::sandbox::{Entry, Policy, What};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// Creating and removing files and directories of every kind.
const CHANGE_DIR: u64 = 0b1_1111_1111 << 4;
/// Links and renames between directories; since version 2.
const REFER: u64 = 1 << 13;
/// Since version 3.
const TRUNCATE: u64 = 1 << 14;
/// Since version 5.
const IOCTL_DEV: u64 = 1 << 15;

/// Connecting to Unix sockets that were bound outside; since version 9.
const RESOLVE_UNIX: u64 = 1 << 16;
/// The first version with `RESOLVE_UNIX`.
pub(super) const WITH_SOCKETS: u32 = 9;

/// Signals to processes outside and abstract sockets outside.
const SCOPES: u64 = 0b11;
/// The first version with `SCOPES`.
pub(super) const WITH_SCOPES: u32 = 6;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Rights that apply to a single file.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/// The first version with truncation. With older ones, a readable file can be emptied unless it is mounted read-only.
const OLDEST_ALONE: u32 = 3;

/// The file system to which the rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// The view, which has only what the policy shows: all of it may be read.
    View,
    /// The machine's own.
    Machine,
}

/// Applies the policy's rules to this process. Fails if the kernel has no Landlock or too old a version.
pub(super) fn enforce(policy: &Policy, around: Around) -> Result<(), Errno> {
    let oldest = match around {
        // Read-only mounts refuse truncation too.
        Around::View => LANDLOCK,
        Around::Machine => OLDEST_ALONE,
    };
    let version = kernel::landlock_version().filter(|version| *version >= oldest).ok_or(Errno::NOSYS)?;
    let truncate = if version >= OLDEST_ALONE { TRUNCATE } else { 0 };
    let ioctl = if version >= 5 { IOCTL_DEV } else { 0 };
    let files = READ | WRITE_FILE | CHANGE_DIR | REFER | truncate | ioctl;
    // Only sockets that the policy names get this right, no directory. It does not affect the program's own sockets.
    let sockets = if version >= WITH_SOCKETS { RESOLVE_UNIX } else { 0 };
    let (scopes, size) =
        if version >= WITH_SCOPES { (SCOPES, size_of::<Handled>()) } else { (0, size_of::<u64>()) };
    let ruleset = kernel::landlock_ruleset(&Handled { files: files | sockets, network: 0, scopes }, size)?;
    let rules = Rules { ruleset: &ruleset, files: files | sockets };

    match around {
        Around::View => rules.allow(Path::new("/"), READ)?,
        Around::Machine => {
            for entry in &policy.view {
                if matches!(entry.what, What::Read | What::Overlaid { .. }) {
                    rules.allow(&entry.at, READ)?;
                }
            }
            rules.allow(Path::new("/proc"), READ)?;
        }
    }
    for place in policy.view.iter().filter_map(|entry| written(entry, around)) {
        rules.allow(&place, files)?;
    }
    for entry in policy.view.iter().filter(|entry| entry.what == What::Read && is_socket(&entry.at)) {
        rules.allow(&entry.at, READ_FILE | WRITE_FILE | sockets)?;
    }
    // The machine's own have memory of other programs, what earlier stages left, and the user's terminals.
    if around == Around::View {
        for place in ["/dev/shm", "/dev/pts"] {
            rules.allow(Path::new(place), files)?;
        }
    }
    for device in super::view::DEVICES {
        rules.allow(&Path::new("/dev").join(device), READ_FILE | WRITE_FILE | ioctl)?;
    }
    // Read-only: else a program could make itself the last choice of the OOM killer.
    rules.allow(Path::new("/proc"), READ)?;
    rules.allow_standard_streams()?;
    kernel::landlock_enforce(&ruleset)
}

/// Returns the path below which an entry allows writing.
fn written(entry: &Entry, around: Around) -> Option<PathBuf> {
    match (around, &entry.what) {
        (_, What::Write)
        | (Around::View, What::Bound { .. } | What::Overlaid { .. } | What::Layered { .. } | What::Scratch) => {
            Some(entry.at.clone())
        }
        (Around::Machine, What::Bound { source }) => Some(source.clone()),
        (Around::Machine, What::Overlaid { .. } | What::Layered { .. } | What::Scratch)
        | (_, What::Read | What::Link { .. } | What::Hidden) => None,
    }
}

fn is_socket(place: &Path) -> bool {
    rustix::fs::lstat(place).is_ok_and(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::Socket)
}

struct Rules<'a> {
    ruleset: &'a OwnedFd,
    files: u64,
}

impl Rules<'_> {
    /// Adds a rule. Skips paths that do not exist.
    fn allow(&self, place: &Path, rights: u64) -> Result<(), Errno> {
        match open(place, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty()) {
            Ok(place) => self.allow_open(&place, rights),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn allow_open(&self, place: impl AsFd, rights: u64) -> Result<(), Errno> {
        let is_folder = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
        let rights = if is_folder { rights } else { rights & OF_FILES };
        kernel::landlock_allow(self.ruleset, place, rights & self.files)
    }

    /// Lets a program reopen its standard streams (`/dev/stderr`): these files are in no directory of the view.
    fn allow_standard_streams(&self) -> Result<(), Errno> {
        let rights = [READ_FILE, READ_FILE | WRITE_FILE | TRUNCATE, READ_FILE | WRITE_FILE | TRUNCATE];
        for (number, rights) in rights.into_iter().enumerate() {
            let Ok(stream) = File::open(format!("/proc/self/fd/{number}")) else { continue };
            if FileType::from_raw_mode(fstat(&stream)?.st_mode) == FileType::RegularFile {
                self.allow_open(&stream, rights)?;
            }
        }
        Ok(())
    }
}
