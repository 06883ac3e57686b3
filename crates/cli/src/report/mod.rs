//! The only module that prints. Data goes to stdout, everything else to stderr.
#![allow(clippy::disallowed_macros, reason = "this is the one place")]

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicI32, Ordering};

use acquit_core::toml_reader::Mistakes;

use crate::args::Colour;
use acquit_app::Error;

pub mod agents;
pub mod doctor;
pub mod follow;
mod gate;
pub mod money;
pub mod prove;
pub mod request;
pub mod screen;
mod stats;
mod status;
pub mod table;
pub mod task;
pub mod text;
mod workers;

/// The error number of the first failed write to stdout; 0 if none failed.
static REFUSED: AtomicI32 = AtomicI32::new(0);

/// Prints text or JSON, with or without colours.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// Print JSON instead of text.
    pub json: bool,
    colour: bool,
    /// Whether stderr is a terminal, where a line can be overwritten.
    pub live: bool,
    /// How to print suggested commands.
    pub offers: Offers,
}

/// How to print suggested commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// As they are.
    Here,
    /// With this in place of `acquit`, which names the store.
    At(&'static str),
}

/// Line width if there is no terminal.
const USUAL_WIDTH: usize = 110;

/// Style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Unstyled.
    Plain,
    /// A heading.
    Strong,
    /// Less important.
    Faint,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Needs attention.
    Notable,
}

/// Starts a command in a sentence.
const QUOTE: char = '`';

