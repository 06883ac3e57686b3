//! Makes the repository that an agent left harmless for git outside of the sandbox.
//!
//! A user who enters the tree runs git there without thinking of it: the prompt of a shell, an editor. It would run what
//! the agent wrote into the settings and hooks of `work/.git`. The next leg gets a new repository anyway, so until then
//! it has the settings of ours, no hooks, and nothing that names another place for settings.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, open, openat, renameat};
use rustix::io::Errno;

use super::modules::is_plain;
use super::snapshot::{Skip, Snapshot};
use super::{Error, LockedWorkspace, files};
use crate::git::{Index, ObjectFormat};
use crate::untrusted;

/// What git obeys in a repository, or reads to find it.
const OBEYED: [&str; 4] = ["hooks", "commondir", "config.worktree", "config"];

/// Mode of the entry of a submodule in an index.
const SUBMODULE: u32 = 0o160_000;

impl LockedWorkspace {
    /// Disarms the agent's repository, unless it is as we wrote it. The agent must have ended.
    pub(crate) fn disarm(&self) -> Result<(), Error> {
        let is_ours = Snapshot::take(&self.agent_dir(), Skip::Nothing)
            .is_ok_and(|now| self.load().is_ok_and(|state| state.is_some_and(|state| state.has_agent(&now))));
        if is_ours { Ok(()) } else { disarm(&self.dir) }
    }
}

/// Disarms the agent's repository in the workspace `dir`, if there is one. Nothing else may use the workspace.
pub(crate) fn disarm(dir: &Path) -> Result<(), Error> {
    let Some(config) = files::read(&dir.join("git/config"), files::SMALL)? else { return Ok(()) };
    let tree = dir.join("work");
    let git = tree.join(".git");
    let at = |error: std::io::Error| Error::io("disarm", &git, error);
    let Ok(opened) = open(&tree, FOLDER, Mode::empty()) else { return Ok(()) };
    let repository = match openat(&opened, ".git", FOLDER, Mode::empty()) {
        Ok(repository) => repository,
        Err(Errno::NOENT) => return Ok(()),
        // A link, or a file that names another repository.
        Err(_) => return remove(dir, &opened, ".git").map_err(at),
    };
    permit(&repository).map_err(at)?;
    for name in OBEYED {
        remove(dir, &repository, name).map_err(at)?;
    }
    untrusted::put_below(&tree, ".git/config", &config, PRIVATE).map_err(at)?;
    let format = if config.windows(6).any(|word| word == b"sha256") {
        ObjectFormat::Sha256
    } else {
        ObjectFormat::Sha1
    };
    for submodule in submodules(dir, format)? {
        if is_plain(&tree, &submodule.join(".git"))
            && let Ok(within) = open(tree.join(&submodule), FOLDER, Mode::empty())
            && openat(&within, ".git", OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
                .is_ok()
        {
            // Git asks the repository of a submodule for its state, so this one is no submodule any more.
            let kept = dir.join("kept");
            std::fs::create_dir_all(&kept).map_err(at)?;
            permit(&within)
                .and_then(|()| take(&within, ".git", &free(&kept, "submodule-git")))
                .map_err(at)?;
        }
    }
    Ok(())
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Removes an entry of a folder that programs wrote to, by way of a folder of ours: nobody can swap it meanwhile.
fn remove(dir: &Path, folder: &OwnedFd, name: &str) -> std::io::Result<()> {
    let left = dir.join("disarmed");
    untrusted::remove(&left)?;
    take(folder, name, &left)?;
    untrusted::remove(&left)
}

/// Moves an entry of such a folder. A folder without permissions gets them, because it cannot be moved otherwise.
fn take(folder: &OwnedFd, name: &str, to: &Path) -> std::io::Result<()> {
    let moved = || renameat(folder, name, CWD, to);
    match moved() {
        Err(Errno::ACCESS) => {
            permit(&openat(folder, name, FOLDER, Mode::empty())?)?;
            Ok(moved()?)
        }
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Gives the owner all permissions of a folder that was opened by its path alone.
fn permit(folder: &OwnedFd) -> std::io::Result<()> {
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Ok(());
    }
    let place = format!("/proc/self/fd/{}", folder.as_raw_fd());
    std::fs::set_permissions(place, std::fs::Permissions::from_mode((mode | Mode::RWXU).bits()))
}

/// Returns the submodules that the agent's git asks for their state. An index that cannot be read is replaced by ours.
fn submodules(dir: &Path, format: ObjectFormat) -> Result<Vec<PathBuf>, Error> {
    let (theirs, ours) = (dir.join("work/.git/index"), dir.join("git/index"));
    let index = Index::read(&theirs, format);
    if index.is_none() {
        let at = |error| Error::io("disarm", &theirs, error);
        let bytes = std::fs::read(&ours).unwrap_or_default();
        untrusted::remove(&theirs).map_err(at)?;
        if !bytes.is_empty() {
            untrusted::put_below(&dir.join("work"), ".git/index", &bytes, PRIVATE).map_err(at)?;
        }
    }
    let Some(index) = index.or_else(|| Index::read(&ours, format)) else { return Ok(Vec::new()) };
    let entries = (0..index.len()).map(|number| index.entry(number));
    let modules = entries.filter(|entry| entry.mode == SUBMODULE);
    Ok(modules.map(|entry| PathBuf::from(OsStr::from_bytes(entry.path))).collect())
}

/// Returns the first of `<stem>`, `<stem>-2`, … that is not in a folder.
fn free(folder: &Path, stem: &str) -> PathBuf {
    let numbered = (2_u32..).map(|number| folder.join(format!("{stem}-{number}")));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    std::iter::once(folder.join(stem)).chain(numbered).find(is_free).unwrap_or_default()
}
