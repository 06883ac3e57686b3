//! Scratch repositories, created by git itself, independent of the machine's settings.
#![allow(
    clippy::disallowed_methods,
    reason = "tests make their repositories with git itself, away from run::process"
)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A repository in a folder that is removed when dropped.
#[derive(Debug)]
pub struct Repo {
    root: TempDir,
    path: PathBuf,
}

/// Variable that keeps the folders of tests that failed, to look at them.
const KEEP: &str = "ACQUIT_TEST_KEEP";

impl Drop for Repo {
    fn drop(&mut self) {
        let is_kept = std::thread::panicking() && std::env::var_os(KEEP).is_some();
        self.root.disable_cleanup(is_kept);
    }
}

impl Repo {
    /// Creates an empty repository on branch `main`, without commits.
    pub fn empty() -> Self {
        Self::with(&[])
    }

    /// Creates an empty repository with additional arguments for `git init`.
    pub fn with(init: &[&str]) -> Self {
        Self::at("repo", init)
    }

    /// Creates an empty repository in a folder of this name, which may contain spaces and any characters.
    pub fn at(name: &str, init: &[&str]) -> Self {
        let root = TempDir::with_prefix("acquit-test-").expect("a temporary folder");
        let path = root.path().canonicalize().expect("it exists").join(name);
        fs::create_dir_all(&path).expect("a folder");
        git(&path, &[&["init", "--quiet", "--initial-branch=main"], init, &["."]].concat());
        Self { root, path }
    }

    /// Creates a repository with one commit of one file, `README.md`.
    pub fn sample() -> Self {
        let repo = Self::empty();
        repo.write("README.md", "sample\n");
        repo.commit("first");
        repo
    }

    /// Creates a repository with one commit of `count` small files, ten per folder.
    pub fn of_files(count: usize) -> Self {
        let repo = Self::empty();
        for number in 0..count {
            repo.write(
                &format!("dir{}/file{number}.txt", number / 10),
                &format!("file {number}\n").repeat(20),
            );
        }
        repo.commit("many files");
        repo
    }

    /// Returns the checkout.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path next to the repository, for anything else the test needs.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it exists").join(name)
    }

    /// Writes a file of the checkout, and creates its folders.
    pub fn write(&self, file: &str, text: &str) {
        write(&self.path.join(file), text);
    }

    /// Commits everything in the checkout and returns the commit id.
    pub fn commit(&self, message: &str) -> String {
        commit_all(&self.path, message)
    }

    /// Runs git in the checkout and returns its output. Panics if it fails.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }

    /// Returns every file below the git directory with its contents, without objects, to show that nothing changed.
    pub fn fingerprint(&self, except: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        gather(&self.path.join(".git"), &self.path.join(".git"), except, &mut files);
        files.sort();
        files
    }
}

/// Writes a file and creates its folders.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("folders");
    fs::write(path, text).expect("a written file");
}

/// Commits everything below `path` and returns the commit id.
pub fn commit_all(path: &Path, message: &str) -> String {
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "--allow-empty", "-m", message]);
    git(path, &["rev-parse", "HEAD"])
}

/// Runs git in `path` as a user would, but without the machine's settings. Panics with its error if it fails.
pub fn git(path: &Path, args: &[&str]) -> String {
    let output = command(path, args).output().expect("git is installed");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} in {}: {words}", path.display());
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Returns whether git succeeds with these arguments.
pub fn git_succeeds(path: &Path, args: &[&str]) -> bool {
    command(path, args).output().expect("git is installed").status.success()
}

fn command(path: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    // Tests need not survive a power loss, and a commit spends most of its time waiting for the disk.
    command.args(["-c", "core.fsync=none"]);
    command.arg("-C").arg(path).args(args).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent").env("LC_ALL", "C");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "test@example.org");
    }
    command
}

fn gather(root: &Path, folder: &Path, except: &[&str], files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root").to_owned();
        if name == Path::new("objects") || except.iter().any(|e| name.starts_with(e)) {
            continue;
        }
        let meta = fs::symlink_metadata(&path).expect("it was listed");
        if meta.is_dir() {
            gather(root, &path, except, files);
        } else if meta.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            files.push((name, OsStr::as_bytes(target.as_os_str()).to_vec()));
        } else {
            files.push((name, fs::read(&path).expect("a readable file")));
        }
    }
}
