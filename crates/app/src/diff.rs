//! The diff of a task against the base-branch commit it is based on. For a task that runs or failed, the diff of its
//! working tree.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::artifact::Artifact;
use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::sandbox::Mode;
use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_run::fleet;
use acquit_run::git::{CommitId, Form, Source};
use acquit_run::process::{Call, Guard};
use acquit_run::trusted_definitions;
use acquit_run::workspace::Workspace;
use serde::Serialize;

use crate::{App, Error};

/// The changes of a task.
#[derive(Clone, Debug)]
pub struct TaskDiff {
    /// Commit it is compared with.
    pub base: CommitId,
    /// Commit of the work; `None` for work that was not handed over.
    pub tip: Option<CommitId>,
    /// Whether the work is in the user's repository.
    pub published: bool,
    /// The diff as git prints it. Untrusted: an agent wrote its content.
    pub text: Vec<u8>,
    /// Changed files, in git's order.
    pub files: Vec<FileChange>,
}

/// Changes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Path.
    pub path: String,
    /// Added lines; `None` for a binary file.
    pub added: Option<u64>,
    /// Removed lines; `None` for a binary file.
    pub removed: Option<u64>,
}

/// Error for a task without work.
const NOTHING: fn(TaskId) -> Error = |task| Error::NotDelivered { task, what: "it has no work yet" };

/// Timeout of git.
const LIMIT: Duration = Duration::from_mins(1);

/// Shows the diff including new files. They are added to a copy of the index, so that the agent's own index stays
/// unchanged.
const SHOW: &str = "index=$(mktemp -d) || exit 1; cp .git/index \"$index/index\" 2>/dev/null; export GIT_INDEX_FILE=\"$index/index\"
git add --all --intent-to-add . 2>/dev/null; git --no-pager diff --no-color --no-ext-diff --no-textconv \"$@\"; code=$?; rm -rf \"$index\"; exit $code";

impl App {
    /// Returns the changes of a task, in the given form.
    pub fn diff(&self, store: &mut dyn Store, id: TaskId, form: Form) -> Result<TaskDiff, Error> {
        let task = store.task(id)?;
        let definition = store.definition(id)?;
        let source = Source::of(&definition)
            .map_err(|_| Error::NotDelivered { task: id, what: "its repository is not known any more" })?;
        let own = trusted_definitions::check(&self.runtime, id, &definition).is_ok();
        let here = own && self.runtime.workspace_folder(id).is_dir();
        let parse = |text: &str| text.parse::<CommitId>().ok();
        let running = store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Running);
        let (base, tip) = match (parse(task.base()), parse(&task.tip)) {
            (Some(base), Some(tip)) if base != tip && !(running && here) => (base, tip),
            (Some(base), _) => return partial(self, store, id, base, form),
            (None, _) => return Err(NOTHING(id)),
        };
        let git = &self.runtime.git;
        let published = is_published(&task);
        if let Some(key) = &definition.travel.repository {
            // Another machine may have done the work. The repository in the definition is on this machine only if this
            // machine created the task.
            let source = if own {
                fleet::receive(&self.runtime, store, &source, key, id, &[&base, &tip])?;
                source
            } else {
                let wanted = (id, &definition.travel);
                fleet::clone(&self.runtime, store, &self.user_config()?, wanted, fleet::WITHIN_LEASE)?
            };
            let show = |form| source.diff(git, &base, &tip, form);
            let (text, files) = (show(form)?, numbers(&show(Form::Numbers)?));
            return Ok(TaskDiff { base, tip: Some(tip), published, text, files });
        }
        let (text, stats) = if published {
            (source.diff(git, &base, &tip, form)?, source.diff(git, &base, &tip, Form::Numbers)?)
        } else {
            let folder = self.runtime.workspace_folder(id);
            let looking = |error| Error::Workspace { task: id, source: error };
            let workspace =
                Workspace::open(&folder, &source, git.clone(), self.runtime.store()).map_err(looking)?;
            let show = |form| workspace.diff(&base, &tip, form).map_err(looking);
            (show(form)?, show(Form::Numbers)?)
        };
        Ok(TaskDiff { base, tip: Some(tip), published, text, files: numbers(&stats) })
    }
}

/// Returns the diff of the working tree of a task that runs, or that stopped before it handed anything over. The agent
/// can change everything there, including git's settings, so git runs in the agent's own sandbox.
fn partial(
    app: &App,
    store: &mut dyn Store,
    id: TaskId,
    base: CommitId,
    form: Form,
) -> Result<TaskDiff, Error> {
    let policy = match agent_policy(app, store, id) {
        Err(Error::NotDelivered { .. }) => return Err(NOTHING(id)),
        policy => policy?,
    };
    let mut env = app.runtime.common_variables();
    env.retain(|(name, _)| name != "TMPDIR");
    env.extend([("TMPDIR".into(), "/tmp".into()), ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into())]);
    let git = |options: &[&str]| {
        let words = ["-c", SHOW, "diff"].iter().chain(options).map(OsString::from);
        let call = Call {
            program: "sh".into(),
            args: words.chain([base.to_string().into(), "--".into()]).collect(),
            cwd: app.runtime.workspace_folder(id).join("work"),
            env: env.clone(),
            input: None,
            limit: LIMIT,
            guard: Guard::Contained,
        };
        let captured = app.runtime.spawner.capture_in(&call, &policy)?;
        Ok::<_, Error>(captured.stdout)
    };
    let text = match form {
        Form::Stat(columns) => git(&[&format!("--stat={columns}")])?,
        Form::Patch | Form::Numbers => git(&[])?,
    };
    if text.is_empty() {
        return Err(NOTHING(id));
    }
    let files = numbers(&git(&["--numstat", "-z"])?);
    Ok(TaskDiff { base, tip: None, published: false, text, files })
}

/// Returns the sandbox policy of the last agent that worked on a task, as long as the task's working tree exists.
pub fn agent_policy(app: &App, store: &mut dyn Store, id: TaskId) -> Result<PathBuf, Error> {
    store.task(id)?;
    let not = |what| Error::NotDelivered { task: id, what };
    if store.definition(id)?.config.sandbox == Mode::Off {
        return Err(not("it runs without a sandbox, so its tree cannot be opened in one"));
    }
    if !app.runtime.workspace_folder(id).is_dir() {
        return Err(not("its workspace does not exist, or was removed because the task is done"));
    }
    let legs = store.legs(id)?;
    let policies =
        legs.iter().rev().map(|leg| app.runtime.leg_folder(leg.id).path().join("policy-agent.json"));
    policies.into_iter().find(|path| path.is_file()).ok_or_else(|| not("no agent has worked on it yet"))
}

/// Returns whether the work is in the user's repository.
pub fn is_published(task: &Task) -> bool {
    let published = |artifact: &Artifact| match artifact {
        Artifact::Branch { commit, published, .. } => *published && *commit == task.tip,
        _ => false,
    };
    task.artifacts.iter().any(published)
}

/// Parses the output of `--numstat -z`: added, removed, path.
fn numbers(output: &[u8]) -> Vec<FileChange> {
    let text = String::from_utf8_lossy(output);
    let file = |row: &str| {
        let mut fields = row.splitn(3, '\t');
        let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Git prints a dash for a binary file.
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some(FileChange { path: path.to_owned(), added: number(added), removed: number(removed) })
    };
    text.split('\0').filter_map(file).collect()
}
