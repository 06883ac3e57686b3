//! State recorded when a leg was last prepared or collected. It is one file, so that its parts always agree.

use serde::{Deserialize, Serialize};

use super::snapshot::{self, Snapshot};
use super::{Error, LockedWorkspace, Rules, SavedAttempt, Work, files};
use crate::git::CommitId;

/// Format version of the file. Another version is read as "nothing known", which only costs a check by git.
const VERSION: u32 = 1;
/// Size of a listing of ten million files. No workspace is larger.
const LARGEST: u64 = 2 << 30;

/// Recorded facts about a workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    version: u32,
    /// First commit of this workspace. The user's repository has it by definition.
    pub(super) origin: CommitId,
    /// Start commit of the current leg.
    pub(super) start: CommitId,
    /// The agent's branch.
    pub(super) branch: String,
    /// Commit that the working tree last matched.
    pub(super) head: CommitId,
    /// Tip of the agent's branch at that time. Everything up to it is imported.
    pub(super) agent_tip: CommitId,
    /// Set while the tree is being reset to `start`, with the attempt that holds its previous content.
    pub(super) resetting: Option<Resetting>,
    /// Result of collecting a leg, to return again when asked.
    pub(super) collected: Option<(String, Work)>,
    /// Published commits, each with its branch.
    pub(super) published: Vec<(String, CommitId)>,
    /// Pushed commits, each with its remote and branch.
    #[serde(default)]
    pub(super) pushed: Vec<(String, CommitId)>,
    /// Pairs of a tip and the commit it was squashed into.
    pub(super) squashed: Vec<(CommitId, CommitId)>,
    /// Pairs of a commit and its rebased copy.
    #[serde(default)]
    pub(super) rebased: Vec<(CommitId, CommitId)>,
    /// Pairs of a commit and its signed copy. Signatures differ each time, but the commit must not.
    #[serde(default)]
    pub(super) signed: Vec<(CommitId, CommitId)>,
    /// Commits that acquit made from what an agent left uncommitted, or by squashing several commits on another base.
    #[serde(default)]
    pub(super) own: Vec<CommitId>,
    /// Whether the tree may have files that are in no commit, such as ignored ones.
    #[serde(default = "perhaps")]
    pub(super) uncommitted: bool,
    tree_trusted: bool,
    agent_trusted: bool,
    tree_length: usize,
    ignores_length: usize,
}

fn perhaps() -> bool {
    true
}

/// A reset that has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Resetting {
    pub(super) leg: String,
    pub(super) saved: Option<SavedAttempt>,
}

/// The facts with the listings they are based on.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) facts: Facts,
    tree: Vec<u8>,
    ignores: Vec<u8>,
    agent: Vec<u8>,
}

impl State {
    /// Creates a state that knows nothing, so that everything counts as changed.
    pub(super) fn unseen(start: &CommitId, branch: &str) -> Self {
        Self {
            facts: Facts {
                version: VERSION,
                origin: start.clone(),
                start: start.clone(),
                branch: branch.to_owned(),
                head: start.clone(),
                agent_tip: start.clone(),
                resetting: None,
                collected: None,
                published: Vec::new(),
                pushed: Vec::new(),
                squashed: Vec::new(),
                rebased: Vec::new(),
                signed: Vec::new(),
                own: Vec::new(),
                uncommitted: true,
                tree_trusted: false,
                agent_trusted: false,
                tree_length: 0,
                ignores_length: 0,
            },
            tree: Vec::new(),
            ignores: Vec::new(),
            agent: Vec::new(),
        }
    }

    /// Records the current tree as that of `facts.head`.
    pub(super) fn saw_tree(&mut self, tree: Snapshot) {
        self.facts.tree_trusted = tree.trusted;
        self.tree = tree.rows;
        self.ignores = tree.ignores;
    }

    /// Records the agent's current `.git` as the one that was written for it.
    pub(super) fn saw_agent(&mut self, agent: Snapshot) {
        self.facts.agent_trusted = agent.trusted;
        self.agent = agent.rows;
    }

