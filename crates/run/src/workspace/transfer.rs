//! Copying commits from a workspace into the user's repository.
//!
//! Git examines the objects of an agent's work first. They arrive loose, as those of the user's own commits do: a fetch that checks what it
//! receives would leave a pack for every task, and every git command opens every pack. Only work that is too large to be held in
//! memory arrives by a fetch, as a pack.
//!
//! Nothing refers to the objects until the caller's transaction of refs. What is left to copy is found object by object, so after a
//! copy that was cut short the next one does the rest.

use super::{Error, LockedWorkspace};
use crate::git::{self, Arrived, CommitId, Source};

impl LockedWorkspace {
    /// Copies `tips` and everything that they need and `source` does not have. `known` are commits that `source` has. Returns the
    /// lines that the caller must add to the transaction that gives the commits their refs.
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
            // Objects that are borrowed from the user's repository are there already.
            .args(["--quiet", "--revs", "--local", "--stdout"])
            .input(revisions)
            .run();
        match packed {
            Ok(output) if is_empty(&output.stdout) => Ok(Copied::nothing()),
            Ok(output) => {
                if check == Check::Strict {
                    // Here, and before any of it is there: what git refuses while it unpacks, it has written all the same, and
                    // the next try would find it there and pass.
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

    /// The same by a fetch, for work of any size. The commits wait below `refs/acquit/incoming/`, each under a name of its own, because
    /// tasks of one repository are published side by side.
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
            // Named here, because the user's configuration could name another for this very folder.
            .args(["--upload-pack", "git-upload-pack"])
            .arg(self.git_dir())
            .args(&refspecs)
            .run()
            .map_err(Error::git(doing))?;
        Ok(Copied { after, arrived: Arrived::Pack })
    }
}

/// Whether git examines what objects contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// It refuses objects that are malformed or would harm whoever checks them out.
    Strict,
    /// It takes them as they are: history of the remote, which the user's own git would take as well.
    None,
}

/// What is left to do once commits were copied.
pub(super) struct Copied {
    /// Lines for the transaction of refs.
    pub(super) after: String,
    /// In which form the objects arrived.
    pub(super) arrived: Arrived,
}

impl Copied {
    fn nothing() -> Self {
        Self { after: String::new(), arrived: Arrived::Loose }
    }
}

/// Whether a pack has no objects, as its header says.
fn is_empty(pack: &[u8]) -> bool {
    pack.get(8..12).is_none_or(|count| count == [0; 4])
}
