//! Creates the commits to deliver: usually one, sometimes a few, authored by the user and signed if the user's git
//! signs.
//!
//! The work's own history is kept under `refs/acquit/tasks/<store>/` for later. It is never pushed.

use super::{Error, LockedWorkspace};
use crate::git::{CommitId, Identity, Signing, is_ref_component};

/// Author, committer and signing of new commits.
#[derive(Clone, Copy, Debug)]
pub struct Seal<'a> {
    /// Author.
    pub author: &'a Identity,
    /// Committer.
    pub committer: &'a Identity,
    /// Signing settings. `None` for unsigned commits.
    pub signing: Option<&'a Signing>,
}

/// A part of the work that becomes one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// State of the work at the end of the part.
    pub tip: CommitId,
    /// Commit message.
    pub message: String,
}

/// A commit to create.
pub(super) struct Draft<'a> {
    pub(super) tree: &'a str,
    pub(super) parents: &'a [&'a CommitId],
    pub(super) message: &'a str,
    pub(super) author: &'a Identity,
    pub(super) committer: &'a Identity,
    /// In seconds since 1970. Taken from the content, so that repeating it gives the same commit.
    pub(super) date: i64,
}

impl LockedWorkspace {
    /// Creates one commit with the tree of `tip` on top of `base`, by `author`.
    pub fn squash(
        &self,
        base: &CommitId,
        tip: &CommitId,
        message: &str,
        author: &Identity,
    ) -> Result<CommitId, Error> {
        let piece = Piece { tip: tip.clone(), message: message.to_owned() };
        self.deliver(base, &[piece], &Seal { author, committer: &Identity::neutral(), signing: None })
    }

    /// Creates a commit for each piece on top of `base` and returns the last one. Dates come from the pieces, so the
    /// same arguments give the same commits, even if a crash makes us repeat it.
    pub fn deliver(&self, base: &CommitId, pieces: &[Piece], seal: &Seal<'_>) -> Result<CommitId, Error> {
        let mut commit = base.clone();
        for Piece { tip, message } in pieces {
            if !self.descends(tip, base)? {
                return Err(Error::NotDescended { base: base.clone(), tip: tip.clone() });
            }
            let draft = Draft {
                tree: &format!("{tip}^{{tree}}"),
                parents: &[&commit],
                message,
                author: seal.author,
                committer: seal.committer,
                date: self.date(tip)?,
            };
            commit = self.seal(&draft, seal.signing)?;
        }
        if let Some(piece) = pieces.last() {
            let mut state = self.known()?;
            let pair = (piece.tip.clone(), commit.clone());
            if !state.facts.squashed.contains(&pair) {
                state.facts.squashed.push(pair);
                self.store(&mut state)?;
            }
        }
        Ok(commit)
    }

    /// Creates a commit. A signed one is created once and then reused.
    pub(super) fn seal(&self, draft: &Draft<'_>, signing: Option<&Signing>) -> Result<CommitId, Error> {
        let make = |signing: Option<&Signing>| {
            let call = self.call("commit-tree").signed(draft.author, draft.committer, draft.date);
            let call = match signing {
                Some(signing) => signing.apply(call),
                None => call,
            };
            let parents = draft.parents.iter().flat_map(|parent| ["-p", parent.as_str()]);
            call.arg(draft.tree).args(parents).args(["-F", "-"]).input(draft.message).run_for_id()
        };
        let plain = make(None).map_err(Error::git("make a commit of the work"))?;
        let Some(signing) = signing else { return Ok(plain) };
        if let Some((_, signed)) = self.known()?.facts.signed.iter().find(|(known, _)| *known == plain) {
            return Ok(signed.clone());
        }
        let signed = make(Some(signing)).map_err(Error::git(
            "sign the commit, as your git does here (unlock your key, or set sign = \"never\" in [commit])",
        ))?;
        let mut state = self.known()?;
        state.facts.signed.push((plain, signed.clone()));
        self.store(&mut state)?;
        Ok(signed)
    }

