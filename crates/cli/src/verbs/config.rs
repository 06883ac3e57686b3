//! `acquit config show`: shows the effective configuration, and which file sets each value.

use acquit_app::settings::{Run, Setting, settings};
use serde_json::{Map, json};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::Look;
use acquit_app::Error;

/// Prints every value that is set as `key = value`, optionally with its origin.
pub fn show(cli: &Cli, origin: bool, run: &Run) -> Result<Exit, Error> {
    let all = settings(&cli.app.files(&cli.app.source()?)?, run)?;
    let printer = cli.printer;
    if printer.json {
        printer.json(&all.iter().map(|one| (one.key.clone(), json!(one))).collect::<Map<_, _>>());
        return Ok(Exit::Done);
    }
    for setting in &all {
        let line = crate::report::text::visible(&format!("{} = {}", setting.key, setting.value));
        let place = if origin {
            printer.paint(Look::Faint, &format!("  # {}", place(setting)))
        } else {
            String::new()
        };
        printer.data(&format!("{line}{place}"));
    }
    Ok(Exit::Done)
}

/// Returns the layer of a value, with file and line if it has them.
fn place(setting: &Setting) -> String {
    match (&setting.file, setting.line) {
        (Some(file), Some(line)) => format!("{}: {}:{line}", setting.origin, file.display()),
        (Some(file), None) => format!("{}: {}", setting.origin, file.display()),
        (None, _) => setting.origin.to_owned(),
    }
}
