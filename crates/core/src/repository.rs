//! Where a user's repository is, and commit ids, validated once where they enter.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Hash function of a repository's object ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    /// 40 hexadecimal digits.
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

impl ObjectFormat {
    /// Returns the id of the empty tree, which git knows without storing it.
    pub fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

/// Where a user's repository is. Pinned with a task, so that later legs need not search for it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Path from which it was found.
    pub path: PathBuf,
    /// The repository itself: refs, settings, objects.
    pub git_dir: PathBuf,
    /// Object directory that workspaces borrow from.
    pub objects: PathBuf,
    /// Hash function of its objects.
    pub format: ObjectFormat,
    /// Top of the checkout; `None` for a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The user's repository, if this one only borrows its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lender: Option<Box<Repository>>,
    /// Base of the work, if it is not the user's own. What is made from it is not shared with anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<CommitId>,
}

impl Repository {
    /// Returns the user's own repository: this one, or the one it borrows from. Data of a project is stored under its
    /// name.
    pub fn owner(&self) -> &Self {
        self.lender.as_deref().unwrap_or(self)
    }

    /// Returns the path from which it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the repository itself: refs, settings, objects.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the object directory that workspaces borrow from.
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// Returns the hash function of its objects.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Returns whether the work is only judged: it is in a repository of ours, and no agent works on it.
    pub fn is_judged_only(&self) -> bool {
        self.lender.is_some()
    }

    /// Returns whether it has no checkout.
    pub fn is_bare(&self) -> bool {
        self.work_tree.is_none()
    }

    /// Returns the directory of the project's own files: the top of the checkout, or the bare repository itself.
    pub fn top(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }

    /// Returns the path that tasks of this project are listed under: the same for all worktrees of a repository.
    pub fn project(&self) -> &Path {
        let common = self.objects.parent().unwrap_or(&self.git_dir);
        match common.parent() {
            // A linked worktree. Its main checkout has `.git`; a bare repository has none to name.
            Some(main) if common != self.git_dir && common.ends_with(".git") => main,
            _ => self.top(),
        }
    }

    /// Returns the directories of its objects: its own, and those that it borrows.
    pub fn all_objects(&self) -> Vec<PathBuf> {
        let own = std::iter::once(self.objects.clone());
        own.chain(self.lender.iter().flat_map(|lender| lender.all_objects())).collect()
    }

    /// Returns where git keeps something next to its objects, such as the repositories of submodules. A linked worktree
    /// may have its own.
    pub fn of_clone(&self, name: &str) -> Vec<PathBuf> {
        if let Some(lender) = &self.lender {
            return lender.of_clone(name);
        }
        let mut all = vec![self.git_dir.join(name)];
        all.extend(self.objects.parent().map(|common| common.join(name)));
        all.dedup();
        all
    }
}

/// A full commit id: 40 or 64 lowercase hexadecimal digits, never abbreviated and never an expression.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// The text is not a full object id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("read a commit id: expected 40 or 64 lowercase hexadecimal digits")]
pub struct InvalidCommitId;

impl CommitId {
    /// Returns all digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first twelve digits, for people and for names.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }

    /// Returns the hash function, derived from the length.
    pub fn format(&self) -> ObjectFormat {
        if self.0.len() == 64 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }
}

impl FromStr for CommitId {
    type Err = InvalidCommitId;

    fn from_str(text: &str) -> Result<Self, InvalidCommitId> {
        let digits = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        // Git uses the all-zero id for "nothing"; it never names a commit.
        let nothing = text.bytes().all(|b| b == b'0');
        if matches!(text.len(), 40 | 64) && digits && !nothing {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCommitId)
        }
    }
}

impl TryFrom<String> for CommitId {
    type Error = InvalidCommitId;

    fn try_from(text: String) -> Result<Self, InvalidCommitId> {
        text.parse()
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_stored_in_the_form_that_it_always_had() {
        let commit = "a".repeat(40);
        let stored = serde_json::json!({
            "path": "/trial", "git_dir": "/trial", "objects": "/trial/objects", "format": "sha1", "work_tree": null,
            "lender": {
                "path": "/app/src", "git_dir": "/app/.git", "objects": "/app/.git/objects", "format": "sha1",
                "work_tree": "/app",
            },
            "foreign": commit,
        });
        let read: Repository = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), stored);
        assert_eq!((read.owner().top(), read.is_judged_only()), (Path::new("/app"), true));
        assert_eq!(read.foreign, commit.parse().ok());
    }

    #[test]
    fn only_full_lowercase_ids_are_accepted() {
        for good in ["a".repeat(40), "0123456789abcdef".repeat(4)] {
            assert_eq!(good.parse::<CommitId>().unwrap().as_str(), good);
        }
        for bad in
            ["", "HEAD", &"A".repeat(40), &"a".repeat(39), &"a".repeat(41), &"0".repeat(40), &"g".repeat(40)]
        {
            assert_eq!(bad.parse::<CommitId>(), Err(InvalidCommitId), "{bad}");
        }
    }
}
