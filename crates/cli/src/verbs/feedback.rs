//! `acquit feedback`: fetches review comments and failed checks from a task's pull request.

use acquit_core::ids::TaskId;
use acquit_core::task::State;

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;

/// Fetches comments and failed checks of the task's open pull request, and continues the task if there are new ones.
pub fn feedback(cli: &Cli, id: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let (task, new) = cli.app.feedback(store, id)?;
    let printer = cli.printer;
    if printer.json {
        printer.json(&task);
        return Ok(Exit::Done);
    }
    match (new, &task.state) {
        (0, _) => printer.say("nothing new was said about its request"),
        (_, State::Working { .. }) => {
            printer.say(&format!("{new} new comments; `acquit run {id}` takes them up"));
        }
        (..) => printer.say(&format!("{new} new comments")),
    }
    printer.data(&format!("{id} {}", task.state.idle_word()));
    Ok(Exit::Done)
}
