//! A temporary tree next to the work, for checks that need other states of it: the base, or the base with the tests of
//! the change.
//!
//! It is filled through the harness's own repository with its own index, and is new each time, so ignored files that an
//! agent left in the workspace have no effect. Files that git ignores stay from one state to the next, so that builds
//! are reused, except files that replace those installed by setup. Callers therefore show the trusted state first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::agent::{Role, config, write_repository};
use super::modules::Tree;
use super::snapshot::{Skip, Snapshot};
use super::{Error, LockedWorkspace, files};
use crate::git::{Call, CommitId, file_name};
use crate::layers::{Layer, SharedLayer};

/// Maximum size of a file to read. No source file is larger.
const LARGEST_TEXT: usize = 1 << 20;

/// Maximum size of an archive to unpack.
const LARGEST_ARCHIVE: usize = 32 << 20;

/// Maximum size of a lock file to compare. Generated ones of big projects have a few megabytes.
const LARGEST_LOCK_FILE: u64 = 64 << 20;

/// Directory for trees that exist at the same time.
const BESIDE: &str = "beside";

/// A temporary tree, removed on drop.
pub struct Scratch<'w> {
    of: &'w LockedWorkspace,
    dir: PathBuf,
    /// The commit or tree that it currently shows.
    shown: std::cell::RefCell<Option<CommitId>>,
    /// The requested commit or tree, and the head.
    asked: std::cell::RefCell<Option<(String, CommitId)>>,
    setup: SharedLayer,
    /// Lock files of the last setup in this tree.
    set_up: std::cell::RefCell<Option<Vec<Option<Vec<u8>>>>>,
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Path of the file.
    pub path: String,
    /// Old version. `None` if it did not exist.
    pub old: Option<Stored>,
    /// New version. `None` if it was removed.
    pub new: Option<Stored>,
}

/// A file as git stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    mode: String,
    blob: String,
}

impl Stored {
    /// Parses what `git ls-tree` prints before the path of a file.
    pub(crate) fn parse(facts: &str) -> Option<Self> {
        let mut words = facts.split(' ');
        let (mode, kind, blob) = (words.next()?, words.next()?, words.next()?);
        (kind == "blob").then(|| Self { mode: mode.to_owned(), blob: blob.to_owned() })
    }
}

/// The change to a file in a composed tree.
#[derive(Clone, Debug)]
pub enum Become {
    /// The stored version.
    Stored(Stored),
    /// This text, with the mode of the stored version.
    Text(Stored, String),
    /// Removed.
    Gone,
}

impl LockedWorkspace {
    /// Creates a temporary tree.
    pub fn scratch(&self) -> Result<Scratch<'_>, Error> {
        self.scratch_in(self.dir.join("scratch"))
    }

    /// Creates one of several temporary trees. Only acquit chooses `name`.
    pub fn beside(&self, name: &str) -> Result<Scratch<'_>, Error> {
        self.scratch_in(self.dir.join(BESIDE).join(name))
    }

    /// Removes leftovers of the trees from [`Self::beside`].
    pub fn clear_beside(&self) -> Result<(), Error> {
        files::remove(&self.dir.join(BESIDE))
    }

    fn scratch_in(&self, dir: PathBuf) -> Result<Scratch<'_>, Error> {
        let scratch = Scratch {
            of: self,
            dir,
            shown: None.into(),
            asked: None.into(),
            setup: SharedLayer::default(),
            set_up: None.into(),
        };
        files::remove(&scratch.dir)?;
        std::fs::create_dir_all(scratch.tree()).map_err(|e| Error::io("create", &scratch.dir, e))?;
        Ok(scratch)
    }

    /// Returns the head commit of the work.
    pub fn work_head(&self) -> Result<CommitId, Error> {
        let state = self.load()?.ok_or_else(|| Error::NotPrepared { path: self.dir.clone() })?;
        Ok(state.facts.head)
    }

    /// Returns the tree id of a commit. Commits with the same tree id have the same files.
    pub fn tree_of(&self, commit: &CommitId) -> Result<String, Error> {
        if let Some(commit) = self.commit_at_hand(commit) {
            return Ok(commit.tree);
        }
        let output = self.call("rev-parse").arg(format!("{commit}^{{tree}}")).run();
        Ok(output.map_err(Error::git("find the tree of a commit"))?.line())
    }

    /// Returns the id that git gives a file of this content.
    pub fn hash(&self, content: impl AsRef<[u8]>) -> String {
        file_name(self.format, content.as_ref())
    }

    /// Returns the files that differ between two commits, without submodules.
    pub fn changed(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Changed>, Error> {
        let doing = "compare two commits";
        let output = self
            .call("diff-tree")
            .args(["-r", "-z", "--raw", "--no-abbrev", "--no-renames", from.as_str(), to.as_str()])
            .run()
            .map_err(Error::git(doing))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut fields = text.split('\0');
        let mut changed = Vec::new();
        while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
            let mut words = facts.trim_start_matches(':').split(' ');
            let (Some(old_mode), Some(new_mode), Some(old), Some(new)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let file = |mode: &str, blob: &str| {
                let is_file = mode != "000000" && mode != "160000";
                is_file.then(|| Stored { mode: mode.to_owned(), blob: blob.to_owned() })
            };
            let (old, new) = (file(old_mode, old), file(new_mode, new));
            if old.is_some() || new.is_some() {
                changed.push(Changed { path: path.to_owned(), old, new });
            }
        }
        Ok(changed)
    }

    /// Returns the files of a commit whose paths satisfy `wanted`.
    pub(crate) fn files_of(
        &self,
        commit: &CommitId,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, Stored)>, Error> {
        let doing = "list the files of a commit";
        let output = self
            .call("ls-tree")
            .args(["-r", "-z", "--full-tree", commit.as_str()])
            .run()
            .map_err(Error::git(doing))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows = text.split('\0').filter_map(|row| row.split_once('\t'));
        let wanted = rows.filter(|(_, path)| wanted(path));
        Ok(wanted.filter_map(|(facts, path)| Some((path.to_owned(), Stored::parse(facts)?))).collect())
    }

    /// Returns the text of a file, if it is text and not too large.
    pub fn text(&self, file: &Stored) -> Result<Option<String>, Error> {
        let doing = "read a file of a commit";
        let size = self.call("cat-file").args(["-s", &file.blob]).run().map_err(Error::git(doing))?.line();
        if file.mode == "120000" || size.trim().parse::<usize>().map_or(true, |size| size > LARGEST_TEXT) {
            return Ok(None);
        }
        let output = self.call("cat-file").args(["blob", &file.blob]).run().map_err(Error::git(doing))?;
        Ok(String::from_utf8(output.stdout).ok())
    }

    /// Returns the content of a file in a commit. `None` if it is not a file or too large.
    pub fn bytes_of(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let doing = "read a file of a commit";
        let name = format!("{commit}:{path}");
        let Ok(size) = self.call("cat-file").args(["-s", &name]).run() else { return Ok(None) };
        if size.line().trim().parse::<usize>().map_or(true, |size| size > LARGEST_ARCHIVE) {
            return Ok(None);
        }
        let output = self.call("cat-file").args(["blob", &name]).run().map_err(Error::git(doing))?;
        Ok(Some(output.stdout))
    }
}

