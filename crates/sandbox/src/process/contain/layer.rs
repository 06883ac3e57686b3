//! Layers: folders of the machine as an overlay shows them.
//!
//! Two kinds exist. A *read* layer shows a folder as it is, without a way to write. A *write* layer sends what is written to a folder
//! aside. Both are laid over a whole folder, a home for instance, and then only the places that the policy names are taken from
//! them: taking a place costs next to nothing. The layer itself is not part of the program's view, so nothing else of the whole
//! can be reached.
//!
//! Overlays close two holes of plain bind mounts:
//!
//! - **Sockets.** A read-only bind mount does not stop `connect`: a program could talk to every server whose socket lies in a shown
//!   folder. Through an overlay a socket is another inode, on which nobody listens, and the kernel refuses the connection.
//! - **Hidden places.** A mount over a file is gone once the host renames another file over it. A layer has a *mask* on top
//!   instead, with a whiteout for every hidden path. The path does not exist, whatever the host does below it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode as FileMode, mkdirat, mknodat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use super::view::{ANYTHING, FOLDER, PLACE, empty_folder, open};
use crate::sandbox::{Entry, What};

/// What is left by the kernel beside a layer that was not to be kept safe, from the innermost.
const MARKS: [(&str, AtFlags); 3] = [
    ("work/incompat/volatile/dirty", AtFlags::empty()),
    ("work/incompat/volatile", AtFlags::REMOVEDIR),
    ("work/incompat", AtFlags::REMOVEDIR),
];

/// The longest value that the kernel takes for an option of a file system.
const LONGEST_OPTION: usize = 255;

/// The layers of one view.
pub(super) struct Layers<'a> {
    /// By where they keep what is written.
    written: BTreeMap<&'a Path, OwnedFd>,
    /// By what they lie over; none where the kernel refused.
    read: BTreeMap<PathBuf, Option<OwnedFd>>,
    /// Where something is mounted on this machine.
    mounts: Vec<PathBuf>,
    /// Places that do not exist in any layer.
    hidden: Vec<&'a Path>,
    /// How many folders the workshop has: an empty file system at [`PLACE`] that is gone when the view is entered.
    made: usize,
    workshop: Option<OwnedFd>,
}

impl<'a> Layers<'a> {
    /// Layers for this view. To be made while `/proc` is still in its place.
    pub(super) fn new(view: &'a [Entry]) -> Self {
        let hides = |(number, entry): (usize, &'a Entry)| {
            // A folder in which later entries are shown must exist: it is hidden by an empty one instead.
            let holds_others = || view[number + 1..].iter().any(|later| later.at.starts_with(&entry.at));
            (entry.what == What::Hidden && !holds_others()).then_some(entry.at.as_path())
        };
        let hidden = view.iter().enumerate().filter_map(hides).collect();
        let mounts = mount_points(&fs::read("/proc/self/mountinfo").unwrap_or_default());
        Self { written: BTreeMap::new(), read: BTreeMap::new(), mounts, hidden, made: 0, workshop: None }
    }

    /// Whether something is mounted below a folder. The kernel lays nothing over such a folder.
    pub(super) fn has_mounts_below(&self, folder: &Path) -> bool {
        self.mounts.iter().any(|mount| mount != folder && mount.starts_with(folder))
    }

    /// Whether a place is one that no layer shows.
    pub(super) fn hides(&self, place: &Path) -> bool {
        self.hidden.contains(&place)
    }

    /// A place to be read, as a mount that hangs nowhere yet.
    pub(super) fn read(&mut self, place: &Path) -> Result<OwnedFd, Errno> {
        let mut refusal = Errno::INVAL;
        let mut wholes: Vec<&Path> = place.ancestors().filter(|whole| whole.parent().is_some()).collect();
        wholes.reverse();
        for whole in wholes {
            if self.has_mounts_below(whole) {
                continue;
            }
            if !self.read.contains_key(whole) {
                let layer = self.lay(&[whole], None);
                if let Err(errno) = layer {
                    refusal = errno;
                }
                self.read.insert(whole.to_owned(), layer.ok());
            }
            if let Some(Some(layer)) = self.read.get(whole) {
                return part(layer, place.strip_prefix(whole).map_err(|_| Errno::INVAL)?, ANYTHING);
            }
        }
        Err(refusal)
    }

    /// A place of a folder whose changes go to `upper`, as a mount that hangs nowhere yet.
    pub(super) fn written(
        &mut self,
        place: &Path,
        whole: &'a Path,
        upper: &'a Path,
    ) -> Result<OwnedFd, Errno> {
        let inside = place.strip_prefix(whole).map_err(|_| Errno::INVAL)?;
        self.layered(inside, &[whole], upper)
    }

    /// A part of several folders, the topmost first, whose changes go to `upper`, as a mount that hangs nowhere yet.
    pub(super) fn layered(
        &mut self,
        inside: &Path,
        lower: &[impl AsRef<Path>],
        upper: &'a Path,
    ) -> Result<OwnedFd, Errno> {
        if !self.written.contains_key(upper) {
            let layer = self.lay(lower, Some(upper))?;
            self.written.insert(upper, layer);
        }
        part(self.written.get(upper).ok_or(Errno::NOENT)?, inside, FOLDER)
    }

