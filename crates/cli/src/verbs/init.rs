//! `acquit init`: files that fit the repository.

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::init::{self, Overwrite};

/// Looks at the repository and writes `.acquit/`.
pub fn init(desk: &Desk, overwrite: Overwrite) -> Result<Exit, Error> {
    let source = desk.source()?;
    let top = source.top();
    let path = desk.surroundings.environment.get("PATH").unwrap_or_default();
    let plan = init::plan(top, path);
    init::write(top, &plan, overwrite)?;
    let trusted = desk.trust_written(&source, &plan.files)?;
    let printer = desk.printer;
    let files: Vec<String> = plan.files.iter().map(|(path, _)| path.display().to_string()).collect();
    if printer.json {
        printer.json(&serde_json::json!({ "files": files, "seen": plan.seen, "notes": plan.notes }));
        return Ok(Exit::Done);
    }
    for seen in &plan.seen {
        printer.say(&format!("seen: {seen}"));
    }
    files.iter().for_each(|file| printer.data(&format!("wrote {file}")));
    for note in &plan.notes {
        printer.say(&format!("note: {note}"));
    }
    if !trusted {
        printer
            .say("note: .acquit/ has files that `acquit init` did not write; read them with `acquit trust`");
    }
    printer.say("next: look at the gates in .acquit/acquit.toml, then `acquit run \"what you want\"`");
    Ok(Exit::Done)
}
