//! Imports the agent's commits into the harness's repository.
//!
//! Git never reads the agent's `.git` as a repository, because its configuration, replacement refs, grafts and pointers
//! to other directories would all take effect. Instead, it fetches from a view of ours that borrows only the agent's
//! objects and has one ref, the tip that we read ourselves. The objects are checked on the way in.
//!
//! Git writes objects before it has checked all of them, and doesn't fetch existing ones. So they arrive in a separate
//! directory, and join the repository only after the whole fetch succeeded: a second fetch never considers objects
//! checked that the first one refused.

use std::fs;
use std::path::Path;

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

        let (incoming, objects) = (self.dir.join("incoming"), self.git_dir().join("objects"));
        let fetch = || {
            files::remove(&incoming)?;
            fs::create_dir(&incoming).map_err(|error| Error::io("create", &incoming, error))?;
            let mut call = self
                .call("fetch")
                .receiving_into(&incoming, &objects)
                .allowing_local_transport()
                .set("fetch.fsckObjects=true")
                .set("fetch.negotiationAlgorithm=default")
                .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
                .args(["--no-recurse-submodules", "--no-show-forced-updates"]);
            if let Some(command) = &self.upload_pack {
                call = call.arg("--upload-pack").arg(command);
            }
            let fetched = call.arg(&view).arg("refs/heads/tip").run();
            fetched.map_err(Error::by_agent("take in its commits"))
        };
        // Bad content fails every time. But a fetch consists of several processes, and if one of them is killed, the
        // others complain about what they read from it.
        fetch().or_else(|_| fetch())?;
        join(&incoming, &objects).map_err(|error| Error::io("move objects to", &objects, error))?;
        self.set_ref(reference, tip)?;
        files::remove(&incoming)?;
        files::remove(&view)?;
        self.check_commit_size(start, tip)
    }
}

/// Moves objects into a repository. A pack counts once its index is there, so indexes come last.
fn join(incoming: &Path, objects: &Path) -> std::io::Result<()> {
    for folder in fs::read_dir(incoming)? {
        let folder = folder?;
        let name = folder.file_name();
        let is_loose = name.len() == 2 && name.to_string_lossy().bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_loose && name != "pack" {
            continue;
        }
        let target = objects.join(&name);
        fs::create_dir_all(&target)?;
        let mut files = fs::read_dir(folder.path())?.collect::<Result<Vec<_>, _>>()?;
        files.retain(|file| !file.file_name().to_string_lossy().starts_with("tmp_"));
        files.sort_by_key(|file| file.path().extension().is_some_and(|end| end == "idx"));
        for file in files {
            fs::rename(file.path(), target.join(file.file_name()))?;
        }
    }
    Ok(())
}
