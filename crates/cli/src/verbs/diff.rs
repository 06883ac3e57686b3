//! `acquit diff`: what a task changed, against the commit of the base branch that it stands on.

use acquit_core::artifact::Artifact;
use acquit_core::ids::TaskId;
use acquit_core::task::Task;
use acquit_run::git::{CommitId, Form, Source};
use acquit_run::workspace::Workspace;

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;

/// Shows it.
pub fn diff(desk: &Desk, id: TaskId, form: Form) -> Result<Exit, Error> {
    let mut store = desk.store()?;
    let task = store.task(id)?;
    let definition = store.definition(id)?;
    let source: Source = serde_json::from_value(definition.source)
        .map_err(|_| Error::NotDelivered { task: id, what: "its repository is not known any more" })?;
    let parse = |text: &str| text.parse::<CommitId>().ok();
    let (Some(base), Some(tip)) = (parse(task.base()), parse(&task.tip)) else {
        return Err(Error::NotDelivered { task: id, what: "it has no work yet" });
    };
    if base == tip {
        return Err(Error::NotDelivered { task: id, what: "it has no work yet" });
    }
    let git = &desk.world.git;
    let (text, stats) = if is_published(&task) {
        (source.diff(git, &base, &tip, form)?, source.diff(git, &base, &tip, Form::Numbers)?)
    } else {
        let folder = desk.world.workspace_folder(id);
        let looking = |error| Error::Workspace { task: id, source: error };
        let workspace =
            Workspace::open(&folder, &source, git.clone(), desk.world.store()).map_err(looking)?;
        let show = |form| workspace.diff(&base, &tip, form).map_err(looking);
        (show(form)?, show(Form::Numbers)?)
    };
    if desk.printer.json {
        let files: Vec<serde_json::Value> = numbers(&stats);
        let patch = String::from_utf8_lossy(&text);
        let all = serde_json::json!({
            "task": id, "base": base, "tip": tip, "published": is_published(&task), "files": files, "diff": patch
        });
        desk.printer.json(&all);
    } else {
        desk.printer.diff(&String::from_utf8_lossy(&text));
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
