//! After the agent: what it committed, what it left lying around, and what that amounts to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::agent::AgentGit;
use super::save::Submodules;
use super::snapshot::Snapshot;
use super::state::State;
use super::{Error, Locked, SavedAttempt};
use crate::git::{CommitId, Identity};

/// Paths that are listed; beyond that only their number is of use.
const MOST_PATHS: usize = 1_000;
/// Commits that are listed.
const MOST_COMMITS: usize = 1_000;
/// Characters of a subject that are kept: it is shown in one line.
const LONGEST_SUBJECT: usize = 200;

/// What to do with changes that the agent did not commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They belong to the work: committed on top of it.
    Commit {
        /// The message of that commit.
        message: String,
        /// Its author.
        identity: Identity,
    },
    /// The stage was only to read: everything, commits too, is saved as an attempt, and the tree goes back to the
    /// start.
    SaveAndReset,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSummary {
    /// Its id.
    pub id: CommitId,
    /// The first line of its message, bounded.
    pub subject: String,
}

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStats {
    /// Files that differ.
    pub files: u64,
    /// Lines added; binary files count none.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
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
    /// The commit the leg ends with; its start when nothing was done.
    pub head: CommitId,
    /// What was committed since the start, newest first, bounded.
    pub new_commits: Vec<CommitSummary>,
    /// The difference between start and head.
    pub stats: DiffStats,
    /// The paths that differ, bounded, with invalid UTF-8 replaced.
    pub changed: Vec<String>,
    /// What happened to uncommitted changes.
    pub leftover: Leftover,
    /// The `.git` of repositories that the agent made inside the tree, moved aside so that their files are files.
    pub kept: Vec<PathBuf>,
}

impl Locked {
    /// Takes in what the agent of `leg` did. The agent has ended; nobody writes to the tree any more.
    pub fn collect(&self, leg: &str, keep: Leftovers) -> Result<Work, Error> {
        let not_prepared = || Error::NotPrepared { path: self.dir.clone() };
        let mut state = self.load()?.filter(|s| s.facts.resetting.is_none()).ok_or_else(not_prepared)?;
        if !crate::git::is_ref_component(leg) {
            return Err(Error::BadName { role: "the name of a leg", name: leg.to_owned() });
        }
        let Some(tree) = self.look_at_tree()? else {
            return Err(Error::guardrail("the work tree was replaced"));
        };
        let (agent, tip) = match self.read_agent(&state.facts.branch)? {
            AgentGit::Gone { what } => {
                return Err(Error::guardrail(format!("its repository was {what}")));
            }
            AgentGit::There { snapshot, tip, .. } => (snapshot, tip.map_err(Error::guardrail)?),
        };
        if tip == state.facts.agent_tip && state.has_tree(&tree) {
            return Ok(match &state.facts.collected {
                Some((of, work)) if of == leg => work.clone(),
                _ => Work::nothing(&state.facts.head),
            });
        }
        self.clear_stale_locks()?;
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
        let kept = self.keep_repositories(leg, tree, Submodules::Stay)?;
        self.stage()?;
        let head = self.commit_staged(tip, message, identity, tree.newest)?;
        let leftover = if head == *tip {
            Leftover::None
        } else {
            let subject = subject(message.lines().next().unwrap_or_default());
            new_commits.insert(0, CommitSummary { id: head.clone(), subject });
            Leftover::Committed(head.clone())
        };
        new_commits.truncate(MOST_COMMITS);
        self.set_ref(&reference, &head)?;
        let (stats, changed) =
            if head == start { Default::default() } else { self.difference(&start, &head)? };
        Ok(Work { head, new_commits, stats, changed, leftover, kept })
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
        let saved = self.reset(state, leg, &start, saved)?;
        Ok(Work { leftover: saved.map_or(Leftover::None, Leftover::Saved), ..Work::nothing(&start) })
    }

    /// The commits that `tip` has and `start` has not, newest first; refuses a tip that does not build on the start.
    /// One call tells both: the start is listed as the edge of the range exactly if it is a parent of something in it.
    fn commits_between(&self, start: &CommitId, tip: &CommitId) -> Result<Vec<CommitSummary>, Error> {
        let output = self
            .call("log")
            .args(["--boundary", "-z", "--no-show-signature", "--no-color", "--no-decorate", "--no-mailmap"])
            .args(["--encoding=UTF-8", "--format=%m%H %s", &format!("{start}..{tip}"), "--"])
            .run()
            .map_err(Error::git("list the agent's commits"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut commits = Vec::new();
        let mut builds_on_start = false;
        for row in text.split('\0').filter(|row| !row.is_empty()) {
            let unexpected = || {
                Error::git("list the agent's commits")(crate::git::Error::Unexpected { verb: "log".into() })
            };
            let (id, line) = row.get(1..).and_then(|r| r.split_once(' ')).ok_or_else(unexpected)?;
            if row.starts_with('-') {
                builds_on_start |= id == start.as_str();
            } else if commits.len() < MOST_COMMITS {
                let id = id.parse().map_err(|_| unexpected())?;
                commits.push(CommitSummary { id, subject: subject(line) });
            }
        }
        if builds_on_start {
            Ok(commits)
        } else {
            Err(Error::guardrail("its branch does not build on the commit that the leg started from"))
        }
    }

    fn difference(&self, from: &CommitId, to: &CommitId) -> Result<(DiffStats, Vec<String>), Error> {
        let output = self
            .call("diff-tree")
            .args(["-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"])
            .args([from.as_str(), to.as_str(), "--"])
            .run()
            .map_err(Error::git("compare the work with its start"))?;
        let mut stats = DiffStats::default();
        let mut changed = Vec::new();
        for row in output.stdout.split(|b| *b == 0).filter(|row| !row.is_empty()) {
            let mut fields = row.splitn(3, |b| *b == b'\t');
            // A binary file has dashes in place of numbers.
            let mut number = || {
                fields
                    .next()
                    .and_then(|f| std::str::from_utf8(f).ok())
                    .and_then(|f| f.parse().ok())
                    .unwrap_or(0_u64)
            };
            stats.files += 1;
            stats.insertions += number();
            stats.deletions += number();
            if changed.len() < MOST_PATHS {
                changed.push(String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned());
            }
        }
        Ok((stats, changed))
    }
}

impl Work {
    /// No change since `head`.
    fn nothing(head: &CommitId) -> Self {
        Self {
            head: head.clone(),
            new_commits: Vec::new(),
            stats: DiffStats::default(),
            changed: Vec::new(),
            leftover: Leftover::None,
            kept: Vec::new(),
        }
    }
}

fn subject(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(LONGEST_SUBJECT).collect()
}
