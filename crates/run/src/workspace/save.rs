//! Saves the content of a tree as a commit, then cleans the tree.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use acquit_core::artifact::DiffStats;

use super::collect::read_stats;
use super::snapshot::{Skip, Snapshot, on_disk, split, too_deep};
use super::state::{Resetting, State};
use super::{Error, LockedWorkspace, SavedAttempt, files};
use crate::git::{Call, CommitId, Identity, Index};

/// The year 2100. A file with a later date was dated on purpose.
const LATEST_DATE: i64 = 4_102_444_800;

/// Which files a commit of the tree must look for.
#[derive(Clone, Copy)]
pub(super) enum Files<'a> {
    /// Only files in the index: none is new. With the trusted listing of the tree when it had the content of the index.
    Known(&'a [u8]),
    /// New files too.
    Any,
}

impl LockedWorkspace {
    /// Lists the tree. `None` if it is no longer a directory or too deep to read.
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

    /// Stages the whole tree: new, changed and removed files, but neither ignored ones nor what setup made.
    fn stage(&self) -> Result<(), Error> {
        self.add_all()?;
        self.unstage_made()
    }

    fn add_all(&self) -> Result<(), Error> {
        let plain = self.call_in_tree("add").arg("--all").arg(".").run();
        let Err(first) = plain else { return Ok(()) };
        files::remove(&self.git_dir().join("index.lock"))?;
        // Attributes in the tree can declare an encoding that a file does not have. Git then fails to read it.
        let empty_tree = self.format.empty_tree();
        let again = self.call_in_tree("add").without_attributes(empty_tree).arg("--all").arg(".").run();
        again.map(drop).map_err(|_| Error::by_agent("store the work tree")(first))
    }

    /// Commits the tree on top of `parent` and returns the commit with its diff stats. Returns `parent` if there is
    /// nothing to commit. If no file is new, this takes one process.
    pub(super) fn commit_work(
        &self,
        parent: &CommitId,
        message: &str,
        author: &Identity,
        tree: &Snapshot,
        which: Files<'_>,
    ) -> Result<(CommitId, DiffStats), Error> {
        self.check_tree_size(tree)?;
        let newest = tree.newest;
        if let Files::Known(before) = which {
            let index = self.git_dir().join("index");
            let marked = self.index_of_touched(before, &tree.rows)?;
            let call = |call: Call| call.arg("--all").index(marked.as_ref().unwrap_or(&index));
            if let Ok(done) = self.commit(parent, message, author, newest, call) {
                // With nothing to commit, git leaves the copy unchanged, with the later time that we set.
                if let Some(marked) = marked.filter(|_| done.0 != *parent) {
                    std::fs::rename(&marked, &index).map_err(|e| Error::io("write", &index, e))?;
                }
                return Ok(done);
            }
        }
        files::remove(&self.git_dir().join("index.lock"))?;
        self.stage()?;
        self.commit(parent, message, author, newest, std::convert::identity)
    }

    /// Writes a copy of the index with which git reads only the files that may have changed since `before`. `None` if the
    /// index cannot be copied.
    ///
    /// Git compares times in whole seconds, so it reads every file that is not older than the index: after a checkout,
    /// all of them. The listings and the index itself have nanoseconds. So compare those, forget what the index records
    /// about files that differ, and let it be a second younger than the others.
    fn index_of_touched(&self, before: &[u8], now: &[u8]) -> Result<Option<PathBuf>, Error> {
        let path = self.git_dir().join("index.touched");
        for left in [path.clone(), self.git_dir().join("index.touched.lock")] {
            files::remove(&left)?;
        }
        let Some(mut index) = Index::read(&self.git_dir().join("index"), self.format) else {
            return Ok(None);
        };
        let (before, now): (HashMap<_, _>, HashMap<_, _>) = (split(before).collect(), split(now).collect());
        for number in 0..index.len() {
            let path = index.entry(number).path;
            let is_known = now.get(path).is_some_and(|meta| {
                let is_recorded = |(inode, size, times)| index.has(number, inode, size, times);
                before.get(path) == Some(meta) && on_disk(meta).is_some_and(is_recorded)
            });
            if !is_known {
                index.forget(number);
            }
        }
        let later = UNIX_EPOCH + Duration::from_secs(u64::from(index.newest()) + 1);
        let write = || {
            let mut file = File::create_new(&path)?;
            file.write_all(&index.into_bytes())?;
            file.set_modified(later)
        };
        write().map_err(|e| Error::io("write", &path, e))?;
        Ok(Some(path))
    }

