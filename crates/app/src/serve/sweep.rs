//! Removes unneeded workspaces, and what workers no longer need from the store, in a separate process, when the machine
//! is idle.

use std::time::{Duration, Instant};

use acquit_core::store::Store;
use acquit_run::fleet::{self, Whose};
use acquit_run::history;
use acquit_run::process::Detached;
use acquit_run::retention::{self, Verdict, Wish};

use super::{Daemon, Home, log};
use crate::app::App;
use crate::error::Error;
use crate::size;

/// Interval of cleanups when nothing runs.
const OFTEN: Duration = Duration::from_hours(1);
/// Maximum interval of cleanups on a machine that is never idle.
const ANYHOW: Duration = Duration::from_hours(12);

/// The cleanup process, and when it last started. It ends with the daemon and may be killed at any time.
pub(super) struct Sweep {
    process: Option<Detached>,
    /// When the daemon started.
    since: Instant,
    begun: Option<Instant>,
}

impl Sweep {
    /// Creates the state without a cleanup process.
    pub(super) fn new() -> Self {
        Self { process: None, since: Instant::now(), begun: None }
    }

    /// Ends the process.
    pub(super) fn end(&mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
    }
}

impl Daemon<'_> {
    /// Starts a cleanup, if it is due and the machine is idle enough. Runs one at a time.
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

/// Whether a cleanup is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    /// If nothing runs here.
    WhenQuiet,
    /// Even if something runs here.
    Anyhow,
}

/// Returns whether a cleanup is due, `before` after the last one and `up` after the start of the daemon.
fn due(before: Option<Duration>, up: Duration) -> Due {
    match before {
        Some(before) if before < OFTEN => Due::No,
        before if before.unwrap_or(up) >= ANYHOW => Due::Anyhow,
        Some(_) | None => Due::WhenQuiet,
    }
}

/// Cleans up and logs what was removed and what could not be: `acquit clean` for the daemon.
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
    for kept in fleet::sweep(&app.runtime, store.as_mut(), &home.config.retention, Wish::Clean, Whose::Own)? {
        let what = kept.held.task.map_or_else(|| kept.held.repository.clone(), |task| task.to_string());
        match kept.verdict {
            fleet::Verdict::Removed => {
                let size = size::shown(kept.held.bytes);
                log(app, "clean", &format!("{what}: removed from the store, {size}"));
            }
            fleet::Verdict::Refused(trouble) => {
                let words = acquit_run::harness::chain(&trouble);
                log(app, "clean", &format!("{what}: stays in the store: failed to {words}"));
            }
            fleet::Verdict::Removable
            | fleet::Verdict::Needed
            | fleet::Verdict::Until(_)
            | fleet::Verdict::Elsewhere => {}
        }
    }
    for old in history::sweep(&app.runtime, store.as_mut(), &home.config.retention, Wish::Clean)? {
        if let history::Verdict::Removed = old.verdict {
            let size = size::shown(old.bytes);
            log(app, "clean", &format!("{}: its history is removed, {size}", old.task));
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
