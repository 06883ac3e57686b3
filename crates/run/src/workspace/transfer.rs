//! Copies commits from a workspace into the user's repository.
//!
//! Git checks the objects of an agent's work first. They arrive as loose objects, like those of the user's own commits:
//! a fetch that checks what it receives would leave a pack per task, and every git command opens every pack. Only work
//! that is too large for memory is fetched as a pack.
//!
//! Nothing refers to the objects until the caller's ref transaction. Missing objects are found one by one, so after an
//! interrupted copy the next one completes it.

use super::{Error, LockedWorkspace};
use crate::git::{self, Arrived, CommitId, Source};

impl LockedWorkspace {
    /// Copies `tips` and everything they need that `source` does not have. `known` are commits that `source` has.
    /// Returns the lines that the caller must add to the transaction that creates the refs.
    pub(super) fn copy_to(
        &self,
        source: &Source,
        tips: &[&CommitId],
        known: &[&CommitId],
        check: Check,
        doing: &'static str,
    ) -> Result<Copied, Error> {
        let mut revisions = String::new();
        for tip in tips {
            revisions.push_str(&format!("{tip}\n"));
        }
        for known in known {
            revisions.push_str(&format!("^{known}\n"));
        }
        let packed = self
            .call("pack-objects")
            // Objects borrowed from the user's repository are already there.
            .args(["--quiet", "--revs", "--local", "--stdout"])
            .input(revisions)
            .run();
        match packed {
            Ok(output) if is_empty(&output.stdout) => Ok(Copied::nothing()),
            Ok(output) => {
                if check == Check::Strict {
                    // Check here, before any object arrives: when git rejects an object while unpacking, it has written
                    // it anyway, and the next attempt would find it and pass.
                    let examine = self.call("index-pack").args(["--strict", "--stdin"]);
                    let how =
                        "correct the file in the task's branch, or in the base branch if it comes from there";
                    let unsafe_content = Error::unsafe_content(doing, how);
                    examine.input(output.stdout.clone()).run().map_err(unsafe_content)?;
                }
                let unpack = source.call(&self.git, "unpack-objects").arg("-q").input(output.stdout);
                unpack.run().map_err(Error::git(doing))?;
                Ok(Copied::nothing())
            }
            Err(git::Error::TooMuchOutput { .. }) => self.fetch_into(source, tips, check, doing),
            Err(error) => Err(Error::git(doing)(error)),
        }
    }

    /// Copies with a fetch, for work of any size. The commits wait under `refs/acquit/incoming/`, each with its own
    /// name, because tasks of one repository are published in parallel.
    fn fetch_into(
        &self,
        source: &Source,
        tips: &[&CommitId],
        check: Check,
        doing: &'static str,
    ) -> Result<Copied, Error> {
        let (mut refspecs, mut after) = (Vec::new(), String::new());
        for tip in tips {
            let outgoing = format!("refs/acquit/outgoing/{tip}");
            let incoming = format!("refs/acquit/incoming/{tip}");
            self.set_ref(&outgoing, tip)?;
            refspecs.push(format!("+{outgoing}:{incoming}"));
            after.push_str(&format!("delete {incoming}\n"));
        }
        source
            .call(&self.git, "fetch")
            .allowing_local_transport()
            .set(format!("fetch.fsckObjects={}", check == Check::Strict))
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"])
            .args(["--no-recurse-submodules", "--no-show-forced-updates", "--no-write-commit-graph"])
            // Explicit, because the user's configuration could set another program for this very directory.
            .args(["--upload-pack", "git-upload-pack"])
            .arg(self.git_dir())
            .args(&refspecs)
            .run()
            .map_err(Error::git(doing))?;
        Ok(Copied { after, arrived: Arrived::Pack })
    }
}

/// Whether git checks the content of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Reject objects that are malformed or dangerous to check out.
    Strict,
    /// Accept objects as they are: history of the remote, which the user's own git would accept as well.
    None,
}

/// What remains to do after copying commits.
pub(super) struct Copied {
    /// Lines for the ref transaction.
    pub(super) after: String,
    /// Form in which the objects arrived.
    pub(super) arrived: Arrived,
}

impl Copied {
    fn nothing() -> Self {
        Self { after: String::new(), arrived: Arrived::Loose }
    }
}

/// Returns whether the header of a pack says it has no objects.
fn is_empty(pack: &[u8]) -> bool {
    pack.get(8..12).is_none_or(|count| count == [0; 4])
}
