//! One private workspace per task: the tree an agent works in, and everything the harness needs in order to trust none
//! of it.
//!
//! ```text
//! <dir>/work/       the tree; work/.git is the agent's own repository, written anew for every leg
//! <dir>/git/        the harness's repository: the only one through which the harness reads the tree
//! <dir>/state       what was known to be true when a leg was last prepared or collected
//! <dir>/lock        held while a leg works here
//! <dir>/kept/       what could not be turned into commits, moved aside unchanged
//! <dir>/scratch/    while a check needs it: a tree in another state, with its own index
//! <dir>/checked/    the committed files, where no agent writes: what gates and setup see
//! <dir>/owner       the stage whose agent works in the tree
//! ```
//!
//! Both repositories borrow the objects of the user's repository and write only their own. The agent has access to
//! `work/` and may read `git/objects/`. The harness treats the agent's `.git` as untrusted: it reads a few small files,
//! with size limits, never through a symlink, and never points git itself at it.
//!
//! *No attempt's work is ever lost.* A reset removes only files in the harness's index. They are in the index because
//! they were stored as objects of a commit that a ref under `refs/acquit/attempts/<store>/` keeps. Only ignored files
//! are removed with the stage that left them ([`LockedWorkspace::give_to`]), because another stage's agent must not run
//! them.
//!
//! *Crash-safe at every step.* Files appear by renaming. A workspace counts as created when its marker exists. A reset
//! is recorded in `state` before it starts, and the next process completes it. Commits of the harness take their date
//! from their content, so that repeating one gives the same id.
//!
//! *No change costs nothing.* A listing of the tree with sizes, inodes and times shows that without running git.

mod agent;
mod attributes;
mod branch;
mod change;
mod checkout_index;
mod collect;
mod copied;
mod create;
mod disarm;
mod error;
mod examine;
mod files;
mod foreign;
mod guardrails;
mod import;
mod land;
mod lfs;
mod linked;
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
mod touched;
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
pub(crate) use disarm::disarm;
pub use error::Error;
pub(crate) use guardrails::{GUARDRAIL, REFUSED_COMMANDS};
pub use guardrails::{Rules, agent_settings};
pub use land::Landed;
pub use lock::LockedWorkspace;
pub use prepare::Prepared;
pub use push::Sent;
pub use rebase::{Conflicted, Move, Rebased};
pub(crate) use scratch::read_file;
pub use scratch::{Become, Changed, Scratch, Stored};
pub use search::Leak;
pub use squash::{Piece, Seal};

/// Removes a directory that a program of a leg wrote to, even where it removed permissions.
pub fn remove_folder(folder: &Path) -> Result<(), Error> {
    files::remove(folder)
}

/// Clears the set-uid and set-gid bits of files in a directory that a program of a leg wrote to.
pub(crate) fn strip_privileges(folder: &Path) {
    // The listing does this. Files too deep to list are too deep to be found.
    let _ = snapshot::Snapshot::take(folder, snapshot::Skip::Nothing);
}

/// A task's workspace, whether it has been created yet or not.
#[derive(Clone, Debug)]
pub struct Workspace {
    dir: PathBuf,
    /// Store of the task. Several stores may work on one repository, and each has a `T-1`.
    store: StoreId,
    source_objects: Vec<PathBuf>,
    /// Where the user's git keeps the repositories of submodules.
    modules: Vec<PathBuf>,
    /// Where the user's git keeps Git LFS files.
    lfs: Vec<PathBuf>,
    /// Boundary of a shallow clone. Repositories that borrow its objects must know it.
    shallow: Vec<u8>,
    format: ObjectFormat,
    git: Git,
    agent: Identity,
    upload_pack: Option<OsString>,
    rules: Option<Rules>,
    overlays: bool,
}

/// Work of an attempt that was moved out of the tree and can be inspected later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAttempt {
    /// Ref in the harness's repository, and in the user's once published.
    pub reference: String,
    /// Commit that the ref points to.
    pub commit: CommitId,
    /// Content that could not become part of the commit and was moved aside: repositories inside the tree, a damaged
    /// `.git`.
    pub kept: Vec<PathBuf>,
}

impl Workspace {
    /// Opens the workspace in `dir` for work on `source` by a task of `store`. Creates the directory if it does not
    /// exist.
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

    /// Returns the prefix of attempt refs, the same here and in the user's repository.
    pub(super) fn attempt_refs(&self) -> String {
        format!("refs/acquit/attempts/{}", self.store)
    }

    /// Returns the prefix of the refs with the history of squashed work, the same here and in the user's repository.
    pub(super) fn history_refs(&self) -> String {
        format!("refs/acquit/tasks/{}", self.store)
    }

    /// Sets whether programs can see trees as overlays here.
    #[must_use]
    pub fn with_overlays(mut self, overlays: bool) -> Self {
        self.overlays = overlays;
        self
    }

    pub(crate) fn has_overlays(&self) -> bool {
        self.overlays
    }

    /// Sets the identity of the agent's own commits.
    #[must_use]
    pub fn with_agent_identity(mut self, identity: Identity) -> Self {
        self.agent = identity;
        self
    }

    /// Sets the rules for the agent. Without rules, everything that can be imported is accepted.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Sets the command that sends the agent's objects, to run it in a sandbox. The default is `git-upload-pack`. Git
    /// passes one argument, the directory `view/` of the workspace. The command reads that and the object directories
    /// named in `view/objects/info/alternates`.
    #[must_use]
    pub fn with_upload_pack(mut self, command: impl Into<OsString>) -> Self {
        self.upload_pack = Some(command.into());
        self
    }

    /// Returns the directory of the workspace.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the tree that the agent works in.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Returns the diff from `from` to `to`, for people. Only reads, so it needs no lock.
    pub fn diff(&self, from: &CommitId, to: &CommitId, form: crate::git::Form) -> Result<Vec<u8>, Error> {
        let shown = form.apply(self.call("diff-tree"), from, to).run();
        Ok(shown.map_err(Error::git("show what the work changed"))?.stdout)
    }

    /// Returns the object directories that the agent must be able to read, in addition to its own.
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

    /// Builds a call in the harness's own repository that does not read the tree.
    pub(crate) fn call(&self, verb: &str) -> Call {
        self.git.call(verb).git_dir(&self.git_dir())
    }

    /// Builds a call in the harness's own repository that reads the tree.
    fn call_in_tree(&self, verb: &str) -> Call {
        self.call(verb).work_tree(&self.tree())
    }

    /// Reads a commit without git, if possible. Its id proves its content, so the agent's repository is as good as
    /// ours.
    fn commit_at_hand(&self, id: &CommitId) -> Option<Commit> {
        Commit::read(&[self.git_dir(), self.agent_dir()], id)
    }

    /// Returns the commits that `tip` has and `start` does not, newest first, if they are linear and can be read
    /// without git.
    fn line_at_hand(&self, start: &CommitId, tip: &CommitId) -> Option<Vec<(CommitId, Commit)>> {
        Commit::line(&[self.git_dir(), self.agent_dir()], start, tip)
    }

    /// Sets the harness's HEAD. Its repository has no other writer while the lock is held, so writing the file is
    /// enough.
    fn set_head(&self, commit: &CommitId) -> Result<(), Error> {
        files::write(&self.git_dir().join("HEAD"), format!("{commit}\n").as_bytes())
    }

    fn head(&self) -> Result<CommitId, Error> {
        let path = self.git_dir().join("HEAD");
        let text = files::read(&path, files::SMALL)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.trim_end().parse().map_err(|_| Error::Damaged { path })
    }

    /// Sets a ref of the harness's repository by writing its file.
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
