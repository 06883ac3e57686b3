//! What tasks may run by on this machine, where the store is shared.
//!
//! A task's definition names programs, commands of secrets and hosts. In a store that several people write to, it may be somebody else's, and
//! nobody here has read it. So a definition is used only if this machine has made it itself, from files that its user trusts: it is kept in
//! the task's folder when the task is made or continued here, and compared before anything of it is used. A store that is a file of the
//! user's own needs none of this.

use std::io;
use std::path::PathBuf;

use acquit_core::definition::Definition;
use acquit_core::ids::TaskId;
use acquit_core::store::{self, Store};

use crate::runtime::{Runtime, make_private};

/// A definition that this machine's user has not trusted.
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

/// Keeps that a task may run by this definition here.
pub fn keep(runtime: &Runtime, task: TaskId, definition: &Definition) -> io::Result<()> {
    if !runtime.shared {
        return Ok(());
    }
    for folder in [&runtime.home, &runtime.home.join("tasks"), &runtime.tasks(), &runtime.task_folder(task)] {
        make_private(folder)?;
    }
    let path = file(runtime, task);
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&fresh, serde_json::to_vec(definition)?)?;
    std::fs::rename(fresh, path)
}

/// Whether a task may run by this definition here.
pub fn check(runtime: &Runtime, task: TaskId, definition: &Definition) -> Result<(), Untrusted> {
    // Compared as values: a newer acquit may write the same definition in other words.
    let kept = || serde_json::from_slice::<Definition>(&std::fs::read(file(runtime, task)).ok()?).ok();
    if !runtime.shared || kept().is_some_and(|kept| kept == *definition) {
        Ok(())
    } else {
        Err(Untrusted { task })
    }
}

/// Whether a task may run here by what the store has for it.
pub fn is_trusted(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> store::Result<bool> {
    Ok(!runtime.shared || check(runtime, task, &store.definition(task)?).is_ok())
}
