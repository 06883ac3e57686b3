//! What the tests of this file share: a repository with a workspace on it, and an agent that is just git.

use std::path::{Path, PathBuf};

use acquit_core::ids::StoreId;
use acquit_run::git::{CommitId, Git, Identity, Source};
use acquit_run::process::Spawner;
use acquit_run::workspace::{Error, Leftovers, LockedWorkspace, Prepared, Work, Workspace};
use acquit_testkit::repo::{self, Repo};

pub(crate) const BRANCH: &str = "acquit/sample-T-1";

pub(crate) fn git() -> Git {
    Git::new(Spawner::new("/nonexistent/helper"), "/usr/local/bin:/usr/bin:/bin")
}

/// A git that cannot be started: what works with it ran no git.
pub(crate) fn no_git() -> Git {
    Git::new(Spawner::new("/nonexistent/helper"), "/nonexistent")
}

/// The store that the task is of.
pub(crate) fn store() -> StoreId {
    "5f3a09c1".parse().expect("a store id")
}

pub(crate) fn id(text: &str) -> CommitId {
    text.parse().expect("a commit id")
}

pub(crate) struct Bench {
    pub(crate) repo: Repo,
    pub(crate) source: Source,
    pub(crate) base: CommitId,
    pub(crate) dir: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let repo = Repo::empty();
        repo.write(".gitignore", "cache/\n");
        repo.write("README.md", "sample\n");
        repo.write("src/main.txt", "one\ntwo\n");
        repo.commit("first");
        Self::on(repo)
    }

    pub(crate) fn on(repo: Repo) -> Self {
        let source = Source::discover(&git(), repo.path()).unwrap();
        let base = source.base(&git(), None).unwrap().commit;
        let dir = repo.beside("tasks/T 1 – ü");
        Self { repo, source, base, dir }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(&self.dir, &self.source, git(), &store()).unwrap()
    }

    pub(crate) fn lock(&self) -> LockedWorkspace {
        self.workspace().lock("a test").unwrap()
    }

    pub(crate) fn lock_without_git(&self) -> LockedWorkspace {
        Workspace::open(&self.dir, &self.source, no_git(), &store()).unwrap().lock("a test").unwrap()
    }

    pub(crate) fn prepare(&self, leg: &str) -> Prepared {
        self.lock().prepare(leg, &self.base, BRANCH).unwrap()
    }

    pub(crate) fn collect(&self, leg: &str) -> Result<Work, Error> {
        self.lock().collect(leg, commit_leftovers())
    }

    pub(crate) fn changed(&self, work: &Work) -> Vec<String> {
        self.lock().changed_paths(&self.base, &work.head).unwrap().unwrap()
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        repo::write(&self.tree().join(file), text);
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.tree().join(file)).unwrap()
    }

    /// Git as the agent runs it: in its own repository.
    pub(crate) fn agent(&self, args: &[&str]) -> String {
        repo::git(&self.tree(), args)
    }

    /// Git on the harness's own repository.
    pub(crate) fn harness(&self, args: &[&str]) -> String {
        let dir = self.dir.join("git");
        let mut all = vec!["--git-dir", dir.to_str().unwrap()];
        all.extend(args);
        repo::git(&self.dir, &all)
    }

    /// The content of a file in a commit of the harness's repository.
    pub(crate) fn saved(&self, commit: &CommitId, file: &str) -> String {
        self.harness(&["show", &format!("{commit}:{file}")])
    }

    /// The tree is exactly the base, for the agent's git and for the harness's.
    pub(crate) fn assert_fresh(&self) {
        assert_eq!(self.agent(&["status", "--porcelain"]), "");
        assert_eq!(self.agent(&["symbolic-ref", "HEAD"]), format!("refs/heads/{BRANCH}"));
        assert_eq!(self.agent(&["rev-parse", "HEAD"]), self.base.as_str());
        assert_eq!(self.agent(&["for-each-ref", "--format=%(refname)"]), format!("refs/heads/{BRANCH}"));
        let tree = self.tree();
        assert_eq!(self.harness(&["--work-tree", tree.to_str().unwrap(), "status", "--porcelain"]), "");
        assert_eq!(self.agent(&["fsck", "--no-dangling"]), "");
    }
}

pub(crate) fn commit_leftovers() -> Leftovers {
    Leftovers::Commit { message: "leftovers\n".into(), identity: Identity::new("Ada", "ada@example.org") }
}

/// A program that leaves a trace if anybody runs it, and the trace.
pub(crate) fn tripwire(bench: &Bench) -> (PathBuf, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let (program, trace) = (bench.repo.beside("tripwire"), bench.repo.beside("TRIPPED"));
    repo::write(&program, &format!("#!/bin/sh\necho \"$0 $@\" >> '{}'\ncat\n", trace.display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, trace)
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
