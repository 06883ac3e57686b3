//! The processes that begin with repositories, watched beside everything else: none of them is waited for, and each has a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use acquit_core::night::{Night, Progress};
use acquit_core::store::{self, Store};
use acquit_run::process::Detached;

use super::night_start::Which;
use super::nights::find;
use super::{Daemon, Home};
use crate::error::Error;

/// The longest that one may take: a first fetch of a large repository, and a forge that is slow about every earlier request.
const LIMIT: Duration = Duration::from_mins(90);
/// So many that end without a word will not do better.
const GIVE_UP: u32 = 4;
/// How long one may go on at least that nobody waits for: what it does after its task is made takes a moment.
const AFTERWARDS: Duration = Duration::from_secs(30);
/// How long after one that ended without a word; doubled with every further one.
const FIRST: Duration = Duration::from_secs(1);

/// Those that this daemon started. They end with it; another one starts them again.
#[derive(Default)]
pub(super) struct Beginners {
    running: BTreeMap<Which, (Detached, Instant)>,
    /// Repositories whose process ended without a word: how often, and when it is tried again.
    failed: BTreeMap<Which, (u32, Instant)>,
}

impl Beginners {
    /// Ends them all.
    pub(super) fn end(&mut self) {
        std::mem::take(&mut self.running).into_values().for_each(|(process, _)| process.end());
    }

    /// Ends the one for this repository, which somebody else has decided about.
    pub(super) fn forget(&mut self, which: &Which) {
        if let Some((process, _)) = self.running.remove(which) {
            process.end();
        }
        self.failed.remove(which);
    }
}

impl Daemon<'_> {
    /// Sees to it that somebody begins with a repository. Gives the reason if nobody will.
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
        // What it was last read as may be half a minute old.
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

    /// Says what came of those that have ended.
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

    /// Ends those that nobody wants any more.
    pub(super) fn keep_beginners(&mut self, wanted: &BTreeSet<Which>) {
        self.beginners.failed.retain(|which, _| wanted.contains(which));
        // One that has made its task is about to end by itself.
        let late = |which: &Which, since: &Instant| !wanted.contains(which) && since.elapsed() > AFTERWARDS;
        let running = self.beginners.running.iter();
        let over: Vec<Which> = running
            .filter(|(which, (_, since))| late(which, since))
            .map(|(which, _)| which.clone())
            .collect();
        over.iter().for_each(|which| self.beginners.forget(which));
    }
}

/// What came of beginning with a repository; nothing, if whoever was to do it ended without a word.
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