    /// Compares a tree after an agent's work with the recorded one. A new path may be in no commit.
    pub(super) fn look_for_uncommitted(&mut self, tree: &Snapshot) {
        self.facts.uncommitted |= !self.knows_paths(tree);
    }

    /// Returns the listing of the recorded tree.
    pub(super) fn tree_rows(&self) -> &[u8] {
        &self.tree
    }

    pub(super) fn has_tree(&self, tree: &Snapshot) -> bool {
        self.facts.tree_trusted && self.tree == tree.rows
    }

    /// Returns whether two commits are the same work on different bases.
    pub(super) fn is_same_work(&self, one: &CommitId, other: &CommitId) -> bool {
        let mut seen = vec![one];
        let mut next = 0;
        while let Some(commit) = seen.get(next).copied() {
            for (before, after) in &self.facts.rebased {
                for (from, to) in [(before, after), (after, before)] {
                    if from == commit && !seen.contains(&to) {
                        seen.push(to);
                    }
                }
            }
            next += 1;
        }
        seen.contains(&other)
    }

    /// Returns whether every path of the tree was already recorded, so that nothing in it is new.
    pub(super) fn knows_paths(&self, tree: &Snapshot) -> bool {
        let known: std::collections::HashSet<&[u8]> = snapshot::paths(&self.tree).collect();
        self.facts.tree_trusted && snapshot::paths(&tree.rows).all(|path| known.contains(path))
    }

    /// Returns whether all guarded paths are unchanged.
    pub(super) fn has_guarded(&self, tree: &Snapshot, rules: &Rules) -> bool {
        let guarded = |rows| snapshot::split(rows).filter(|(path, _)| rules.guarded(path).is_some());
        self.facts.tree_trusted && guarded(&self.tree).eq(guarded(&tree.rows))
    }

    pub(super) fn has_ignores(&self, tree: &Snapshot) -> bool {
        self.facts.tree_trusted && self.ignores == tree.ignores
    }

    pub(super) fn has_agent(&self, agent: &Snapshot) -> bool {
        self.facts.agent_trusted && self.agent == agent.rows
    }
}

impl LockedWorkspace {
    /// Records that someone writes files to the tree that are in no commit.
    pub fn mark_uncommitted(&self) -> Result<(), Error> {
        let mut state = self.known()?;
        state.facts.uncommitted = true;
        self.store(&mut state)
    }

    /// Records a commit that acquit made.
    pub(super) fn note_own_commit(&self, commit: &CommitId) -> Result<(), Error> {
        let mut state = self.known()?;
        if !state.facts.own.contains(commit) {
            state.facts.own.push(commit.clone());
        }
        self.store(&mut state)
    }

    /// Loads the state. `None` if there is none that this version can read.
    pub(super) fn load(&self) -> Result<Option<State>, Error> {
        let Some(bytes) = files::read(&self.dir.join("state"), LARGEST)? else { return Ok(None) };
        Ok(parse(&bytes))
    }

    pub(super) fn store(&self, state: &mut State) -> Result<(), Error> {
        state.facts.tree_length = state.tree.len();
        state.facts.ignores_length = state.ignores.len();
        let path = self.dir.join("state");
        let mut bytes = serde_json::to_vec(&state.facts).map_err(|e| Error::io("write", &path, e.into()))?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&state.tree);
        bytes.extend_from_slice(&state.ignores);
        bytes.extend_from_slice(&state.agent);
        files::write(&path, &bytes)
    }
}

fn parse(bytes: &[u8]) -> Option<State> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let facts: Facts = serde_json::from_slice(&bytes[..end]).ok()?;
    if facts.version != VERSION {
        return None;
    }
    let (tree, rest) = bytes[end + 1..].split_at_checked(facts.tree_length)?;
    let (ignores, agent) = rest.split_at_checked(facts.ignores_length)?;
    Some(State { facts, tree: tree.to_vec(), ignores: ignores.to_vec(), agent: agent.to_vec() })
}
