//! Taking everything out of a tree into a commit, and then making the tree clean.

use std::path::PathBuf;

use acquit_core::artifact::DiffStats;

use super::collect::read_stats;
use super::snapshot::{Skip, Snapshot, too_deep};
use super::state::{Resetting, State};
use super::{Error, LockedWorkspace, SavedAttempt, files};
use crate::git::{CommitId, Identity};

/// The year 2100: a file from later than this was dated by somebody with a purpose.
const LATEST_DATE: i64 = 4_102_444_800;

/// Which files a commit of the tree has to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// Those that the index knows: none is new.
    Known,
    /// New ones too.
    Any,
}

impl LockedWorkspace {
    /// The listing of the tree, or none when there is none to be had: it is not a folder any more, or too deep to be read.
    pub(super) fn look_at_tree(&self) -> Result<Option<Snapshot>, Error> {
        let tree = self.tree();
        match std::fs::symlink_metadata(&tree) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Ok(None),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read", &tree, e)),
        }
        match Snapshot::take(&tree, Skip::OwnGit) {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(e) if too_deep(&e) => Ok(None),
            Err(e) => Err(Error::io("read", &tree, e)),
        }
    }

    /// Puts the whole tree into the index: new, changed and removed files, without the ignored ones.
    pub(super) fn stage(&self) -> Result<(), Error> {
        let plain = self.call_in_tree("add").arg("--all").arg(".").run();
        let Err(first) = plain else { return Ok(()) };
        files::remove(&self.git_dir().join("index.lock"))?;
        // Attributes in the tree can ask for an encoding that a file does not have, which git refuses to read.
        let empty_tree = self.format.empty_tree();
        let again = self.call_in_tree("add").without_attributes(empty_tree).arg("--all").arg(".").run();
        again.map(drop).map_err(|_| Error::by_agent("store the work tree")(first))
    }

    /// Commits the tree on top of `parent`, and says how much that was; `parent` itself when there is nothing to commit.
    /// Where no file is new, one process does it.
    pub(super) fn commit_work(
        &self,
        parent: &CommitId,
        message: &str,
        author: &Identity,
        tree: &Snapshot,
        which: Files,
    ) -> Result<(CommitId, DiffStats), Error> {
        self.check_tree_size(tree)?;
        let newest = tree.newest;
        if which == Files::Known
            && let Ok(done) = self.commit(parent, message, author, newest, &["--all"])
        {
            return Ok(done);
        }
        files::remove(&self.git_dir().join("index.lock"))?;
        self.stage()?;
        self.commit(parent, message, author, newest, &[])
    }

    /// Commits what is staged. The date comes from the files, so that doing it again gives the same commit.
    fn commit(
        &self,
        parent: &CommitId,
        message: &str,
        author: &Identity,
        newest: i64,
        more: &[&str],
    ) -> Result<(CommitId, DiffStats), Error> {
        self.set_head(parent)?;
        let output = self
            .call_in_tree("commit")
            .set("diff.renames=false")
            .signed(author, &Identity::neutral(), newest.clamp(0, LATEST_DATE))
            .args(["--no-verify", "--no-status", "--cleanup=verbatim", "--allow-empty-message"])
            .args(["--no-gpg-sign", "--file=-"])
            .args(more)
            .input(message)
            .run_any()
            .map_err(Error::git("commit what is in the tree"))?;
        let head = self.head()?;
        // Without anything to commit, git ends with 1 and leaves HEAD where it was.
        if output.code == Some(0) || (output.code == Some(1) && output.stderr.is_empty() && head == *parent) {
            let stats = if head == *parent { DiffStats::default() } else { read_stats(&output.stdout) };
            return Ok((head, stats));
        }
        Err(Error::by_agent("commit what is in the tree")(output.failed("commit")))
    }

    /// Commits the whole tree on top of `parent`. A tree that git cannot store is moved away whole instead, added to
    /// `kept`, and replaced by an empty folder.
    fn commit_tree(
        &self,
        leg: &str,
        parent: &CommitId,
        message: &str,
        tree: &Snapshot,
        kept: &mut Vec<PathBuf>,
    ) -> Result<CommitId, Error> {
        let staged = self.commit_work(parent, message, &Identity::neutral(), tree, Files::Any);
        match staged {
            Ok((commit, _)) => return Ok(commit),
            // What the agent left is at fault. A full disk is not: with room it can be saved as it should be.
            Err(Error::Guardrail { .. }) => {}
            Err(error) => return Err(error),
        }
        kept.push(files::move_aside(&self.tree(), &self.kept_dir(), &format!("{leg}-work"))?);
        self.start_empty()?;
        Ok(parent.clone())
    }

    /// An empty tree and no index, for the next checkout to fill.
    pub(super) fn start_empty(&self) -> Result<(), Error> {
        self.clear_stale_locks()?;
        files::remove(&self.git_dir().join("index"))?;
        std::fs::create_dir(self.tree()).map_err(|e| Error::io("create", &self.tree(), e))
    }

    /// Saves what the tree holds beyond `parent` as an attempt of `leg`; none if that is nothing beyond `known`.
    pub(super) fn save(
        &self,
        leg: &str,
        known: &CommitId,
        parent: &CommitId,
        tree: &Snapshot,
        mut kept: Vec<PathBuf>,
    ) -> Result<Option<SavedAttempt>, Error> {
        kept.extend(self.keep_repositories(leg, tree)?);
        let message = format!("acquit: what leg {leg} left in the tree\n");
        let commit = self.commit_tree(leg, parent, &message, tree, &mut kept)?;
        if commit == *known && kept.is_empty() {
            return Ok(None);
        }
        let reference = self.keep_commit(leg, &commit)?;
        Ok(Some(SavedAttempt { reference, commit, kept }))
    }

    /// Announces the reset, so that a successor finishes it instead of saving a tree that is half of each; then does it.
    pub(super) fn reset(
        &self,
        state: &mut State,
        leg: &str,
        start: &CommitId,
        saved: Option<SavedAttempt>,
    ) -> Result<Option<SavedAttempt>, Error> {
        state.facts.resetting = Some(Resetting { leg: leg.to_owned(), saved: saved.clone() });
        self.store(state)?;
        self.finish_reset(state, leg, start, saved)
    }

    /// Second half of [`Self::reset`]: may be repeated any number of times.
    pub(super) fn finish_reset(
        &self,
        state: &mut State,
        leg: &str,
        start: &CommitId,
        mut saved: Option<SavedAttempt>,
    ) -> Result<Option<SavedAttempt>, Error> {
        if self.look_at_tree()?.is_none() {
            self.start_empty()?;
        }
        self.checkout(start)?;
        // Files that only other ignore rules hid appear when those rules go. They are work too, and saved before they
        // are removed.
        if let Some(tree) = self.look_at_tree()?
            && !state.has_ignores(&tree)
        {
            let mut kept = Vec::new();
            let message = format!("acquit: what leg {leg} had hidden by ignore rules\n");
            let hidden = self.commit_tree(leg, start, &message, &tree, &mut kept)?;
            if hidden != *start || !kept.is_empty() {
                let parent = saved.as_ref().map_or(start, |s| &s.commit);
                let commit = self.join(parent, &hidden, leg, tree.newest)?;
                kept.extend(saved.take().map(|s| s.kept).unwrap_or_default());
                saved = Some(SavedAttempt { reference: self.keep_commit(leg, &commit)?, commit, kept });
                state.facts.resetting = Some(Resetting { leg: leg.to_owned(), saved: saved.clone() });
                self.store(state)?;
            }
            self.checkout(start)?;
        }
        state.facts.head = start.clone();
        Ok(saved)
    }

    /// A commit that keeps two others, with the files of both where they do not contradict each other.
    fn join(&self, first: &CommitId, second: &CommitId, leg: &str, newest: i64) -> Result<CommitId, Error> {
        if self.descends(second, first)? {
            return Ok(second.clone());
        }
        let doing = "keep an attempt";
        let merge =
            ["--write-tree", "--no-messages", "--allow-unrelated-histories", first.as_str(), second.as_str()];
        let merged = self.call("merge-tree").args(merge).run_any().map_err(Error::git(doing))?;
        let tree = if merged.code == Some(0) { merged.line() } else { format!("{second}^{{tree}}") };
        self.call("commit-tree")
            .signed(&Identity::neutral(), &Identity::neutral(), newest.clamp(0, LATEST_DATE))
            .args([&tree, "-p", first.as_str(), "-p", second.as_str(), "-F", "-"])
            .input(format!("acquit: everything leg {leg} left\n"))
            .run_for_id()
            .map_err(Error::git(doing))
    }

    /// Gives a commit a name among the attempts that no other commit has.
    pub(super) fn keep_commit(&self, leg: &str, commit: &CommitId) -> Result<String, Error> {
        let refs = self.attempt_refs();
        let mut name = format!("{refs}/{leg}");
        let mut number = 2_u32;
        while let Some(other) = self.get_ref(&name)?.filter(|other| other != commit) {
            if self.descends(commit, &other)? {
                // The older one stays reachable through the newer.
                break;
            }
            name = format!("{refs}/{leg}-{number}");
            number += 1;
        }
        self.set_ref(&name, commit)?;
        Ok(name)
    }

    /// Whether `ancestor` is part of the history of `commit`.
    pub(super) fn descends(&self, commit: &CommitId, ancestor: &CommitId) -> Result<bool, Error> {
        if self.line_at_hand(ancestor, commit).is_some() {
            return Ok(true);
        }
        let doing = "compare two commits";
        let output = self
            .call("merge-base")
            .args(["--is-ancestor", ancestor.as_str(), commit.as_str()])
            .run_any()
            .map_err(Error::git(doing))?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(Error::git(doing)(output.failed("merge-base"))),
        }
    }
}
