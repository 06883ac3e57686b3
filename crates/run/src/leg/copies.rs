//! Untracked files of the user's checkout that `[setup]` copies: development settings, fixtures, local configuration.
//!
//! Agents, setup and gates see them, which includes hostile code. So each must be a regular file of bounded size,
//! reached through real directories only, and without secrets: neither one that the project declares nor anything that
//! looks like one. A tracked file is never replaced.

use std::path::Path;

use acquit_core::check::secrets;
use acquit_core::config::{Copied, Setup};
use acquit_core::failure::kind;
use rustix::fs::{Mode, fstat};
use rustix::io::Errno;

use super::{Job, LegAbort, LegContext};
use crate::git::CommitId;
use crate::untrusted;
use crate::workspace::LockedWorkspace;

/// Maximum file size. Settings and fixtures are smaller, and data belongs in a cache.
const LARGEST: u64 = 1024 * 1024;

/// The files to copy, with the content that was read.
#[derive(Default)]
pub(crate) struct Copies(Vec<(Copied, Vec<u8>, Mode)>);

impl Copies {
    /// Reads the files. If one cannot be copied, a person must fix that.
    pub(crate) fn read(
        ctx: &LegContext<'_>,
        job: &Job<'_>,
        setup: &Setup,
        workspace: &LockedWorkspace,
        commit: &CommitId,
    ) -> Result<Self, LegAbort> {
        let mut all = Vec::new();
        // The user's checkout, where the task's own repository only borrows its objects.
        let top = job.source.owner().top();
        for copied in &setup.copy {
            let failed = |why: &str| {
                let words = format!(
                    "setup cannot copy {} from {}: {why}\ncorrect `copy` of [setup] in .acquit/acquit.toml, or the file, and approve",
                    copied.from,
                    top.display()
                );
                LegAbort::failed(kind::CONFIG, words)
            };
            let (bytes, mode) = regular(top, &copied.from).map_err(failed)?;
            if let Some(name) = ctx.redactor.declared(&bytes) {
                let how =
                    format!("it holds the secret {name}; name it in `secrets` of the stages that need it");
                return Err(failed(&how));
            }
            if let Some(leak) = secrets::in_text(&copied.to, &String::from_utf8_lossy(&bytes)).first() {
                let how = format!(
                    "line {} looks like a secret ({}, {}); agents and gates would see it. Declare it in [secrets], \
                     or mark the line with {} if it is none",
                    leak.line,
                    leak.kind,
                    leak.shown,
                    secrets::MARKER
                );
                return Err(failed(&how));
            }
            let tracked = workspace.files_at(commit, &[&copied.to])?;
            if !tracked.is_empty() {
                // `acquit prove` judges untracked files as part of the change, so this one may be there already.
                if tracked.contains(&workspace.hash(&bytes)) {
                    continue;
                }
                return Err(failed("git tracks a file of that name, and `copy` replaces none"));
            }
            all.push((copied.clone(), bytes, mode));
        }
        Ok(Self(all))
    }

    /// Returns a key of their content. A change results in another layer.
    pub(crate) fn key(&self, workspace: &LockedWorkspace) -> Vec<String> {
        let one = |(copied, bytes, mode): &(Copied, Vec<u8>, Mode)| {
            format!("{} {} {}", copied.to, mode.bits(), workspace.hash(bytes))
        };
        self.0.iter().map(one).collect()
    }

    /// Writes the files into `tree`, which is untrusted.
    pub(crate) fn write(&self, tree: &Path) -> Result<(), LegAbort> {
        for (copied, bytes, mode) in &self.0 {
            untrusted::put_below(tree, &copied.to, bytes, *mode)
                .map_err(|error| LegAbort::file("copy a file of setup to", &tree.join(&copied.to), &error))?;
        }
        Ok(())
    }

    /// Describes the files for people.
    pub(crate) fn words(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(copied, ..)| copied.to.as_str()).collect();
        if names.is_empty() { String::new() } else { format!("copying {}; ", names.join(", ")) }
    }
}

/// Returns the content of a regular file below `top`, and the mode for its copy.
fn regular(top: &Path, path: &str) -> Result<(Vec<u8>, Mode), &'static str> {
    let fd = untrusted::open_below(top, path).map_err(|error| match error {
        Errno::NOENT => "there is no such file",
        Errno::LOOP | Errno::NOTDIR => "it, or a folder on the way, is a link",
        _ => "it cannot be read",
    })?;
    let mode = fstat(&fd).map_err(|_| "it cannot be read")?.st_mode;
    let runs = Mode::from_raw_mode(mode).contains(Mode::XUSR);
    let content = untrusted::content(fd, LARGEST).map_err(|_| "it cannot be read")?;
    let bytes = content.ok_or("it is no regular file, or larger than 1 MiB")?;
    Ok((bytes, Mode::from_raw_mode(if runs { 0o755 } else { 0o644 })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_is_read_or_written_through_a_link() {
        let world = tempfile::tempdir().unwrap();
        let (top, tree, outside) =
            (world.path().join("top"), world.path().join("tree"), world.path().join("out"));
        for folder in [&top, &tree, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(outside.join("private"), "private").unwrap();
        symlink(outside.join("private"), top.join("link")).unwrap();
        symlink(&outside, top.join("folder")).unwrap();
        std::fs::create_dir(top.join("real")).unwrap();
        std::fs::write(top.join("real/run"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(top.join("real/run"), std::fs::Permissions::from_mode(0o4777)).unwrap();
        std::fs::write(top.join("large"), vec![0; 1024 * 1024 + 1]).unwrap();
        for path in ["link", "folder/private", "missing", "real", "large", "../out/private"] {
            assert!(regular(&top, path).is_err(), "{path}");
        }
        assert_eq!(regular(&top, "real/run").unwrap(), (b"#!/bin/sh\n".to_vec(), Mode::from_raw_mode(0o755)));

        // Symlinks that an agent left in the tree are not followed.
        symlink(outside.join("private"), tree.join("link")).unwrap();
        symlink(&outside, tree.join("folder")).unwrap();
        untrusted::put_below(&tree, "link", b"new", Mode::from_raw_mode(0o644)).unwrap();
        assert!(untrusted::put_below(&tree, "folder/private", b"new", Mode::from_raw_mode(0o644)).is_err());
        untrusted::put_below(&tree, "a/b/c", b"deep", Mode::from_raw_mode(0o755)).unwrap();
        assert_eq!(std::fs::read(outside.join("private")).unwrap(), b"private");
        assert_eq!(std::fs::read(tree.join("link")).unwrap(), b"new");
        assert_eq!(std::fs::read(tree.join("a/b/c")).unwrap(), b"deep");
    }
}
