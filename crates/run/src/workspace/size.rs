//! Limits how much content git may store. A sparse file or a compressed blob takes no space where an agent creates it,
//! but gigabytes where it is stored or checked out. So reject it before git reads it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::snapshot::Snapshot;
use super::{Error, LockedWorkspace};
use crate::git::CommitId;

/// Limit for the new and changed files of one leg together. Forges reject files of 100 MiB; even vendored toolchains
/// stay below this.
const MOST_BYTES: u64 = 512 << 20;
/// Filters out small blobs, so that only larger ones need a lookup of their size.
const SMALL_BLOB: &str = "--filter=blob:limit=1m";

impl LockedWorkspace {
    /// Rejects a tree whose new and changed files exceed the limit. Ignored files do not count.
    pub(super) fn check_tree_size(&self, tree: &Snapshot) -> Result<(), Error> {
        if tree.bytes <= MOST_BYTES {
            return Ok(());
        }
        let listed = self
            .call_in_tree("ls-files")
            .args(["-z", "--others", "--modified", "--exclude-standard"])
            .run()
            .map_err(Error::by_agent("list its files"))?;
        let root = self.tree();
        let (mut bytes, mut largest) = (0_u64, (0, PathBuf::new()));
        for name in listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = PathBuf::from(OsStr::from_bytes(name));
            let Ok(meta) = std::fs::symlink_metadata(root.join(&name)) else { continue };
            if meta.is_file() {
                bytes = bytes.saturating_add(meta.len());
                largest = largest.max((meta.len(), name));
            }
        }
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        let (size, name) = largest;
        Err(Error::guardrail(format!(
            "it left {bytes} bytes of new and changed files, and {MOST_BYTES} can be stored; the largest is {:?} with {size} bytes: remove \
             it, or list it in .gitignore",
            name.display()
        )))
    }

    /// Rejects commits whose files are larger than a checkout may become.
    pub(super) fn check_commit_size(&self, start: &CommitId, tip: &CommitId) -> Result<(), Error> {
        const DOING: &str = "measure its commits";
        let range = format!("{start}..{tip}");
        let large = self
            .call("rev-list")
            .args([
                "--objects",
                "--no-object-names",
                SMALL_BLOB,
                "--filter-print-omitted",
                range.as_str(),
                "--",
            ])
            .run()
            .map_err(Error::by_agent(DOING))?;
        let text = String::from_utf8_lossy(&large.stdout);
        let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('~')).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let sizes = self
            .call("cat-file")
            .arg("--batch-check=%(objectsize)")
            .input(ids.join("\n") + "\n")
            .run()
            .map_err(Error::by_agent(DOING))?;
        let text = String::from_utf8_lossy(&sizes.stdout);
        let bytes = text.lines().filter_map(|line| line.parse().ok()).fold(0, u64::saturating_add);
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(Error::guardrail(format!(
            "it committed {bytes} bytes of large files, and {MOST_BYTES} can be stored; commit again without them"
        )))
    }
}
