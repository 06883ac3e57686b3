//! The context of every verb: the use cases and the printer.

use acquit_app::{App, Notice, Surroundings};
use acquit_run::process::contain::Launcher;
use serde_json::json;

use crate::report::{Printer, text};

/// The command line in front of the use cases.
pub struct Cli {
    /// The use cases.
    pub app: App,
    /// The printer.
    pub printer: Printer,
}

impl Cli {
    /// Creates it.
    pub fn new(surroundings: Surroundings, printer: Printer, launcher: Option<Launcher>) -> Self {
        let app = App::new(surroundings, Box::new(move |notice| show(printer, notice)), launcher);
        Self { app, printer }
    }

    /// Returns the arguments to pass to every child process.
    pub fn pass_on(&self) -> Vec<std::ffi::OsString> {
        self.printer.json.then(|| "--json".into()).into_iter().collect()
    }
}

/// Prints a notice of a use case.
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
