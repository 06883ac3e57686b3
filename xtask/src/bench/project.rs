//! A project to measure acquit on: a repository with `.acquit/`, and a separate home.
#![allow(clippy::disallowed_methods, reason = "the program is found as the shell finds it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Stop, shell};

/// A scratch project with the measured program.
pub(super) struct Project {
    acquit: PathBuf,
    repository: PathBuf,
    home: PathBuf,
}

impl Project {
    /// Copies `template` to `dir`, and adds this configuration and workflow.
    pub(super) fn new(
        acquit: &Path,
        template: &Path,
        dir: &Path,
        config: &str,
        workflow: &str,
    ) -> Result<Self, Stop> {
        std::fs::create_dir_all(dir).map_err(Stop::doing("make a folder for a project"))?;
        let repository = dir.join("repo");
        if !shell::succeeds(shell::program("cp").arg("-a").arg(template).arg(&repository))? {
            return Err(Stop("copying the repository failed".to_owned()));
        }
        let folder = repository.join(".acquit/workflows");
        std::fs::create_dir_all(&folder).map_err(Stop::doing("make .acquit"))?;
        std::fs::write(folder.join("bench.toml"), workflow).map_err(Stop::doing("write a workflow"))?;
        std::fs::write(repository.join(".acquit/acquit.toml"), config)
            .map_err(Stop::doing("write a configuration"))?;
        let home = dir.join("home");
        let own = home.join(".config/acquit");
        std::fs::create_dir_all(&own).map_err(Stop::doing("make the user's configuration"))?;
        // A path may contain quotes. JSON strings are valid in TOML.
        let trusted = serde_json::json!([repository]).to_string();
        std::fs::write(own.join("config.toml"), format!("trusted_paths = {trusted}\n"))
            .map_err(Stop::doing("write the user's configuration"))?;
        Ok(Self { acquit: acquit.to_owned(), repository, home })
    }

    /// Returns the project that [`Project::new`] made in `dir` before.
    pub(super) fn kept(acquit: &Path, dir: &Path) -> Self {
        Self { acquit: acquit.to_owned(), repository: dir.join("repo"), home: dir.join("home") }
    }

    /// Returns a command for acquit in the project, with a minimal environment.
    pub(super) fn acquit(&self, arguments: &[&str]) -> Command {
        let mut command = shell::program(&self.acquit);
        command.args(arguments).current_dir(&self.repository).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("ACQUIT_HOME", &self.home);
        command
    }

    /// Writes a file in the repository.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Stop> {
        std::fs::write(self.repository.join(name), text).map_err(Stop::doing("write a file"))
    }

    /// Returns the repository.
    pub(super) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Returns acquit's home.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the number of lines that the store has of all legs, and whether its chunks have no gaps.
    pub(super) fn transcript(&self) -> Result<(u64, bool), Stop> {
        let database = |error: rusqlite::Error| Stop(format!("failed to read the store: {error}"));
        let store = rusqlite::Connection::open(self.home.join("acquit.db")).map_err(database)?;
        let mut query = store
            .prepare("select from_byte, to_byte, lines from transcripts order by task, leg, from_byte")
            .map_err(database)?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        };
        let (mut next, mut lines, mut whole) = (0, 0, true);
        for chunk in query.query_map([], row).map_err(database)? {
            let (from, to, count) = chunk.map_err(database)?;
            whole &= from == next;
            (next, lines) = (to, lines + count);
        }
        Ok((u64::try_from(lines).unwrap_or_default(), whole))
    }

    /// Adds a task and returns its ID.
    pub(super) fn add(&self, title: &str) -> Result<String, Stop> {
        let output = self.acquit(&["task", "add", title]).output().map_err(Stop::doing("start acquit"))?;
        let (said, trouble) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let id = said.split_whitespace().next().filter(|_| output.status.success()).map(str::to_owned);
        id.ok_or_else(|| Stop(format!("acquit did not add a task: {}", trouble.trim())))
    }

    /// Returns acquit's JSON output.
    pub(super) fn json(&self, arguments: &[&str]) -> Result<Value, Stop> {
        let mut command = self.acquit(arguments);
        let output = command.arg("--json").output().map_err(Stop::doing("start acquit"))?;
        serde_json::from_slice(&output.stdout).map_err(Stop::doing("read what acquit said"))
    }

    /// Returns the number of tasks in this state.
    pub(super) fn count(&self, state: &str) -> Result<usize, Stop> {
        let list = self.json(&["task", "list", "--limit", "1000", "--state", state])?;
        Ok(list.as_array().map_or(0, Vec::len))
    }
}
