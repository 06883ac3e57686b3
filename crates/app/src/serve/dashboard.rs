//! Runs the dashboard in a separate process and restarts it if it dies. The daemon never waits for it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use acquit_run::process::Detached;

use super::Daemon;

/// First and longest pause before a restart. Each failure doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// A process that ran for this long did not fail at startup.
const STEADY: Duration = Duration::from_mins(1);

/// How to serve the dashboard.
#[derive(Clone, Debug)]
pub struct Dashboard {
    /// Arguments with the listen address and the access settings.
    pub words: Vec<OsString>,
    /// Whether to open it in a browser at the first start.
    pub open: bool,
}

/// The dashboard process.
#[derive(Default)]
pub(super) struct Web {
    process: Option<(Detached, Instant)>,
    failures: u32,
    not_before: Option<Instant>,
    opened: bool,
}

impl Web {
    /// Ends the process together with the daemon.
    pub(super) fn end(&mut self) {
        if let Some((process, _)) = self.process.take() {
            process.end();
        }
    }
}

impl Daemon<'_> {
    /// Starts the dashboard if it is wanted and not running. Logs failures; they affect nothing else.
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
