//! Tracks the processes that start the work in repositories. The daemon waits for none of them, and each has a timeout.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use acquit_core::night::{Night, Progress};
use acquit_core::store::{self, Store};
use acquit_run::process::Detached;

use super::night_start::Which;
use super::nights::find;
use super::{Daemon, Home};
use crate::error::Error;

/// Timeout of a process: enough for a first fetch of a large repository, and a forge that is slow for every earlier
/// pull request.
const LIMIT: Duration = Duration::from_mins(90);
/// Give up after this many processes that ended without a result.
const GIVE_UP: u32 = 4;
/// Minimum run time of a process that is no longer needed: after it has created its task, it only needs a moment to
/// end.
const AFTERWARDS: Duration = Duration::from_secs(30);
/// Base of the backoff after a process that ended without a result. Each further one doubles the pause.
const FIRST: Duration = Duration::from_secs(1);

/// The processes this daemon started. They end with it, and another daemon starts them again.
#[derive(Default)]
pub(super) struct Beginners {
    running: BTreeMap<Which, (Detached, Instant)>,
    /// Repositories whose process ended without a result: how often, and when to retry.
    failed: BTreeMap<Which, (u32, Instant)>,
}

impl Beginners {
    /// Ends all processes.
    pub(super) fn end(&mut self) {
        std::mem::take(&mut self.running).into_values().for_each(|(process, _)| process.end());
    }

    /// Ends the process of this repository: the repository is skipped, or the process is no longer needed.
    pub(super) fn forget(&mut self, which: &Which) {
        if let Some((process, _)) = self.running.remove(which) {
            process.end();
        }
        self.failed.remove(which);
    }
}

impl Daemon<'_> {
    /// Makes sure that a process starts the work in a repository. Returns the reason if that is given up.
    pub(super) fn begin(&mut self, which: &Which) -> Result<Option<String>, Error> {
        if let Some((_, since)) = self.beginners.running.get(which) {
            let late = since.elapsed() > LIMIT;
            return Ok(
                late.then(|| format!("it could not be begun with in {} minutes", LIMIT.as_secs() / 60))
            );
        }
        match self.beginners.failed.get(which) {
            Some((tries, _)) if *tries >= GIVE_UP => {
                return Ok(Some(format!(
                    "it was tried {tries} times to begin with it; the daemon's log says more"
                )));
            }
            Some((_, until)) if *until > Instant::now() => return Ok(None),
            Some(_) | None => {}
        }
        // Read the trust again: the last read may be half a minute old.
        if self.waits {
            return Ok(None);
        }
        if let Ok(Home { untrusted: Some(error), .. }) = Home::read(self.app) {
            self.wait_for_trust(&error);
            return Ok(None);
        }
        if self.beginners.running.len() < self.options.most as usize {
            let (nominal, job) = (which.nominal.0.to_string(), which.job.to_string());
            let words =
                ["begin", "--schedule", which.schedule.as_str(), "--nominal", &nominal, "--job", &job];
            let process = self.beside(&words)?;
            self.beginners.running.insert(which.clone(), (process, Instant::now()));
        }
        Ok(None)
    }

    /// Handles processes that have ended, and logs their results.
    pub(super) fn reap_beginners(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let over = |(which, (process, _)): (&Which, &mut (Detached, Instant))| {
            process.has_ended().unwrap_or(true).then(|| which.clone())
        };
        let over: Vec<Which> = self.beginners.running.iter_mut().filter_map(over).collect();
        for which in over {
            self.beginners.running.remove(&which);
            let night = find(store, &which.project, &which.schedule, which.nominal)?;
            if let Some(words) = night.map(|night| begun(store, &night, &which)).transpose()?.flatten() {
                self.log("night", &format!("{}: {words}", which.schedule));
            } else {
                let tries = self.beginners.failed.get(&which).map_or(1, |(tries, _)| tries + 1);
                let until = Instant::now() + FIRST * 2_u32.pow(tries.min(GIVE_UP));
                self.beginners.failed.insert(which, (tries, until));
            }
        }
        Ok(())
    }

    /// Ends processes that are no longer needed.
    pub(super) fn keep_beginners(&mut self, wanted: &BTreeSet<Which>) {
        self.beginners.failed.retain(|which, _| wanted.contains(which));
        // A process that has created its task is about to exit.
        let late = |which: &Which, since: &Instant| !wanted.contains(which) && since.elapsed() > AFTERWARDS;
        let running = self.beginners.running.iter();
        let over: Vec<Which> = running
            .filter(|(which, (_, since))| late(which, since))
            .map(|(which, _)| which.clone())
            .collect();
        over.iter().for_each(|which| self.beginners.forget(which));
    }
}

/// Describes what a process did in a repository. `None` if it ended without a result.
fn begun(store: &mut dyn Store, night: &Night, which: &Which) -> Result<Option<String>, Error> {
    let job = &night.jobs[which.job];
    Ok(match &job.progress {
        Progress::Task { task } => match store.task(*task) {
            Ok(_) => Some(format!("{} is {task}", job.repository)),
            Err(store::Error::NoTask(_)) => None,
            Err(error) => return Err(error.into()),
        },
        Progress::Skipped { reason } => Some(format!("{} is left alone: {reason}", job.repository)),
        Progress::Todo | Progress::Again { .. } => None,
    })
}
