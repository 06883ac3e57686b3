//! Starts a harness for each leg that is due, up to the limit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::{End, State};
use acquit_core::time::{Timestamp, backoff};
use acquit_run::process::Detached;

use super::{Busy, Daemon};
use crate::drive::{self, Start};
use crate::error::Error;
use crate::workers::stays_home;

/// Maximum number of waiting legs to read: more than any machine runs at once.
const LOOKED_AT: u32 = 1_000;
/// Backoff after the second harness in a row that ended without taking its leg; doubled with each further one. After
/// the first, another starts at once: it was probably killed.
const FIRST: Duration = Duration::from_secs(1);
/// Longest backoff. Starting a harness costs little, and the task waits meanwhile.
const LONGEST: Duration = Duration::from_secs(15);

/// Harnesses that this daemon started.
#[derive(Default)]
pub(super) struct Workers {
    children: BTreeMap<TaskId, Detached>,
    /// Tasks whose harness could not start, or ended without taking its leg: how often, and when to retry.
    stalled: BTreeMap<TaskId, (u32, Instant)>,
    /// Tasks that are not trusted on this machine, and for which that was logged.
    untrusted: BTreeSet<TaskId>,
    /// Whether the disk had too little room for new legs at the last look.
    full: bool,
}

impl Workers {
    /// Removes harnesses that have ended, and returns their tasks.
    pub(super) fn reap(&mut self) -> Vec<TaskId> {
        let over =
            |(task, child): (&TaskId, &mut Detached)| child.has_ended().unwrap_or(true).then_some(*task);
        let ended: Vec<TaskId> = self.children.iter_mut().filter_map(over).collect();
        ended.iter().for_each(|task| drop(self.children.remove(task)));
        ended
    }

    /// Delays a task, longer each time.
    fn stall(&mut self, task: TaskId) {
        let tries = self.stalled.get(&task).map_or(0, |(tries, _)| tries + 1);
        let wait = if tries == 0 { Duration::ZERO } else { backoff(FIRST, tries - 1, LONGEST) };
        self.stalled.insert(task, (tries, Instant::now() + wait));
    }
}

impl Daemon<'_> {
    /// Returns the tasks with a leg that runs on this machine, whoever started it, except those of workers, which have
    /// limits of their own.
    pub(super) fn running_here(&self, store: &mut dyn Store) -> Result<BTreeSet<TaskId>, Error> {
        let host = &self.app.runtime.host;
        let here = store
            .running()?
            .into_iter()
            .filter(|(leg, _)| {
                leg.owner.as_ref().is_some_and(|owner| owner.host == *host && owner.worker.is_none())
            })
            .map(|(leg, _)| leg.id.task);
        Ok(here.chain(self.workers.children.keys().copied()).collect())
    }

    /// Starts harnesses for legs that are due.
    pub(super) fn work(&mut self, store: &mut dyn Store, now: Timestamp) -> Result<Busy, Error> {
        let ended = self.workers.reap();
        let mut due = store.waiting(LOOKED_AT)?;
        due.retain(|leg| leg.is_due(now));
        if self.options.most == 0 {
            due.retain(stays_home);
        }
        let most = self.options.most.max(1) as usize;
        let due = acquit_run::harness::without_workers_legs(&self.app.runtime, store, due)?;
        let due: Vec<TaskId> = due.into_iter().map(|leg| leg.leg.task).collect();
        for task in ended {
            self.after(store, task, &due)?;
        }
        self.workers.stalled.retain(|task, _| due.contains(task));
        let wanted = self.wanted(store)?;
        let mut busy = self.running_here(store)?;
        let has_room = due.is_empty() || self.has_room();
        for task in due {
            if !has_room {
                break;
            }
            if busy.len() >= most {
                break;
            }
            let waits = self.workers.stalled.get(&task).is_some_and(|(_, until)| *until > Instant::now());
            if busy.contains(&task) || waits || wanted.as_ref().is_some_and(|tasks| !tasks.contains(&task)) {
                continue;
            }
            if !acquit_run::trusted_definitions::is_trusted(&self.app.runtime, store, task)? {
                if self.workers.untrusted.insert(task) {
                    let why = acquit_run::trusted_definitions::Untrusted { task };
                    self.log("trust", &format!("{task} is left to others: failed to {why}"));
                }
                continue;
            }
            let harness = match drive::start(self.app, task, Start::InTurn) {
                Ok(harness) => harness,
                // A full disk, or a folder that is not writable: continue with the other tasks.
                Err(error) => {
                    self.workers.stall(task);
                    let words = acquit_run::harness::chain(&error);
                    self.log("trouble", &format!("{task}: its harness was not started: failed to {words}"));
                    continue;
                }
            };
            self.workers.children.insert(task, harness);
            busy.insert(task);
            self.log("leg", &format!("{task}: a harness takes its next leg"));
        }
        Ok(if self.workers.children.is_empty() { Busy::No } else { Busy::Yes })
    }

    /// Returns whether the disk has room for new legs. Logs each change.
    fn has_room(&mut self) -> bool {
        let checked = acquit_run::room::check(&self.app.runtime, &self.home.config.retention);
        let was_full = std::mem::replace(&mut self.workers.full, checked.is_err());
        match checked {
            Err(short) if !was_full => self.log("disk", &format!("no new leg starts: {}", short.words())),
            Ok(()) if was_full => self.log("disk", "there is room again; legs start"),
            Ok(()) | Err(_) => {}
        }
        !self.workers.full
    }

    /// Returns the tasks this daemon handles; `None` for all.
    fn wanted(&self, store: &mut dyn Store) -> Result<Option<BTreeSet<TaskId>>, Error> {
        let Some((schedule, nominal)) = &self.options.only else { return Ok(None) };
        let night = super::nights::find(store, &self.home.project(), schedule, *nominal)?;
        Ok(Some(night.iter().flat_map(acquit_core::night::Night::tasks).collect()))
    }

    /// Handles a task whose harness has ended.
    fn after(&mut self, store: &mut dyn Store, id: TaskId, due: &[TaskId]) -> Result<(), Error> {
        let task = store.task(id)?;
        if due.contains(&id) {
            self.workers.stall(id);
            let log = self.app.runtime.harness_log(id);
            self.log("trouble", &format!("{id}: its harness ended without its leg, see {}", log.display()));
            return Ok(());
        }
        let words = match &task.state {
            State::Working { .. } => "waits for its next leg".to_owned(),
            state => format!("is {}", state.word()),
        };
        self.log("task", &format!("{id} {words}"));
        if let State::Ended { end: End::Done } = task.state {
            self.finished.add(id);
        }
        Ok(())
    }
}
