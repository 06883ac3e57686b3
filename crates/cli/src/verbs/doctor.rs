//! `acquit doctor`: what this machine can enforce, what it cannot, and what follows.

use acquit_app::doctor::{examine, is_complete};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report;

/// Looks, says what there is, and ends as a script can use it.
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
