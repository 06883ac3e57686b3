//! Making a workspace from nothing, so that half of one is never taken for a whole.

use super::agent::{Role, config, write_repository};
use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

/// Below this many files one process is faster than several. Git's own default of 100 is not worth the extra starts.
const PARALLEL_FROM: u32 = 2_000;

impl LockedWorkspace {
    /// Whether making it was finished.
    pub(super) fn is_made(&self) -> bool {
        self.marker().exists()
    }

    /// Makes the harness's repository and the tree, from whatever a killed predecessor may have left. No agent has
    /// worked here before the marker is written, so there is nothing to save.
    pub(super) fn create(&self, start: &CommitId) -> Result<(), Error> {
        let git = self.git_dir();
        for left in [
            "state",
            "work",
            "work.work",
            "git",
            "view",
            "agent.new",
            "agent.old",
            "checked",
            "owner",
            "setup",
        ] {
            files::remove(&self.dir.join(left))?;
        }
        let config = config(self.format, &Role::Harness);
        write_repository(&git, &format!("{start}\n"), &config, &self.source_objects, &self.shallow)?;
        std::fs::create_dir(self.tree()).map_err(|e| Error::io("create", &self.tree(), e))?;
        self.checkout(start)?;
        self.examine_base(start)
    }

    /// Says that everything is there.
    pub(super) fn mark_made(&self) -> Result<(), Error> {
        files::write(&self.marker(), b"")
    }

    /// Makes the tree that of `commit`: files that the index knows are replaced or removed, others stay.
    pub(super) fn checkout(&self, commit: &CommitId) -> Result<(), Error> {
        self.call_in_tree("read-tree")
            .set("checkout.workers=0")
            .set(format!("checkout.thresholdForParallelism={PARALLEL_FROM}"))
            .args(["--reset", "-u", commit.as_str()])
            .run()
            .map_err(Error::git("fill the work tree"))?;
        self.set_head(commit)
    }

    /// Takes away the locks of git processes that were killed. Nobody else is at work here while we hold our own.
    pub(super) fn clear_stale_locks(&self) -> Result<(), Error> {
        for name in ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"] {
            files::remove(&self.git_dir().join(name))?;
        }
        Ok(())
    }

    fn marker(&self) -> std::path::PathBuf {
        self.git_dir().join("acquit-complete")
    }
}
