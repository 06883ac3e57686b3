//! Collects the work of an agent after it ended: its commits, what it left uncommitted, and the size of the change.

use std::path::PathBuf;

use acquit_core::artifact::DiffStats;
use serde::{Deserialize, Serialize};

use super::agent::AgentGit;
use super::save::Files;
use super::snapshot::Snapshot;
use super::state::State;
use super::{Error, LockedWorkspace, Rules, SavedAttempt};
use crate::git::{CommitId, Identity, is_ref_name};

/// Maximum number of commits to list.
const MOST_COMMITS: usize = 1_000;
/// Maximum length of a subject. It is shown in one line.
const LONGEST_SUBJECT: usize = 200;

/// What the agent did if there is no tree to examine.
pub(super) const REPLACED: &str =
    "the work tree was replaced, or filled with folders that are nested too deeply";

/// What to do with uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They belong to the work: commit them on top of it.
    Commit {
        /// Message of that commit.
        message: String,
        /// Author of that commit.
        identity: Identity,
    },
    /// The stage was read-only: save everything, including commits, as an attempt, and reset the tree to the start.
    SaveAndReset,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSummary {
    /// Commit id.
    pub id: CommitId,
    /// First line of its message, truncated.
    pub subject: String,
}

/// What happened to uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// There were none.
    None,
    /// They became this commit.
    Committed(CommitId),
    /// They were saved, and are not part of the work.
    Saved(SavedAttempt),
}

/// The work of one leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Final commit of the leg. Equal to its start if nothing was done.
    pub head: CommitId,
    /// Commits since the start, newest first, limited in number.
    pub new_commits: Vec<CommitSummary>,
    /// Diff stats between start and head.
    pub stats: DiffStats,
    /// What happened to uncommitted changes.
    pub leftover: Leftover,
    /// The `.git` directories of repositories that the agent created inside the tree. They are moved aside, so that the
    /// files of those repositories count as files.
    pub kept: Vec<PathBuf>,
}

/// Collects commits, newest first.
struct Listed<'a> {
    rules: Option<&'a Rules>,
    commits: Vec<CommitSummary>,
    /// The oldest commit that must name the task and does not.
    nameless: Option<CommitSummary>,
}

impl Listed<'_> {
    fn add(&mut self, id: CommitId, line: &str, message: &str) {
        let commit = CommitSummary { id, subject: subject(line) };
        if self.rules.is_some_and(|rules| !rules.is_named_in(message)) {
            self.nameless = Some(commit.clone());
        }
        if self.commits.len() < MOST_COMMITS {
            self.commits.push(commit);
        }
    }
}

impl LockedWorkspace {
    /// Collects the work of the agent of `leg`. The agent must have ended, so that the tree no longer changes.
    pub fn collect(&self, leg: &str, keep: Leftovers) -> Result<Work, Error> {
        let not_prepared = || Error::NotPrepared { path: self.dir.clone() };
        let mut state = self.load()?.filter(|s| s.facts.resetting.is_none()).ok_or_else(not_prepared)?;
        if !crate::git::is_ref_component(leg) {
            return Err(Error::BadName { role: "the name of a leg", name: leg.to_owned() });
        }
        let Some(tree) = self.look_at_tree()? else {
            return Err(Error::guardrail(REPLACED));
        };
        let (agent, tip) = match self.read_agent(&state.facts.branch)? {
            AgentGit::Gone { what } => {
                return Err(Error::guardrail(format!("its repository was {what}")));
            }
            AgentGit::There { snapshot, tip, branches, .. } => {
                self.check_branches(&branches, &state.facts.branch)?;
                let tip = tip.map_err(Error::guardrail)?;
                if let Some(what) = rewrites_history(&snapshot, &self.shallow) {
                    return Err(Error::guardrail(format!(
                        "its repository has {what}, by which git shows another history than the one that is there; make \
                         ordinary commits"
                    )));
                }
                (snapshot, tip)
            }
        };
        if let Some(path) = tree.privileged.first() {
            return Err(Error::guardrail(format!(
                "it left a set-uid or set-gid file, {:?}: such a file would run with the rights of whoever owns it; the bits were \
                 taken away",
                path.display()
            )));
        }
        state.look_for_uncommitted(&tree);
        if tip == state.facts.agent_tip && state.has_tree(&tree) {
            return Ok(match &state.facts.collected {
                Some((of, work)) if of == leg => work.clone(),
                _ => Work::nothing(&state.facts.head),
            });
        }
        self.clear_stale_locks()?;
        let touched = self.touched_since(state.tree_rows(), &tree);
        let work = match keep {
            Leftovers::Commit { message, identity } => {
                self.accept(&mut state, leg, &agent, &tip, &tree, &message, &identity)?
            }
            Leftovers::SaveAndReset => self.put_back(&mut state, leg, &agent, &tip, &tree)?,
        };
        state.facts.head = work.head.clone();
        state.facts.agent_tip = tip;
        state.facts.resetting = None;
        state.facts.collected = Some((leg.to_owned(), work.clone()));
        self.write_again(&touched, &work.head)?;
        if let Some(tree) = self.look_at_tree()? {
            state.saw_tree(tree.settle(&self.dir));
        }
        self.store(&mut state)?;
        Ok(work)
    }

