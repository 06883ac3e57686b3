//! `progress.md` of a task: what its stages learned, oldest first, for people and for tools beside acquit. The task in the store is
//! the truth; the file is made of it after every leg, so one that was not written is written after the next.

use std::{fs, io};

use acquit_core::task::Task;

use crate::runtime::Runtime;

/// Writes it, if there is something to tell.
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
