//! The user's repository: finds it, reads from it, and leaves it as it is.
//!
//! Nothing here writes to it except [`Source::pin`]. It adds a private ref under `refs/acquit/`, so that a garbage
//! collection by the user's own git cannot remove objects that a workspace borrows.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use acquit_core::definition::Definition;
use acquit_core::ids::{StoreId, TaskId};
use acquit_core::repository::Repository;
use serde::{Deserialize, Serialize};

use super::{Call, CommitId, Error, Git, Identity, ObjectFormat};

/// A user's repository, with what git can do in it. Where it is comes from [`Repository`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(Repository);

impl std::ops::Deref for Source {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.0
    }
}

impl From<Repository> for Source {
    fn from(repository: Repository) -> Self {
        Self(repository)
    }
}

impl From<Source> for Repository {
    fn from(source: Source) -> Self {
        source.0
    }
}

/// A task's definition does not say where its repository is.
#[derive(Debug, thiserror::Error)]
#[error("find the task's repository: its definition names none")]
pub struct Unplaced;

/// The start of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Branch, unless a commit was named or HEAD is detached.
    pub branch: Option<String>,
    /// Commit id.
    pub commit: CommitId,
}

/// The settings of a repository that name a filter program.
pub(crate) struct Filters(Vec<OsString>);

impl Filters {
    /// Returns the call with these settings emptied, so that no filter runs. A file that only a filter could recognize
    /// as unchanged then counts as changed.
    pub(crate) fn emptied(&self, call: Call) -> Call {
        let mut call = call.env("GIT_CONFIG_COUNT", self.0.len().to_string());
        for (number, key) in self.0.iter().enumerate() {
            call = call.env(&format!("GIT_CONFIG_KEY_{number}"), key);
            call = call.env(&format!("GIT_CONFIG_VALUE_{number}"), "");
        }
        call
    }
}

impl Source {
    /// Returns the repository that a task was created in, from its definition.
    pub fn of(definition: &Definition) -> Result<Self, Unplaced> {
        definition.source.clone().map(Self).ok_or(Unplaced)
    }

    /// Finds the repository of `path`: a checkout or a directory in it, a linked worktree, or a bare repository.
    pub fn discover(git: &Git, path: &Path) -> Result<Self, Error> {
        let found =
            std::fs::canonicalize(path).map_err(|source| Error::Path { path: path.to_owned(), source })?;
        let output = git
            .call("rev-parse")
            .inside(&found)
            .args(["--path-format=absolute", "--show-object-format", "--is-bare-repository"])
            .args(["--git-dir", "--git-path", "objects"])
            .run_any()?;
        if output.code != Some(0) {
            return Err(discovery_error(output.failed("rev-parse"), &found));
        }
        let unexpected = || Error::Unexpected { verb: "rev-parse".into() };
        let lines: Vec<&[u8]> = output.stdout.split(|b| *b == b'\n').collect();
        let [format, bare, git_dir, objects, b""] = lines[..] else {
            // Only a line break in the path results in more lines.
            return Err(Error::Unsupported { path: found, what: "its path contains a line break".into() });
        };
        let format = match format {
            b"sha1" => ObjectFormat::Sha1,
            b"sha256" => ObjectFormat::Sha256,
            other => {
                let what = format!("its object format {} is not known", String::from_utf8_lossy(other));
                return Err(Error::Unsupported { path: found, what });
            }
        };
        let to_path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        Ok(Self(Repository {
            git_dir: to_path(git_dir),
            objects: to_path(objects),
            format,
            work_tree: match bare {
                b"true" => None,
                b"false" => Some(top_of(git, &found)?),
                _ => return Err(unexpected()),
            },
            path: found,
            lender: None,
            foreign: None,
        }))
    }