    #[expect(clippy::too_many_arguments, reason = "what was read once is handed on, not read twice")]
    fn accept(
        &self,
        state: &mut State,
        leg: &str,
        agent: &Snapshot,
        tip: &CommitId,
        tree: &Snapshot,
        message: &str,
        identity: &Identity,
    ) -> Result<Work, Error> {
        let start = state.facts.start.clone();
        let reference = format!("refs/acquit/legs/{leg}");
        let mut new_commits = Vec::new();
        if *tip != start {
            if *tip != state.facts.agent_tip {
                self.import(agent, &start, tip, &reference)?;
            }
            new_commits = self.commits_between(&start, tip)?;
        }
        let known = state.tree_rows().to_vec();
        let which = if state.knows_paths(tree) { Files::Known(&known) } else { Files::Any };
        let commit = || self.commit_work(tip, message, identity, tree, which);
        let ((head, left), kept) = self.without_repositories(leg, tree, tip, commit)?;
        self.check_guarded(state, tree, &start, &head)?;
        if head != *tip {
            self.examine_work(tree, &start, &head)?;
        }
        let leftover = if head == *tip {
            Leftover::None
        } else {
            let subject = subject(message.lines().next().unwrap_or_default());
            new_commits.insert(0, CommitSummary { id: head.clone(), subject });
            if !state.facts.own.contains(&head) {
                state.facts.own.push(head.clone());
            }
            Leftover::Committed(head.clone())
        };
        new_commits.truncate(MOST_COMMITS);
        self.set_ref(&reference, &head)?;
        let stats = match left {
            // All of the work was uncommitted, so git has already reported its size.
            stats if *tip == start => stats,
            _ => self.difference(&start, &head)?,
        };
        Ok(Work { head, new_commits, stats, leftover, kept })
    }

    fn put_back(
        &self,
        state: &mut State,
        leg: &str,
        agent: &Snapshot,
        tip: &CommitId,
        tree: &Snapshot,
    ) -> Result<Work, Error> {
        let start = state.facts.start.clone();
        if *tip != start && *tip != state.facts.agent_tip {
            self.import(agent, &start, tip, &format!("refs/acquit/tips/{leg}"))?;
        }
        let saved = self.save(leg, &start, tip, tree, Vec::new())?;
        if let Some(saved) = &saved {
            self.check_guarded(state, tree, &start, &saved.commit)?;
        }
        let saved = self.reset(state, leg, &start, saved)?;
        Ok(Work { leftover: saved.map_or(Leftover::None, Leftover::Saved), ..Work::nothing(&start) })
    }