#[allow(
    clippy::unused_self,
    reason = "who has no printer prints nothing, also where printing needs none of its settings"
)]
impl Printer {
    /// Creates a printer from the options and the terminal.
    pub fn new(json: bool, colour: Colour, no_color: bool) -> Self {
        let live = std::io::stderr().is_terminal();
        let colour = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => live && std::io::stdout().is_terminal() && !no_color,
        };
        Self { json, colour, live: live && !json, offers: Offers::Here }
    }

    /// Returns a printer that prints text even with `--json`.
    pub fn in_words(self) -> Self {
        Self { json: false, ..self }
    }

    /// Returns whether to use colours.
    pub fn colour(self) -> bool {
        self.colour
    }

    /// Returns the maximum line width: that of the terminal, or the default.
    pub fn width(self) -> usize {
        let of = |size: rustix::termios::Winsize| usize::from(size.ws_col);
        let out = rustix::termios::tcgetwinsize(io::stdout()).map(of).ok();
        let width = out.or_else(|| rustix::termios::tcgetwinsize(io::stderr()).map(of).ok());
        width.filter(|width| *width > 0).unwrap_or(USUAL_WIDTH).clamp(20, USUAL_WIDTH)
    }

    /// Wraps a text on a terminal; elsewhere returns it unchanged.
    pub fn wrapped(self, text: &str, indent: usize) -> String {
        if !io::stdout().is_terminal() && !self.live {
            return text.to_owned();
        }
        text::wrap(text, self.width(), indent)
    }

    /// Applies a style to a text.
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

    /// Prints a line of data. A closed pipe is no error: `acquit logs | head` is fine.
    pub fn data(self, line: &str) {
        if self.json {
            return self.exactly(line);
        }
        note(writeln!(io::stdout(), "{}", self.fitted(line, io::stdout().is_terminal())));
    }

    /// Prints a line of data without wrapping.
    fn exactly(self, line: &str) {
        note(writeln!(io::stdout(), "{line}"));
    }

    /// Wraps lines at the terminal's width. Continuation lines are indented two more columns than the first.
    fn fitted(self, text: &str, terminal: bool) -> String {
        let width = if terminal { self.width() } else { usize::MAX };
        let fits = |line: &str| {
            if text::shown_width(line) <= width {
                return line.to_owned();
            }
            text::wrap(line, width, 2)
        };
        text.split('\n').map(fits).collect::<Vec<_>>().join("\n")
    }

    /// Prints a document without wrapping.
    pub fn document(self, text: &str) {
        self.exactly(text);
    }

    /// Returns whether the reader closed stdout.
    pub fn reader_is_gone(self) -> bool {
        refused().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Flushes stdout. Fails if data could not be written, unless the reader closed it.
    pub fn finish(self) -> Result<(), Error> {
        note(io::stdout().flush());
        match refused() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
            Some(_) | None => Ok(()),
        }
    }

    /// Prints a JSON document.
    pub fn json<T: serde::Serialize>(self, value: &T) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.exactly(&text);
        }
    }

    /// Prints a line of JSON.
    pub fn json_line<T: serde::Serialize>(self, value: &T) {
        if let Ok(text) = serde_json::to_string(value) {
            self.data(&text);
        }
    }

    /// Prints a line to stderr. Not with `--json`.
    pub fn say(self, line: &str) {
        if !self.json {
            let line = &self.on_its_store(line);
            let _ = writeln!(std::io::stderr(), "{}", self.fitted(line, io::stderr().is_terminal()));
        }
    }

    /// Lets the commands of a sentence name the store that they are about.
    fn on_its_store(self, line: &str) -> String {
        match self.offers {
            Offers::Here => line.to_owned(),
            Offers::At(place) => {
                let (own, there) = (format!("{QUOTE}acquit "), format!("{QUOTE}{place} "));
                line.replace(&own, &there).replace(&format!("{there}demo"), &format!("{own}demo"))
            }
        }
    }

    /// Reports on stderr that a list is cut; also with `--json`, where the list itself cannot show it.
    pub fn cut(self, shown: usize) {
        let line = format!("only the newest {shown}; --limit shows more");
        if self.json { self.warn(&line) } else { self.say(&line) }
    }

    /// Prints a warning.
    pub fn warn(self, line: &str) {
        let line = format!("{}: {line}", self.paint(Look::Notable, "warning"));
        let _ = writeln!(std::io::stderr(), "{}", self.fitted(&line, io::stderr().is_terminal()));
    }

    /// Prints raw bytes, such as an agent's output. Escapes control characters on a terminal.
    pub fn raw(self, bytes: &[u8]) {
        let mut out = io::stdout();
        if out.is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            note(out.write_all(text::visible(&text).as_bytes()));
        } else {
            note(out.write_all(bytes));
        }
    }

    /// Prints a diff line by line, with control characters escaped.
    pub fn diff(self, text: &str) {
        for line in text.lines() {
            let look = match line.as_bytes().first() {
                Some(b'+') if !line.starts_with("+++") => Look::Good,
                Some(b'-') if !line.starts_with("---") => Look::Bad,
                Some(b'd') if line.starts_with("diff --git ") => Look::Strong,
                Some(b'@') => Look::Faint,
                Some(_) | None => Look::Plain,
            };
            self.exactly(&self.paint(look, &text::visible(line)));
        }
    }

    /// Prints an error as a line of JSON.
    pub fn json_error(self, message: &str, hint: Option<&str>, exit: crate::exit::Exit) {
        let value = serde_json::json!({ "error": message, "hint": hint, "exit": exit.code() });
        let _ = writeln!(std::io::stderr(), "{value}");
    }

    /// Prints an error with its causes and its hint.
    pub fn error(self, error: &Error) {
        if self.json {
            let message = match error {
                Error::Mistakes(mistakes) => self.mistakes(mistakes),
                error => format!("failed to {}", acquit_run::harness::chain(error)),
            };
            return self.json_error(message.trim_end(), error.hint().as_deref(), error.kind().into());
        }
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
        let _ = writeln!(err, "{}", self.wrapped(&format!("{word}: failed to {text}"), 2));
        if let Some(hint) = error.hint() {
            let hint = format!("{}: {hint}", self.paint(Look::Strong, "hint"));
            let _ = writeln!(err, "\n{}", self.wrapped(&hint, 2));
        }
    }

    /// Formats mistakes with their source lines.
    fn mistakes(self, mistakes: &Mistakes) -> String {
        let mut out = String::new();
        for mistake in &mistakes.0 {
            let place = format!("{}:{}:{}", mistake.file, mistake.line, mistake.column);
            let what = format!("{}: {}", self.paint(Look::Strong, &place), text::visible(&mistake.what));
            out.push_str(&format!("{}\n", self.wrapped(&what, 2)));
            if !mistake.source_line.is_empty() {
                let shown = text::visible(&mistake.source_line.replace('\t', " "));
                let caret = " ".repeat(mistake.column.saturating_sub(1));
                out.push_str(&format!("  | {shown}\n  | {caret}{}\n", self.paint(Look::Bad, "^")));
            }
            if let Some(hint) = &mistake.hint {
                let hint = format!("  {}: {}", self.paint(Look::Good, "hint"), text::visible(hint));
                out.push_str(&format!("{}\n", self.wrapped(&hint, 4)));
            }
        }
        out
    }
}

/// Records the first failed write of data.
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
