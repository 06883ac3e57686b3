//! One private workspace per task: the tree an agent works in, and everything the harness needs to trust none of it.
//!
//! ```text
//! <dir>/work/       the tree; work/.git is the agent's own repository, made anew for every leg
//! <dir>/git/        the harness's repository: the only one through which the harness looks at the tree
//! <dir>/state       what was known to be true when a leg was last prepared or collected
//! <dir>/lock        held while a leg works here
//! <dir>/kept/       what could not be turned into commits, moved aside as it was
//! <dir>/scratch/    while a check needs it: a tree in another state, with an index of its own
//! <dir>/checked/    the committed files, where no agent writes: what gates and setup see
//! <dir>/owner       the stage whose agent works in the tree
//! ```
//!
//! Both repositories borrow the objects of the user's repository and write only their own. The agent reaches `work/`
//! and may read `git/objects/`; the harness reads the agent's `.git` as it would read a letter from a stranger: a few
//! small files, bounded, never through a link, and never with git itself pointed at it.
//!
//! *No attempt's work is ever lost*: a reset removes only files that stand in the harness's index, and they got there
//! by having been stored as objects of a commit that a ref below `refs/acquit/attempts/<store>/` keeps. Only ignored files go with the stage
//! that left them ([`LockedWorkspace::give_to`]): another stage's agent must not run what they are.
//!
//! *Every step may be the last one.* Files appear by renaming; a workspace counts as made when its marker is there; a
//! reset is announced in `state` before it begins and finished by whoever comes next; commits made by the harness take
//! their date from what they contain, so that making one again gives the same id.
//!
//! *Nothing changed costs nothing*: a listing of the tree with sizes, inodes and times says so without running git.

mod agent;
mod attributes;
mod branch;
mod change;
mod checkout_index;
mod collect;
mod create;
mod error;
mod examine;
mod files;
mod guardrails;
mod import;
mod land;
mod lfs;
mod lock;
mod modules;
mod nested_repos;
mod prepare;
mod pristine;
mod publish;
mod push;
mod rebase;
mod remove;
mod retire;
mod save;
mod scratch;
mod search;
mod setup;
mod size;
mod snapshot;
mod squash;
mod state;
mod transfer;
mod upstream;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acquit_core::ids::StoreId;
use serde::{Deserialize, Serialize};

use crate::git::{Call, Commit, CommitId, Git, Identity, ObjectFormat, Source};

pub use branch::branch_name;
pub use change::{Around, CommitText};
pub use collect::{CommitSummary, Leftover, Leftovers, Work};
pub use error::Error;
pub(crate) use guardrails::REFUSED_COMMANDS;
pub use guardrails::Rules;
pub use land::Landed;
pub use lock::LockedWorkspace;
pub use prepare::Prepared;
pub use push::Sent;
pub use rebase::{Conflicted, Move, Rebased};
pub(crate) use scratch::read_file;
pub use scratch::{Become, Changed, Scratch, Stored};
pub use search::Leak;
pub use squash::{Piece, Seal};

/// Removes a folder that a program of a leg wrote to, also what it closed.
pub fn remove_folder(folder: &Path) -> Result<(), Error> {
    files::remove(folder)
}

/// Takes set-uid and set-gid bits from the files of a folder that a program of a leg wrote to.
pub(crate) fn strip_privileges(folder: &Path) {
    // Listing it does so. What is too deep to be listed is too deep to be found.
    let _ = snapshot::Snapshot::take(folder, snapshot::Skip::Nothing);
}

/// A task's workspace, whether it has been made yet or not.
#[derive(Clone, Debug)]
pub struct Workspace {
    dir: PathBuf,
    /// The store that the task is of: several may work on one repository, and each has a `T-1`.
    store: StoreId,
    source_objects: Vec<PathBuf>,
    /// Where the user's git keeps the repositories of submodules.
    modules: Vec<PathBuf>,
    /// Where it keeps the files of Git LFS.
    lfs: Vec<PathBuf>,
    /// Where the history of a shallow clone ends. Repositories that borrow its objects must know.
    shallow: Vec<u8>,
    format: ObjectFormat,
    git: Git,
    agent: Identity,
    upload_pack: Option<OsString>,
    rules: Option<Rules>,
    overlays: bool,
}

/// Work of an attempt that was taken out of the tree and can be looked at again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAttempt {
    /// The ref in the harness's repository, and in the user's once published.
    pub reference: String,
    /// What it points to.
    pub commit: CommitId,
    /// What could not become part of the commit and was moved aside: repositories inside the tree, a damaged `.git`.
    pub kept: Vec<PathBuf>,
}

