//! Setup layers: the output of the project's setup command, kept once per state of the lock files and shared by all
//! tasks.
#![allow(
    clippy::disallowed_methods,
    reason = "the age of a layer is that of its files, which the file system keeps"
)]
//!
//! ```text
//! <home>/layers/<project>/<key>/tree       what setup wrote to the tree, without what git tracks
//! <home>/layers/<project>/<key>/home       what it downloaded to caches of its home
//! <home>/layers/<project>/<key>/outside    what it downloaded to caches outside its home
//! <home>/layers/<project>/<key>/setup.json for changed lock files: network access of setup, and hosts it reached
//! <home>/layers/<project>/<key>/made       its mtime is the time when the layer was made
//! <home>/layers/<project>/<key>/complete   its mtime is the time of the last use
//! <home>/layers/<project>/<key>.lock       held exclusively while it is made or removed, shared while it is used
//! ```
//!
//! `<home>/layers/trial-…` exists, locked, while a leg tries whether overlays work on this machine.
//!
//! A layer is made in `<key>.new` and then renamed, so a half-made one is never used. Agents and gates never write to
//! it: they see it as the lower directory of an overlay.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use acquit_core::event::SetupAgain;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::runtime::{Runtime, make_private};
use crate::sandbox::default_policy::MovedCache;
use crate::untrusted::{remove, size};

/// Maximum number of layers to keep per project, most recently used first: more lock file states than are in use at a
/// time.
const MOST_KEPT: usize = 8;

/// File in a layer for changed lock files that records how setup used the network.
const SETUP: &str = "setup.json";

/// Time after which an unused layer is removed.
const UNUSED: Duration = Duration::from_hours(14 * 24);

/// Caches in a home with what package managers download. Only these are kept: no settings, which could name programs,
/// and no directories of a `PATH`.
const CACHES: [&str; 37] = [
    ".cargo/registry",
    ".cargo/git",
    ".rustup/toolchains",
    "go/pkg/mod",
    ".gradle/caches",
    ".gradle/wrapper/dists",
    ".m2/repository",
    ".m2/wrapper/dists",
    ".ivy2/cache",
    ".sbt/boot",
    ".npm/_cacache",
    ".yarn/berry/cache",
    ".bun/install/cache",
    ".nuget/packages",
    ".pub-cache/hosted",
    ".hex/packages",
    ".stack/pantry",
    ".cabal/packages",
    ".opam/download-cache",
    ".bundle/cache",
    ".composer/cache",
    ".local/share/pnpm/store",
    ".local/share/uv/python",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/node",
    ".cache/deno",
    ".cache/pypoetry",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/coursier",
    ".cache/composer",
    ".cache/bazelisk",
    ".cache/Cypress",
];

/// Location of one layer.
pub(crate) struct Place {
    folder: PathBuf,
}

/// The setup layer of a tree. It changes with the commit that the tree shows.
pub(crate) type SharedLayer = Rc<RefCell<Option<Rc<Layer>>>>;

/// A layer that is kept as long as this value lives.
#[derive(Debug)]
pub(crate) struct Layer {
    folder: PathBuf,
    in_use: File,
}

/// Permission to make a layer.
pub(crate) struct Making {
    lock: File,
    /// Directory that becomes the layer.
    pub(crate) folder: PathBuf,
}

impl Making {
    /// Records how setup used the network, for tasks that use the layer later.
    pub(crate) fn keep(&self, setup: &SetupAgain) -> io::Result<()> {
        fs::write(self.folder.join(SETUP), serde_json::to_vec(setup)?)
    }
}

/// What is at a location.
pub(crate) enum Found {
    Layer(Layer),
    /// Nothing: the caller must make it.
    Nothing(Making),
    /// Nothing yet: another process is making it.
    InTheMaking,
}

impl Layer {
    /// Returns what setup wrote to the tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Returns when the layer was made. Build tools compare times: sources that are older than the output built from
    /// others count as built.
    pub(crate) fn made(&self) -> io::Result<SystemTime> {
        fs::metadata(self.folder.join("made"))?.modified()
    }