    /// Returns the commits that `tip` has and `start` does not, newest first. Rejects a tip that does not build on the
    /// start, and a commit that does not name the task.
    fn commits_between(&self, start: &CommitId, tip: &CommitId) -> Result<Vec<CommitSummary>, Error> {
        let mut listed = Listed { rules: self.rules.as_ref(), commits: Vec::new(), nameless: None };
        match self.line_at_hand(start, tip) {
            Some(line) => {
                line.into_iter().for_each(|(id, commit)| listed.add(id, &commit.subject(), &commit.message));
            }
            None => self.list_between(start, tip, &mut listed)?,
        }
        match (listed.nameless, listed.rules) {
            (Some(commit), Some(rules)) => Err(Error::guardrail(format!(
                "its commit {} ({:?}) does not name the task; every message needs a line `Task: {}`, which the hooks of the \
                 workspace add if they are left alone",
                commit.id.short(),
                commit.subject,
                rules.task_id
            ))),
            _ => Ok(listed.commits),
        }
    }

    /// Lists the commits with git. One call is enough: the start is listed as the boundary of the range exactly if it
    /// is a parent of a commit in it.
    fn list_between(&self, start: &CommitId, tip: &CommitId, listed: &mut Listed<'_>) -> Result<(), Error> {
        let doing = "list its commits";
        let output = self
            .call("log")
            .args(["--boundary", "-z", "--no-show-signature", "--no-color", "--no-decorate", "--no-mailmap"])
            .args(["--encoding=UTF-8", "--format=%m%H %s%n%B", &format!("{start}..{tip}"), "--"])
            .run()
            .map_err(Error::by_agent(doing))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut builds_on_start = false;
        for row in text.split('\0').filter(|row| !row.is_empty()) {
            let unexpected = || Error::git(doing)(crate::git::Error::Unexpected { verb: "log".into() });
            let (id, rest) = row.get(1..).and_then(|r| r.split_once(' ')).ok_or_else(unexpected)?;
            let (line, message) = rest.split_once('\n').ok_or_else(unexpected)?;
            if row.starts_with('-') {
                builds_on_start |= id == start.as_str();
                continue;
            }
            listed.add(id.parse().map_err(|_| unexpected())?, line, message);
        }
        if !builds_on_start {
            let words = "its branch does not build on the commit that the leg started from; add commits on top of it, and \
                         do not rewrite what was there";
            return Err(Error::guardrail(words));
        }
        Ok(())
    }

    /// Rejects protected branches, which an agent must neither create nor check out.
    fn check_branches(&self, branches: &[String], own: &str) -> Result<(), Error> {
        let Some(rules) = &self.rules else { return Ok(()) };
        // Names that tools take for options, for HEAD or for another ref.
        let is_odd =
            |branch: &&String| *branch == "HEAD" || branch.starts_with("refs/") || !is_ref_name(branch);
        if let Some(branch) = branches.iter().find(is_odd) {
            return Err(Error::guardrail(format!(
                "it made a branch with the name {:?}, which tools take for something else; stay on {own:?}, which acquit \
                 delivers",
                subject(branch)
            )));
        }
        match branches.iter().find(|branch| rules.protects(branch, own)) {
            Some(branch) => Err(Error::guardrail(format!(
                "it made or checked out the protected branch {branch:?} in its clone; stay on {own:?}, which acquit delivers"
            ))),
            None => Ok(()),
        }
    }

    /// Rejects changes to `.acquit/` and to the settings of coding agents. Asks git only if the listing of the tree
    /// shows a difference.
    fn check_guarded(
        &self,
        state: &State,
        tree: &Snapshot,
        start: &CommitId,
        head: &CommitId,
    ) -> Result<(), Error> {
        let Some(rules) = self.rules_in(tree).filter(|_| start != head) else { return Ok(()) };
        if state.has_guarded(tree, &rules) {
            return Ok(());
        }
        let patterns = rules.guarded_patterns();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let output = self.diff_tree(start, head, "--name-only", &[], &patterns)?;
        let found = output.split(|b| *b == 0).find_map(|path| Some((path, rules.guarded(path)?)));
        match found {
            Some((path, why)) => Err(Error::guardrail(format!(
                "it changed {:?}; {why}: leave it as it is, and say in your summary if something there has to change",
                String::from_utf8_lossy(path)
            ))),
            None => Ok(()),
        }
    }

