//! Creates a workspace from scratch. A marker written last ensures that a half-created one is never used.

use super::agent::{Role, config, write_repository};
use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

/// Below this number of files, one process is faster than several. With git's default of 100, starting workers costs
/// more than it saves.
const PARALLEL_FROM: u32 = 2_000;

impl LockedWorkspace {
    /// Returns whether creation completed.
    pub(super) fn is_made(&self) -> bool {
        self.marker().exists()
    }

    /// Creates the harness's repository and the tree, removing everything that a killed predecessor left. No agent has
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

    /// Marks the workspace as complete.
    pub(super) fn mark_made(&self) -> Result<(), Error> {
        files::write(&self.marker(), b"")
    }

    /// Makes the tree match `commit`. Replaces or removes files that are in the index; other files stay.
    pub(super) fn checkout(&self, commit: &CommitId) -> Result<(), Error> {
        self.call_in_tree("read-tree")
            .set("checkout.workers=0")
            .set(format!("checkout.thresholdForParallelism={PARALLEL_FROM}"))
            .args(["--reset", "-u", commit.as_str()])
            .run()
            .map_err(Error::git("fill the work tree"))?;
        self.set_head(commit)
    }

    /// Removes lock files of killed git processes. We hold the workspace lock, so no other git runs here.
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
