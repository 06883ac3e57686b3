//! Guarded files in work that no agent of the task made, such as a pull request: an agent that reads the work sees the
//! base's version of them instead.
//!
//! The files are in the commit that the leg starts from, so nobody has checked them. Coding agents start programs from
//! them, with the secrets of the stage. The diff of a review still shows them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Error, LockedWorkspace, files};
use crate::git::CommitId;

const DOING: &str = "put back the settings of coding agents";

impl LockedWorkspace {
    /// Returns the guarded paths in which two commits differ. The tree was prepared at `start`.
    pub fn guarded_between(&self, base: &CommitId, start: &CommitId) -> Result<Vec<Vec<u8>>, Error> {
        let Some(tree) = self.look_at_tree()?.filter(|_| base != start) else { return Ok(Vec::new()) };
        let Some(rules) = self.rules_in(&tree) else { return Ok(Vec::new()) };
        let patterns = rules.guarded_patterns();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let output = self.diff_tree(base, start, "--name-only", &[], &patterns)?;
        let paths = output.split(|byte| *byte == 0).filter(|path| rules.guarded(path).is_some());
        let mut paths: Vec<Vec<u8>> = paths.map(<[u8]>::to_vec).collect();
        // Sort a link before the contents of the folder that it replaced.
        paths.sort_unstable();
        Ok(paths)
    }

    /// Replaces these paths of a newly prepared tree by those of `base`, as if the leg had started with them.
    pub fn show_from_base(&self, base: &CommitId, paths: &[Vec<u8>]) -> Result<(), Error> {
        let index = self.dir.join("index.base");
        files::remove(&index)?;
        let call = |verb: &str| self.call(verb).index(&index).work_tree(&self.tree());
        call("read-tree").arg(base.as_str()).run().map_err(Error::git(DOING))?;
        let listed = call("ls-files").args(["-z"]).run().map_err(Error::git(DOING))?.stdout;
        let there: std::collections::HashSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let mut input = Vec::new();
        for path in paths {
            let place = self.tree().join(OsStr::from_bytes(path));
            if self.is_behind_link(&place) {
                // The target of the link has its own path.
                continue;
            }
            files::remove(&place)?;
            if there.contains(path.as_slice()) {
                input.extend_from_slice(path);
                input.push(0);
            }
        }
        if !input.is_empty() {
            let call = call("checkout-index").args(["--force", "-z", "--stdin"]);
            call.input(input).run().map_err(Error::git(DOING))?;
        }
        files::remove(&index)?;
        let mut state = self.known()?;
        if let Some(tree) = self.look_at_tree()? {
            state.saw_tree(tree.settle(&self.dir));
        }
        // Files that only the base has are in no commit of the work.
        state.facts.uncommitted = true;
        self.store(&mut state)
    }

    /// Returns whether a parent of a path in the tree is anything but a directory.
    fn is_behind_link(&self, place: &Path) -> bool {
        let tree = self.tree();
        let inside = place.ancestors().skip(1).take_while(|folder| *folder != tree);
        let is_other = |folder: &Path| folder.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        inside.into_iter().any(is_other)
    }
}
