//! Prepares a workspace before a leg: resets the tree to the start commit and writes a fresh repository for the agent.

use std::path::PathBuf;

use super::agent::AgentGit;
use super::modules::Tree;
use super::snapshot::Snapshot;
use super::state::State;
use super::{Error, LockedWorkspace, SavedAttempt, files};
use crate::git::{CommitId, is_ref_component, is_ref_name};

/// Result of the preparation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Whether the workspace was created.
    pub created: bool,
    /// The changes of an earlier attempt, moved out of the tree.
    pub saved: Option<SavedAttempt>,
    /// Notes about this tree for a person.
    pub notes: Vec<String>,
}

impl LockedWorkspace {
    /// Prepares the workspace for `leg` at `start`, with the agent on `branch`. Saves first what an earlier attempt
    /// left. Keeps ignored files: they are caches, and rebuilding them costs more than the leg.
    pub fn prepare(&self, leg: &str, start: &CommitId, branch: &str) -> Result<Prepared, Error> {
        check_names(leg, start, branch, self)?;
        if !self.is_made() {
            self.create(start)?;
            let mut state = State::unseen(start, branch);
            state.facts.uncommitted = false;
            self.finish(&mut state, start, branch)?;
            self.mark_made()?;
            return Ok(Prepared { created: true, saved: None, notes: self.notes(start)? });
        }
        self.clear_stale_locks()?;
        let mut state = match self.load()? {
            Some(state) => state,
            // Only the harness's own repository is known, so check everything.
            None => State::unseen(&self.head()?, branch),
        };
        let (touched, saved) = if let Some(resetting) = state.facts.resetting.clone() {
            let tree = self.look_at_tree()?;
            let touched = tree.map(|tree| self.touched_since(state.tree_rows(), &tree)).unwrap_or_default();
            (touched, self.finish_reset(&mut state, &resetting.leg, start, resetting.saved)?)
        } else {
            let tree = self.look_at_tree()?;
            let agent = self.read_agent(&state.facts.branch)?;
            let tree_same = tree.as_ref().is_some_and(|t| state.has_tree(t));
            let known = state.facts.head == *start && state.facts.branch == branch;
            if tree_same && known && agent_untouched(&state, &agent, start) {
                if state.facts.start != *start {
                    state.facts.start = start.clone();
                    self.store(&mut state)?;
                }
                return Ok(Prepared { created: false, saved: None, notes: self.notes(start)? });
            }
            match &tree {
                Some(tree) => state.look_for_uncommitted(tree),
                None => state.facts.uncommitted = true,
            }
            let touched = tree.as_ref().map(|tree| self.touched_since(state.tree_rows(), tree));
            (touched.unwrap_or_default(), self.leave_nothing(&mut state, leg, start, tree, agent)?)
        };
        self.write_again(&touched, start)?;
        self.finish(&mut state, start, branch)?;
        Ok(Prepared { created: false, saved, notes: self.notes(start)? })
    }

    /// Restores the files of a saved attempt into a tree prepared at `start`, as uncommitted changes.
    pub fn restore(&self, attempt: &SavedAttempt, start: &CommitId) -> Result<(), Error> {
        let doing = "put back what an attempt left";
        let read = |more: &[&str], commit: &CommitId| {
            let call = self.call_in_tree("read-tree").arg("--reset").args(more).arg(commit.as_str());
            call.run().map_err(Error::git(doing))
        };
        read(&["-u"], &attempt.commit)?;
        // Reset the index to the start, so that everything shows as a change.
        read(&[], start)?;
        Ok(())
    }

    /// Saves what is worth saving and resets the tree to `start`.
    fn leave_nothing(
        &self,
        state: &mut State,
        leg: &str,
        start: &CommitId,
        tree: Option<Snapshot>,
        agent: AgentGit,
    ) -> Result<Option<SavedAttempt>, Error> {
        let Some(tree) = tree else {
            // The whole tree is gone. Move a file or symlink in its place aside; there is nothing else to save.
            if self.tree().symlink_metadata().is_ok() {
                files::move_aside(&self.tree(), &self.kept_dir(), &format!("{leg}-work"))?;
            }
            return self.reset(state, leg, start, None);
        };
        let tree_same = state.has_tree(&tree);
        let (parent, others, kept) = self.take_from_agent(state, leg, agent)?;
        // Work that the next leg does not build on is an attempt too: its harness was lost, its report was wrong, or
        // its variation failed.
        let built_on = self.is_part_of(state, start)?;
        let moved = parent != state.facts.head;
        let nothing_else = others.is_empty() && kept.is_empty();
        if !moved && built_on && nothing_else && (tree_same || self.is_clean(&state.facts.head, &tree)?) {
            let there = state.facts.head == *start;
            return if there { Ok(None) } else { self.reset(state, leg, start, None) };
        }
        let known = if built_on { state.facts.head.clone() } else { start.clone() };
        let saved = self.save(leg, &known, &parent, &tree, kept)?;
        let saved = self.save_others(leg, saved, &parent, &others, tree.newest)?;
        self.reset(state, leg, start, saved)
    }

