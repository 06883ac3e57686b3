//! `progress.md` of a task: what its stages learned, oldest first, for people and other tools. The store is the source
//! of truth. The file is rewritten after every leg, so a failed write is repaired by the next one.

use std::{fs, io};

use acquit_core::task::Task;

use crate::runtime::Runtime;

/// Writes the file if there are learnings.
pub(super) fn write(runtime: &Runtime, task: &Task) -> io::Result<()> {
    if task.learnings.is_empty() {
        return Ok(());
    }
    fs::write(runtime.task_folder(task.id()).join("progress.md"), text(task))
}

fn text(task: &Task) -> String {
    let title = task.seed.wish.title.replace(char::is_control, " ");
    let mut text = format!("# {} {title}\n", task.id());
    for learning in &task.learnings {
        text.push_str(&format!("\n- {}\n", learning.trim().replace('\n', "\n  ")));
    }
    text
}
