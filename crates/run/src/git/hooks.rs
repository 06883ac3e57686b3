//! Finds the hooks of the user's git.

use std::path::{Path, PathBuf};

use super::{Error, Git, Source};

/// Location of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// The repository's own directory.
    Usual(PathBuf),
    /// The value of `core.hooksPath`, such as a directory that a tool manages.
    Set(String),
}

impl Source {
    /// Returns where the user's git looks for the hooks of this repository. `home` is the user's, for their settings.
    pub fn hooks(&self, git: &Git, home: Option<&Path>) -> Result<Hooks, Error> {
        let call = self.call(git, "config").args(["--includes", "--null", "--show-scope", "--get-all"]);
        let output = super::sign::as_user(call.arg("core.hooksPath"), home).run_any()?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("config"));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let fields: Vec<&str> = text.split('\0').collect();
        // The command-line value is acquit's own, which disables hooks.
        let set = fields.chunks_exact(2).rev().find(|pair| pair[0] != "command");
        Ok(match set {
            Some(pair) => Hooks::Set(pair[1].to_owned()),
            None => Hooks::Usual(self.common_dir().join("hooks")),
        })
    }

    /// Returns the directory that all worktrees of the repository share.
    fn common_dir(&self) -> PathBuf {
        self.objects().parent().unwrap_or_else(|| self.git_dir()).to_owned()
    }
}
