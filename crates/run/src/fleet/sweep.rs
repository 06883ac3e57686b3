//! Removes data from the store that other machines no longer need: work of ended tasks, and repositories that no task
//! needs.
//!
//! The machine that created a task first copies all of its data: commits to private refs of the user's repository,
//! files to the folders of their legs. Only then the data is removed from the store, in one transaction that checks
//! whether the task continues. So a killed sweep is repeated and loses nothing. The data that tasks were created with
//! comes from the user's repository, so any machine may remove that.

use std::collections::BTreeMap;

use acquit_core::fleet::{Held, Need, Parcels};
use acquit_core::ids::TaskId;
use acquit_core::retention::{Fate, Retention, Wish};
use acquit_core::store::{self, Store};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;

use super::Error;
use super::parcels::{receive_all, send_again, take_files, tips};
use crate::git::Source;
use crate::runtime::Runtime;
use crate::trusted_definitions;

/// Maximum number of waiting legs to check for a repository that the store lacks.
const LOOKED_AT: u32 = 1_000;

/// The stored data of a task or for the tasks of a repository, and the result for it.
#[derive(Debug)]
pub struct Kept {
    /// Description of the data.
    pub held: Held,
    /// State of its task.
    pub state: Option<&'static str>,
    /// Result.
    pub verdict: Verdict,
}

/// Result for parcels.
#[derive(Debug)]
pub enum Verdict {
    /// Removed.
    Removed,
    /// It would be removed.
    Removable,
    /// Kept: a task that has not ended needs it.
    Needed,
    /// Kept until this time.
    Until(Timestamp),
    /// Kept: only the machine that created the task can save it.
    Elsewhere,
    /// Removal failed.
    Refused(Error),
}

/// Whose tasks to clean up after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those that this machine created.
    Own,
    /// All, even if their data exists nowhere else.
    Everyones,
}

