//! Rebases work onto another commit of its base branch. Runs in the harness's own repository: no tree, no editor, no
//! hook and no program of a repository.
//!
//! One three-way merge of trees decides whether the work as a whole applies. If it does, its commits are replayed one
//! by one to keep the history; where that is not possible they become one commit with the same tree. Commits depend
//! only on their content, so repeating the rebase gives the same commits.

use acquit_core::check::diff::{Diff, FileChange, Origin};
use acquit_core::conflict::{self, Edit, File, Hunk, MARKER, Side, Wrong};

use super::change::Around;
use super::squash::Draft;
use super::{Error, LockedWorkspace, files};
use crate::git::{CommitId, Identity, Signing};

/// Beyond this number, commits are squashed into one: replaying each one takes two git calls.
const MOST_REPLAYED: usize = 30;

/// Maximum size of a file that is searched for conflict markers and lost lines. A larger file is compared as a whole.
const LARGEST: usize = 4 << 20;

/// Work to move to another base.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// Base-branch commit the work is based on now.
    pub from: &'a CommitId,
    /// Base-branch commit to rebase onto.
    pub onto: &'a CommitId,
    /// Tip of the work.
    pub tip: &'a CommitId,
}

/// Result of a rebase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// Success, with the new tip.
    Clean(CommitId),
    /// The new base already contains all of the work.
    Absorbed,
    /// Both sides changed the same lines.
    Conflict(Conflicted),
}

/// A rebase with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicted {
    /// The work on the new base, with conflict markers.
    pub commit: CommitId,
    /// Files in conflict.
    pub files: Vec<String>,
    /// Conflicting hunks, for files that have lines.
    pub hunks: Vec<Hunk>,
}

/// Result of a three-way merge.
struct Merged {
    tree: String,
    /// Paths in conflict, each with its blobs: base, branch, task.
    conflicts: Vec<(String, [Option<String>; 3])>,
}

/// A commit to replay.
struct Original {
    id: CommitId,
    parent: CommitId,
    author: Identity,
    committer: Identity,
    date: i64,
    message: String,
}

impl LockedWorkspace {
    /// Returns whether the workspace has a repository yet.
    pub fn has_repository(&self) -> bool {
        self.is_made()
    }

    /// Returns whether `ancestor` is an ancestor of `commit`. False if the repository does not have `ancestor`.
    pub fn contains(&self, commit: &CommitId, ancestor: &CommitId) -> Result<bool, Error> {
        let there = self.call("cat-file").args(["-e", &format!("{ancestor}^{{commit}}")]).run_any();
        match there.map_err(Error::git("look for a commit"))?.code {
            Some(0) => self.descends(commit, ancestor),
            _ => Ok(false),
        }
    }

    /// Returns the base of `commit`, which is a copy of the commits from `base` to `tip`.
    pub fn below(&self, commit: &CommitId, base: &str, tip: &str) -> Result<CommitId, Error> {
        if let Some(found) = self.below_at_hand(commit, base, tip) {
            return Ok(found);
        }
        let doing = "find what the work stands on";
        let count = self
            .call("rev-list")
            .args(["--count", "--first-parent", &format!("{base}..{tip}"), "--"])
            .run()
            .map_err(Error::git(doing))?
            .line();
        let place = format!("{commit}~{}^{{commit}}", count.trim());
        let found = self.call("rev-parse").args(["--verify", "--end-of-options", &place]).run_for_id();
        found.map_err(Error::git(doing))
    }

    fn below_at_hand(&self, commit: &CommitId, base: &str, tip: &str) -> Option<CommitId> {
        let mut down = self.line_at_hand(&base.parse().ok()?, &tip.parse().ok()?)?.into_iter();
        down.try_fold(commit.clone(), |at, _| self.commit_at_hand(&at)?.parents.into_iter().next())
    }

