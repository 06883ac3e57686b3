//! Cleaning up: workspaces that nobody needs any more are removed by a process beside the daemon, when nothing runs here.

use std::time::{Duration, Instant};

use acquit_core::store::Store;
use acquit_run::process::Detached;

use super::Daemon;
use crate::error::Error;

/// How often it is looked, when nothing runs.
const OFTEN: Duration = Duration::from_hours(1);
/// How often at least, on a machine that is never quiet.
const ANYHOW: Duration = Duration::from_hours(12);
/// What it says, below acquit's own folder.
const LOG: &str = "clean.log";

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
        let args = ["clean".into(), "--parent".into(), std::process::id().to_string().into()];
        let log = self.desk.world.home.join(LOG);
        // What it prints is about now; what it printed before is not needed any more.
        let _ = std::fs::remove_file(&log);
        self.sweep.process =
            Some(self.desk.world.spawner.detach(&args, self.desk.harness_environment(), &log)?);
        Ok(())
    }
}
