//! The only module that prints. Data goes to standard output, everything said beside it to standard error.
#![allow(clippy::disallowed_macros, reason = "this is the one place")]

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicI32, Ordering};

use acquit_core::config::toml::Mistakes;

use crate::args::Colour;
use crate::error::Error;

pub mod agents;
pub mod doctor;
pub mod follow;
mod gate;
pub mod money;
pub mod request;
pub mod size;
mod status;
pub mod table;
pub mod task;
pub mod text;

/// Why standard output took no more, as the system's number; 0 while it does.
static REFUSED: AtomicI32 = AtomicI32::new(0);

/// Says things, in words or as JSON, with or without colours.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// JSON instead of words.
    pub json: bool,
    colour: bool,
    /// Whether standard error is a terminal, on which a line can be written over.
    pub live: bool,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// As it is.
    Plain,
    /// A heading.
    Strong,
    /// Beside the point.
    Faint,
    /// Good.
    Good,
    /// Not good.
    Bad,
    /// To be looked at.
    Notable,
}

#[allow(
    clippy::unused_self,
    reason = "who has no printer prints nothing, also where printing needs none of its settings"
)]
impl Printer {
    /// A printer for what was asked and what there is.
    pub fn new(json: bool, colour: Colour, no_color: bool) -> Self {
        let live = std::io::stderr().is_terminal();
        let colour = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => live && std::io::stdout().is_terminal() && !no_color,
        };
        Self { json, colour, live: live && !json }
    }

    /// Text with a look.
    pub fn paint(self, look: Look, text: &str) -> String {
        let code = match look {
            _ if !self.colour => return text.to_owned(),
            Look::Plain => return text.to_owned(),
            Look::Strong => "1",
            Look::Faint => "2",
            Look::Good => "32",
            Look::Bad => "31",
            Look::Notable => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A line of data. A reader that has gone away is no error: `acquit logs | head` is fine.
    pub fn data(self, line: &str) {
        note(writeln!(io::stdout(), "{line}"));
    }

    /// Whether whoever read standard output has gone away.
    pub fn reader_is_gone(self) -> bool {
        refused().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether all data was printed that somebody wants to read.
    pub fn finish(self) -> Result<(), Error> {
        note(io::stdout().flush());
        match refused() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
            Some(_) | None => Ok(()),
        }
    }

    /// A document of data as JSON.
    pub fn json<T: serde::Serialize>(self, value: &T) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.data(&text);
        }
    }

    /// One line of JSON.
    pub fn json_line<T: serde::Serialize>(self, value: &T) {
        if let Ok(text) = serde_json::to_string(value) {
            self.data(&text);
        }
    }

    /// A line beside the data.
    pub fn say(self, line: &str) {
        if !self.json {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// A warning.
    pub fn warn(self, line: &str) {
        let _ = writeln!(std::io::stderr(), "{}: {line}", self.paint(Look::Notable, "warning"));
    }

    /// Bytes as they are, such as an agent's own output; on a terminal made visible, because there they would act.
    pub fn raw(self, bytes: &[u8]) {
        let mut out = io::stdout();
        if out.is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            note(out.write_all(text::visible(&text).as_bytes()));
        } else {
            note(out.write_all(bytes));
        }
    }

    /// A diff, line by line, with nothing in it that would act on a terminal.
    pub fn diff(self, text: &str) {
        for line in text.lines() {
            let look = match line.as_bytes().first() {
                Some(b'+') if !line.starts_with("+++") => Look::Good,
                Some(b'-') if !line.starts_with("---") => Look::Bad,
                Some(b'd') if line.starts_with("diff --git ") => Look::Strong,
                Some(b'@') => Look::Faint,
                Some(_) | None => Look::Plain,
            };
            self.data(&self.paint(look, &text::visible(line)));
        }
    }

    /// An error with its causes and its hint.
    pub fn error(self, error: &Error) {
        let mut err = std::io::stderr();
        let word = self.paint(Look::Bad, "error");
        if let Error::Mistakes(mistakes) = error {
            let _ = writeln!(err, "{}", self.mistakes(mistakes));
            let count = mistakes.0.len();
            let _ = writeln!(
                err,
                "{word}: {count} {} in the project's files",
                if count == 1 { "mistake" } else { "mistakes" }
            );
            return;
        }
        let text = text::visible(&acquit_run::harness::chain(error));
        let _ = writeln!(err, "{word}: failed to {text}");
        if let Some(hint) = error.hint() {
            let _ = writeln!(err, "\n{}: {hint}", self.paint(Look::Strong, "hint"));
        }
    }

    /// Mistakes with the line that each is in.
    fn mistakes(self, mistakes: &Mistakes) -> String {
        let mut out = String::new();
        for mistake in &mistakes.0 {
            let place = format!("{}:{}:{}", mistake.file, mistake.line, mistake.column);
            out.push_str(&format!(
                "{}: {}\n",
                self.paint(Look::Strong, &place),
                text::visible(&mistake.what)
            ));
            if !mistake.source_line.is_empty() {
                let shown = text::visible(&mistake.source_line.replace('\t', " "));
                let caret = " ".repeat(mistake.column.saturating_sub(1));
                out.push_str(&format!("  | {shown}\n  | {caret}{}\n", self.paint(Look::Bad, "^")));
            }
            if let Some(hint) = &mistake.hint {
                out.push_str(&format!("  {}: {}\n", self.paint(Look::Good, "hint"), text::visible(hint)));
            }
        }
        out
    }
}

/// Keeps the first failure to print data.
fn note(result: io::Result<()>) {
    if let Err(error) = result {
        let number = error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
        let _ = REFUSED.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn refused() -> Option<io::Error> {
    match REFUSED.load(Ordering::Relaxed) {
        0 => None,
        number => Some(io::Error::from_raw_os_error(number)),
    }
}