    /// Returns whether the work at the head is part of `start`: as it is, squashed, or rebased.
    fn is_part_of(&self, state: &State, start: &CommitId) -> Result<bool, Error> {
        let head = &state.facts.head;
        let squashed = || state.facts.squashed.iter().any(|(tip, commit)| tip == head && commit == start);
        Ok(head == start || squashed() || state.is_same_work(head, start) || self.descends(start, head)?)
    }

    /// Imports the agent's branch if it moved, and commits that it made elsewhere. Returns the commit to save the tree on
    /// top of, those other commits, and the paths that could only be moved aside.
    fn take_from_agent(
        &self,
        state: &State,
        leg: &str,
        agent: AgentGit,
    ) -> Result<(CommitId, Vec<CommitId>, Vec<PathBuf>), Error> {
        let head = &state.facts.head;
        let (mut kept, mut imported) = (Vec::new(), Vec::new());
        let parent = match agent {
            AgentGit::Gone { .. } => head.clone(),
            AgentGit::There { snapshot, tip, others, .. } => {
                let mut aside = others.is_none();
                let parent = match tip {
                    Ok(tip) if tip == state.facts.agent_tip => head.clone(),
                    Ok(tip) => {
                        let reference = format!("refs/acquit/tips/{leg}");
                        if self.import(&snapshot, &state.facts.start, &tip, &reference).is_ok() {
                            tip
                        } else {
                            aside = true;
                            head.clone()
                        }
                    }
                    Err(_) => {
                        aside = true;
                        head.clone()
                    }
                };
                let facts = &state.facts;
                let known = [&facts.start, &facts.origin, &facts.agent_tip, &parent];
                let reference = format!("refs/acquit/others/{leg}");
                for other in others.unwrap_or_default().into_iter().filter(|other| !known.contains(&other)) {
                    // A ref of an agent may name anything, such as a tag, which cannot be a parent of the attempt.
                    match self.import(&snapshot, &facts.start, &other, &reference) {
                        Ok(()) if self.is_commit(&other)? => imported.push(other),
                        Ok(()) | Err(_) => aside = true,
                    }
                }
                if aside {
                    kept.push(files::move_aside(
                        &self.agent_dir(),
                        &self.kept_dir(),
                        &format!("{leg}-agent"),
                    )?);
                }
                parent
            }
        };
        Ok((parent, imported, kept))
    }

    /// Returns whether an object of ours is a commit itself.
    fn is_commit(&self, object: &CommitId) -> Result<bool, Error> {
        let kind = self.call("cat-file").args(["-t", object.as_str()]).run_any();
        Ok(kind.map_err(Error::git("keep an attempt"))?.line() == "commit")
    }

    /// Returns whether git sees no changes beyond `head` except ignored files.
    pub(super) fn is_clean(&self, head: &CommitId, tree: &Snapshot) -> Result<bool, Error> {
        if !tree.repositories.is_empty() {
            return Ok(false);
        }
        // A collection that was rejected or interrupted left it at the commit it had just made.
        self.set_head(head)?;
        let output = self
            .call_in_tree("status")
            .args(["--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all"])
            .run()
            .map_err(Error::git("look at the work tree"))?;
        Ok(output.stdout.is_empty())
    }

    /// Writes the agent's repository and records the current state of everything.
    fn finish(&self, state: &mut State, start: &CommitId, branch: &str) -> Result<(), Error> {
        self.fill_submodules(start.as_str(), &self.tree(), Tree::Agents)?;
        self.fill_lfs(start.as_str(), &self.tree(), &self.git_dir().join("index"))?;
        let agent = self.write_agent(branch, start)?;
        state.saw_agent(agent);
        if let Some(tree) = self.look_at_tree()? {
            state.saw_tree(tree.settle(&self.dir));
        }
        let facts = &mut state.facts;
        facts.start = start.clone();
        facts.head = start.clone();
        facts.agent_tip = start.clone();
        branch.clone_into(&mut facts.branch);
        facts.resetting = None;
        facts.collected = None;
        self.store(state)
    }

    fn notes(&self, start: &CommitId) -> Result<Vec<String>, Error> {
        if self.tree().join(".gitmodules").symlink_metadata().is_err() {
            return Ok(Vec::new());
        }
        let is_empty = |path: &PathBuf| {
            let mut entries = std::fs::read_dir(self.tree().join(path)).into_iter().flatten();
            entries.next().is_none()
        };
        let empty: Vec<String> = self
            .submodule_paths(start.as_str())?
            .into_iter()
            .filter(is_empty)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        if empty.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![format!(
            "submodules that are not in your clone are empty: {}; run `git submodule update --init --recursive`",
            empty.join(", ")
        )])
    }
}

fn agent_untouched(state: &State, agent: &AgentGit, start: &CommitId) -> bool {
    match agent {
        AgentGit::Gone { .. } => false,
        AgentGit::There { snapshot, .. } => state.has_agent(snapshot) && state.facts.agent_tip == *start,
    }
}

fn check_names(leg: &str, start: &CommitId, branch: &str, workspace: &LockedWorkspace) -> Result<(), Error> {
    let bad = |role, name: &str| Err(Error::BadName { role, name: name.to_owned() });
    if !is_ref_component(leg) {
        return bad("the name of a leg", leg);
    }
    if !is_ref_name(branch) {
        return bad("the name of a branch", branch);
    }
    if start.format() != workspace.format {
        return bad("a commit of this repository", start.as_str());
    }
    Ok(())
}
