//! Excludes the output of setup from the work. Git ignores it in the agent's repository and in ours. Because ignore files
//! of the tree are stronger than those rules, it is also unstaged before each commit. Also tracks whether setup must run
//! again in the working tree, where there are no overlays.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::snapshot::{Skip, Snapshot};
use super::{Error, LockedWorkspace, files};
use crate::git::Index;

/// Maximum number of ignore rules. They only keep `git status` short, and git compares every path with each of them.
const MOST_IGNORED: usize = 1_000;
/// Paths that setup made, each with a zero at its end.
const MADE: &str = "acquit-made";
/// Maximum size of that file.
const LARGEST: u64 = 64 << 20;

impl LockedWorkspace {
    /// Returns whether setup completed for exactly this key.
    pub fn setup_done(&self, key: &str) -> Result<bool, Error> {
        Ok(files::read(&self.dir.join("setup"), files::SMALL)?.is_some_and(|done| done == key.as_bytes()))
    }

    /// Records that setup completed for this key.
    pub fn mark_setup_done(&self, key: &str) -> Result<(), Error> {
        files::write(&self.dir.join("setup"), key.as_bytes())
    }

    /// Makes git ignore the files of a setup layer that are not in the head commit.
    pub(crate) fn ignore_layer(&self, layer: &Path) -> Result<(), Error> {
        // The rules for one layer never change, so don't make an agent's leg wait for them again.
        let mark = self.git_dir().join("acquit-made-of");
        if files::read(&mark, files::LARGE)?.as_deref() == Some(layer.as_os_str().as_bytes()) {
            return Ok(());
        }
        let head = self.known()?.facts.head;
        let output = self
            .call("ls-tree")
            .args(["-r", "-t", "-z", "--full-tree", "--name-only", head.as_str()])
            .run()
            .map_err(Error::git("list the files of a commit"))?;
        let tracked: HashSet<&[u8]> = output.stdout.split(|b| *b == 0).collect();
        let mut made = Vec::new();
        new_paths(layer, Path::new(""), &tracked, &mut made).map_err(|e| Error::io("read", layer, e))?;
        self.ignore(&made)?;
        files::write(&mark, layer.as_os_str().as_bytes())
    }

    /// Makes git ignore the untracked files of the tree. Only call it right after setup, before anything else runs
    /// there.
    pub(crate) fn ignore_untracked(&self) -> Result<(), Error> {
        let output = self
            .call_in_tree("ls-files")
            .args(["-z", "--others", "--directory"])
            .run()
            .map_err(Error::git("list what setup made"))?;
        let made = output.stdout.split(|b| *b == 0).map(|path| path.strip_suffix(b"/").unwrap_or(path));
        let made = made.filter(|path| !path.is_empty());
        self.ignore(&made.map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path))).collect::<Vec<_>>())
    }

    fn ignore(&self, made: &[PathBuf]) -> Result<(), Error> {
        let paths: Vec<u8> =
            made.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        files::write(&self.git_dir().join(MADE), &paths)?;
        let text: String = made.iter().take(MOST_IGNORED).filter_map(|path| pattern(path)).collect();
        let ours = self.git_dir().join(EXCLUDE);
        if files::read(&ours, files::LARGE)?.unwrap_or_default() == text.as_bytes() {
            return Ok(());
        }
        for file in [self.agent_dir().join(EXCLUDE), ours] {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
            }
            files::write(&file, text.as_bytes())?;
        }
        let agent = self.agent_dir();
        let snapshot = Snapshot::take(&agent, Skip::Nothing).map_err(|e| Error::io("read", &agent, e))?;
        let mut state = self.known()?;
        state.saw_agent(snapshot.settle(&self.dir));
        self.store(&mut state)
    }

    /// Unstages what setup made, because it is not work, whatever the ignore files of the tree say.
    pub(super) fn unstage_made(&self) -> Result<(), Error> {
        const DOING: &str = "leave out what setup made";
        let file = self.git_dir().join(MADE);
        let made = match files::read(&file, LARGEST)? {
            Some(made) => made,
            None if file.exists() => {
                return Err(Error::io("read", &file, std::io::ErrorKind::FileTooLarge.into()));
            }
            None => return Ok(()),
        };
        let made: HashSet<&[u8]> = made.split(|b| *b == 0).filter(|path| !path.is_empty()).collect();
        if made.is_empty() {
            return Ok(());
        }
        let from_setup = |path: &&[u8]| is_made(path, &made);
        let staged: Vec<Vec<u8>> =
            if let Some(index) = Index::read(&self.git_dir().join("index"), self.format) {
                (0..index.len())
                    .map(|number| index.entry(number).path)
                    .filter(from_setup)
                    .map(<[u8]>::to_vec)
                    .collect()
            } else {
                let listed = self.call("ls-files").arg("-z").run().map_err(Error::git(DOING))?;
                listed.stdout.split(|b| *b == 0).filter(from_setup).map(<[u8]>::to_vec).collect()
            };
        if staged.is_empty() {
            return Ok(());
        }
        let call = self.call("update-index").args(["--force-remove", "-z", "--stdin"]);
        call.input(staged.join(&0)).run().map(drop).map_err(Error::git(DOING))
    }
}

/// Returns whether one of these paths is this path or a folder above it.
fn is_made(path: &[u8], made: &HashSet<&[u8]>) -> bool {
    let folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
    folders.chain([path]).any(|path| made.contains(path))
}

/// Repository file with ignore rules that are in no commit.
pub(super) const EXCLUDE: &str = "info/exclude";

/// Collects the topmost files and directories of `layer` that a commit does not have.
fn new_paths(
    layer: &Path,
    below: &Path,
    tracked: &HashSet<&[u8]>,
    made: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(layer.join(below))?.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        let is_known = tracked.contains(path.as_os_str().as_bytes());
        if !is_known {
            made.push(path);
        } else if entry.file_type()?.is_dir() {
            new_paths(layer, &path, tracked, made)?;
        }
    }
    Ok(())
}

/// Returns an ignore rule that matches exactly this path.
fn pattern(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.contains('\n'))?;
    let escaped: String =
        text.chars().flat_map(|c| if "*?[]\\ !#".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
    Some(format!("/{escaped}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_folder_of_setup_is_made_by_it() {
        let made = HashSet::from([b".venv".as_slice(), b"conf/.env"]);
        let found = [".venv", ".venv/bin/check", "conf/.env"].map(|path| is_made(path.as_bytes(), &made));
        assert_eq!(found, [true; 3]);
        let others = [".venv-notes", "conf", "conf/.env2", "a/.venv/x", ""];
        assert_eq!(others.map(|path| is_made(path.as_bytes(), &made)), [false; 5]);
    }

    #[test]
    fn a_path_is_ignored_to_the_letter() {
        assert_eq!(pattern(Path::new("node_modules")).as_deref(), Some("/node_modules\n"));
        assert_eq!(pattern(Path::new("a b/[x]*")).as_deref(), Some("/a\\ b/\\[x\\]\\*\n"));
        assert_eq!(pattern(Path::new("a\nb")), None);
    }
}
