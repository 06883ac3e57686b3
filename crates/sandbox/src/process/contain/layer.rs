//! Layers: overlay mounts of directories of the machine.
//!
//! There are two kinds. A *read* layer shows a directory read-only. A *write* layer redirects writes to another
//! directory. A layer covers a whole directory, such as the home, and the view then takes only the paths that the
//! policy names from it, which costs next to nothing. The layer itself is not part of the view, so the rest of the
//! directory stays unreachable.
//!
//! Overlays close two holes of plain bind mounts:
//!
//! - **Sockets.** A read-only bind mount does not stop `connect`: a program could talk to every server whose socket
//!   is in a shown directory. In an overlay, a socket has another inode, on which no server listens, and the kernel
//!   refuses the connection.
//! - **Hidden paths.** A mount over a file is gone once the host renames another file over it. A layer has a *mask*
//!   on top instead, with a whiteout for every hidden path. The path does not exist, even if the host changes the
//!   files below.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode as FileMode, ResolveFlags, mkdirat, mknodat, openat2, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use super::view::{ANYTHING, FOLDER, PLACE, empty_folder, open};
use crate::sandbox::{Entry, What, is_in};

/// Marks that the kernel leaves next to a volatile overlay, innermost first.
const MARKS: [(&str, AtFlags); 3] = [
    ("work/incompat/volatile/dirty", AtFlags::empty()),
    ("work/incompat/volatile", AtFlags::REMOVEDIR),
    ("work/incompat", AtFlags::REMOVEDIR),
];

/// Maximum length of a mount option's value in the kernel.
const LONGEST_OPTION: usize = 255;

/// The layers of one view.
pub(super) struct Layers<'a> {
    /// Write layers, by upper directory.
    written: BTreeMap<&'a Path, OwnedFd>,
    /// Read layers, by lower directory; `None` if the kernel refused.
    read: BTreeMap<PathBuf, Option<OwnedFd>>,
    /// Mount points of this machine.
    mounts: Vec<PathBuf>,
    /// Paths that exist in no layer.
    hidden: Vec<&'a Path>,
    /// Number of directories in the workshop: an empty file system at [`PLACE`] that is gone once the view is
    /// entered.
    made: usize,
    workshop: Option<OwnedFd>,
    /// The last source directory on the machine. Most entries share it with the previous entry.
    last: Option<(PathBuf, Rc<OwnedFd>)>,
}

impl<'a> Layers<'a> {
    /// Creates the layers of a view. Call this while `/proc` is still mounted.
    pub(super) fn new(view: &'a [Entry]) -> Self {
        let hides = |(number, entry): (usize, &'a Entry)| {
            // A directory that contains later entries must exist, so it is covered by an empty one instead.
            let holds_others = || view[number + 1..].iter().any(|later| is_in(&later.at, &entry.at));
            (entry.what == What::Hidden && !holds_others()).then_some(entry.at.as_path())
        };
        let hidden = view.iter().enumerate().filter_map(hides).collect();
        let mounts = mount_points(&fs::read("/proc/self/mountinfo").unwrap_or_default());
        Self {
            written: BTreeMap::new(),
            read: BTreeMap::new(),
            mounts,
            hidden,
            made: 0,
            workshop: None,
            last: None,
        }
    }

    /// Opens the directory of the machine that contains a path, without following symlinks.
    pub(super) fn above(&mut self, place: &Path) -> Result<Rc<OwnedFd>, Errno> {
        let above = place.parent().ok_or(Errno::INVAL)?;
        if let Some((_, opened)) = self.last.as_ref().filter(|(last, _)| last == above) {
            return Ok(Rc::clone(opened));
        }
        let opened = Rc::new(openat2(CWD, above, FOLDER, FileMode::empty(), ResolveFlags::NO_SYMLINKS)?);
        self.last = Some((above.to_owned(), Rc::clone(&opened)));
        Ok(opened)
    }

    /// Returns whether something is mounted below a directory. The kernel creates no overlay over such a directory.
    pub(super) fn has_mounts_below(&self, folder: &Path) -> bool {
        self.mounts.iter().any(|mount| is_in(mount, folder) && mount.as_os_str() != folder.as_os_str())
    }

    /// Returns whether the layers hide this path.
    pub(super) fn hides(&self, place: &Path) -> bool {
        self.hidden.contains(&place)
    }

    /// Returns a detached read-only mount of a path.
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

    /// Returns a detached mount of a path below `whole`. Changes go to `upper`.
    pub(super) fn written(
        &mut self,
        place: &Path,
        whole: &'a Path,
        upper: &'a Path,
    ) -> Result<OwnedFd, Errno> {
        let inside = place.strip_prefix(whole).map_err(|_| Errno::INVAL)?;
        self.layered(inside, &[whole], upper)
    }

    /// Returns a detached mount of `inside` in a stack of directories, topmost first. Changes go to `upper`.
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

    /// Creates an overlay of directories, topmost first. The last one belongs to the machine and gets a mask.
    ///
    /// Write layers are `volatile`: without it, unmounting would write out everything that any process has in memory
    /// for that disk. The kernel then leaves marks, and mounts the directories again only without them, because a
    /// power cut may have corrupted them. A corrupted cache affects one workspace, and is removed with it.
    fn lay(&mut self, lower: &[impl AsRef<Path>], upper: Option<&Path>) -> Result<OwnedFd, Errno> {
        let last = lower.last().ok_or(Errno::INVAL)?.as_ref();
        // If all directories of an overlay are on one disk, its files have a single device number. So add no mask
        // without need.
        let masked = upper.is_none() || self.hidden.iter().any(|hidden| hidden.starts_with(last));
        let mask = if masked { Some(self.mask(last)?) } else { None };
        // `lowerdir` is a list separated by `:`.
        let escaped = |path: &Path| path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
        let folders = || mask.as_deref().into_iter().chain(lower.iter().map(AsRef::as_ref));
        let below = folders().map(escaped).collect::<Vec<_>>().join(":");
        let system = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        if below.len() <= LONGEST_OPTION {
            fsconfig_set_string(&system, "lowerdir", below.as_str())?;
        } else {
            // One by one, since Linux 6.8.
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
            // Keep overlay metadata in xattrs that need no privileges.
            fsconfig_set_flag(&system, "userxattr")?;
            fsconfig_set_flag(&system, "volatile")?;
        } else {
            attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
        }
        fsconfig_create(&system)?;
        let layer = fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        // Older kernels clone only mounts that are attached.
        let place = self.make_folder()?;
        move_mount(&layer, "", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok(layer)
    }

    /// Creates a directory with a whiteout for every hidden path below `whole`. A read layer needs two lower
    /// directories anyway.
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
                // Below a hidden path, nothing is left to hide.
                Ok(()) | Err(Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(mask)
    }

    /// Creates an empty directory in the workshop.
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

/// Returns a detached mount of a path in a layer. Follows no symlinks.
fn part(layer: &OwnedFd, inside: &Path, flags: rustix::fs::OFlags) -> Result<OwnedFd, Errno> {
    let found = open(layer, inside, flags)?;
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(&found, "", flags)
}

/// Parses the mount points of `mountinfo`.
fn mount_points(text: &[u8]) -> Vec<PathBuf> {
    let point = |line: &[u8]| {
        let field = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(unescaped(field)))
    };
    text.split(|byte| *byte == b'\n').filter_map(point).collect()
}

/// Decodes a field of `mountinfo`, which has octal escapes for spaces and similar characters.
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

/// Lists the entries of a directory, with their targets if they are symlinks. For directories that cannot be shown as
/// a whole.
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
