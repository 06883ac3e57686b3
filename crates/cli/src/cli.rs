//! What every verb is given: the use cases and the printer.

use acquit_app::{App, Notice, Surroundings};
use acquit_run::process::contain::Launcher;
use serde_json::json;

use crate::report::{Printer, text};

/// The command line in front of the use cases.
pub struct Cli {
    /// What can be done.
    pub app: App,
    /// What it says.
    pub printer: Printer,
}

impl Cli {
    /// Sets it up.
    pub fn new(surroundings: Surroundings, printer: Printer, launcher: Option<Launcher>) -> Self {
        let app = App::new(surroundings, Box::new(move |notice| show(printer, notice)), launcher);
        Self { app, printer }
    }

    /// The arguments that every process beside this one is started with.
    pub fn pass_on(&self) -> Vec<std::ffi::OsString> {
        self.printer.json.then(|| "--json".into()).into_iter().collect()
    }
}

/// Shows what a use case tells while it works.
fn show(printer: Printer, notice: &Notice) {
    match notice {
        Notice::Warning(text) => printer.warn(text),
        Notice::ConfigurationUpdated(difference) => {
            printer.say(&format!("configuration updated:\n  {}", difference.join("\n  ")));
        }
        Notice::Log { at, what, text } if printer.json => {
            printer.json_line(&json!({ "at": at.0, "what": what, "words": text }));
        }
        Notice::Log { at, what, text } => {
            let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
            let time = time.strftime("%Y-%m-%dT%H:%M:%SZ");
            printer.say(&format!("{time} {what}: {}", text::visible(text)));
        }
    }
}
