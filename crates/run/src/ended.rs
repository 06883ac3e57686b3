//! Cleans up after a task that has ended, whether its last harness, a person or the supervisor ended it.

use std::collections::BTreeSet;

use acquit_core::definition::Definition;
use acquit_core::ids::LegId;
use acquit_core::leg::Ending;
use acquit_core::store::{self, Store};
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::Work;

use crate::runtime::Runtime;
use crate::secrets::{self, Redactor, Secret, Vault};
use crate::trusted_definitions;
use crate::workspace::{disarm, remove_folder};

/// File in a task's directory with the number of the leg up to which it was cleaned.
const CLEANED: &str = "cleaned";

/// Cleans up after a task if it has ended. If its definition is not trusted here, its secrets are not looked up, and
/// everything that could contain one is removed.
pub fn clean_up(runtime: &Runtime, store: &mut dyn Store, task: &Task) -> store::Result<()> {
    if is_due(runtime, task) {
        let definition = store.definition(task.id())?;
        let is_trusted = trusted_definitions::check(runtime, task.id(), &definition).is_ok();
        clean(runtime, is_trusted.then_some(&definition), task);
    }
    Ok(())
}

/// Like [`clean_up`], in the harness, which knows the definition that it ran with.
pub(crate) fn clean_up_with(runtime: &Runtime, definition: &Definition, task: &Task) {
    if is_due(runtime, task) {
        clean(runtime, Some(definition), task);
    }
}

fn is_due(runtime: &Runtime, task: &Task) -> bool {
    let folder = runtime.task_folder(task.id());
    let cleaned = std::fs::read_to_string(folder.join(CLEANED)).unwrap_or_default();
    matches!(task.state, State::Ended { .. }) && folder.is_dir() && cleaned != legs(task)
}

fn legs(task: &Task) -> String {
    task.past.len().to_string()
}

/// Removes agents' files. If the task can be retried, keeps their homes with the conversations, but redacts secrets.
/// Redacts the files of lost legs, whose harness could not. Best effort: the directories are private, and the next
/// sweep tries again.
fn clean(runtime: &Runtime, definition: Option<&Definition>, task: &Task) {
    let State::Ended { end } = &task.state else { return };
    let again = match end {
        End::Done | End::NoImprovement => false,
        End::Failed { .. } | End::Cancelled { .. } => true,
    };
    let homes = runtime.agent_homes(task.id());
    let mut whole = again || remove_folder(&homes).is_ok();
    // A lost leg did not.
    whole &= disarm(&runtime.workspace_folder(task.id())).is_ok();
    let lost: Vec<_> = task
        .past
        .iter()
        .filter(|past| matches!(past.ending, Ending::Lost { .. }))
        .map(|past| runtime.leg_folder(LegId { task: task.id(), number: past.number }).path().to_owned())
        .filter(|folder| folder.is_dir())
        .collect();
    if homes.is_dir() || !lost.is_empty() {
        let redactor = definition.and_then(|definition| whole_redactor(runtime, definition, task));
        let is_clean = |folder: &std::path::Path| {
            redactor.as_ref().is_some_and(|redactor: &Redactor| redactor.folder(folder).is_ok())
                || remove_folder(folder).is_ok()
        };
        for home in std::fs::read_dir(&homes).into_iter().flatten().flatten() {
            for part in std::fs::read_dir(home.path()).into_iter().flatten().flatten() {
                let is_home = part.file_name() == "home";
                whole &= if is_home { is_clean(&part.path()) } else { remove_folder(&part.path()).is_ok() };
            }
        }
        whole &= lost.iter().all(|folder| is_clean(folder));
    }
    if whole {
        let _ = std::fs::write(runtime.task_folder(task.id()).join(CLEANED), legs(task));
    }
}

/// Returns a redactor for every secret that a task may have left anywhere. `None` if a granted secret is no longer
/// known here.
fn whole_redactor(runtime: &Runtime, definition: &Definition, task: &Task) -> Option<Redactor> {
    let vault = Vault::new(&definition.config, &runtime.environment, &runtime.spawner);
    let names = granted(definition, task);
    let secrets: Result<Vec<Secret>, _> = names.into_iter().map(|name| vault.resolve(name)).collect();
    let known = secrets::known(&vault, &definition.config, &runtime.environment);
    secrets.ok().map(|secrets| known.with(&secrets))
}

/// Returns the names of the secrets that legs of a task were granted.
pub(crate) fn granted<'d>(definition: &'d Definition, task: &Task) -> BTreeSet<&'d String> {
    let config = &definition.config;
    let mut names = BTreeSet::new();
    for past in &task.past {
        let stage = definition.workflow.stage(past.entry.stage.as_str());
        let Some(Work::Agent(work)) = stage.map(|stage| &stage.work) else { continue };
        let agent = work.agent.as_ref().or(config.agent.as_ref()).and_then(|name| config.agents.get(name));
        let own = agent.map(|agent| agent.secrets.as_slice()).unwrap_or_default();
        names.extend(own.iter().chain(&work.secrets));
    }
    names
}
