//! Whether a branch of the user's repository is still where it was, seen without git in the ordinary case.
//!
//! Every leg asks, and as a rule nothing has happened. Then the branch's own file has the id in it that is known already: that
//! commit was looked at when it became known, so nothing about it has to be found out again. Only this one answer is
//! read from the file. In every other case, and wherever git could see something else than the file (another kind of ref
//! storage, a linked worktree, a link, a file that is not as git writes it), git is asked where the branch is.

use super::{CommitId, Error, Git, Source, is_ref_name};
use crate::untrusted;

/// The largest configuration that is searched: most have less than a kilobyte.
const LARGEST_CONFIG: u64 = 64 << 10;
/// Room for an id of any kind, and for seeing that there is more.
const LARGEST_REF: u64 = 128;

impl Source {
    /// Where a branch is now, if there is one; asked by somebody who thinks that it is at `known`.
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
        // Refs can be elsewhere than in files, and files elsewhere than here: then the configuration says so by this word.
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