impl Workspace {
    /// The workspace in `dir`, which is created when absent, for work on `source` of a task of `store`.
    pub fn open(dir: &Path, source: &Source, git: Git, store: &StoreId) -> Result<Self, Error> {
        let at = |e| Error::io("create", dir, e);
        std::fs::create_dir_all(dir).map_err(at)?;
        let dir = std::fs::canonicalize(dir).map_err(at)?;
        Ok(Self {
            dir,
            store: store.clone(),
            source_objects: source.all_objects(),
            modules: source.of_clone("modules"),
            lfs: source.of_clone("lfs/objects"),
            shallow: source.shallow(),
            format: source.format(),
            git,
            agent: Identity::neutral(),
            upload_pack: None,
            rules: None,
            overlays: false,
        })
    }

    /// Where attempts are kept: here, and in the user's repository under the same names.
    pub(super) fn attempt_refs(&self) -> String {
        format!("refs/acquit/attempts/{}", self.store)
    }

    /// Where the history of squashed work is kept: here, and in the user's repository under the same names.
    pub(super) fn history_refs(&self) -> String {
        format!("refs/acquit/tasks/{}", self.store)
    }

    /// Whether programs can be shown trees as overlays here.
    #[must_use]
    pub fn with_overlays(mut self, overlays: bool) -> Self {
        self.overlays = overlays;
        self
    }

    pub(crate) fn has_overlays(&self) -> bool {
        self.overlays
    }

    /// The identity that the agent's own commits carry.
    #[must_use]
    pub fn with_agent_identity(mut self, identity: Identity) -> Self {
        self.agent = identity;
        self
    }

    /// What the agent may not do here. Without rules everything that can be imported is accepted.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// The command that sends the agent's objects (`git-upload-pack` otherwise): the place to wrap it in a sandbox.
    /// Git gives it one argument, the folder `view/` of the workspace, and it reads that and the object folders named
    /// in `view/objects/info/alternates`.
    #[must_use]
    pub fn with_upload_pack(mut self, command: impl Into<OsString>) -> Self {
        self.upload_pack = Some(command.into());
        self
    }

    /// The folder of the task.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The tree that the agent works in.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// What `to` has and `from` has not, for people. Only reads, so it needs no lock.
    pub fn diff(&self, from: &CommitId, to: &CommitId, form: crate::git::Form) -> Result<Vec<u8>, Error> {
        let shown = form.apply(self.call("diff-tree"), from, to).run();
        Ok(shown.map_err(Error::git("show what the work changed"))?.stdout)
    }

    /// The object folders the agent must be able to read, besides its own.
    pub fn borrowed_objects(&self) -> Vec<PathBuf> {
        let mut all = self.source_objects.clone();
        all.push(self.git_dir().join("objects"));
        all
    }

    fn git_dir(&self) -> PathBuf {
        self.dir.join("git")
    }

    fn kept_dir(&self) -> PathBuf {
        self.dir.join("kept")
    }

    /// A call through the harness's own repository, without a look at the tree.
    pub(crate) fn call(&self, verb: &str) -> Call {
        self.git.call(verb).git_dir(&self.git_dir())
    }

    /// A call through the harness's own repository that sees the tree.
    fn call_in_tree(&self, verb: &str) -> Call {
        self.call(verb).work_tree(&self.tree())
    }

    /// What a commit says, if it can be told without git. Its name vouches for it, so the agent's repository is as good as ours.
    fn commit_at_hand(&self, id: &CommitId) -> Option<Commit> {
        Commit::read(&[self.git_dir(), self.agent_dir()], id)
    }

    /// The commits that `tip` has and `start` has not, newest first, if they are a line and can be told without git.
    fn line_at_hand(&self, start: &CommitId, tip: &CommitId) -> Option<Vec<(CommitId, Commit)>> {
        Commit::line(&[self.git_dir(), self.agent_dir()], start, tip)
    }

    /// Sets the harness's HEAD. Its repository has no other writer while the lock is held, so the file is enough.
    fn set_head(&self, commit: &CommitId) -> Result<(), Error> {
        files::write(&self.git_dir().join("HEAD"), format!("{commit}\n").as_bytes())
    }

    fn head(&self) -> Result<CommitId, Error> {
        let path = self.git_dir().join("HEAD");
        let text = files::read(&path, files::SMALL)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.trim_end().parse().map_err(|_| Error::Damaged { path })
    }

    /// Sets a ref of the harness's repository, by its file.
    fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), Error> {
        let path = self.git_dir().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|e| Error::io("create", parent, e))?;
        }
        files::write(&path, format!("{commit}\n").as_bytes())
    }

    fn get_ref(&self, name: &str) -> Result<Option<CommitId>, Error> {
        let path = self.git_dir().join(name);
        let Some(text) = files::read(&path, files::SMALL)? else { return Ok(None) };
        String::from_utf8_lossy(&text).trim_end().parse().map(Some).map_err(|_| Error::Damaged { path })
    }
}
