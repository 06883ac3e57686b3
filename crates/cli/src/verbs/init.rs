//! `acquit init`: files that fit the repository.

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::init::{self, Overwrite};

/// Looks at the repository and writes `.acquit/`.
pub fn init(desk: &Desk, overwrite: Overwrite) -> Result<Exit, Error> {
    let source = desk.source()?;
    let top = source.top();
    let tracked = source.tracked(&desk.world.git)?;
    // Before the first commit nothing is known of what a clone will have.
    let cloned = |file: &str| tracked.is_empty() || tracked.contains(std::path::Path::new(file));
    let below = desk.surroundings.here.strip_prefix(top).ok().and_then(std::path::Path::to_str);
    let plan = init::plan(&init::Place {
        top,
        folder: below.filter(|folder| !folder.is_empty()),
        cloned: &cloned,
        environment: &desk.surroundings.environment,
    });
    init::write(top, &plan, overwrite)?;
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
    printer.say("next: look at the gates in .acquit/acquit.toml, then `acquit run \"what you want\"`");
    Ok(Exit::Done)
}
