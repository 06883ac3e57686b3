//! `acquit ci`: writes a CI job that judges every pull request.

use acquit_app::Error;
use acquit_app::init::{self, Overwrite, ci};
use serde_json::json;

use crate::args::{CiForge, CiJob};
use crate::cli::Cli;
use crate::exit::Exit;

/// Writes the job.
pub fn ci(cli: &Cli, args: &CiJob) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let top = source.top();
    let overwrite = if args.force { Overwrite::Allowed } else { Overwrite::Never };
    let forge = match args.forge {
        CiForge::Github => ci::Forge::Github,
        CiForge::Gitlab => ci::Forge::Gitlab,
    };
    let plan = ci::plan(forge, top, args.from.as_deref());
    let kept = init::write(top, &plan, overwrite)?;
    let files: Vec<String> = plan.files.iter().map(|(path, _)| path.display().to_string()).collect();
    let printer = cli.printer;
    if printer.json {
        printer.json(&json!({ "files": files, "notes": plan.notes }));
    } else {
        files.iter().for_each(|file| printer.data(&format!("wrote {file}")));
        kept.iter()
            .for_each(|(copy, _)| printer.say(&format!("note: what was there is in {}", copy.display())));
        plan.notes.iter().for_each(|note| printer.say(&format!("note: {note}")));
    }
    Ok(Exit::Done)
}
