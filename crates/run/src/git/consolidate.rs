//! Keeping what acquit adds to the user's repository in bounded form.
//!
//! A finished task leaves a few loose objects and two refs. From a certain number on, objects are put into one pack and refs into
//! `packed-refs`, as `git gc` would do, so that git is as fast after thousands of tasks as after the first. Nothing is pruned, no
//! setting is read or changed, and the user's own refs and packs stay as they are.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::{Error, Git, Source};
use crate::pause::pause;

/// Loose refs in one folder: reading them takes a millisecond or two.
const MOST_REFS: usize = 200;
/// Loose objects in one of the 256 folders, which stands for all of them: 3,000 objects, less than half of what makes the user's own
/// git begin to pack.
const MOST_IN_FOLDER: usize = 12;
/// Packs of acquit's own before they become one.
const MOST_PACKS: usize = 8;
/// How many stores may share a repository: the refs of each are in a folder of their own.
const MOST_STORES: usize = 16;
/// The folder of loose objects that is looked at, the one that git itself looks at.
const SAMPLE: &str = "17";
/// What acquit's packs are called.
const PACK: &str = "acquit";

/// In which form objects came into a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// As loose objects.
    Loose,
    /// As a pack.
    Pack,
}

/// How old the lock of a ref must be before its writer counts as dead. Git holds one for milliseconds.
const STALE: Duration = Duration::from_secs(2);

impl Source {
    /// Removes the locks of refs that a git process left which was killed. Only for refs that nobody but the caller's task writes:
    /// whoever wrote them before is gone. A lock that is young may be the user's, so it is waited for.
    pub(crate) fn clear_stale_locks<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            let lock = self.common().join(format!("{name}.lock"));
            let Ok(found) = fs::metadata(&lock) else { continue };
            let age = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
            if age < STALE {
                pause(STALE.saturating_sub(age));
            }
            // Another one meanwhile has a writer that lives.
            if fs::metadata(&lock).is_ok_and(|now| now.ino() == found.ino()) {
                let _ = fs::remove_file(&lock);
            }
        }
    }

    /// The folder that has the refs. That of a linked worktree is in the repository that it belongs to, beside the objects.
    fn common(&self) -> &Path {
        self.objects().parent().unwrap_or(self.git_dir())
    }

    /// Packs refs and loose objects if there are many. `branch` is a ref that was just written. At most one process does it at a
    /// time; others leave it to that one.
    pub(crate) fn consolidate(&self, git: &Git, branch: Option<&str>, arrived: Arrived) -> Result<(), Error> {
        let packs = self.objects().join("pack");
        let refs = self.crowded(branch);
        let loose = more_than(&self.objects().join(SAMPLE), MOST_IN_FOLDER);
        let packed = arrived == Arrived::Pack && own_packs(&packs).len() > MOST_PACKS;
        if refs.is_empty() && !loose && !packed {
            return Ok(());
        }
        let Ok(lock) = File::open(&packs) else { return Ok(()) };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        if !refs.is_empty() {
            self.pack_refs(git, &refs)?;
        }
        if loose || packed { self.pack_objects(git, &packs) } else { Ok(()) }
    }

    /// Folders of refs that acquit writes to and that have many loose ones.
    fn crowded(&self, branch: Option<&str>) -> Vec<String> {
        let common = self.common();
        let mut folders = Vec::new();
        for kind in ["base", "attempts", "tasks"] {
            let folder = format!("refs/acquit/{kind}");
            let below = fs::read_dir(common.join(&folder)).into_iter().flatten().flatten().take(MOST_STORES);
            folders
                .extend(below.filter_map(|entry| Some(format!("{folder}/{}", entry.file_name().to_str()?))));
            folders.push(folder);
        }
        folders.extend(branch.and_then(|name| name.rsplit_once('/')).map(|(folder, _)| folder.to_owned()));
        folders.retain(|folder| more_than(&common.join(folder), MOST_REFS));
        folders
    }

    fn pack_refs(&self, git: &Git, folders: &[String]) -> Result<(), Error> {
        let only = folders.iter().flat_map(|folder| ["--include".to_owned(), format!("{folder}/*")]);
        let output = self.call(git, "pack-refs").arg("--prune").args(only).run_any()?;
        if output.code == Some(0) {
            return Ok(());
        }
        // Before 2.42 git could only pack all refs.
        self.call(git, "pack-refs").args(["--all", "--prune"]).run().map(drop)
    }

    /// Puts all loose objects into a pack, and acquit's own packs too if there are many of them.
    fn pack_objects(&self, git: &Git, packs: &Path) -> Result<(), Error> {
        let mut old = own_packs(packs);
        // An index over several packs would name some that are gone.
        if old.len() < MOST_PACKS || packs.join("multi-pack-index").exists() {
            old.clear();
        }
        let names: String =
            old.iter().filter_map(|path| Some(format!("{}\n", path.file_name()?.to_str()?))).collect();
        let made = self
            .call(git, "pack-objects")
            .args(["--quiet", "--local", "--stdin-packs", "--unpacked", "--honor-pack-keep"])
            .arg(packs.join(PACK))
            .input(names)
            .run()?;
        let made = format!("{PACK}-{}.pack", made.line());
        if packs.join(&made).exists() {
            for path in old.iter().filter(|path| !path.ends_with(&made)) {
                // The index first: without it git does not know the pack.
                for extension in ["idx", "rev", "bitmap", "pack"] {
                    let _ = fs::remove_file(path.with_extension(extension));
                }
            }
        }
        self.call(git, "prune-packed").arg("--quiet").run().map(drop)
    }
}

/// The packs that acquit made and nobody asked to keep.
fn own_packs(packs: &Path) -> Vec<PathBuf> {
    let own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{PACK}-"))
            && path.extension().is_some_and(|extension| extension == "pack")
            && !path.with_extension("keep").exists()
    };
    fs::read_dir(packs).into_iter().flatten().flatten().map(|entry| entry.path()).filter(own).collect()
}

/// Whether a folder has more than so many entries. Reads no more than needed to know.
fn more_than(folder: &Path, count: usize) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.nth(count).is_some())
}
