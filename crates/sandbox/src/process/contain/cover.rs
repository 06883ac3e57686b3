//! Keeps files hidden in directories that the program can write to. A mount covers each hidden path, but the kernel
//! detaches the mount when the host renames another file over the path. So poll the paths, and cover them again.
//!
//! Between the rename and the next check, the program can open the new file. Read-only directories have no such gap:
//! there, a hidden name does not exist.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, ResolveFlags, StatxAttributes, StatxFlags, fstat, openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, move_mount};

use super::kernel::{Depth, restrict_mount};
use super::view::{self, ANYTHING};
use crate::sandbox::{Policy, What};

/// Interval of checking the paths. A check takes two system calls per path.
const OFTEN: Duration = Duration::from_millis(50);

/// The paths to keep covered.
pub(super) struct Covers(Vec<PathBuf>);

impl Covers {
    /// Returns the hidden paths of a policy that are in writable directories.
    pub(super) fn of(policy: &Policy) -> Self {
        let is_written = |place: &Path| {
            let holds = |what: &What| matches!(what, What::Write | What::Bound { .. });
            policy.view.iter().any(|entry| holds(&entry.what) && place.starts_with(&entry.at))
        };
        let hidden = policy.view.iter().filter(|entry| matches!(entry.what, What::Hidden));
        Self(hidden.filter(|entry| is_written(&entry.at)).map(|entry| entry.at.clone()).collect())
    }

    /// Covers paths that lost their mount. Must run inside the view.
    pub(super) fn renew(&self) {
        for place in &self.0 {
            // If it fails, the next check retries.
            let _ = cover(place);
        }
    }

    /// Limits the pause until the next check.
    pub(super) fn pause(&self, pause: Duration) -> Duration {
        if self.0.is_empty() { pause } else { pause.min(OFTEN) }
    }
}

fn cover(place: &Path) -> Result<(), Errno> {
    let target = openat2(CWD, place, ANYTHING, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let about = statx(&target, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    // The program cannot mount anything, so any mount here is ours.
    if about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(());
    }
    let nothing = match FileType::from_raw_mode(fstat(&target)?.st_mode) {
        FileType::Symlink => return Ok(()),
        FileType::Directory => {
            let folder = view::empty_folder()?;
            restrict_mount(&folder, view::READ_ONLY, Depth::This)?;
            folder
        }
        _ => view::copy(CWD, Path::new("/dev/null"), view::READ_ONLY | view::NO_PRIVILEGES)?,
    };
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&nothing, "", &target, "", onto)
}
