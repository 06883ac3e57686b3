//! The surroundings of a harness: its directory, its helper binary, git, and its environment.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use acquit_core::ids::{LegId, StoreId, TaskId};
use acquit_core::time::Timestamp;

pub use acquit_sandbox::environment::{Environment, expand};

use crate::git::{self, Git};
use crate::process::Spawner;

/// Variables that every agent and gate gets: enough to find programs and to use the user's language, nothing that
/// grants access.
const COMMON: [&str; 9] = ["HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "SHELL", "TZ", "TMPDIR"];

/// Everything external that a leg uses. Created once by the command line, passed on unchanged.
pub struct Runtime {
    /// Acquit's own directory: workspaces, outputs of legs.
    pub home: PathBuf,
    /// Store of the tasks. Set when the store is opened.
    pub store: OnceLock<StoreId>,
    /// Whether other people can write to the store, see [`crate::trusted_definitions`].
    pub shared: bool,
    /// Starts processes.
    pub spawner: Spawner,
    /// Runs git.
    pub git: Git,
    /// Environment of this process.
    pub environment: Environment,
    /// Name of this machine.
    pub host: String,
    /// Clock for the times of events.
    pub now: fn() -> Timestamp,
}

impl Runtime {
    /// Returns the programs for creating and checking signatures.
    pub fn signing_programs(&self) -> git::Programs<'_> {
        git::Programs { git: &self.git, spawner: &self.spawner, path: self.environment.get("PATH") }
    }

    /// Returns the directory of all tasks of the store. Several stores may share one home, and each has a `T-1`.
    pub fn tasks(&self) -> PathBuf {
        let all = self.home.join("tasks");
        match self.store.get() {
            Some(store) => all.join(store.to_string()),
            // There are no tasks without a store. Used to show a leg's prompt.
            None => all,
        }
    }

    /// Returns the store of the tasks.
    ///
    /// # Panics
    /// If no store was opened. Tasks are known only after that.
    #[expect(clippy::expect_used, reason = "tasks come from a store, and opening one sets this")]
    pub fn store(&self) -> &StoreId {
        self.store.get().expect("the store is open")
    }

    /// Returns the directory of a task.
    pub fn task_folder(&self, task: TaskId) -> PathBuf {
        self.tasks().join(task.to_string())
    }

    /// Returns the log of a task's harnesses.
    pub fn harness_log(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("harness.log")
    }

    /// Returns the private clone of a task.
    pub fn workspace_folder(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("workspace")
    }

    /// Returns the directory of a task's agent homes, with one directory per stage: home, `/tmp` and writes to caches.
    pub fn agent_homes(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("agent")
    }

    /// Creates the directories of a leg, new and private. Removes existing entries: a leg runs once, so none of them
    /// can be its own.
    pub(crate) fn open_leg_folder(&self, leg: LegId) -> std::io::Result<LegFolder> {
        let folder = self.leg_folder(leg);
        let legs = self.task_folder(leg.task).join("legs");
        for place in [&self.home, &self.home.join("tasks"), &self.tasks(), &self.task_folder(leg.task), &legs]
        {
            make_private(place)?;
        }
        crate::untrusted::remove(folder.path())?;
        make_private(folder.path())?;
        Ok(folder)
    }

    /// Returns the common variables for agents, gates and setup.
    pub fn common_variables(&self) -> Vec<(OsString, OsString)> {
        let toolchains = crate::sandbox::toolchains::variables();
        let mut list: Vec<_> = COMMON
            .into_iter()
            .chain(toolchains)
            .filter_map(|name| Some((OsString::from(name), self.environment.get(name)?.to_owned())))
            .collect();
        list.push(("TERM".into(), "dumb".into()));
        // Behind a company's mirror or certificates, nothing can be fetched without these.
        list.extend(crate::registry::variables(&self.environment));
        list
    }

    /// Returns the files of one leg.
    pub fn leg_folder(&self, leg: LegId) -> LegFolder {
        LegFolder(self.task_folder(leg.task).join("legs").join(leg.number.to_string()))
    }
}

/// Creates a directory that only its owner can enter, or removes the permissions of others from an existing one.
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode & !0o077))?;
    }
    Ok(())
}

const HANDOFF: &str = "handoff.json";
const REPORT: &str = ".acquit-report.json";
const PROGRESS: &str = ".acquit-progress.jsonl";

/// Files of a leg: its input, output and artifacts.
#[derive(Clone, Debug)]
pub struct LegFolder(PathBuf);

impl LegFolder {
    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the prompt file. Private: never logged and never an argument.
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.md")
    }

    /// Returns the file in which the agent reports its outcome.
    pub fn handoff(&self) -> PathBuf {
        self.output_dir().join(HANDOFF)
    }

    /// Returns the file in which acquit's tools record the agent's report.
    pub fn report(&self) -> PathBuf {
        self.output_dir().join(REPORT)
    }

    /// Returns the file in which acquit's tools record the agent's progress.
    pub fn progress(&self) -> PathBuf {
        self.output_dir().join(PROGRESS)
    }

    /// Returns the file with the data of acquit's tools about the leg.
    pub fn tools(&self) -> PathBuf {
        self.0.join("tools.json")
    }

    /// Returns whether a file of the output directory is for communication with the harness rather than an artifact.
    pub fn is_own(name: &str) -> bool {
        [HANDOFF, REPORT, PROGRESS].contains(&name)
    }

    /// Returns the directory for the agent's files.
    pub fn output_dir(&self) -> PathBuf {
        self.0.join("out")
    }

    /// Returns the file with the agent's standard output.
    pub fn output(&self) -> PathBuf {
        self.0.join("output.log")
    }

    /// Returns the file with the agent's standard error.
    pub fn errors(&self) -> PathBuf {
        self.0.join("errors.log")
    }

    /// Returns the directory of settings files, which the agent only reads.
    pub fn settings(&self) -> PathBuf {
        self.0.join("settings")
    }

    /// Returns the file with the output of a gate or of setup.
    pub fn check(&self, name: &str) -> PathBuf {
        self.0.join(format!("check-{name}.log"))
    }
}
