//! `acquit diff`: shows what a task changed.

use acquit_app::Error;
use acquit_core::ids::TaskId;
use acquit_run::git::Form;
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;

/// Runs the command.
pub fn diff(cli: &Cli, id: TaskId, form: Form) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let diff = cli.app.diff(store.as_mut(), id, form)?;
    let text = String::from_utf8_lossy(&diff.text);
    let printer = cli.printer;
    if printer.json {
        let mut all = json!({
            "task": id, "base": diff.base, "tip": diff.tip, "published": diff.published, "files": diff.files, "diff": text
        });
        if diff.tip.is_none() {
            all["partial"] = json!(true);
        }
        printer.json(&all);
        return Ok(Exit::Done);
    }
    if diff.tip.is_none() {
        printer.say("partial work: neither handed over nor checked");
    }
    printer.diff(&text);
    Ok(Exit::Done)
}
