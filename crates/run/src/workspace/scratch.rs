//! A tree beside the work, for checks that must see other states of it: the base, the base with the tests of the change.
//!
//! It is filled through the harness's own repository with an index of its own, and is new each time: nothing that an agent left
//! in the ignored folders of the workspace has a say there. Files that git ignores stay from one state to the next, so that
//! what was built is not built again; whoever shows the states goes from the trusted one to the others.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::agent::{Role, config, write_repository};
use super::modules::Tree;
use super::{Error, LockedWorkspace, files};
use crate::git::{Call, CommitId, file_name};
use crate::layers::{Layer, SharedLayer};

/// How much of a file is read: no source file is larger.
const LARGEST_TEXT: usize = 1 << 20;

/// An archive that is larger is not unpacked.
const LARGEST_ARCHIVE: usize = 32 << 20;

/// The largest lock file that is compared; generated ones of big projects have a few megabytes.
const LARGEST_LOCK_FILE: u64 = 64 << 20;

/// The folder of the trees that are there at the same time.
const BESIDE: &str = "beside";

/// A tree that goes away with this value.
pub struct Scratch<'w> {
    of: &'w LockedWorkspace,
    dir: PathBuf,
    /// The tree that it shows.
    shown: std::cell::RefCell<Option<CommitId>>,
    setup: SharedLayer,
    /// The lock files that setup was last done for here.
    set_up: std::cell::RefCell<Option<Vec<Option<Vec<u8>>>>>,
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its path.
    pub path: String,
    /// What it was; `None` if it was not there.
    pub old: Option<Stored>,
    /// What it is; `None` if it is gone.
    pub new: Option<Stored>,
}

/// A file as git keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    mode: String,
    blob: String,
}

/// What a file is to be in a tree that is put together.
#[derive(Clone, Debug)]
pub enum Become {
    /// As git keeps it.
    Stored(Stored),
    /// This text, otherwise as git keeps it.
    Text(Stored, String),
    /// Gone.
    Gone,
}

