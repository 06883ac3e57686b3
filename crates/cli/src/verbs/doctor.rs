//! `acquit doctor`: shows what this machine can enforce, what it cannot, and the consequences.

use acquit_app::doctor::{examine, is_complete};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report;

/// Runs all checks and prints them. The exit code tells whether anything is missing.
pub fn doctor(cli: &Cli) -> Exit {
    let list = examine(&cli.app);
    let complete = is_complete(&list);
    let printer = cli.printer;
    if printer.json {
        printer.json(&serde_json::json!({ "abilities": list, "complete": complete }));
    } else {
        report::doctor::lines(printer, &list).iter().for_each(|line| printer.data(line));
    }
    if complete { Exit::Done } else { Exit::Failed }
}
