//! Takes the uncommitted change of the user's checkout as a commit in a repository that only borrows the user's
//! objects.
//!
//! Nothing is written to the user's repository: no ref, no object, no index. The index and the files of the checkout
//! are input, and an agent may have written both. So only the list of paths is read from the index, never its record of
//! what is unchanged, and no setting, hook or filter of the repository affects how files are read.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Call, CommitId, Error, Git, Identity, ObjectFormat, Source};

/// Maximum size of new and changed files to take from a checkout. More is a dump that someone forgot to ignore.
const MOST_BYTES: u64 = 1 << 30;

/// Message of the commit of uncommitted work.
const MESSAGE: &str = "Uncommitted work\n";

/// Which uncommitted work to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// Staged changes.
    Staged,
    /// Staged and unstaged changes, and new files that are not ignored.
    All,
}

/// Uncommitted work, as a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The commit, or its base if there is nothing uncommitted.
    pub commit: CommitId,
    /// Files that are in the checkout but not in the commit, and why.
    pub left_out: Vec<String>,
}

/// One entry of an index.
struct Entry {
    line: Vec<u8>,
    path: Vec<u8>,
    /// Not expected in the checkout, as in a sparse one.
    skipped: bool,
    /// Git is told to assume it unchanged.
    assumed: bool,
}

impl Source {
    /// Creates a repository at `at` that borrows this one's objects, for work that is only judged.
    pub fn borrowed_at(&self, at: &Path) -> Result<Self, Error> {
        let made = |source| Error::Path { path: at.to_owned(), source };
        let (version, extension) = match self.format() {
            ObjectFormat::Sha1 => (0, ""),
            ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\tloosecompression = 0\n\
             \tlogallrefupdates = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{extension}"
        );
        for folder in ["objects/info", "refs/heads", "info"] {
            fs::create_dir_all(at.join(folder)).map_err(made)?;
        }
        fs::write(at.join("objects/info/alternates"), alternates(&self.all_objects())).map_err(made)?;
        let shallow = self.shallow();
        if !shallow.is_empty() {
            fs::write(at.join("shallow"), shallow).map_err(made)?;
        }
        fs::write(at.join("config"), config).map_err(made)?;
        fs::write(at.join("HEAD"), "ref: refs/heads/unborn\n").map_err(made)?;
        let at = at.canonicalize().map_err(made)?;
        Ok(self.lending(&at))
    }

    /// Commits the uncommitted work of this checkout on top of `head`, in `to`, which borrows this repository's
    /// objects. `home` is the user's, for the global list of ignored files.
    pub fn take_uncommitted(
        &self,
        git: &Git,
        to: &Self,
        head: &CommitId,
        which: Uncommitted,
        home: Option<&Path>,
    ) -> Result<Taken, Error> {
        let Some(top) = self.checkout() else {
            return Ok(Taken { commit: head.clone(), left_out: Vec::new() });
        };
        let entries = self.entries(git)?;
        let mut left_out = Vec::new();
        let lines: Vec<u8> = entries.iter().flat_map(|entry| [&entry.line[..], b"\0"].concat()).collect();
        to.call(git, "update-index").args(["-z", "--index-info"]).input(lines).run()?;
        if which == Uncommitted::All {
            self.add_all(git, to, top, &entries, home, &mut left_out)?;
        }
        let tree = to.call(git, "write-tree").run()?.line();
        if tree == to.tree_of(git, head)? {
            return Ok(Taken { commit: head.clone(), left_out });
        }
        // Use the date of the base, so that the same work gives the same commit.
        let date =
            to.call(git, "log").args(["-1", "--no-show-signature", "--format=%ct", head.as_str(), "--"]);
        let seconds = date.run()?.line().parse().unwrap_or_default();
        let who = Identity::neutral();
        let commit = to.call(git, "commit-tree").signed(&who, &who, seconds);
        let commit = commit.args([&tree, "-p", head.as_str(), "-F", "-"]).input(MESSAGE).run_for_id()?;
        Ok(Taken { commit, left_out })
    }

    /// Returns the entries of the index: everything that git would commit, regardless of its assumptions about the
    /// files.
    fn entries(&self, git: &Git) -> Result<Vec<Entry>, Error> {
        let output = self.call(git, "ls-files").args(["-z", "--stage", "-v"]).run()?;
        let entry = |row: &[u8]| {
            let (tag, line) = (row.first()?, row.get(2..)?);
            let tab = line.iter().position(|b| *b == b'\t')?;
            // For an unresolved conflict, the content of the file counts.
            line[..tab].ends_with(b" 0").then(|| Entry {
                line: line.to_vec(),
                path: line[tab + 1..].to_vec(),
                skipped: tag.eq_ignore_ascii_case(&b'S'),
                assumed: tag.is_ascii_lowercase(),
            })
        };
        Ok(output.stdout.split(|b| *b == 0).filter_map(entry).collect())
    }