    /// Rejects a commit if a partial clone lacks files of it. Does not fetch: only the user's own git can, with the
    /// user's credentials.
    pub fn check_complete(&self, git: &Git, commit: &CommitId) -> Result<(), Error> {
        if !is_partial(self.owner()) {
            return Ok(());
        }
        let listed = self
            .call(git, "rev-list")
            .args(["--objects", "--no-walk", "--missing=print", commit.as_str(), "--"])
            .run()?;
        let missing = listed.stdout.split(|b| *b == b'\n').filter(|line| line.starts_with(b"?")).count();
        if missing == 0 {
            return Ok(());
        }
        Err(Error::Partial { path: self.owner().path.clone(), commit: commit.clone(), missing })
    }

    /// Returns the repository at `at`, which borrows this one's objects.
    pub(super) fn lending(&self, at: &Path) -> Self {
        Self(Repository {
            path: at.to_owned(),
            git_dir: at.to_owned(),
            objects: at.join("objects"),
            format: self.format,
            work_tree: None,
            lender: Some(Box::new(self.0.clone())),
            foreign: None,
        })
    }

    /// Returns a copy for work on a base that is not part of the user's own branch.
    #[must_use]
    pub fn on_foreign(mut self, base: &CommitId) -> Self {
        self.0.foreign = Some(base.clone());
        self
    }

    /// Returns the name under which setup layers of the project are stored.
    pub(crate) fn layers_of(&self) -> String {
        let owner = self.owner().git_dir.to_string_lossy();
        self.foreign.as_ref().map_or_else(|| owner.clone().into_owned(), |base| format!("{owner}#{base}"))
    }

