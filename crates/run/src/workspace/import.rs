//! Imports the agent's commits into the harness's repository.
//!
//! Git never reads the agent's `.git` as a repository, because its configuration, replacement refs, grafts and pointers
//! to other directories would all take effect. Instead, it fetches from a view of ours that borrows only the agent's
//! objects and has one ref, the tip that we read ourselves. The objects are checked on the way in.

use super::agent::{Role, config, write_repository};
use super::snapshot::Snapshot;
use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

impl LockedWorkspace {
    /// Fetches `tip` with everything it needs, and keeps it as `reference`.
    pub(super) fn import(
        &self,
        agent: &Snapshot,
        start: &CommitId,
        tip: &CommitId,
        reference: &str,
    ) -> Result<(), Error> {
        self.borrows_only_ours(agent).map_err(Error::guardrail)?;
        if tip.format() != self.format {
            return Err(Error::guardrail("its branch names a commit of another kind of repository"));
        }
        let view = self.dir.join("view");
        files::remove(&view)?;
        let mut lent = vec![self.agent_dir().join("objects")];
        lent.extend(self.borrowed_objects());
        let config = config(self.format, &Role::Harness);
        write_repository(&view, "ref: refs/heads/tip\n", &config, &lent, &self.shallow)?;
        files::write(&view.join("refs/heads/tip"), format!("{tip}\n").as_bytes())?;
        // Negotiation stops at a ref of the receiver. Without this one, the whole history would be compared.
        self.set_ref("refs/acquit/start", start)?;
        files::remove(&self.git_dir().join(format!("{reference}.lock")))?;

        let refspec = format!("+refs/heads/tip:{reference}");
        let fetch = || {
            let mut call = self
                .call("fetch")
                .allowing_local_transport()
                .set("fetch.fsckObjects=true")
                .set("fetch.negotiationAlgorithm=default")
                .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
                .args(["--no-recurse-submodules", "--no-show-forced-updates", "--force"]);
            if let Some(command) = &self.upload_pack {
                call = call.arg("--upload-pack").arg(command);
            }
            call.arg(&view).arg(&refspec).run().map_err(Error::by_agent("take in its commits"))
        };
        // Bad content fails every time. But a fetch consists of several processes, and if one of them is killed, the
        // others complain about what they read from it.
        fetch().or_else(|_| fetch())?;
        files::remove(&view)?;
        self.check_commit_size(start, tip)
    }
}
