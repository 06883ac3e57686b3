//! Keeps what acquit adds to the user's repository compact.
//!
//! A finished task leaves a few loose objects and two refs. Beyond a certain number, objects are put into one pack and
//! refs into `packed-refs`, as `git gc` does, so that git stays as fast after thousands of tasks as after the first.
//! Nothing is pruned, no setting is read or changed, and the user's own refs and packs stay as they are.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::{Error, Git, Source};
use crate::pause::pause;

/// Maximum number of loose refs in one directory. Reading this many takes a millisecond or two.
const MOST_REFS: usize = 200;
/// Maximum number of loose objects in one of the 256 directories, as a sample of all of them: 3,000 objects, less than
/// half of what makes the user's own git start packing.
const MOST_IN_FOLDER: usize = 12;
/// Maximum number of acquit's own packs before they are combined.
const MOST_PACKS: usize = 8;
/// Maximum number of stores that share a repository. The refs of each are in a separate directory.
const MOST_STORES: usize = 16;
/// Directory of loose objects to sample, the same as git uses.
const SAMPLE: &str = "17";
/// Name prefix of acquit's packs.
const PACK: &str = "acquit";

/// Form in which objects entered a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// As loose objects.
    Loose,
    /// As a pack.
    Pack,
}

/// Age at which the writer of a ref lock counts as dead. Git holds such a lock for milliseconds.
const STALE: Duration = Duration::from_secs(2);
/// The same for the lock of `packed-refs`, which the user's git takes as well, unless a git is running there.
const STALE_PACKED: Duration = Duration::from_secs(10);

impl Source {
    /// Removes the ref locks that a killed git left. Only for refs that only the caller's task writes, and whose
    /// earlier writer is gone. A young lock may be the user's, so this waits until it is old.
    pub(crate) fn clear_stale_locks<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            clear_stale_lock(&self.common().join(format!("{name}.lock")), STALE);
        }
    }

    /// Removes the lock that a killed git left when it deleted or packed refs. With it, the user's git could not delete
    /// a branch. Leaves it if a git is at work in the repository, such as a long fetch or one that is stopped.
    pub(crate) fn clear_stale_packed_lock(&self) {
        let lock = self.common().join("packed-refs.lock");
        if lock.exists() && !is_git_at_work(self.common()) {
            clear_stale_lock(&lock, STALE_PACKED);
        }
    }

    /// Returns the directory with the refs, next to the objects. A linked worktree uses that of its main repository.
    fn common(&self) -> &Path {
        self.objects().parent().unwrap_or(self.git_dir())
    }

    /// Packs refs and loose objects if there are many. `branch` is a ref that was just written. Only one process does
    /// this at a time; others skip it.
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

    /// Returns the directories with many loose refs among those that acquit writes to.
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
        self.clear_stale_packed_lock();
        let only = folders.iter().flat_map(|folder| ["--include".to_owned(), format!("{folder}/*")]);
        let output = self.call(git, "pack-refs").arg("--prune").args(only).run_any()?;
        if output.code == Some(0) {
            return Ok(());
        }
        // Before 2.42, git could only pack all refs.
        self.call(git, "pack-refs").args(["--all", "--prune"]).run().map(drop)
    }

    /// Packs all loose objects, and also combines acquit's own packs if there are many.
    fn pack_objects(&self, git: &Git, packs: &Path) -> Result<(), Error> {
        let mut old = own_packs(packs);
        // A multi-pack index would refer to packs that are gone.
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
                // Remove the index first: without it, git ignores the pack.
                for extension in ["idx", "rev", "bitmap", "pack"] {
                    let _ = fs::remove_file(path.with_extension(extension));
                }
            }
        }
        self.call(git, "prune-packed").arg("--quiet").run().map(drop)
    }
}

/// Returns whether a git of this machine runs in a repository or has one of its files open. A process that cannot be
/// inspected counts.
fn is_git_at_work(common: &Path) -> bool {
    let top = common.parent().unwrap_or(common);
    let is_inside = |link: PathBuf| fs::read_link(link).is_ok_and(|place| place.starts_with(top));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_git = |process: &PathBuf| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        name.trim_end() == "git" || name.starts_with("git-")
    };
    processes.filter(is_git).any(|process| {
        let Ok(open) = fs::read_dir(process.join("fd")) else { return process.exists() };
        is_inside(process.join("cwd")) || open.flatten().any(|file| is_inside(file.path()))
    })
}

/// Waits until a lock is old, and removes it unless another one replaced it.
fn clear_stale_lock(lock: &Path, stale: Duration) {
    let Ok(found) = fs::metadata(lock) else { return };
    let age = found.modified().ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
    let until = Instant::now() + stale.saturating_sub(age);
    loop {
        // A lock that replaced it belongs to a running git.
        if !fs::metadata(lock)
            .is_ok_and(|now| now.ino() == found.ino() && now.ctime_nsec() == found.ctime_nsec())
        {
            return;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let _ = fs::remove_file(lock);
            return;
        }
        pause(left.min(LOCK_LOOK));
    }
}

/// Interval between looks at a lock that is too young to be stale.
const LOCK_LOOK: Duration = Duration::from_millis(50);

/// Returns the packs that acquit made and that have no `.keep` file.
fn own_packs(packs: &Path) -> Vec<PathBuf> {
    let own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{PACK}-"))
            && path.extension().is_some_and(|extension| extension == "pack")
            && !path.with_extension("keep").exists()
    };
    fs::read_dir(packs).into_iter().flatten().flatten().map(|entry| entry.path()).filter(own).collect()
}

/// Returns whether a directory has more than `count` entries. Reads no more than necessary.
fn more_than(folder: &Path, count: usize) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.nth(count).is_some())
}