    /// Returns the top of the checkout, if there is one.
    pub(super) fn checkout(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns the boundary commits of a shallow clone, in git's own format. Empty for a complete one.
    pub(crate) fn shallow(&self) -> Vec<u8> {
        let file = self.owner().objects.parent().map(|common| common.join("shallow"));
        let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let commits = text.lines().filter(|line| line.parse::<CommitId>().is_ok());
        commits.flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
    }

    /// Resolves the start of work: the named branch, otherwise the named commit, otherwise HEAD.
    pub fn base(&self, git: &Git, name: Option<&str>) -> Result<Base, Error> {
        let Some(name) = name else { return self.head(git) };
        let unknown = || Error::UnknownBase { name: name.to_owned(), path: self.path.clone() };
        // A name that starts with a dash would be an option, and an empty one would be HEAD.
        if name.is_empty() || name.starts_with('-') || name.contains(['\0', '\n']) {
            return Err(unknown());
        }
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        if is_ref_name(short)
            && let Some(commit) = self.resolve(git, &format!("refs/heads/{short}"))?
        {
            return Ok(Base { branch: Some(short.to_owned()), commit });
        }
        match self.resolve(git, name)? {
            Some(commit) => Ok(Base { branch: None, commit }),
            None if self.has_no_commits(git)? => Err(Error::NoCommits { path: self.path.clone() }),
            None => Err(unknown()),
        }
    }

    /// Returns the default branch of a remote, as the user's own clone or fetch last saw it.
    pub fn tracked_head(&self, git: &Git, remote: &str) -> Result<Option<String>, Error> {
        if !is_ref_name(remote) {
            return Ok(None);
        }
        let front = format!("refs/remotes/{remote}/");
        let name =
            self.call(git, "symbolic-ref").args(["--quiet", &format!("{front}HEAD")]).run_any()?.line();
        Ok(name.strip_prefix(&front).filter(|branch| is_ref_name(branch)).map(str::to_owned))
    }

    /// Returns where a branch of a remote was when the user last fetched it.
    pub fn tracked(&self, git: &Git, remote: &str, branch: &str) -> Result<Option<CommitId>, Error> {
        if !is_ref_name(remote) || !is_ref_name(branch) {
            return Ok(None);
        }
        self.resolve(git, &format!("refs/remotes/{remote}/{branch}"))
    }

    /// Returns the newest commit of a history that a remote has, as the user's own clone or fetch last saw it: the
    /// commit itself, or where its history left the default branch there.
    pub(crate) fn newest_at(
        &self,
        git: &Git,
        remote: &str,
        commit: &CommitId,
    ) -> Result<Option<CommitId>, Error> {
        let default = match self.tracked_head(git, remote)? {
            Some(branch) => self.tracked(git, remote, &branch)?,
            None => None,
        };
        if let Some(tip) = &default
            && self.contains(git, tip, commit)?
        {
            return Ok(Some(commit.clone()));
        }
        let output = self
            .call(git, "for-each-ref")
            .args(["--count=1", "--format=%(refname)", &format!("--contains={commit}")])
            .arg(format!("refs/remotes/{remote}/"))
            .run()?;
        if !output.stdout.is_empty() {
            return Ok(Some(commit.clone()));
        }
        let Some(tip) = default else { return Ok(None) };
        let output = self.call(git, "merge-base").args([tip.as_str(), commit.as_str()]).run_any()?;
        Ok(output.line().parse().ok())
    }

    /// Returns the author from the user's own settings, which are read from `home`.
    pub fn identity(&self, git: &Git, home: Option<&Path>) -> Identity {
        let read = |key: &str| {
            let call = self.call(git, "config").args(["--includes", "--get", key]);
            super::sign::as_user(call, home).run().map(|output| output.line()).unwrap_or_default()
        };
        Identity::new(&read("user.name"), &read("user.email"))
    }

    /// Returns whether the checkout has uncommitted changes, which a task therefore does not include.
    pub fn is_dirty(&self, git: &Git) -> Result<bool, Error> {
        let Some(tree) = &self.work_tree else { return Ok(false) };
        let output = self
            .unfiltered(git, "status")?
            .inside(tree)
            .args(["--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all"])
            .run()?;
        Ok(!output.stdout.is_empty())
    }

    /// Returns the tracked files: those that a clone will have once they are committed.
    pub fn tracked_files(&self, git: &Git) -> Result<std::collections::HashSet<PathBuf>, Error> {
        use std::os::unix::ffi::OsStrExt;
        let output = self.call(git, "ls-files").args(["--cached", "-z"]).run()?;
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name))).collect())
    }

    /// Builds a call that reads a checkout and runs no filter program.
    pub(crate) fn unfiltered(&self, git: &Git, verb: &str) -> Result<Call, Error> {
        Ok(self.filters(git)?.emptied(git.call(verb)))
    }

    /// Returns the settings that name a filter program.
    pub(crate) fn filters(&self, git: &Git) -> Result<Filters, Error> {
        let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
        let output =
            self.call(git, "config").args(["--null", "--name-only", "--get-regexp", pattern]).run_any()?;
        match output.code {
            Some(0 | 1) => {
                let mut keys: Vec<&[u8]> =
                    output.stdout.split(|b| *b == 0).filter(|key| !key.is_empty()).collect();
                keys.sort_unstable();
                keys.dedup();
                Ok(Filters(keys.into_iter().map(|key| OsString::from_vec(key.to_vec())).collect()))
            }
            _ => Err(output.failed("config")),
        }
    }

    /// Keeps `commit` from being pruned while `task` of `store` may need it.
    pub fn pin(&self, git: &Git, store: &StoreId, task: TaskId, commit: &CommitId) -> Result<(), Error> {
        let name = pin_name(store, task);
        self.clear_stale_locks([name.as_str()]);
        self.call(git, "update-ref")
            .args(["--create-reflog", "--no-deref"])
            .args([&name, commit.as_str()])
            .run()?;
        Ok(())
    }

    /// Removes the pin. Does nothing if there is none.
    pub fn unpin(&self, git: &Git, store: &StoreId, task: TaskId) -> Result<(), Error> {
        let name = pin_name(store, task);
        self.clear_stale_locks([name.as_str()]);
        self.clear_stale_packed_lock();
        self.call(git, "update-ref").args(["--no-deref", "-d", &name]).run().map(drop)
    }

    /// Keeps a commit of a task under a private ref, unless a ref other than a pin, which goes with the task, keeps it already.
    pub(crate) fn keep_attempt(
        &self,
        git: &Git,
        store: &StoreId,
        task: TaskId,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let lost = self
            .call(git, "rev-list")
            .args(["--max-count=1", commit.as_str(), "--not", &format!("--exclude={PINS}*"), "--all"])
            .run()?;
        if lost.stdout.is_empty() {
            return Ok(());
        }
        let name = format!("refs/acquit/attempts/{store}/{task}-{}", commit.short());
        self.clear_stale_locks([name.as_str()]);
        self.call(git, "update-ref")
            .set("core.logAllRefUpdates=false")
            .args(["--no-deref", &name, commit.as_str()])
            .run()
            .map(drop)
    }

    /// Removes the refs that keep the attempts of a task.
    pub(crate) fn forget_attempts(&self, git: &Git, store: &StoreId, task: TaskId) -> Result<(), Error> {
        let of_store = format!("refs/acquit/attempts/{store}/");
        let own = format!("{of_store}{task}-");
        let found = self.call(git, "for-each-ref").args(["--format=%(refname)", &of_store]).run()?;
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let names: Vec<&str> = text.lines().filter(|name| name.starts_with(&own)).collect();
        if names.is_empty() {
            return Ok(());
        }
        self.clear_stale_locks(names.iter().copied());
        self.clear_stale_packed_lock();
        let mut commands = String::new();
        for name in &names {
            commands.push_str(&format!("delete {name}\n"));
        }
        self.call(git, "update-ref").args(["--no-deref", "--stdin"]).input(commands).run().map(drop)
    }

    /// Returns whether a new task of `store`, which is already pinned, would share its branch: the branch exists, or
    /// another store has a task with the same number here. If two stores check at the same moment, at least one sees
    /// the other's pin.
    pub fn is_taken(&self, git: &Git, store: &StoreId, task: TaskId, branch: &str) -> Result<bool, Error> {
        let output = self
            .call(git, "for-each-ref")
            .args(["--format=%(refname)", &format!("refs/heads/{branch}"), &format!("{PINS}*/{task}")])
            .run()?;
        let own = pin_name(store, task);
        Ok(String::from_utf8_lossy(&output.stdout).lines().any(|name| name != own))
    }

    /// Builds a call in this repository, independent of the current directory.
    pub(crate) fn call(&self, git: &Git, verb: &str) -> Call {
        git.call(verb).git_dir(&self.git_dir)
    }

    /// Returns where a branch is now, if it exists.
    pub fn branch(&self, git: &Git, name: &str) -> Result<Option<CommitId>, Error> {
        if !is_ref_name(name) {
            return Err(Error::BadName { name: name.to_owned() });
        }
        self.resolve(git, &format!("refs/heads/{name}"))
    }

    /// Returns where the user has the ref `name` checked out, even if it has no commit yet.
    pub fn checked_out_at(&self, git: &Git, name: &str) -> Result<Option<PathBuf>, Error> {
        /// Exit code of git for an option that it does not know: `-z` came with 2.36.
        const UNKNOWN_OPTION: Option<i32> = Some(129);
        let list = || self.call(git, "worktree").args(["list", "--porcelain"]);
        let terminated = list().arg("-z").run_any()?;
        let (output, end) = match terminated.code {
            Some(0) => (terminated, 0),
            // A path with a line break is cut off then.
            UNKNOWN_OPTION => (list().run()?, b'\n'),
            _ => (list().arg("-z").run()?, 0),
        };
        let mut at = PathBuf::new();
        for line in output.stdout.split(|b| *b == end) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                at = PathBuf::from(OsString::from_vec(path.to_vec()));
            } else if line.strip_prefix(b"branch ") == Some(name.as_bytes()) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns the subjects of the newest commits up to `commit`, newest first, without merges.
    pub fn subjects(&self, git: &Git, commit: &CommitId, most: usize) -> Result<Vec<String>, Error> {
        let output = self
            .call(git, "log")
            .args([
                "--no-merges",
                "--no-show-signature",
                "--no-decorate",
                "--no-mailmap",
                "--encoding=UTF-8",
                "-z",
            ])
            .args(["--format=%s", &format!("--max-count={most}"), commit.as_str(), "--"])
            .run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split('\0').filter(|subject| !subject.is_empty()).map(str::to_owned).collect())
    }

    fn head(&self, git: &Git) -> Result<Base, Error> {
        let Some(commit) = self.resolve(git, "HEAD")? else {
            return Err(Error::NoCommits { path: self.path.clone() });
        };
        let name = self.call(git, "symbolic-ref").args(["--quiet", "HEAD"]).run_any()?.line();
        let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
        Ok(Base { branch, commit })
    }

    pub(super) fn resolve(&self, git: &Git, name: &str) -> Result<Option<CommitId>, Error> {
        let commit = format!("{name}^{{commit}}");
        let output = self
            .call(git, "rev-parse")
            .args(["--quiet", "--verify", "--end-of-options", &commit])
            .run_any()?;
        match output.code {
            Some(0) => {
                Ok(Some(output.line().parse().map_err(|_| Error::Unexpected { verb: "rev-parse".into() })?))
            }
            // Anything from git's own "not found" to an expression that it cannot parse.
            Some(1 | 128) => Ok(None),
            _ => Err(output.failed("rev-parse")),
        }
    }

    fn has_no_commits(&self, git: &Git) -> Result<bool, Error> {
        let output = self.call(git, "rev-list").args(["--all", "--max-count=1"]).run()?;
        Ok(output.stdout.is_empty())
    }
}