    /// Rebases work. `words` is the message if several commits become one.
    pub fn rebase(&self, work: Move<'_>, words: &str, signing: Option<&Signing>) -> Result<Rebased, Error> {
        let Move { from, onto, tip } = work;
        let merged = self.merge_trees(from, onto, tip)?;
        let neutral = Identity::neutral();
        let draft = |tree| Draft {
            tree,
            parents: std::slice::from_ref(&onto),
            message: words,
            author: &self.agent,
            committer: &neutral,
            date: 0,
        };
        let date = self.date(tip)?;
        if !merged.conflicts.is_empty() {
            let commit = self.seal(&Draft { date, ..draft(&merged.tree) }, None)?;
            self.note_own_commit(&commit)?;
            let hunks = self.hunks(&merged)?;
            let files = merged.conflicts.into_iter().map(|(path, _)| path).collect();
            return Ok(Rebased::Conflict(Conflicted { commit, files, hunks }));
        }
        if merged.tree == self.tree_of(onto)? {
            return Ok(Rebased::Absorbed);
        }
        let mut pairs = Vec::new();
        let replayed = self.replay(work, &merged.tree, signing, &mut pairs)?;
        let commit = if let Some(commit) = replayed {
            commit
        } else {
            let commit = self.seal(&Draft { date, ..draft(&merged.tree) }, signing)?;
            self.note_own_commit(&commit)?;
            commit
        };
        pairs.push((tip.clone(), commit.clone()));
        let mut state = self.known()?;
        for pair in pairs {
            if !state.facts.rebased.contains(&pair) {
                state.facts.rebased.push(pair);
            }
        }
        self.store(&mut state)?;
        Ok(Rebased::Clean(commit))
    }

    /// Replays each commit on its own. `None` if one does not apply on its own or the result differs from `tree`.
    fn replay(
        &self,
        work: Move<'_>,
        tree: &str,
        signing: Option<&Signing>,
        pairs: &mut Vec<(CommitId, CommitId)>,
    ) -> Result<Option<CommitId>, Error> {
        let Some(originals) = self.originals(work)? else { return Ok(None) };
        let mut head = work.onto.clone();
        for original in originals {
            let merged = self.merge_trees(&original.parent, &head, &original.id)?;
            if !merged.conflicts.is_empty() {
                return Ok(None);
            }
            if merged.tree == self.tree_of(&head)? {
                continue;
            }
            let draft = Draft {
                tree: &merged.tree,
                parents: &[&head],
                message: &original.message,
                author: &original.author,
                committer: &original.committer,
                date: original.date,
            };
            head = self.seal(&draft, signing)?;
            pairs.push((original.id, head.clone()));
        }
        Ok((self.tree_of(&head)? == tree).then_some(head))
    }

    /// Returns the commits of the work, oldest first. `None` if there are too many.
    fn originals(&self, work: Move<'_>) -> Result<Option<Vec<Original>>, Error> {
        let doing = "list the work's commits";
        let unexpected = || Error::git(doing)(crate::git::Error::Unexpected { verb: "log".into() });
        let output = self
            .call("log")
            .args(["-z", "--reverse", "--first-parent", "--no-show-signature", "--no-color", "--no-decorate"])
            .args(["--no-mailmap", "--encoding=UTF-8", "--format=%H%n%P%n%an%n%ae%n%cn%n%ce%n%ct%n%B"])
            .args([&format!("{}..{}", work.from, work.tip), "--"])
            .run()
            .map_err(Error::git(doing))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<&str> = text.split('\0').filter(|row| !row.is_empty()).collect();
        if rows.len() > MOST_REPLAYED {
            return Ok(None);
        }
        let mut originals = Vec::new();
        for row in rows {
            let mut lines = row.splitn(8, '\n');
            let mut next = || lines.next().ok_or_else(unexpected);
            let (id, parents) = (next()?, next()?);
            let author = Identity::new(next()?, next()?);
            let committer = Identity::new(next()?, next()?);
            let date = next()?;
            let message = next()?.to_owned();
            let parent = parents.split(' ').next().unwrap_or_default();
            originals.push(Original {
                id: id.parse().map_err(|_| unexpected())?,
                parent: parent.parse().map_err(|_| unexpected())?,
                author,
                committer,
                date: date.trim().parse().unwrap_or(0),
                message,
            });
        }
        Ok(Some(originals))
    }

    /// Merges three trees. Reads attributes only from the branch's side. None of them can name a program: the harness's
    /// repository configures no merge driver.
    fn merge_trees(&self, base: &CommitId, ours: &CommitId, theirs: &CommitId) -> Result<Merged, Error> {
        let doing = "bring the work onto its base branch";
        let info = self.git_dir().join("info");
        std::fs::create_dir_all(&info).map_err(|e| Error::io("create", &info, e))?;
        files::write(&info.join("attributes"), format!("* conflict-marker-size={MARKER}\n").as_bytes())?;
        if !self.git.merges_trees() {
            return self.merge_in_checkout(base, ours, theirs);
        }
        let output = self
            .call("merge-tree")
            .attributes_of(ours)
            .set("merge.conflictStyle=diff3")
            .args(["--write-tree", "-z", "--no-messages"])
            .args([&format!("--merge-base={base}"), ours.as_str(), theirs.as_str()])
            .run_any()
            .map_err(Error::git(doing))?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(Error::git(doing)(output.failed("merge-tree")));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut fields = text.split('\0');
        let tree = fields.next().unwrap_or_default().to_owned();
        let conflicts = conflicts(fields);
        if output.code == Some(1) && conflicts.is_empty() {
            return Err(Error::git(doing)(crate::git::Error::Unexpected { verb: "merge-tree".into() }));
        }
        Ok(Merged { tree, conflicts })
    }

