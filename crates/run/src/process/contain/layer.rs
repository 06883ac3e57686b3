//! Folders that are seen as they are, while what is written to them goes elsewhere.
//!
//! A layer is laid over a whole folder, a home for instance, and then only the places that the policy names are taken
//! from it: making a layer costs more than all the rest of a view, taking a place from it next to nothing. What else is in the
//! whole is never in the program's reach, because the layer itself is hung nowhere in its view.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use super::view::{FOLDER, PLACE, open};

/// What is left by the kernel beside a layer that was not to be kept safe, from the innermost.
const MARKS: [(&str, AtFlags); 3] = [
    ("work/incompat/volatile/dirty", AtFlags::empty()),
    ("work/incompat/volatile", AtFlags::REMOVEDIR),
    ("work/incompat", AtFlags::REMOVEDIR),
];

/// The layers of one view, by where they keep what is written.
#[derive(Default)]
pub(super) struct Layers<'a>(BTreeMap<&'a Path, OwnedFd>);

impl<'a> Layers<'a> {
    /// A place of a folder over which a layer lies, as a mount that hangs nowhere yet.
    pub(super) fn part(&mut self, place: &Path, whole: &'a Path, upper: &'a Path) -> Result<OwnedFd, Errno> {
        let inside = place.strip_prefix(whole).map_err(|_| Errno::INVAL)?;
        if !self.0.contains_key(upper) {
            let layer = lay(whole, upper)?;
            // Older kernels copy only what hangs somewhere. This place is left behind with the rest of the old root.
            move_mount(&layer, "", CWD, PLACE, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            self.0.insert(upper, layer);
        }
        let folder = open(self.0.get(upper).ok_or(Errno::NOENT)?, inside, FOLDER)?;
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        open_tree(&folder, "", flags)
    }
}

/// Lays a layer over a folder.
///
/// Only caches are shown like this, so nothing of it is worth a wait for the disk: without `volatile` its end would write out
/// everything that anybody has in memory for that disk. The kernel then leaves marks, and takes the folders again only
/// without them, because a power cut may have spoiled them. A spoiled cache is the trouble of one workspace, and goes with it.
fn lay(whole: &Path, upper: &Path) -> Result<OwnedFd, Errno> {
    let mut work = upper.as_os_str().to_owned();
    work.push(".work");
    let work = Path::new(&work);
    for (mark, kind) in MARKS {
        match unlinkat(CWD, work.join(mark), kind) {
            Ok(()) => {}
            Err(Errno::NOENT) => break,
            Err(errno) => return Err(errno),
        }
    }
    // The kernel reads a list of folders here.
    let escaped = whole.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
    let system = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&system, "lowerdir", escaped.as_str())?;
    fsconfig_set_string(&system, "upperdir", upper)?;
    fsconfig_set_string(&system, "workdir", work)?;
    // Its notes are kept in attributes that need no privileges.
    fsconfig_set_flag(&system, "userxattr")?;
    fsconfig_set_flag(&system, "volatile")?;
    fsconfig_create(&system)?;
    fsmount(
        &system,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
    )
}
