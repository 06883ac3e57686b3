//! Commit ids, validated once where they enter.

use std::fmt;
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