/// Git marks the packs of a partial clone with a file next to them.
pub(crate) fn is_partial(repository: &Repository) -> bool {
    let packs = std::fs::read_dir(repository.objects.join("pack")).into_iter().flatten().flatten();
    packs.into_iter().any(|entry| entry.path().extension().is_some_and(|e| e == "promisor"))
}

/// Returns whether `name` is valid as one component of a ref.
pub(crate) fn is_ref_component(name: &str) -> bool {
    !name.contains('/') && is_ref_name(name)
}

/// Returns whether `name` is a valid ref name. Stricter than git: what passes here is never rejected there, and never
/// read as an option or a pattern.
pub(crate) fn is_ref_name(name: &str) -> bool {
    // Leaves room for the directories before it in a file name of at most 255 bytes.
    const LONGEST: usize = 200;
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\\"".contains(c);
    !name.is_empty()
        && name.len() <= LONGEST
        && name != "@"
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(plain)
        && name.split('/').all(|part| {
            let lock = Path::new(part).extension().is_some_and(|e| e.eq_ignore_ascii_case("lock"));
            !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !lock
        })
}

/// Prefix of the refs that keep the bases of tasks, by store and task.
const PINS: &str = "refs/acquit/base/";

fn pin_name(store: &StoreId, task: TaskId) -> String {
    format!("{PINS}{store}/{task}")
}

