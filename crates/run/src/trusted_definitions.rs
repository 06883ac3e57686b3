//! Decides which task definitions may run on this machine, if the store is shared.
//!
//! A task's definition names programs, secret commands and hosts. In a store with several writers it may be someone
//! else's, which the user of this machine has never read. So a definition is used only if this machine created it
//! itself, from files that its user trusts. It is recorded in the task's directory when the task is created or
//! continued here, and compared before any use. A store that is the user's own file needs none of this.

use std::io;
use std::path::PathBuf;

use acquit_core::definition::Definition;
use acquit_core::ids::TaskId;
use acquit_core::json::Json;
use acquit_core::store::{self, Store};

use crate::runtime::{Runtime, make_private};

/// A definition that this machine's user does not trust.
#[derive(Debug, thiserror::Error)]
#[error(
    "use the configuration of {task}: it was written on another machine, or by another user, and you have not trusted it here"
)]
pub struct Untrusted {
    /// The task.
    pub task: TaskId,
}

fn file(runtime: &Runtime, task: TaskId) -> PathBuf {
    runtime.task_folder(task).join("trusted.json")
}

/// Records that a task may run with this definition here.
pub fn keep(runtime: &Runtime, task: TaskId, definition: &Definition) -> io::Result<()> {
    if !runtime.shared {
        return Ok(());
    }
    for folder in [&runtime.home, &runtime.home.join("tasks"), &runtime.tasks(), &runtime.task_folder(task)] {
        make_private(folder)?;
    }
    let path = file(runtime, task);
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&fresh, definition.to_json()?)?;
    std::fs::rename(fresh, path)
}

/// Checks whether a task may run with this definition here.
pub fn check(runtime: &Runtime, task: TaskId, definition: &Definition) -> Result<(), Untrusted> {
    // Compare as values: a newer acquit may serialize the same definition differently.
    let kept = || Definition::from_json(&std::fs::read_to_string(file(runtime, task)).ok()?).ok();
    if !runtime.shared || kept().is_some_and(|kept| kept == *definition) {
        Ok(())
    } else {
        Err(Untrusted { task })
    }
}

/// Returns whether a task may run here with its definition in the store.
pub fn is_trusted(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> store::Result<bool> {
    Ok(!runtime.shared || check(runtime, task, &store.definition(task)?).is_ok())
}
