//! The status line at the bottom of the terminal, updated in place.
#![allow(clippy::disallowed_macros, reason = "part of the module that prints")]

use std::io::Write;
use std::time::Instant;

use super::{Look, Printer, text};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The status line. Does nothing without a terminal.
pub(super) struct Status {
    printer: Printer,
    frame: usize,
    since: Instant,
    shown: bool,
}

impl Status {
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, frame: 0, since: Instant::now(), shown: false }
    }

    /// Restarts the timer for something new.
    pub(super) fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Updates the line.
    pub(super) fn show(&mut self, what: &str) {
        if !self.printer.live {
            return;
        }
        self.frame = (self.frame + 1) % FRAMES.len();
        let width = rustix::termios::tcgetwinsize(std::io::stderr())
            .map_or(80, |size| usize::from(size.ws_col))
            .max(20);
        let line = format!("{} {what} · {}s", FRAMES[self.frame], self.since.elapsed().as_secs());
        let line = self.printer.paint(Look::Faint, &text::line(&line, width - 1));
        let mut err = std::io::stderr();
        let _ = write!(err, "\r\u{1b}[K{line}");
        let _ = err.flush();
        self.shown = true;
    }

    /// Clears the line, to print something permanent.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.clear();
    }
}
