//! Copies committed files from the agent's tree to the checkout for gates, without starting git.
//!
//! After a leg without commits of the agent, the agent's tree has the files of the commit, and the harness's index has
//! their ids. An agent wrote to that tree, so nothing in it is trusted: a file is copied only if **its content has the
//! id that the commit names**, and is read without following a symlink. Modes and paths come from the index. (When the
//! work was collected, git hashed every file that an agent touched, and git rejects colliding content.)
//!
//! This gives what git checks out only if git converts nothing. So for a commit with attributes or submodules, and for
//! everything that does not fit, the caller lets git do it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, open, openat2, readlinkat, symlinkat, unlinkat};

use super::LockedWorkspace;
use crate::git::{CommitId, Index};

/// Maximum size of a file to copy. It is in memory as a whole.
const LARGEST: u64 = 16 << 20;

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// Never follows a symlink, and never leaves the directory.
const WITHIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How far a copy got.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    All,
    /// A part. The tree matches no commit.
    Some,
    /// Nothing was changed.
    Nothing,
}

impl LockedWorkspace {
    /// Switches the tree `to`, whose index is `index`, to the files of a commit.
    pub(super) fn copy_committed(&self, commit: &CommitId, to: &Path, index: &Path) -> Copied {
        let Some(listed) = self.listed(commit) else { return Copied::Nothing };
        let copied = self.copy(listed, Index::read(index, self.format), to);
        match copied.and_then(|new| super::files::write(index, &new.into_bytes()).ok()) {
            Some(()) => Copied::All,
            None => Copied::Some,
        }
    }

    /// Returns the index of the harness, if it has exactly the files of the commit, and git would not convert them.
    fn listed(&self, commit: &CommitId) -> Option<Index> {
        let index = Index::read(&self.git_dir().join("index"), self.format)?;
        let is_same = index.tree()? == self.commit_at_hand(commit)?.tree;
        let mut entries = (0..index.len()).map(|number| index.entry(number));
        let fits = is_same && !self.has_lfs() && entries.all(|entry| is_plain(entry.path, entry.mode));
        fits.then_some(index)
    }

    /// Copies what differs from `old`, and returns the index of the result.
    fn copy(&self, mut new: Index, old: Option<Index>, to: &Path) -> Option<Index> {
        let (from, to) = (folder(&self.tree())?, folder(to)?);
        if let Some(old) = &old {
            remove_others(&to, old, &new)?;
        }
        let mut made = PathBuf::new();
        for number in 0..new.len() {
            let entry = new.entry(number);
            if let Some(old) = &old
                && let Some(its) = old.find(entry.path).filter(|its| old.entry(*its) == entry)
            {
                new.record_as(number, old, its);
                continue;
            }
            let path = Path::new(OsStr::from_bytes(entry.path));
            let content = read(&from, path, entry.mode)?;
            if !entry.is_content(self.format, &content) {
                return None;
            }
            let parent = path.parent()?;
            if parent != made {
                make_folders(&to, parent)?;
                made = parent.to_owned();
            }
            let about = write(&to, path, entry.mode, &content)?;
            new.record(number, &about);
        }
        Some(new)
    }
}

/// Returns whether git writes such a file unchanged, with separate parent directories.
fn is_plain(path: &[u8], mode: u32) -> bool {
    let named = |part: &[u8], name: &str| part.eq_ignore_ascii_case(name.as_bytes());
    matches!(mode, FILE | PROGRAM | LINK)
        && Path::new(OsStr::from_bytes(path)).components().all(|part| match part {
            Component::Normal(part) => {
                let part = part.as_bytes();
                !named(part, ".git") && !named(part, ".gitattributes") && !named(part, ".gitmodules")
            }
            _ => false,
        })
}

fn folder(path: &Path) -> Option<OwnedFd> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Reads a file or the target of a symlink.
fn read(root: &OwnedFd, path: &Path, mode: u32) -> Option<Vec<u8>> {
    if mode == LINK {
        let (parent, name) = (within(root, path.parent()?)?, path.file_name()?);
        return Some(readlinkat(parent, name, Vec::new()).ok()?.into_bytes());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat2(root, path, flags, Mode::empty(), WITHIN).ok()?);
    let about = file.metadata().ok().filter(|about| about.is_file() && about.len() <= LARGEST)?;
    let mut content = vec![0; usize::try_from(about.len()).ok()?];
    file.read_exact(&mut content).ok()?;
    Some(content)
}

/// Writes a new file with the mode that git gives it, and returns what git would record about it.
fn write(root: &OwnedFd, path: &Path, mode: u32, content: &[u8]) -> Option<fs::Metadata> {
    if mode == LINK {
        let (parent, name) = (within(root, path.parent()?)?, path.file_name()?);
        symlinkat(content, &parent, name).ok()?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        return File::from(openat2(parent, name, flags, Mode::empty(), WITHIN).ok()?).metadata().ok();
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = if mode == PROGRAM { 0o777 } else { 0o666 };
    let mut file = File::from(openat2(root, path, flags, Mode::from_raw_mode(mode), WITHIN).ok()?);
    file.write_all(content).ok()?;
    file.metadata().ok()
}

/// Opens a directory below a root.
fn within(root: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    openat2(root, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), WITHIN).ok()
}

fn make_folders(root: &OwnedFd, path: &Path) -> Option<()> {
    if path.as_os_str().is_empty() || within(root, path).is_some() {
        return Some(());
    }
    make_folders(root, path.parent()?)?;
    let parent = within(root, path.parent()?)?;
    rustix::fs::mkdirat(parent, path.file_name()?, Mode::from_raw_mode(0o777)).ok()
}

/// Removes the files that `new` does not have as they are, and directories that are empty then.
fn remove_others(root: &OwnedFd, old: &Index, new: &Index) -> Option<()> {
    for number in 0..old.len() {
        let entry = old.entry(number);
        if new.find(entry.path).is_some_and(|its| new.entry(its) == entry) {
            continue;
        }
        let path = Path::new(OsStr::from_bytes(entry.path));
        unlinkat(within(root, path.parent()?)?, path.file_name()?, AtFlags::empty()).ok()?;
        for folder in path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty()) {
            let parent = within(root, folder.parent()?)?;
            if unlinkat(parent, folder.file_name()?, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
    }
    Some(())
}