    /// Lays a layer over folders, the topmost first, below a mask for the last of them, which is the machine's own.
    ///
    /// Of written ones nothing is worth a wait for the disk: without `volatile` its end would write out everything that anybody has
    /// in memory for that disk. The kernel then leaves marks, and takes the folders again only without them, because a
    /// power cut may have spoiled them. A spoiled cache is the trouble of one workspace, and goes with it.
    fn lay(&mut self, lower: &[impl AsRef<Path>], upper: Option<&Path>) -> Result<OwnedFd, Errno> {
        let last = lower.last().ok_or(Errno::INVAL)?.as_ref();
        // An overlay whose folders are all on one disk tells that disk's files from others by one number, so none is added in vain.
        let masked = upper.is_none() || self.hidden.iter().any(|hidden| hidden.starts_with(last));
        let mask = if masked { Some(self.mask(last)?) } else { None };
        // The kernel reads a list of folders here.
        let escaped = |path: &Path| path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
        let folders = || mask.as_deref().into_iter().chain(lower.iter().map(AsRef::as_ref));
        let below = folders().map(escaped).collect::<Vec<_>>().join(":");
        let system = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        if below.len() <= LONGEST_OPTION {
            fsconfig_set_string(&system, "lowerdir", below.as_str())?;
        } else {
            // One by one, since version 6.8.
            for folder in folders() {
                fsconfig_set_string(&system, "lowerdir+", folder)?;
            }
        }
        let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        if let Some(upper) = upper {
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
            fsconfig_set_string(&system, "upperdir", upper)?;
            fsconfig_set_string(&system, "workdir", work)?;
            // Its notes are kept in attributes that need no privileges.
            fsconfig_set_flag(&system, "userxattr")?;
            fsconfig_set_flag(&system, "volatile")?;
        } else {
            attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
        }
        fsconfig_create(&system)?;
        let layer = fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        // Older kernels copy only what hangs somewhere.
        let place = self.make_folder()?;
        move_mount(&layer, "", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok(layer)
    }

    /// A folder with a whiteout for every hidden path below a whole. An overlay without an upper layer needs two folders anyway.
    fn mask(&mut self, whole: &Path) -> Result<PathBuf, Errno> {
        let mask = self.make_folder()?;
        for hidden in &self.hidden {
            let Ok(inside) = hidden.strip_prefix(whole) else { continue };
            let Some(name) = inside.file_name() else { continue };
            let mut folder = mask.clone();
            for part in inside.parent().into_iter().flat_map(Path::components) {
                folder.push(part);
                match mkdirat(CWD, &folder, FileMode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            }
            match mknodat(CWD, folder.join(name), FileType::CharacterDevice, FileMode::empty(), 0) {
                // Below one that is hidden itself there is nothing to hide.
                Ok(()) | Err(Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(mask)
    }

    /// An empty folder in the workshop.
    fn make_folder(&mut self) -> Result<PathBuf, Errno> {
        if self.workshop.is_none() {
            let workshop = empty_folder()?;
            move_mount(&workshop, "", CWD, PLACE, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            self.workshop = Some(workshop);
        }
        self.made += 1;
        let path = Path::new(PLACE).join(self.made.to_string());
        mkdirat(CWD, &path, FileMode::from_raw_mode(0o755))?;
        Ok(path)
    }
}

/// A place of a layer. No link on the way is followed.
fn part(layer: &OwnedFd, inside: &Path, flags: rustix::fs::OFlags) -> Result<OwnedFd, Errno> {
    let found = open(layer, inside, flags)?;
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(&found, "", flags)
}

/// Where something is mounted, from the lines of `mountinfo`.
fn mount_points(text: &[u8]) -> Vec<PathBuf> {
    let point = |line: &[u8]| {
        let field = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(unescaped(field)))
    };
    text.split(|byte| *byte == b'\n').filter_map(point).collect()
}

/// A field of `mountinfo`, in which spaces and the like are written as octal numbers.
fn unescaped(field: &[u8]) -> std::ffi::OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let number =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        if let Some(byte) = number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    std::ffi::OsString::from_vec(bytes)
}

/// Names of a folder's entries with what they are, for one that cannot be shown as a whole.
pub(super) fn children(folder: &Path) -> Vec<(PathBuf, Option<PathBuf>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| !entry.file_name().as_bytes().is_empty())
        .map(|entry| (entry.path(), fs::read_link(entry.path()).ok()))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn mount_points_are_read_with_their_odd_names() {
        let text =
            b"22 1 8:1 / / rw - ext4 /dev/sda rw\n23 22 0:5 / /mnt/a\\040b\\134c rw shared:1 - tmpfs x rw\n";
        assert_eq!(mount_points(text), [PathBuf::from("/"), PathBuf::from("/mnt/a b\\c")]);
        assert_eq!(unescaped(b"\\08"), OsStr::new("\\08"));
    }

    #[test]
    fn hidden_places_that_hold_shown_ones_are_not_masked() {
        let view = [
            Entry::read("/nowhere/u"),
            Entry::hidden("/nowhere/u/.codex"),
            Entry::hidden("/nowhere/u/.ssh"),
            Entry::read("/nowhere/u/.codex/auth.json"),
        ];
        let layers = Layers::new(&view);
        assert!(layers.hides(Path::new("/nowhere/u/.ssh")) && !layers.hides(Path::new("/nowhere/u/.codex")));
    }
}