    /// Returns how setup used the network, if the layer was made for changed lock files.
    pub(crate) fn setup(&self) -> Option<SetupAgain> {
        serde_json::from_slice(&fs::read(self.folder.join(SETUP)).ok()?).ok()
    }

    /// Returns what setup downloaded to the home, if anything.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        Some(self.folder.join("home")).filter(|home| home.is_dir())
    }
}

impl Place {
    /// Returns the location of a project's layer. Acquit itself chooses `project` and `key`.
    pub(crate) fn new(runtime: &Runtime, project: &str, key: &str) -> Self {
        Self { folder: runtime.home.join("layers").join(project).join(key) }
    }

    pub(crate) fn find(&self) -> io::Result<Found> {
        if let Some(parent) = self.folder.parent() {
            make_private(parent)?;
        }
        if let Some(layer) = self.open()? {
            return Ok(Found::Layer(layer));
        }
        let Some(lock) = locked(&self.beside("lock"), FlockOperation::NonBlockingLockExclusive)? else {
            return Ok(Found::InTheMaking);
        };
        if self.is_complete() {
            // Another process has just made it.
            flock(&lock, FlockOperation::LockShared)?;
            return Ok(Found::Layer(self.used(lock)));
        }
        let folder = self.beside("new");
        for left in [&folder, &self.folder] {
            remove(left)?;
        }
        make_private(&folder)?;
        Ok(Found::Nothing(Making { lock, folder }))
    }

    /// Moves a finished layer to its location, and removes layers that were not used for a long time.
    pub(crate) fn publish(&self, making: Making) -> io::Result<Layer> {
        File::create(making.folder.join("made"))?;
        File::create(making.folder.join("complete"))?;
        fs::rename(&making.folder, &self.folder)?;
        flock(&making.lock, FlockOperation::LockShared)?;
        let layer = self.used(making.lock);
        if let Some(project) = self.folder.parent() {
            prune(project, MOST_KEPT)?;
        }
        Ok(layer)
    }

    fn open(&self) -> io::Result<Option<Layer>> {
        if !self.is_complete() {
            return Ok(None);
        }
        let Some(lock) = locked(&self.beside("lock"), FlockOperation::NonBlockingLockShared)? else {
            return Ok(None);
        };
        Ok(self.is_complete().then(|| self.used(lock)))
    }

    fn used(&self, lock: File) -> Layer {
        // Best effort: a layer that seems unused for a long time is made again.
        let _ = File::options()
            .write(true)
            .open(self.folder.join("complete"))
            .and_then(|file| file.set_modified(SystemTime::now()));
        Layer { folder: self.folder.clone(), in_use: lock }
    }

    fn is_complete(&self) -> bool {
        self.folder.join("complete").is_file()
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.folder.with_extension(ending)
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is starting holds a copy of the descriptor until its exec.
        let _ = flock(&self.in_use, FlockOperation::Unlock);
    }
}

/// Moves the downloads of package managers out of the directory for setup's writes, to a layer: those in its home, those
/// that were written over the user's caches, and those in caches that variables moved.
pub(crate) fn keep_caches(aside: &Path, moved: &[MovedCache], layer: &Path) -> io::Result<()> {
    let home = layer.join("home");
    for name in CACHES {
        for written in ["over", "home"] {
            keep_cache(aside, &Path::new(written).join(name), &home.join(name))?;
        }
    }
    for cache in moved {
        for written in &cache.written {
            if keep_cache(aside, written, &layer.join(&cache.kept))? {
                // Without it, the layer counts as one without downloads.
                fs::create_dir_all(&home)?;
            }
        }
    }
    Ok(())
}