impl Scratch<'_> {
    /// Returns the path of the tree.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Checks out a commit or tree, with a repository whose HEAD is `head`.
    pub fn show(&self, tree: &str, head: &CommitId) -> Result<(), Error> {
        let git = self.tree().join(".git");
        if self.fill(tree).is_err() {
            // Programs ran here, and may have left something that git cannot clean up. Start with an empty tree.
            files::remove(&self.dir)?;
            *self.set_up.borrow_mut() = None;
            std::fs::create_dir_all(self.tree()).map_err(|e| Error::io("create", &self.dir, e))?;
            self.fill(tree)?;
        }
        self.of.fill_submodules(tree, &self.tree(), Tree::Agents)?;
        let config = config(self.of.format, &Role::Agent(&self.of.agent));
        let borrowed = self.of.borrowed_objects();
        write_repository(&git, &format!("{head}\n"), &config, &borrowed, &self.of.shallow)?;
        std::fs::copy(self.index(), git.join("index")).map_err(|e| Error::io("create", &git, e))?;
        self.of.fill_lfs(tree, &self.tree(), &git.join("index"))?;
        *self.shown.borrow_mut() = tree.parse().ok();
        *self.asked.borrow_mut() = Some((tree.to_owned(), head.clone()));
        Ok(())
    }

    /// Checks out the same state again if that happened before `layer` was made. Build tools assume that a layer's
    /// output was built from all sources that are older.
    pub(crate) fn show_over(&self, layer: &Layer) -> Result<(), Error> {
        let written = std::fs::metadata(self.index()).and_then(|meta| meta.modified()).ok();
        let asked = self.asked.borrow().clone();
        match (asked, layer.made().ok(), written) {
            (Some((tree, head)), Some(made), Some(written)) if written <= made => {
                files::remove(&self.dir)?;
                std::fs::create_dir_all(self.tree()).map_err(|e| Error::io("create", &self.dir, e))?;
                self.show(&tree, &head)
            }
            _ => Ok(()),
        }
    }

    fn fill(&self, tree: &str) -> Result<(), Error> {
        let doing = "fill the scratch tree";
        files::remove(&self.dir.join("index.lock"))?;
        files::remove(&self.tree().join(".git"))?;
        if self.index().exists() {
            // Removes pipes that git would wait for, and opens closed directories.
            Snapshot::take(&self.tree(), Skip::Nothing).map_err(|e| Error::io("read", &self.tree(), e))?;
        }
        self.call_in_tree("read-tree").args(["--reset", "-u", tree]).run().map_err(Error::git(doing))?;
        self.call_in_tree("clean").args(["-ffdq"]).run().map(drop).map_err(Error::git(doing))?;
        self.uncover_setup()
    }

    /// Removes the files that programs of the last state wrote over and next to the files of setup, so that the next
    /// state finds the output of setup.
    fn uncover_setup(&self) -> Result<(), Error> {
        let Some(layer) = self.setup.borrow().as_ref().map(|layer| layer.tree()) else { return Ok(()) };
        let tracked = self.files()?;
        let mut folders: HashSet<&Path> = HashSet::new();
        folders.extend(tracked.iter().flat_map(|file| Path::new(file).ancestors().skip(1)));
        let tracked: HashSet<&Path> = tracked.iter().map(Path::new).collect();
        let mut below = vec![PathBuf::new()];
        while let Some(folder) = below.pop() {
            let place = layer.join(&folder);
            for entry in std::fs::read_dir(&place).map_err(|e| Error::io("read", &place, e))?.flatten() {
                let path = folder.join(entry.file_name());
                let there = self.tree().join(&path);
                if !folders.contains(path.as_path()) {
                    if !tracked.contains(path.as_path()) {
                        files::remove(&there)?;
                    }
                } else if there.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                    below.push(path);
                }
            }
        }
        Ok(())
    }

    /// Returns the tracked files of the current tree.
    pub fn files(&self) -> Result<Vec<String>, Error> {
        let output = self.call_in_tree("ls-files").args(["-z"]).run();
        let output = output.map_err(Error::git("list the files of the scratch tree"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the workspace it belongs to.
    pub(crate) fn workspace(&self) -> &LockedWorkspace {
        self.of
    }

    /// Returns the commit or tree that it shows, if any.
    pub(crate) fn shown(&self) -> Option<CommitId> {
        self.shown.borrow().clone()
    }

    /// Mounts the tree over `layer`, the result of setup, for programs.
    pub(crate) fn set_up_with(&self, layer: Option<Rc<Layer>>) {
        *self.setup.borrow_mut() = layer;
    }

    /// Keeps the tree on disk. The caller removes the directory.
    pub(crate) fn keep(self) -> PathBuf {
        std::mem::ManuallyDrop::new(self).dir.clone()
    }

    /// Returns whether dependencies must be installed: false if this was done here for the same lock files. Calling it
    /// counts as doing it.
    pub fn needs_setup(&self, lock_files: &[String]) -> bool {
        let now = lock_files.iter().map(|path| read_file(&self.tree(), path, LARGEST_LOCK_FILE)).collect();
        let done = self.set_up.borrow().as_ref() == Some(&now);
        *self.set_up.borrow_mut() = Some(now);
        !done
    }

    /// Returns the layer that setup made for this tree. Programs see the tree over it.
    pub(crate) fn setup(&self) -> &SharedLayer {
        &self.setup
    }

    /// Composes a tree from `base` with some files changed.
    pub fn compose(&self, base: &CommitId, files: &[(String, Become)]) -> Result<String, Error> {
        let doing = "put a tree together";
        let index = self.dir.join("composed");
        files::remove(&index)?;
        let call = |verb: &str| self.of.call(verb).index(&index);
        call("read-tree").arg(base.as_str()).run().map_err(Error::git(doing))?;
        // Process removals first, so that a file can replace a directory.
        let gone = files.iter().filter(|(_, to)| matches!(to, Become::Gone));
        let mut lines: Vec<u8> = Vec::new();
        for (path, _) in gone {
            lines.extend(format!("0 {}\t{path}\0", "0".repeat(base.as_str().len())).into_bytes());
        }
        for (path, to) in files {
            let (mode, blob) = match to {
                Become::Gone => continue,
                Become::Stored(file) => (&file.mode, file.blob.clone()),
                Become::Text(file, text) => (&file.mode, self.blob(text)?),
            };
            lines.extend(format!("{mode} {blob}\t{path}\0").into_bytes());
        }
        call("update-index")
            .args(["-z", "--replace", "--index-info"])
            .input(lines)
            .run()
            .map_err(Error::git(doing))?;
        Ok(call("write-tree").run().map_err(Error::git(doing))?.line())
    }

    fn blob(&self, text: &str) -> Result<String, Error> {
        let output = self.of.call("hash-object").args(["-w", "--stdin", "--no-filters"]).input(text).run();
        Ok(output.map_err(Error::git("store a text"))?.line())
    }

    fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    fn call_in_tree(&self, verb: &str) -> Call {
        self.of.call(verb).index(&self.index()).work_tree(&self.tree())
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // If this fails, the next user of the path or the removal of the workspace cleans up.
        let _ = files::remove(&self.dir);
    }
}

/// Reads an untrusted file below `root` without following symlinks at any level. `None` if it is not a regular file or
/// larger than allowed.
pub(crate) fn read_file(root: &Path, relative: &str, limit: u64) -> Option<Vec<u8>> {
    match files::read_untrusted(root, relative, limit) {
        Ok(files::Found::Content(bytes)) => Some(bytes),
        Ok(files::Found::Absent | files::Found::Odd) | Err(_) => None,
    }
}
