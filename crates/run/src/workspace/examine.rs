//! Detects content that git rejects because checking it out is dangerous, above all a `.gitmodules` that points
//! elsewhere or runs programs.
//!
//! Git checks the objects of a commit when they enter the user's repository. That is late: the work is done by then. So
//! two checks run earlier. Is the base safe, before an agent starts? Are the files safe that an agent left and acquit
//! committed?

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::snapshot::{Snapshot, paths};
use super::{Error, LockedWorkspace};
use crate::git::CommitId;

const LIST: &str = ".gitmodules";

impl LockedWorkspace {
    /// Rejects a base whose `.gitmodules` git would not accept into a repository.
    pub(super) fn examine_base(&self, start: &CommitId) -> Result<(), Error> {
        const DOING: &str = "read the submodules of the base";
        if self.tree().join(LIST).symlink_metadata().is_err() {
            return Ok(());
        }
        let names = [format!("{start}^{{tree}}"), format!("{start}:{LIST}")];
        let found = self.call("rev-parse").args(&names).run().map_err(Error::git(DOING))?;
        let pack = self.call("pack-objects").args(["--quiet", "--stdout"]).input(found.stdout);
        let pack = pack.run().map_err(Error::git(DOING))?.stdout;
        let examine = self.call("index-pack").args(["--fsck-objects", "--stdin"]).input(pack);
        let how = "correct the file in the base branch and approve";
        examine.run().map(drop).map_err(Error::unsafe_content("use .gitmodules of the repository", how))
    }

    /// Rejects what acquit committed for an agent between two commits, if git would not accept it into a repository.
    /// Checks only trees with a `.gitmodules`; the rest is checked at delivery.
    pub(super) fn examine_work(
        &self,
        tree: &Snapshot,
        start: &CommitId,
        head: &CommitId,
    ) -> Result<(), Error> {
        const DOING: &str = "examine what it left, which harms whoever checks it out";
        if !paths(&tree.rows).any(is_list) {
            return Ok(());
        }
        let revisions = format!("{head}\n^{start}\n");
        let pack = self.call("pack-objects").args(["--quiet", "--revs", "--local", "--stdout"]);
        let pack = pack.input(revisions).run().map_err(Error::by_agent(DOING))?.stdout;
        let examine = self.call("index-pack").args(["--strict", "--stdin"]).input(pack);
        examine.run().map(drop).map_err(Error::by_agent(DOING))
    }
}

/// Returns whether some file system treats the last component of a path as `.gitmodules`.
fn is_list(path: &[u8]) -> bool {
    let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(char::is_ascii).collect::<String>().to_ascii_lowercase();
    name.contains("gitmodules") || name.starts_with("gitmod~") || name.starts_with("gi7eb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_submodules_is_known_by_all_its_names() {
        for name in [".gitmodules", "d/.GITMODULES", ".gitmod\u{200c}ules", "x/GITMOD~1", "gi7eba~1"] {
            assert!(is_list(name.as_bytes()), "{name}");
        }
        for name in [".gitignore", "gitmodules.d/x", "modules"] {
            assert!(!is_list(name.as_bytes()), "{name}");
        }
    }
}
