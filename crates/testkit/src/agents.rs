//! The real agent programs, at the versions that `crates/testkit/agents/` pins.
//!
//! `cargo xtask test` installs them once into `agents/` below cargo's target folder; nothing else on the machine is
//! used or changed. As its last step, the installer writes copies of the lock files. An installation without matching
//! copies is unfinished or of other versions, and counts as missing.
#![allow(clippy::disallowed_methods, reason = "where the tests run tells where the agents are")]

use std::path::{Path, PathBuf};

use crate::need;

/// The pinned lock files, with the names of the copies.
const PINNED: [(&str, &str); 2] = [
    ("npm.stamp", include_str!("../agents/package-lock.json")),
    ("pip.stamp", include_str!("../agents/requirements.txt")),
];

/// Finds a program: `claude`, `codex`, `opencode`, `gemini`, `pi`, `aider`, `claude-agent-acp`, `codex-acp`, or the
/// `node` that some of them need in `PATH`. If it is missing, the test fails when strict; otherwise it is skipped with
/// a message.
#[track_caller]
pub fn find(name: &str) -> Option<PathBuf> {
    let found = installed().map(|folder| folder.join("bin").join(name)).filter(|path| path.is_file());
    need::or_skip(found, &format!("the agent `{name}` (`cargo xtask test` installs it)"), "a real agent")
}

/// Returns the folder to put first in `PATH`, so that programs find the agents, and agents their `node`.
#[track_caller]
pub fn bin() -> Option<PathBuf> {
    let found = installed().map(|folder| folder.join("bin"));
    need::or_skip(found, "the agents under test (`cargo xtask test` installs them)", "real agents")
}

/// Returns what aider reads in addition to the folder around [`bin`]: the Python it was installed with, unless that is
/// a Python of the system.
pub fn python() -> Option<PathBuf> {
    let real = installed()?.join("aider/bin/python3").canonicalize().ok()?;
    let prefix = real.parent()?.parent()?;
    (!prefix.starts_with("/usr")).then(|| prefix.to_path_buf())
}

/// Returns the installation in this target folder, if it is complete and of the pinned versions.
fn installed() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    test.ancestors().map(|folder| folder.join("agents")).find(|folder| is_current(folder))
}

fn is_current(folder: &Path) -> bool {
    let same =
        |(stamp, text): (&str, &str)| std::fs::read_to_string(folder.join(stamp)).is_ok_and(|it| it == text);
    PINNED.into_iter().all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_counts_only_when_it_is_what_is_pinned() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!is_current(folder.path()));
        for (stamp, text) in PINNED {
            assert!(!is_current(folder.path()), "before {stamp}");
            std::fs::write(folder.path().join(stamp), text).expect("a stamp");
        }
        assert!(is_current(folder.path()));
        std::fs::write(folder.path().join("npm.stamp"), "{}").expect("a stamp");
        assert!(!is_current(folder.path()));
    }

    #[test]
    fn the_lock_file_names_no_registry() {
        let [(_, npm), (_, pip)] = PINNED;
        assert!(!npm.contains("\"resolved\""), "npm's lock file says where from");
        assert!(!pip.contains("://"), "pip's list says where from");
        let mut packages = pip.lines().filter(|line| !line.starts_with("    --hash="));
        assert!(packages.all(|line| line.contains("==")), "not everything is pinned");
    }

    #[test]
    fn every_agent_says_the_version_that_is_pinned() {
        let Some(bin) = bin() else { return };
        let home = tempfile::tempdir().expect("a home");
        let versions = [
            ("claude", "2.1.325"),
            ("codex", "0.166.0"),
            ("opencode", "1.18.33"),
            ("gemini", "0.61.0"),
            ("pi", "0.87.1"),
            ("claude-agent-acp", "0.99.1"),
            ("codex-acp", "2.6.0"),
            ("aider", "0.86.2"),
            ("node", "v24.21.0"),
        ];
        for (name, version) in versions {
            let path = format!("{}:/usr/bin:/bin", bin.display());
            let mut command = std::process::Command::new(find(name).expect("the program"));
            command
                .arg("--version")
                .env_clear()
                .env("PATH", path)
                .env("HOME", home.path())
                .env("PI_OFFLINE", "1");
            let output = command.stdin(std::process::Stdio::null()).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(version), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
