//! Hidden places in folders that a program writes to. A mount covers each of them, and the kernel takes that mount away when the host
//! renames another file over the place. So each is looked at often, and covered again.
//!
//! Between the rename and the next look the program can open the new file. Folders that are only read have no such gap: there a hidden
//! name does not exist.

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

/// How often the places are looked at. A look costs two calls for each.
const OFTEN: Duration = Duration::from_millis(50);

/// The places.
pub(super) struct Covers(Vec<PathBuf>);

impl Covers {
    /// Those of a policy.
    pub(super) fn of(policy: &Policy) -> Self {
        let is_written = |place: &Path| {
            let holds = |what: &What| matches!(what, What::Write | What::Bound { .. });
            policy.view.iter().any(|entry| holds(&entry.what) && place.starts_with(&entry.at))
        };
        let hidden = policy.view.iter().filter(|entry| matches!(entry.what, What::Hidden));
        Self(hidden.filter(|entry| is_written(&entry.at)).map(|entry| entry.at.clone()).collect())
    }

    /// Covers again what lies bare. Must run inside of the view.
    pub(super) fn renew(&self) {
        for place in &self.0 {
            // One that cannot be covered now is tried again at the next look.
            let _ = cover(place);
        }
    }

    /// When to look again, at the latest.
    pub(super) fn pause(&self, pause: Duration) -> Duration {
        if self.0.is_empty() { pause } else { pause.min(OFTEN) }
    }
}

fn cover(place: &Path) -> Result<(), Errno> {
    let target = openat2(CWD, place, ANYTHING, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let about = statx(&target, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    // The program cannot mount anything, so a mount is ours.
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