/// Returns the top directory of the checkout of `path`.
fn top_of(git: &Git, path: &Path) -> Result<PathBuf, Error> {
    let output =
        git.call("rev-parse").inside(path).args(["--path-format=absolute", "--show-toplevel"]).run_any()?;
    if output.code != Some(0) {
        let what = "this folder is inside its .git; go to the checkout".into();
        return Err(Error::Unsupported { path: path.to_owned(), what });
    }
    let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    Ok(PathBuf::from(OsString::from_vec(line.to_vec())))
}

pub(super) fn global_config(home: &Path) -> PathBuf {
    let own = home.join(".gitconfig");
    if own.exists() { own } else { home.join(".config/git/config") }
}

fn discovery_error(error: Error, path: &Path) -> Error {
    let Error::Failed { stderr, .. } = &error else { return error };
    let path = path.to_owned();
    if stderr.contains("dubious ownership") {
        Error::ForeignOwner { path }
    } else if stderr.contains("not a git repository") {
        Error::NotARepository { path }
    } else if stderr.contains("repository version") || stderr.contains("repository extension") {
        Error::Unsupported { path, what: stderr.clone() }
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_that_git_would_refuse_or_misread_are_refused() {
        for good in ["main", "acquit/add-json-T-1", "grüße/ünïcode", "v1.2"] {
            assert!(is_ref_name(good), "{good}");
        }
        for bad in [
            "",
            "@",
            "-x",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a/b.lock",
            "a@{1}",
            "a\nb",
            "a\0",
            &"x".repeat(201),
        ] {
            assert!(!is_ref_name(bad), "{bad:?}");
        }
    }
}