fn keep_cache(aside: &Path, written: &Path, target: &Path) -> io::Result<bool> {
    let source = aside.join(written);
    if !is_real_folder(aside, written) || target.exists() || is_empty(&source) {
        return Ok(false);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&source, target)?;
    Ok(true)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Returns whether every component of a path is a real directory and not a symlink.
fn is_real_folder(root: &Path, relative: &Path) -> bool {
    let mut here = root.to_owned();
    relative.components().all(|part| {
        here.push(part);
        fs::symlink_metadata(&here).is_ok_and(|meta| meta.is_dir())
    })
}

/// Returns the number of layers and their disk usage. If `wish` asks for cleaning, first removes layers that were not
/// used for a long time.
pub fn sweep(runtime: &Runtime, wish: acquit_core::retention::Wish) -> (usize, u64) {
    let mut all = (0, 0);
    let layers = runtime.home.join("layers");
    if wish == acquit_core::retention::Wish::Clean {
        sweep_trials(&layers);
    }
    for project in folders(&layers) {
        if wish == acquit_core::retention::Wish::Clean {
            // The next sweep retries what is in use or cannot be removed.
            let _ = prune(&project, MOST_KEPT);
        }
        for layer in folders(&project) {
            all.0 += 1;
            all.1 += size(&layer);
        }
    }
    all
}

/// Prefix of trial directories.
const TRIAL: &str = "trial-";

/// Creates a new directory next to the layers, with its lock. Removes those of killed trials.
pub(crate) fn trial(layers: &Path) -> io::Result<(PathBuf, File)> {
    sweep_trials(layers);
    loop {
        let folder = layers.join(format!("{TRIAL}{}", crate::agent::new_session()));
        // A sweep may remove it before it is locked.
        let lock = match make_private(&folder).and_then(|()| File::open(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock?,
        };
        flock(&lock, FlockOperation::LockExclusive)?;
        if folder.exists() {
            return Ok((folder, lock));
        }
    }
}

/// Removes the trial directories that no one has locked.
fn sweep_trials(layers: &Path) {
    let is_trial =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TRIAL));
    for folder in folders(layers).filter(is_trial) {
        let Ok(lock) = File::open(&folder) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // The next sweep retries what cannot be removed.
            let _ = remove(&folder);
        }
    }
}

/// Removes layers of a project beyond the most recently used ones, and those not used for a long time, unless they are
/// in use.
fn prune(project: &Path, most: usize) -> io::Result<()> {
    // Layers whose maker was killed.
    for unfinished in folders(project).filter(|folder| folder.extension().is_some_and(|end| end == "new")) {
        let lock = unfinished.with_extension("lock");
        let Some(_held) = locked(&lock, FlockOperation::NonBlockingLockExclusive)? else { continue };
        remove(&unfinished)?;
        if !unfinished.with_extension("").exists() {
            let _ = fs::remove_file(&lock);
        }
    }
    let mut layers: Vec<(SystemTime, PathBuf)> = folders(project)
        .filter(|folder| folder.extension().is_none())
        .map(|folder| {
            let used = fs::metadata(folder.join("complete")).and_then(|meta| meta.modified());
            (used.unwrap_or(SystemTime::UNIX_EPOCH), folder)
        })
        .collect();
    layers.sort();
    layers.reverse();
    let now = SystemTime::now();
    for (place, (used, folder)) in layers.into_iter().enumerate() {
        let unused = now.duration_since(used).unwrap_or_default() > UNUSED;
        if place < most && !unused {
            continue;
        }
        let lock = folder.with_extension("lock");
        let Some(_held) = locked(&lock, FlockOperation::NonBlockingLockExclusive)? else { continue };
        // Remove this first, so that a partly removed layer is never used.
        let _ = fs::remove_file(folder.join("complete"));
        remove(&folder)?;
        let _ = fs::remove_file(&lock);
    }
    Ok(())
}

fn folders(of: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Takes the lock of a layer, if possible. A lock file that was removed in the meantime locks nothing, so retry with a
/// new one.
fn locked(path: &Path, how: FlockOperation) -> io::Result<Option<File>> {
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match flock(&file, how) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        let mine = file.metadata()?;
        if fs::symlink_metadata(path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (mine.dev(), mine.ino()))
        {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_trial_goes_with_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let (first, held) = trial(dir.path()).unwrap();
        fs::create_dir_all(first.join("upper.work/work")).unwrap();
        let (second, _held) = trial(dir.path()).unwrap();
        assert!(first.exists(), "its process is at work");
        drop(held);
        sweep_trials(dir.path());
        assert!(!first.exists() && second.exists());
    }
}