impl LockedWorkspace {
    /// Makes room for a tree beside the work.
    pub fn scratch(&self) -> Result<Scratch<'_>, Error> {
        self.scratch_in(self.dir.join("scratch"))
    }

    /// Makes room for one of several trees beside the work, by its name, which is one of acquit's own.
    pub fn beside(&self, name: &str) -> Result<Scratch<'_>, Error> {
        self.scratch_in(self.dir.join(BESIDE).join(name))
    }

    /// Takes away what was left of all of those.
    pub fn clear_beside(&self) -> Result<(), Error> {
        files::remove(&self.dir.join(BESIDE))
    }

    fn scratch_in(&self, dir: PathBuf) -> Result<Scratch<'_>, Error> {
        let scratch =
            Scratch { of: self, dir, shown: None.into(), setup: SharedLayer::default(), set_up: None.into() };
        files::remove(&scratch.dir)?;
        std::fs::create_dir_all(scratch.tree()).map_err(|e| Error::io("create", &scratch.dir, e))?;
        Ok(scratch)
    }

    /// The commit that the work stands at.
    pub fn work_head(&self) -> Result<CommitId, Error> {
        let state = self.load()?.ok_or_else(|| Error::NotPrepared { path: self.dir.clone() })?;
        Ok(state.facts.head)
    }

    /// The name of a commit's tree: two commits with the same tree have the same files.
    pub fn tree_of(&self, commit: &CommitId) -> Result<String, Error> {
        if let Some(commit) = self.commit_at_hand(commit) {
            return Ok(commit.tree);
        }
        let output = self.call("rev-parse").arg(format!("{commit}^{{tree}}")).run();
        Ok(output.map_err(Error::git("find the tree of a commit"))?.line())
    }

    /// A short name for some text, the same for the same text.
    pub fn hash(&self, text: &str) -> String {
        file_name(self.format, text.as_bytes())
    }

    /// The files that differ between two commits. Submodules are left out.
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

    /// The files of a commit whose paths are wanted.
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
        Ok(wanted
            .filter_map(|(facts, path)| {
                let mut words = facts.split(' ');
                let (mode, kind, blob) = (words.next()?, words.next()?, words.next()?);
                let stored = Stored { mode: mode.to_owned(), blob: blob.to_owned() };
                (kind == "blob").then(|| (path.to_owned(), stored))
            })
            .collect())
    }

    /// A file's text, if it is one.
    pub fn text(&self, file: &Stored) -> Result<Option<String>, Error> {
        let doing = "read a file of a commit";
        let size = self.call("cat-file").args(["-s", &file.blob]).run().map_err(Error::git(doing))?.line();
        if file.mode == "120000" || size.trim().parse::<usize>().map_or(true, |size| size > LARGEST_TEXT) {
            return Ok(None);
        }
        let output = self.call("cat-file").args(["blob", &file.blob]).run().map_err(Error::git(doing))?;
        Ok(String::from_utf8(output.stdout).ok())
    }

    /// The bytes of a file as a commit has it. `None` if it is no file, or too large.
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
    /// Where the tree is.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Makes the tree that of a commit or of a tree, with a repository whose HEAD is `head`.
    pub fn show(&self, tree: &str, head: &CommitId) -> Result<(), Error> {
        let doing = "fill the scratch tree";
        files::remove(&self.dir.join("index.lock"))?;
        let git = self.tree().join(".git");
        files::remove(&git)?;
        self.call_in_tree("read-tree").args(["--reset", "-u", tree]).run().map_err(Error::git(doing))?;
        self.call_in_tree("clean").args(["-ffdq"]).run().map_err(Error::git(doing))?;
        self.of.fill_submodules(tree, &self.tree(), Tree::Agents)?;
        let config = config(self.of.format, &Role::Agent(&self.of.agent));
        let borrowed = self.of.borrowed_objects();
        write_repository(&git, &format!("{head}\n"), &config, &borrowed, &self.of.shallow)?;
        std::fs::copy(self.index(), git.join("index")).map_err(|e| Error::io("create", &git, e))?;
        self.of.fill_lfs(tree, &self.tree(), &git.join("index"))?;
        *self.shown.borrow_mut() = tree.parse().ok();
        Ok(())
    }

    /// The files that git knows in the tree that is shown.
    pub fn files(&self) -> Result<Vec<String>, Error> {
        let output = self.call_in_tree("ls-files").args(["-z"]).run();
        let output = output.map_err(Error::git("list the files of the scratch tree"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// The workspace that it is beside.
    pub(crate) fn workspace(&self) -> &LockedWorkspace {
        self.of
    }

    /// The commit or tree that it shows, once it shows one.
    pub(crate) fn shown(&self) -> Option<CommitId> {
        self.shown.borrow().clone()
    }

    /// Has programs see it over what setup made.
    pub(crate) fn set_up_with(&self, layer: Option<Rc<Layer>>) {
        *self.setup.borrow_mut() = layer;
    }

    /// Leaves the tree to whoever removes this folder.
    pub(crate) fn keep(self) -> PathBuf {
        std::mem::ManuallyDrop::new(self).dir.clone()
    }

    /// Whether dependencies have to be installed: not if that was done here for the same lock files. Asking means doing it.
    pub fn needs_setup(&self, lock_files: &[String]) -> bool {
        let now = lock_files.iter().map(|path| read_file(&self.tree(), path, LARGEST_LOCK_FILE)).collect();
        let done = self.set_up.borrow().as_ref() == Some(&now);
        *self.set_up.borrow_mut() = Some(now);
        !done
    }

    /// What setup made for it, over which programs see it.
    pub(crate) fn setup(&self) -> &SharedLayer {
        &self.setup
    }

    /// Puts a tree together: that of `base` with some files changed.
    pub fn compose(&self, base: &CommitId, files: &[(String, Become)]) -> Result<String, Error> {
        let doing = "put a tree together";
        let index = self.dir.join("composed");
        files::remove(&index)?;
        let call = |verb: &str| self.of.call(verb).index(&index);
        call("read-tree").arg(base.as_str()).run().map_err(Error::git(doing))?;
        // What goes away first, so that a file can take the place of a folder.
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
        // What cannot be removed is removed by the next one, or with the workspace.
        let _ = files::remove(&self.dir);
    }
}

/// Reads a file below `root` that a stranger may have put there, without following a link at any level. `None` if there is no
/// regular file, or it is larger than allowed.
pub(crate) fn read_file(root: &Path, relative: &str, limit: u64) -> Option<Vec<u8>> {
    match files::read_untrusted(root, relative, limit) {
        Ok(files::Found::Content(bytes)) => Some(bytes),
        Ok(files::Found::Absent | files::Found::Odd) | Err(_) => None,
    }
}
