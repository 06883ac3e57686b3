//! Cleaning up: workspaces that nobody needs any more are removed by a process beside the daemon, when nothing runs here.

use std::time::{Duration, Instant};

use acquit_core::store::Store;
use acquit_run::process::Detached;
use acquit_run::retention::{self, Verdict, Wish};

use super::{Daemon, Home, log};
use crate::desk::Desk;
use crate::error::Error;
use crate::report::size;

/// How often it is looked, when nothing runs.
const OFTEN: Duration = Duration::from_hours(1);
/// How often at least, on a machine that is never quiet.
const ANYHOW: Duration = Duration::from_hours(12);

/// The one that cleans up, and when it last began. It ends with the daemon and may be killed anywhere.
#[derive(Default)]
pub(super) struct Sweep {
    process: Option<Detached>,
    begun: Option<Instant>,
}

impl Sweep {
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
        let since = self.sweep.begun.map(|begun| begun.elapsed());
        let due = since.is_none_or(|since| since >= OFTEN);
        if !due || (since.is_none_or(|since| since < ANYHOW) && !self.running_here(store)?.is_empty()) {
            return Ok(());
        }
        self.sweep.begun = Some(Instant::now());
        self.sweep.process = Some(self.beside(&["clean"])?);
        Ok(())
    }
}

/// Cleans up, and says what went and what could not: `acquit clean`, for a daemon.
pub fn tidy(desk: &Desk) -> Result<(), Error> {
    let home = Home::read(desk)?;
    let mut store = desk.store()?;
    for entry in retention::sweep(&desk.world, store.as_mut(), &home.config.retention, Wish::Clean)? {
        match entry.verdict {
            Verdict::Removed => {
                let words = format!(
                    "{}: its workspace is saved and removed, {}",
                    entry.task,
                    size::shown(entry.bytes)
                );
                log(desk, "clean", &words);
            }
            Verdict::Refused(trouble) => {
                let words = acquit_run::harness::chain(&trouble);
                log(desk, "clean", &format!("{}: its workspace is kept: failed to {words}", entry.task));
            }
            Verdict::Removable | Verdict::Needed | Verdict::Until(_) => {}
        }
    }
    Ok(())
}