    /// Adds the files of the checkout to the index of `to`: changed, new and removed ones, but not ignored ones.
    fn add_all(
        &self,
        git: &Git,
        to: &Self,
        top: &Path,
        entries: &[Entry],
        home: Option<&Path>,
        left_out: &mut Vec<String>,
    ) -> Result<(), Error> {
        // The user's ignore rules for this clone.
        for folder in self.of_clone("info/exclude") {
            if let Ok(text) = fs::read(&folder) {
                let file = to.git_dir().join("info/exclude");
                fs::write(&file, text).map_err(|source| Error::Path { path: file, source })?;
            }
        }
        let ignored = ignored_everywhere(git, home);
        let in_tree = |verb: &str| -> Call {
            let call = to.call(git, verb).work_tree(top);
            match &ignored {
                Some(file) => {
                    let mut setting = OsString::from("core.excludesFile=");
                    setting.push(file);
                    call.set(setting)
                }
                None => call,
            }
        };
        // Compare by content: do not trust what the user's index says about unchanged files.
        in_tree("update-index").args(["-q", "--refresh"]).run_any()?;
        let listed =
            in_tree("ls-files").args(["-z", "--others", "--modified", "--exclude-standard"]).run()?;
        let mut repositories: Vec<&[u8]> = Vec::new();
        let (mut bytes, mut largest) = (0_u64, (0, PathBuf::new()));
        for name in listed.stdout.split(|b| *b == 0).filter(|name| !name.is_empty()) {
            if let Some(folder) = name.strip_suffix(b"/") {
                repositories.push(folder);
                continue;
            }
            let path = PathBuf::from(OsStr::from_bytes(name));
            if let Ok(meta) = fs::symlink_metadata(top.join(&path)).map(|meta| meta.len()) {
                bytes = bytes.saturating_add(meta);
                largest = largest.max((meta, path));
            }
        }
        if bytes > MOST_BYTES {
            let (size, path) = largest;
            return Err(Error::TooMuchWork { bytes, most: MOST_BYTES, path, size });
        }
        let mut paths = b".\0".to_vec();
        let mut exclude = |path: &[u8]| paths.extend([b":(exclude,top,literal)", path, b"\0"].concat());
        for folder in repositories {
            left_out.push(format!("{}/ is a repository of its own", String::from_utf8_lossy(folder)));
            exclude(folder);
        }
        // To detect changes in a submodule, git would run in it with the submodule's own settings.
        entries
            .iter()
            .filter(|entry| entry.line.starts_with(b"160000 "))
            .for_each(|entry| exclude(&entry.path));
        in_tree("add").args(["--all", "--pathspec-from-file=-", "--pathspec-file-nul"]).input(paths).run()?;
        // Files that a sparse checkout leaves out are not removed.
        let absent = |entry: &&Entry| {
            entry.skipped && fs::symlink_metadata(top.join(OsStr::from_bytes(&entry.path))).is_err()
        };
        let sparse: Vec<u8> =
            entries.iter().filter(absent).flat_map(|entry| [&entry.line[..], b"\0"].concat()).collect();
        if !sparse.is_empty() {
            to.call(git, "update-index").args(["-z", "--index-info"]).input(sparse).run()?;
        }
        let assumed: BTreeSet<String> = entries
            .iter()
            .filter(|entry| entry.assumed)
            .map(|entry| String::from_utf8_lossy(&entry.path).into_owned())
            .collect();
        if !assumed.is_empty() {
            let names = assumed.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            left_out.push(format!(
                "{} files are marked assume-unchanged ({names}): your commits leave their changes out, this judgement has them",
                assumed.len()
            ));
        }
        Ok(())
    }

    /// Returns the paths that differ between two commits. Empty if there are too many to read.
    pub fn paths_between(&self, git: &Git, from: &CommitId, to: &CommitId) -> Result<Vec<String>, Error> {
        let call =
            self.call(git, "diff-tree").args(["-r", "-z", "--name-only", "--no-renames", "--no-ext-diff"]);
        let output = match call.args([from.as_str(), to.as_str()]).run() {
            Err(Error::TooMuchOutput { .. }) => return Ok(Vec::new()),
            other => other?,
        };
        let names = output.stdout.split(|b| *b == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Returns the tree id of a commit.
    pub fn tree_of(&self, git: &Git, commit: &CommitId) -> Result<String, Error> {
        let tree = format!("{commit}^{{tree}}");
        Ok(self.call(git, "rev-parse").args(["--verify", "--end-of-options", &tree]).run()?.line())
    }

    /// Writes the files of a commit into an empty directory. Attributes cannot cause a program to run.
    pub fn check_out(&self, git: &Git, commit: &CommitId, to: &Path) -> Result<(), Error> {
        let index = self.git_dir().join("check-out.index");
        let call = self.call(git, "read-tree").index(&index).work_tree(to);
        call.args(["--reset", "-u", commit.as_str()]).run()?;
        fs::remove_file(&index).map_err(|source| Error::Path { path: index, source })
    }
}

/// Returns the user's global list of ignored files.
fn ignored_everywhere(git: &Git, home: Option<&Path>) -> Option<PathBuf> {
    let call = git.call("config").args(["--global", "--type=path", "--get", "core.excludesFile"]);
    let named = super::sign::as_user(call, home).run_any().ok().filter(|output| output.code == Some(0));
    let file = match named.map(|output| output.line()) {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => home?.join(".config/git/ignore"),
    };
    file.is_file().then_some(file)
}

/// Returns the lines of an alternates file.
pub(crate) fn alternates(folders: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for folder in folders {
        let bytes = folder.as_os_str().as_bytes();
        if bytes.iter().any(|b| b.is_ascii_control() || *b == b'"') {
            text.push(b'"');
            for byte in bytes {
                match byte {
                    b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                    b if b.is_ascii_control() => text.extend_from_slice(format!("\\{b:03o}").as_bytes()),
                    b => text.push(*b),
                }
            }
            text.push(b'"');
        } else {
            text.extend_from_slice(bytes);
        }
        text.push(b'\n');
    }
    text
}
