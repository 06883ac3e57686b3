//! `acquit diff`: what a task changed, against the commit of the base branch that it stands on; of one that runs or failed, its tree as
//! it is.

use std::ffi::OsString;
use std::time::Duration;

use acquit_core::artifact::Artifact;
use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_run::git::{CommitId, Form, Source};
use acquit_run::process::{Call, Guard};
use acquit_run::workspace::Workspace;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::open;
use acquit_app::Error;

/// Shows it.
pub fn diff(cli: &Cli, id: TaskId, form: Form) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let task = store.task(id)?;
    let definition = store.definition(id)?;
    let source: Source = serde_json::from_value(definition.source)
        .map_err(|_| Error::NotDelivered { task: id, what: "its repository is not known any more" })?;
    let parse = |text: &str| text.parse::<CommitId>().ok();
    let running = store.legs(id)?.last().is_some_and(|leg| leg.state == leg::State::Running);
    let (base, tip) = match (parse(task.base()), parse(&task.tip)) {
        (Some(base), Some(tip)) if base != tip && !running => (base, tip),
        (Some(base), _) => return partial(cli, store.as_mut(), id, &base, form),
        (None, _) => return Err(NOTHING(id)),
    };
    let git = &cli.app.world.git;
    let (text, stats) = if is_published(&task) {
        (source.diff(git, &base, &tip, form)?, source.diff(git, &base, &tip, Form::Numbers)?)
    } else {
        let folder = cli.app.world.workspace_folder(id);
        let looking = |error| Error::Workspace { task: id, source: error };
        let workspace =
            Workspace::open(&folder, &source, git.clone(), cli.app.world.store()).map_err(looking)?;
        let show = |form| workspace.diff(&base, &tip, form).map_err(looking);
        (show(form)?, show(Form::Numbers)?)
    };
    if cli.printer.json {
        let files: Vec<serde_json::Value> = numbers(&stats);
        let patch = String::from_utf8_lossy(&text);
        let all = serde_json::json!({
            "task": id, "base": base, "tip": tip, "published": is_published(&task), "files": files, "diff": patch
        });
        cli.printer.json(&all);
    } else {
        cli.printer.diff(&String::from_utf8_lossy(&text));
    }
    Ok(Exit::Done)
}

/// What to say of a task without work.
const NOTHING: fn(TaskId) -> Error = |task| Error::NotDelivered { task, what: "it has no work yet" };

/// How long git may take for it.
const LIMIT: Duration = Duration::from_mins(1);

/// New files are part of the work. They are noted in an index beside the agent's own, which stays as it is.
const SHOW: &str = "index=$(mktemp -d) || exit 1; cp .git/index \"$index/index\" 2>/dev/null; export GIT_INDEX_FILE=\"$index/index\"
git add --all --intent-to-add . 2>/dev/null; git --no-pager diff --no-color --no-ext-diff --no-textconv \"$@\"; code=$?; rm -rf \"$index\"; exit $code";

/// The work of a task that runs, or that stopped before anything was handed over: its tree as it is. The agent could change
/// everything there, git's settings too, so git looks at it in the agent's own sandbox.
fn partial(cli: &Cli, store: &mut dyn Store, id: TaskId, base: &CommitId, form: Form) -> Result<Exit, Error> {
    let policy = match open::policy(cli, store, id) {
        Err(Error::NotDelivered { .. }) => return Err(NOTHING(id)),
        policy => policy?,
    };
    let mut env = cli.app.world.environment.common();
    env.retain(|(name, _)| name != "TMPDIR");
    env.extend([("TMPDIR".into(), "/tmp".into()), ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into())]);
    let git = |options: &[&str]| {
        let words = ["-c", SHOW, "diff"].iter().chain(options).map(OsString::from);
        let call = Call {
            program: "sh".into(),
            args: words.chain([base.to_string().into(), "--".into()]).collect(),
            cwd: cli.app.world.workspace_folder(id).join("work"),
            env: env.clone(),
            input: None,
            limit: LIMIT,
            guard: Guard::Contained,
        };
        let captured = cli.app.world.spawner.capture_in(&call, &policy)?;
        Ok::<_, Error>(captured.stdout)
    };
    let text = match form {
        Form::Stat => git(&["--stat"])?,
        Form::Patch | Form::Numbers => git(&[])?,
    };
    if text.is_empty() {
        return Err(NOTHING(id));
    }
    if cli.printer.json {
        let files: Vec<serde_json::Value> = numbers(&git(&["--numstat", "-z"])?);
        let patch = String::from_utf8_lossy(&text);
        let all = serde_json::json!({
            "task": id, "base": base, "tip": null, "published": false, "partial": true, "files": files, "diff": patch
        });
        cli.printer.json(&all);
    } else {
        cli.printer.say("partial work: neither handed over nor checked");
        cli.printer.diff(&String::from_utf8_lossy(&text));
    }
    Ok(Exit::Done)
}

/// Whether the work is in the user's repository.
pub fn is_published(task: &Task) -> bool {
    let published = |artifact: &Artifact| match artifact {
        Artifact::Branch { commit, published, .. } => *published && *commit == task.tip,
        _ => false,
    };
    task.artifacts.iter().any(published)
}

/// The lines of `--numstat -z`: added, removed, path.
fn numbers(output: &[u8]) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(output);
    let file = |row: &str| {
        let mut fields = row.splitn(3, '\t');
        let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Of a file that is no text git tells a dash.
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some(serde_json::json!({ "path": path, "added": number(added), "removed": number(removed) }))
    };
    text.split('\0').filter_map(file).collect()
}
