//! The dashboard beside the daemon: a process of its own, started again when it dies. Nothing waits for it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use acquit_run::process::Detached;

use super::Daemon;

/// The first pause before it is started again, and the longest. Each failure doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// A process that ran for so long did not fail at its start.
const STEADY: Duration = Duration::from_mins(1);

/// How the dashboard is served.
#[derive(Clone, Debug)]
pub struct Dashboard {
    /// Arguments that say where it listens, and for whom.
    pub words: Vec<OsString>,
    /// Whether it is opened in a browser when it first starts.
    pub open: bool,
}

/// The process that serves it.
#[derive(Default)]
pub(super) struct Web {
    process: Option<(Detached, Instant)>,
    failures: u32,
    not_before: Option<Instant>,
    opened: bool,
}

impl Web {
    /// Ends it with the daemon.
    pub(super) fn end(&mut self) {
        if let Some((process, _)) = self.process.take() {
            process.end();
        }
    }
}

impl Daemon<'_> {
    /// Starts the dashboard if it is wanted and does not run. Whatever goes wrong with it is said, and changes nothing else.
    pub(super) fn keep_dashboard(&mut self) {
        let Some(wanted) = self.options.dashboard.clone() else { return };
        if let Some((process, begun)) = &mut self.web.process {
            if !process.has_ended().unwrap_or(true) {
                return;
            }
            let ran = begun.elapsed();
            self.web.process = None;
            self.web.failures = if ran >= STEADY { 1 } else { self.web.failures.saturating_add(1) };
            let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.web.failures.min(16) - 1));
            let pause = doubled.min(LONGEST_PAUSE);
            self.web.not_before = Some(Instant::now() + pause);
            self.log("dashboard", &format!("its process ended; it starts again in {}s", pause.as_secs()));
        }
        if self.web.not_before.is_some_and(|moment| Instant::now() < moment) {
            return;
        }
        let mut words = vec![OsString::from("web")];
        words.extend(wanted.words);
        if wanted.open && !self.web.opened {
            words.push("--open".into());
        }
        match self.beside(&words) {
            Ok(process) => {
                self.web.opened = true;
                self.web.process = Some((process, Instant::now()));
            }
            Err(error) => {
                self.web.not_before = Some(Instant::now() + LONGEST_PAUSE);
                self.log("dashboard", &format!("cannot be started: {}", acquit_run::harness::chain(&error)));
            }
        }
    }
}
