//! Cleaning up: workspaces that nobody needs any more are removed by a process beside the daemon, when nothing runs here.

use std::time::{Duration, Instant};

use acquit_core::store::Store;
use acquit_run::process::Detached;
use acquit_run::retention::{self, Verdict, Wish};

use super::{Daemon, Home, log};
use crate::app::App;
use crate::error::Error;
use crate::size;

/// How often it is looked, when nothing runs.
const OFTEN: Duration = Duration::from_hours(1);
/// How often at least, on a machine that is never quiet.
const ANYHOW: Duration = Duration::from_hours(12);

/// The one that cleans up, and when it last began. It ends with the daemon and may be killed anywhere.
pub(super) struct Sweep {
    process: Option<Detached>,
    /// When the daemon began to look whether it is time.
    since: Instant,
    begun: Option<Instant>,
}

impl Sweep {
    /// Nobody cleans up yet.
    pub(super) fn new() -> Self {
        Self { process: None, since: Instant::now(), begun: None }
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
    }
}

impl Daemon<'_> {
    /// Starts it, if it is time and the machine is quiet. One at a time.
    pub(super) fn sweep(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        if let Some(process) = &mut self.sweep.process {
            if !process.has_ended().unwrap_or(true) {
                return Ok(());
            }
            self.sweep.process = None;
        }
        let due = due(self.sweep.begun.map(|begun| begun.elapsed()), self.sweep.since.elapsed());
        if due == Due::No || (due == Due::WhenQuiet && !self.running_here(store)?.is_empty()) {
            return Ok(());
        }
        self.sweep.begun = Some(Instant::now());
        self.sweep.process = Some(self.beside(&["clean"])?);
        Ok(())
    }
}

/// Whether it is time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    /// If nothing runs here.
    WhenQuiet,
    /// Whatever runs here.
    Anyhow,
}

/// Whether it is time, so long after it was last done, if it was, and after the daemon began.
fn due(before: Option<Duration>, up: Duration) -> Due {
    match before {
        Some(before) if before < OFTEN => Due::No,
        before if before.unwrap_or(up) >= ANYHOW => Due::Anyhow,
        Some(_) | None => Due::WhenQuiet,
    }
}

/// Cleans up, and says what went and what could not: `acquit clean`, for a daemon.
pub fn tidy(app: &App) -> Result<(), Error> {
    let home = Home::read(app)?;
    let mut store = app.store()?;
    for entry in retention::sweep(&app.runtime, store.as_mut(), &home.config.retention, Wish::Clean)? {
        match entry.verdict {
            Verdict::Removed => {
                let words = format!(
                    "{}: its workspace is saved and removed, {}",
                    entry.task,
                    size::shown(entry.bytes)
                );
                log(app, "clean", &words);
            }
            Verdict::Refused(trouble) => {
                let words = acquit_run::harness::chain(&trouble);
                log(app, "clean", &format!("{}: its workspace is kept: failed to {words}", entry.task));
            }
            Verdict::Removable | Verdict::Needed | Verdict::Until(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_never_quiet_is_cleaned_up_too() {
        let hours = |hours| Duration::from_hours(hours);
        for (before, up, expected) in [
            (None, 0, Due::WhenQuiet),
            (None, 11, Due::WhenQuiet),
            (None, 12, Due::Anyhow),
            (Some(0), 99, Due::No),
            (Some(1), 99, Due::WhenQuiet),
            (Some(12), 99, Due::Anyhow),
        ] {
            assert_eq!(due(before.map(hours), hours(up)), expected, "{before:?} {up}");
        }
    }
}
