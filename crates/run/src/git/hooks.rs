//! Where the user's git looks for hooks.

use std::path::{Path, PathBuf};

use super::{Error, Git, Source};

/// Where hooks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// In the repository's own folder.
    Usual(PathBuf),
    /// Where the setting `core.hooksPath` says, such as a folder that a tool keeps.
    Set(String),
}

impl Source {
    /// Where the user's git looks for the hooks of this repository. `home` is the user's, for their settings.
    pub fn hooks(&self, git: &Git, home: Option<&Path>) -> Result<Hooks, Error> {
        let call = self.call(git, "config").args(["--includes", "--null", "--show-scope", "--get-all"]);
        let output = super::sign::as_user(call.arg("core.hooksPath"), home).run_any()?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("config"));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let fields: Vec<&str> = text.split('\0').collect();
        // What stands on the command line is our own, and says that there are none.
        let set = fields.chunks_exact(2).rev().find(|pair| pair[0] != "command");
        Ok(match set {
            Some(pair) => Hooks::Set(pair[1].to_owned()),
            None => Hooks::Usual(self.common_dir().join("hooks")),
        })
    }

    /// The folder that all checkouts of the repository share.
    fn common_dir(&self) -> PathBuf {
        self.objects().parent().unwrap_or_else(|| self.git_dir()).to_owned()
    }
}