    /// Commits what is staged. The date comes from the files, so repeating it gives the same commit.
    fn commit(
        &self,
        parent: &CommitId,
        message: &str,
        author: &Identity,
        newest: i64,
        more: impl FnOnce(Call) -> Call,
    ) -> Result<(CommitId, DiffStats), Error> {
        self.set_head(parent)?;
        let call = self
            .call_in_tree("commit")
            .set("diff.renames=false")
            .signed(author, &Identity::neutral(), newest.clamp(0, LATEST_DATE))
            .args(["--no-verify", "--no-status", "--cleanup=verbatim", "--allow-empty-message"])
            .args(["--no-gpg-sign", "--file=-"])
            .input(message);
        let output = more(call).run_any().map_err(Error::git("commit what is in the tree"))?;
        let head = self.head()?;
        // With nothing to commit, git exits with 1 and does not move HEAD.
        if output.code == Some(0) || (output.code == Some(1) && output.stderr.is_empty() && head == *parent) {
            let stats = if head == *parent { DiffStats::default() } else { read_stats(&output.stdout) };
            return Ok((head, stats));
        }
        Err(Error::by_agent("commit what is in the tree")(output.failed("commit")))
    }

    /// Commits the whole tree on top of `parent`. If git cannot store the tree, moves it away as a whole, adds it to
    /// `kept` and replaces it with an empty directory.
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
            // Only content of the agent gets here. A full disk does not: once there is space, the tree can be saved
            // properly.
            Err(Error::Guardrail { .. }) => {}
            Err(error) => return Err(error),
        }
        kept.push(files::move_aside(&self.tree(), &self.kept_dir(), &format!("{leg}-work"))?);
        self.start_empty()?;
        Ok(parent.clone())
    }

    /// Creates an empty tree without an index, for the next checkout to fill.
    pub(super) fn start_empty(&self) -> Result<(), Error> {
        self.clear_stale_locks()?;
        files::remove(&self.git_dir().join("index"))?;
        std::fs::create_dir(self.tree()).map_err(|e| Error::io("create", &self.tree(), e))
    }

    /// Saves what the tree has beyond `parent` as an attempt of `leg`. `None` if there is nothing beyond `known`.
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

    /// Adds commits that are not on the branch to an attempt: as parents of a commit with the attempt's files.
    pub(super) fn save_others(
        &self,
        leg: &str,
        saved: Option<SavedAttempt>,
        parent: &CommitId,
        others: &[CommitId],
        newest: i64,
    ) -> Result<Option<SavedAttempt>, Error> {
        if others.is_empty() {
            return Ok(saved);
        }
        let (first, kept) = saved.map_or_else(|| (parent.clone(), Vec::new()), |s| (s.commit, s.kept));
        let mut call = self
            .call("commit-tree")
            .signed(&Identity::neutral(), &Identity::neutral(), newest.clamp(0, LATEST_DATE))
            .args([&format!("{first}^{{tree}}"), "-p", first.as_str()]);
        for other in others {
            call = call.args(["-p", other.as_str()]);
        }
        let message = format!("acquit: what leg {leg} left, also on other branches\n");
        let commit =
            call.args(["-F", "-"]).input(message).run_for_id().map_err(Error::git("keep an attempt"))?;
        Ok(Some(SavedAttempt { reference: self.keep_commit(leg, &commit)?, commit, kept }))
    }

    /// Records that a reset started, then does it. So a successor completes it instead of saving a half-reset tree.
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

    /// Second half of [`Self::reset`]. Can be repeated any number of times.
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
        // Files that only the old ignore rules hid become visible when those rules go. They are work too, so save them
        // before they are removed.
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

    /// Creates a commit that keeps two others, with the files of both where they do not conflict.
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

    /// Stores a commit under an attempt name that no other commit has.
    pub(super) fn keep_commit(&self, leg: &str, commit: &CommitId) -> Result<String, Error> {
        let refs = self.attempt_refs();
        let mut name = format!("{refs}/{leg}");
        let mut number = 2_u32;
        while let Some(other) = self.get_ref(&name)?.filter(|other| other != commit) {
            if self.descends(commit, &other)? {
                // The older commit stays reachable through the newer one.
                break;
            }
            name = format!("{refs}/{leg}-{number}");
            number += 1;
        }
        self.set_ref(&name, commit)?;
        Ok(name)
    }

    /// Returns whether `ancestor` is an ancestor of `commit`.
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