    /// Returns the date of a commit, in seconds since 1970.
    pub(super) fn date(&self, commit: &CommitId) -> Result<i64, Error> {
        if let Some(commit) = self.commit_at_hand(commit) {
            return Ok(commit.date);
        }
        let output = self
            .call("log")
            .args(["-1", "--no-show-signature", "--format=%ct", commit.as_str(), "--"])
            .run()
            .map_err(Error::git("read a commit's date"))?;
        Ok(output.line().trim().parse().unwrap_or(0))
    }

    /// Creates a merge of a stack into its base: the tree of the stack, with both as parents.
    pub fn join_stack(
        &self,
        base: &CommitId,
        top: &CommitId,
        message: &str,
        seal: &Seal<'_>,
    ) -> Result<CommitId, Error> {
        let draft = Draft {
            tree: &format!("{top}^{{tree}}"),
            parents: &[base, top],
            message,
            author: seal.author,
            committer: seal.committer,
            date: self.date(top)?,
        };
        self.seal(&draft, seal.signing)
    }

    /// Records that work is in the base branch as another commit, so that its workspace can be removed.
    pub fn keep_merged(&self, tip: &CommitId, commit: &CommitId) -> Result<(), Error> {
        let mut state = self.known()?;
        for pair in [(tip.clone(), commit.clone()), (state.facts.head.clone(), commit.clone())] {
            if !state.facts.squashed.contains(&pair) {
                state.facts.squashed.push(pair);
            }
        }
        self.store(&mut state)
    }

    /// Keeps the work's own history up to `tip`, so that publishing copies it to the user's repository.
    pub fn keep_history(&self, task: &str, leg: &str, tip: &CommitId) -> Result<(), Error> {
        for name in [task, leg] {
            if !is_ref_component(name) {
                return Err(Error::BadName { role: "the name of a task's history", name: name.to_owned() });
            }
        }
        self.set_ref(&format!("{}/{task}/{leg}", self.history_refs()), tip)
    }

    /// Returns the kept histories, as ref and commit.
    pub(super) fn history(&self) -> Result<Vec<(String, CommitId)>, Error> {
        let refs = self.history_refs();
        let folder = self.git_dir().join(&refs);
        let mut kept = Vec::new();
        for task in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            for leg in std::fs::read_dir(task.path()).into_iter().flatten().flatten() {
                let (task, leg) = (task.file_name(), leg.file_name());
                let name = format!("{refs}/{}/{}", task.to_string_lossy(), leg.to_string_lossy());
                if let Some(commit) = self.get_ref(&name)? {
                    kept.push((name, commit));
                }
            }
        }
        kept.sort_unstable();
        Ok(kept)
    }

    /// Returns where each phase of the work ended: for each name, the newest of its commits that the work contains, in
    /// the order of the work. The last one is the whole work. Finds commits that were rebased, too.
    pub fn phases(
        &self,
        base: &CommitId,
        tip: &CommitId,
        named: &[(String, Vec<CommitId>)],
    ) -> Result<Vec<(String, CommitId)>, Error> {
        let state = self.known()?;
        let output = self
            .call("rev-list")
            .args(["--reverse", "--first-parent", &format!("{base}..{tip}"), "--"])
            .run()
            .map_err(Error::git("list the work's commits"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line: Vec<CommitId> = text.lines().filter_map(|id| id.parse().ok()).collect();
        let whose = |commit: &CommitId| {
            let is_of = |commits: &Vec<CommitId>| commits.iter().any(|one| state.is_same_work(one, commit));
            named.iter().rev().find(|(_, commits)| is_of(commits)).map(|(name, _)| name.clone())
        };
        let mut phases: Vec<(String, CommitId)> = Vec::new();
        for commit in line {
            let name = whose(&commit).or_else(|| phases.last().map(|(name, _)| name.clone()));
            let name = name.unwrap_or_else(|| "work".to_owned());
            match phases.last_mut() {
                Some((last, end)) if *last == name => *end = commit,
                _ => phases.push((name, commit)),
            }
        }
        Ok(phases)
    }
}