/// Checks everything that the store has for other machines, and removes what is no longer needed.
pub fn sweep(
    runtime: &Runtime,
    store: &mut dyn Store,
    rule: &Retention,
    wish: Wish,
    whose: Whose,
) -> store::Result<Vec<Kept>> {
    if wish == Wish::Clean {
        restore(runtime, store)?;
    }
    let now = store.now()?;
    let (of_tasks, of_repositories): (Vec<Held>, Vec<Held>) =
        store.held()?.into_iter().partition(|held| held.task.is_some());
    let mut all = Vec::new();
    for held in of_tasks {
        let Some(id) = held.task else { continue };
        let task = store.task(id)?;
        let state = Some(task.state.word());
        let verdict = match of_task(runtime, store, rule, &task, now, (wish, whose)) {
            // An unreadable task, damaged or written by a newer acquit, must not block the cleanup of others.
            Err(Error::Store(
                error @ (store::Error::Database { .. }
                | store::Error::Corrupt { .. }
                | store::Error::Removed(_)),
            )) => Verdict::Refused(error.into()),
            Err(Error::Store(error)) => return Err(error),
            Err(error) => Verdict::Refused(error),
            Ok(verdict) => verdict,
        };
        all.push(Kept { held, state, verdict });
    }
    // Data of legs builds on the data that their tasks were created with.
    let mut stays: BTreeMap<String, bool> = BTreeMap::new();
    for kept in &all {
        let goes = matches!(kept.verdict, Verdict::Removed | Verdict::Removable);
        *stays.entry(kept.held.repository.clone()).or_default() |= !goes;
    }
    let unfinished = i64::try_from(rule.unfinished.duration().as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp(now.0.saturating_sub(unfinished));
    for held in of_repositories {
        let builds = stays.get(&held.repository).copied().unwrap_or_default();
        let verdict = if builds || store.is_needed(&held.repository, since)? {
            Verdict::Needed
        } else if wish == Wish::Look {
            Verdict::Removable
        } else {
            match store.discard_repository(&held.repository, since) {
                Ok(true) => Verdict::Removed,
                Ok(false) => Verdict::Needed,
                // A worker's role may run legs and remove nothing.
                Err(error @ store::Error::Database { .. }) => Verdict::Refused(error.into()),
                Err(error) => return Err(error),
            }
        };
        all.push(Kept { held, state: None, verdict });
    }
    Ok(all)
}

fn of_task(
    runtime: &Runtime,
    store: &mut dyn Store,
    rule: &Retention,
    task: &Task,
    now: Timestamp,
    (wish, whose): (Wish, Whose),
) -> Result<Verdict, Error> {
    let legs = store.legs(task.id())?;
    let ended = legs.iter().filter_map(|leg| leg.ended).max().unwrap_or(task.seed.created);
    match rule.fate(&task.state, ended) {
        Fate::Stays => return Ok(Verdict::Needed),
        Fate::From(moment) if moment > now => return Ok(Verdict::Until(moment)),
        Fate::From(_) | Fate::Goes => {}
    }
    let own = trusted_definitions::is_trusted(runtime, store, task.id())?;
    match (own, whose, wish) {
        (false, Whose::Own, _) => return Ok(Verdict::Elsewhere),
        (_, _, Wish::Look) => return Ok(Verdict::Removable),
        (true, _, Wish::Clean) => take_home(runtime, store, task)?,
        (false, Whose::Everyones, Wish::Clean) => {}
    }
    crate::fault::point("parcels", &runtime.environment);
    Ok(if store.discard_work(task)? { Verdict::Removed } else { Verdict::Needed })
}

/// Copies the data of a task's legs to this machine, as far as it is not here already.
fn take_home(runtime: &Runtime, store: &mut dyn Store, task: &Task) -> Result<(), Error> {
    let definition = store.definition(task.id())?;
    let (Some(key), Ok(source)) = (&definition.travel.repository, Source::of(&definition)) else {
        return Ok(());
    };
    let parcels = store.parcels(&Parcels::Objects(key.clone(), task.id()))?;
    let left: Vec<_> = parcels.iter().filter(|stored| stored.parcel.leg.is_some()).collect();
    if !left.is_empty() {
        receive_all(runtime, store, &source, &parcels)?;
    }
    // Newest first: it contains most of the others.
    for stored in left.into_iter().rev() {
        for tip in tips(std::slice::from_ref(stored)) {
            let keeping = source.keep_attempt(&runtime.git, runtime.store(), task.id(), &tip);
            keeping.map_err(Error::git("keep the work in the repository"))?;
            crate::fault::point("parcels", &runtime.environment);
        }
    }
    take_files(runtime, store, task.id())
}

fn resend(runtime: &Runtime, store: &mut dyn Store, id: TaskId) -> Result<(), Error> {
    let (task, definition) = (store.task(id)?, store.definition(id)?);
    send_again(runtime, store, &task, &definition)
}

/// Sends data that waiting legs of this machine's tasks need and the store does not have: a task was retried, and that
/// process was killed before it could send.
fn restore(runtime: &Runtime, store: &mut dyn Store) -> store::Result<()> {
    let travels = |needs: &[Need]| needs.iter().any(|need| matches!(need, Need::Repository(_)));
    let waiting = store.waiting(LOOKED_AT)?.into_iter().filter(|leg| travels(&leg.needs));
    let tasks: Vec<TaskId> = waiting.map(|leg| leg.leg.task).collect();
    for id in tasks {
        match resend(runtime, store, id) {
            // Another cleanup removes the repository, or the task is not readable here: this machine does not send it.
            Err(Error::Store(store::Error::Removed(_) | store::Error::Corrupt { .. })) => {}
            Err(Error::Store(error)) => return Err(error),
            // `acquit workers` shows what is missing after any other failure.
            Err(_) | Ok(()) => {}
        }
    }
    Ok(())
}
