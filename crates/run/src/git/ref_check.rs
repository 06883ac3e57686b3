//! Checks whether a branch of the user's repository is still where it was, usually without running git.
//!
//! Every leg asks, and usually nothing has changed. Then the branch's own file contains the known id. That commit was
//! checked when it became known, so nothing needs to be checked again. Only this one answer is read from the file. In
//! all other cases, and wherever git could see something other than the file (another ref storage, a linked worktree, a
//! symlink, a file that git would not write like this), git is asked.

use super::{CommitId, Error, Git, Source, is_ref_name};
use crate::untrusted;

/// Maximum size of a configuration to search. Most have less than a kilobyte.
const LARGEST_CONFIG: u64 = 64 << 10;
/// Enough for an id of any format, and to detect that there is more.
const LARGEST_REF: u64 = 128;

impl Source {
    /// Returns where a branch is now, if it exists. Fast if it is still at `known`.
    pub fn branch_known_at(
        &self,
        git: &Git,
        name: &str,
        known: &CommitId,
    ) -> Result<Option<CommitId>, Error> {
        if self.has_in_file(name, known) { Ok(Some(known.clone())) } else { self.branch(git, name) }
    }

    fn has_in_file(&self, name: &str, known: &CommitId) -> bool {
        let file = |name: &str, limit| untrusted::plain(self.git_dir(), name, limit);
        let is_own = || self.git_dir().join("commondir").symlink_metadata().is_err();
        // Refs may be stored in another way or elsewhere. Then the configuration contains this word.
        let has_files = || {
            file("config", LARGEST_CONFIG).is_some_and(|text| {
                let word = b"refstorage";
                !text.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word))
            })
        };
        is_ref_name(name)
            && known.format() == self.format()
            && file(&format!("refs/heads/{name}"), LARGEST_REF)
                .is_some_and(|text| text.strip_suffix(b"\n") == Some(known.as_str().as_bytes()))
            && is_own()
            && has_files()
    }
}