    /// Returns the diff stats between two commits.
    pub fn difference(&self, from: &CommitId, to: &CommitId) -> Result<DiffStats, Error> {
        let output = self.diff_tree(from, to, "--shortstat", &[], &[])?;
        Ok(read_stats(&output))
    }

    /// Returns all paths that differ between two commits, with both paths of a renamed file. `None` if there are too
    /// many to read.
    pub fn changed_paths(&self, from: &CommitId, to: &CommitId) -> Result<Option<Vec<String>>, Error> {
        match self.diff_tree(from, to, "--name-only", &[], &[]) {
            Ok(output) => {
                let paths = output.split(|b| *b == 0).filter(|path| !path.is_empty());
                Ok(Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()))
            }
            Err(Error::Git { source: crate::git::Error::TooMuchOutput { .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the files of the second commit that are new or different in it. `None` if they cannot be listed: too
    /// many, or one whose name is not UTF-8.
    pub fn changed_files(&self, from: &CommitId, to: &CommitId) -> Result<Option<Vec<String>>, Error> {
        match self.diff_tree(from, to, "--name-only", &["--diff-filter=d"], &[]) {
            Ok(output) => {
                let paths = output.split(|b| *b == 0).filter(|path| !path.is_empty());
                Ok(paths.map(|path| String::from_utf8(path.to_vec()).ok()).collect())
            }
            Err(Error::Git { source: crate::git::Error::TooMuchOutput { .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn diff_tree(
        &self,
        from: &CommitId,
        to: &CommitId,
        form: &str,
        more: &[&str],
        paths: &[&str],
    ) -> Result<Vec<u8>, Error> {
        let output = self
            .call("diff-tree")
            .args(["-r", "-z", form, "--no-renames", "--no-ext-diff", "--no-textconv"])
            .args(more)
            .args([from.as_str(), to.as_str(), "--"])
            .args(paths)
            .run()
            .map_err(Error::git("compare the work with its start"))?;
        Ok(output.stdout)
    }
}

/// Parses the line ` 2 files changed, 3 insertions(+), 1 deletion(-)` among other output; git leaves out zeros in it.
/// No such line means no change.
pub(super) fn read_stats(output: &[u8]) -> DiffStats {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().find(|line| line.starts_with(' ') && line.contains(" changed"));
    let mut stats = DiffStats::default();
    for part in line.unwrap_or_default().split(',') {
        let Some((number, what)) = part.trim().split_once(' ') else { continue };
        let number = number.parse().unwrap_or(0);
        match what.get(..4) {
            Some("file") => stats.files = number,
            Some("inse") => stats.insertions = number,
            Some("dele") => stats.deletions = number,
            _ => {}
        }
    }
    stats
}

impl Work {
    /// Returns the result for no change since `head`.
    fn nothing(head: &CommitId) -> Self {
        Self {
            head: head.clone(),
            new_commits: Vec::new(),
            stats: DiffStats::default(),
            leftover: Leftover::None,
            kept: Vec::new(),
        }
    }
}

/// Detects what makes the agent's git see other objects than those that would be imported. None of it is imported: it
/// is a sign of intent.
fn rewrites_history(agent: &Snapshot, shallow: &[u8]) -> Option<&'static str> {
    super::snapshot::paths(&agent.rows).find_map(|path| match path {
        b"info/grafts" => Some("grafts"),
        // For a shallow clone we wrote one ourselves. What an agent makes of it does not affect the import.
        b"shallow" if shallow.is_empty() => Some("a shallow border"),
        b"objects/info/http-alternates" => Some("alternates on the network"),
        path if path.starts_with(b"refs/replace/") => Some("replacement refs"),
        _ => None,
    })
}

fn subject(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(LONGEST_SUBJECT).collect()
}