    /// Merges with an older git, which needs a checkout. The checkout is temporary.
    fn merge_in_checkout(
        &self,
        base: &CommitId,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Merged, Error> {
        let doing = "bring the work onto its base branch";
        let dir = self.dir.join("merging");
        files::remove(&dir)?;
        let (tree, index) = (dir.join("work"), dir.join("index"));
        std::fs::create_dir_all(&tree).map_err(|e| Error::io("create", &tree, e))?;
        let call = |verb: &str| self.call(verb).index(&index).work_tree(&tree);
        call("read-tree").args(["--reset", "-u", ours.as_str()]).run().map_err(Error::git(doing))?;
        let merged = call("merge-recursive")
            .set("merge.conflictStyle=diff3")
            .args([base.as_str(), "--", ours.as_str(), theirs.as_str()])
            .run_any()
            .map_err(Error::git(doing))?;
        if !matches!(merged.code, Some(0 | 1)) {
            return Err(Error::git(doing)(merged.failed("merge-recursive")));
        }
        let unmerged = call("ls-files").args(["--unmerged", "-z"]).run().map_err(Error::git(doing))?;
        let conflicts = conflicts(String::from_utf8_lossy(&unmerged.stdout).split('\0'));
        call("add").args(["--all", "--force", "."]).run().map_err(Error::git(doing))?;
        let tree = call("write-tree").run().map_err(Error::git(doing))?.line();
        files::remove(&dir)?;
        if merged.code == Some(1) && conflicts.is_empty() {
            return Err(Error::git(doing)(crate::git::Error::Unexpected { verb: "merge-recursive".into() }));
        }
        Ok(Merged { tree, conflicts })
    }

    /// Returns the conflicting hunks. For a file that is on only one side, or is not text, a hunk holds each side as a
    /// whole.
    fn hunks(&self, merged: &Merged) -> Result<Vec<Hunk>, Error> {
        let mut all = Vec::new();
        for (path, sides) in &merged.conflicts {
            let marked = self.text_of(&format!("{}:{path}", merged.tree))?;
            let found = marked.map(|text| conflict::hunks(path, &text)).unwrap_or_default();
            if !found.is_empty() {
                all.extend(found);
                continue;
            }
            let mut whole = Vec::new();
            for side in sides {
                whole.push(match side {
                    None => "(the file is not there)\n".to_owned(),
                    Some(blob) => self.text_of(blob)?.unwrap_or_else(|| "(no text)\n".to_owned()),
                });
            }
            let [base, branch, task] = <[String; 3]>::try_from(whole).unwrap_or_default();
            all.push(Hunk { path: path.clone(), line: 1, base, branch, task });
        }
        Ok(conflict::shown(all))
    }

    /// Returns what is wrong with a resolution: remaining conflict markers, and changes of either side that are lost
    /// without being listed in `given_up`.
    pub fn resolution(
        &self,
        work: Move<'_>,
        result: &CommitId,
        given_up: &[(String, String)],
    ) -> Result<Vec<Wrong>, Error> {
        let merged = self.merge_trees(work.from, work.onto, work.tip)?;
        let touched = self.touched(&merged.tree, result)?;
        let in_conflict = |path: &str| merged.conflicts.iter().any(|(known, _)| known == path);
        let branch = self.change(work.from, work.onto, Around::Nothing)?;
        let task = self.change(work.from, work.tip, Around::Nothing)?;
        let mut wrong = Vec::new();
        for (path, _) in &merged.conflicts {
            if let Some(text) = self.text_of(&format!("{result}:{path}"))? {
                let mut sides = Vec::new();
                for side in [work.onto, work.tip] {
                    sides.push(self.text_of(&format!("{side}:{path}"))?.unwrap_or_default());
                }
                wrong.extend(conflict::marks(path, &text, &[&sides[0], &sides[1]]));
            }
        }
        for path in paths(&branch, &task) {
            if !in_conflict(&path) && !touched.contains(&path) {
                continue;
            }
            let mut file = File { path: path.clone(), ..File::default() };
            for (side, own, other, tip) in
                [(Side::Branch, &branch, &task, work.onto), (Side::Task, &task, &branch, work.tip)]
            {
                for change in own.files.iter().filter(|change| place(change, other) == path) {
                    // Whether a removed file is back cannot be decided line by line.
                    if change.binary || change.new.is_none() {
                        wrong.extend(self.lost_whole(side, change, tip, result, given_up)?);
                        continue;
                    }
                    file.edits.extend(
                        conflict::edits(side, change)
                            .into_iter()
                            .map(|edit| Edit { path: path.clone(), ..edit }),
                    );
                    if let Some(old) = &change.old
                        && file.base.is_empty()
                    {
                        file.base = self.text_of(&format!("{}:{old}", work.from))?.unwrap_or_default();
                    }
                }
            }
            let text = self.text_of(&format!("{result}:{path}"))?;
            wrong.extend(conflict::lost(&file, text.as_deref(), given_up));
        }
        Ok(wrong)
    }

    /// Checks a file as a whole: whether the result has that side's version, which may be none.
    fn lost_whole(
        &self,
        side: Side,
        change: &FileChange,
        tip: &CommitId,
        result: &CommitId,
        given_up: &[(String, String)],
    ) -> Result<Option<Wrong>, Error> {
        let path = change.path();
        let name = format!("{}:{path}:1", side.name());
        let blob = |commit: &CommitId| {
            let output =
                self.call("rev-parse").args(["--quiet", "--verify", &format!("{commit}:{path}")]).run_any();
            output.map(|output| output.line()).map_err(Error::git("look for a file"))
        };
        if given_up.iter().any(|(known, _)| *known == name) || blob(tip)? == blob(result)? {
            return Ok(None);
        }
        let what =
            format!("the version of the {} is lost: keep it, or give up {name:?} with a reason", side.name());
        Ok(Some(Wrong { path: path.to_owned(), line: 1, what }))
    }

    /// Returns the paths in which the result differs from git's own merge of both sides.
    fn touched(&self, tree: &str, result: &CommitId) -> Result<Vec<String>, Error> {
        let output = self
            .call("diff-tree")
            .args(["-r", "-z", "--name-only", "--no-renames", tree, &format!("{result}^{{tree}}")])
            .run()
            .map_err(Error::git("compare the resolution with its parts"))?;
        let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns the text of a blob, if it exists, is text and is not too large.
    pub(super) fn text_of(&self, object: &str) -> Result<Option<String>, Error> {
        let doing = "read a file of a commit";
        let size = self.call("cat-file").args(["-s", object]).run_any().map_err(Error::git(doing))?;
        if size.code != Some(0) || size.line().trim().parse::<usize>().map_or(true, |size| size > LARGEST) {
            return Ok(None);
        }
        let output = self.call("cat-file").args(["blob", object]).run_any().map_err(Error::git(doing))?;
        let is_text = output.code == Some(0) && !output.stdout.contains(&0);
        Ok(is_text.then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Returns every path that either side changed, as named in the result.
fn paths(branch: &Diff, task: &Diff) -> Vec<String> {
    let of =
        |own: &Diff, other: &Diff| own.files.iter().map(|change| place(change, other)).collect::<Vec<_>>();
    let mut all = [of(branch, task), of(task, branch)].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the path of one side's change in the result. The other side may have renamed the file.
fn place(change: &FileChange, other: &Diff) -> String {
    let path = change.path();
    let moved =
        other.files.iter().find(|file| file.origin == Origin::Renamed && file.old.as_deref() == Some(path));
    moved.map_or(path, |file| file.path()).to_owned()
}

/// Parses rows `<mode> <blob> <stage>\t<path>` into files in conflict, with the blobs of base, branch and task.
fn conflicts<'r>(rows: impl Iterator<Item = &'r str>) -> Vec<(String, [Option<String>; 3])> {
    let mut conflicts: Vec<(String, [Option<String>; 3])> = Vec::new();
    for row in rows {
        let Some((facts, path)) = row.split_once('\t') else { continue };
        let words: Vec<&str> = facts.split(' ').collect();
        let [_, blob, stage] = words[..] else { continue };
        if conflicts.last().is_none_or(|(last, _)| last != path) {
            conflicts.push((path.to_owned(), [None, None, None]));
        }
        let index = stage.parse::<usize>().unwrap_or(1).clamp(1, 3) - 1;
        if let Some((_, sides)) = conflicts.last_mut() {
            sides[index] = Some(blob.to_owned());
        }
    }
    conflicts
}
