//! What a harness has around it: its folder, its helper binary, git, and the environment it was started in.

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

/// What every agent and gate gets of it: enough to find programs and to speak the user's language, nothing that opens a door.
const COMMON: [&str; 9] = ["HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "SHELL", "TZ", "TMPDIR"];

/// Everything from outside that a leg touches. Made once by the command line, passed on unchanged.
pub struct Runtime {
    /// The folder that belongs to acquit: workspaces, outputs of legs.
    pub home: PathBuf,
    /// The store whose tasks these are; set by whoever opens it.
    pub store: OnceLock<StoreId>,
    /// Whether other people can write to the store, see [`crate::trusted_definitions`].
    pub shared: bool,
    /// Starts processes.
    pub spawner: Spawner,
    /// Runs git.
    pub git: Git,
    /// What this process was started with.
    pub environment: Environment,
    /// This machine's name.
    pub host: String,
    /// The clock for the times of events.
    pub now: fn() -> Timestamp,
}

impl Runtime {
    /// What signatures are made and checked with.
    pub fn signing_programs(&self) -> git::Programs<'_> {
        git::Programs { git: &self.git, spawner: &self.spawner, path: self.environment.get("PATH") }
    }

    /// The folder of all tasks of the store. Several stores may use one home, and each has a `T-1`.
    pub fn tasks(&self) -> PathBuf {
        let all = self.home.join("tasks");
        match self.store.get() {
            Some(store) => all.join(store.to_string()),
            // Without a store there is no task: whoever asks shows what a leg would be told.
            None => all,
        }
    }

    /// The store whose tasks these are.
    ///
    /// # Panics
    /// If no store was opened: nothing knows of a task before that.
    #[expect(clippy::expect_used, reason = "tasks come from a store, and opening one sets this")]
    pub fn store(&self) -> &StoreId {
        self.store.get().expect("the store is open")
    }

    /// The folder of a task.
    pub fn task_folder(&self, task: TaskId) -> PathBuf {
        self.tasks().join(task.to_string())
    }

    /// What the harnesses of a task printed themselves.
    pub fn harness_log(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("harness.log")
    }

    /// The private clone of a task.
    pub fn workspace_folder(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("workspace")
    }

    /// What the agents of a task keep, a folder for each stage: their home, `/tmp`, and what they write to caches.
    pub fn agent_homes(&self, task: TaskId) -> PathBuf {
        self.task_folder(task).join("agent")
    }

    /// Makes the folders of a leg, new and for nobody else to enter. Whatever is in their place goes: a leg is run once, so
    /// nothing of its own can be there yet.
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

    /// The short common list, as agents, gates and setup get it.
    pub fn common_variables(&self) -> Vec<(OsString, OsString)> {
        let toolchains = crate::sandbox::toolchains::variables();
        let mut list: Vec<_> = COMMON
            .into_iter()
            .chain(toolchains)
            .filter_map(|name| Some((OsString::from(name), self.environment.get(name)?.to_owned())))
            .collect();
        list.push(("TERM".into(), "dumb".into()));
        // Behind a company's mirror or certificates nothing can be fetched without them.
        list.extend(crate::registry::variables(&self.environment));
        list
    }

    /// What belongs to one leg.
    pub fn leg_folder(&self, leg: LegId) -> LegFolder {
        LegFolder(self.task_folder(leg.task).join("legs").join(leg.number.to_string()))
    }
}

/// Makes a folder that only its owner can enter, or takes the rights of others from one that is there.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
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

/// A leg's files: what it was told, what it said, what it left.
#[derive(Clone, Debug)]
pub struct LegFolder(PathBuf);

impl LegFolder {
    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The prompt. Private: it is never logged and never an argument.
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.md")
    }

    /// Where the agent reports its outcome.
    pub fn handoff(&self) -> PathBuf {
        self.output_dir().join(HANDOFF)
    }

    /// Where acquit's tools write down what the agent reports with them.
    pub fn report(&self) -> PathBuf {
        self.output_dir().join(REPORT)
    }

    /// Where acquit's tools write down how far the agent says it is.
    pub fn progress(&self) -> PathBuf {
        self.output_dir().join(PROGRESS)
    }

    /// What acquit's tools know of the leg.
    pub fn tools(&self) -> PathBuf {
        self.0.join("tools.json")
    }

    /// Whether a file of this name in the output folder is no artifact, but a way to talk with the harness.
    pub fn is_own(name: &str) -> bool {
        [HANDOFF, REPORT, PROGRESS].contains(&name)
    }

    /// Where the agent leaves files.
    pub fn output_dir(&self) -> PathBuf {
        self.0.join("out")
    }

    /// All that the agent printed.
    pub fn output(&self) -> PathBuf {
        self.0.join("output.log")
    }

    /// All that it printed as errors.
    pub fn errors(&self) -> PathBuf {
        self.0.join("errors.log")
    }

    /// Files that the agent is told by, which it only reads.
    pub fn settings(&self) -> PathBuf {
        self.0.join("settings")
    }

    /// All that a gate, or the setup, printed.
    pub fn check(&self, name: &str) -> PathBuf {
        self.0.join(format!("check-{name}.log"))
    }
}
