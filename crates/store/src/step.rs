//! Applies a decision about a task row by row, in the order that all writers use: task, roots, leg, transcript, events.
//! The common order prevents deadlocks.

use std::collections::BTreeMap;

use acquit_core::change::Change;
use acquit_core::definition::Definition;
use acquit_core::event::Body;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::fleet::{Need, Share};
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::leg::{Entry, Hold, Report};
use acquit_core::store::{Commit, Error, Note};
use acquit_core::task::{Actor, State, Task};
use acquit_core::time::Timestamp;

use crate::record::{DefinitionRow, NewEvent, TaskRow, json, key, number, plain, read};
use crate::tables::{Blocked, LegEnd, NewLeg, Place, Tables, Touched};
use crate::tx_error::{Result, TxError};

/// Inserts a new task.
pub(crate) fn create(
    tables: &mut dyn Tables,
    now: Timestamp,
    definition: &Definition,
    changes: &[Change],
    by: &Actor,
) -> Result<Task> {
    let mut task = Task::replay(changes).ok_or_else(|| {
        TxError::corrupt("history of a new task", "it does not begin with the task's creation")
    })?;
    task.version = 1;
    if let (Some(repository), Some(parcel)) = (&definition.travel.repository, definition.travel.parcel) {
        must_have(tables.keep_parcel(parcel)?, repository)?;
    }
    tables.insert_task(&TaskRow::of(&task, now)?, &DefinitionRow::of(definition)?)?;
    move_legs(tables, now, &task, changes, None)?;
    tables.append(key(task.id()), &events(now, changes, by)?)?;
    Ok(task)
}

/// Writes a decided step.
pub(crate) fn commit(tables: &mut dyn Tables, now: Timestamp, commit: Commit<'_>) -> Result<Task> {
    let id = commit.before.id();
    let found = tables.lock_task(key(id))?.ok_or(Error::NoTask(id))?;
    // Check the hold before the version: a process that lost the leg must stop, not read again.
    if let Some(hold) = commit.hold {
        if hold.leg.task != id {
            return Err(Error::Fenced(hold.leg).into());
        }
        must_hold(tables.lock_hold(hold)?, hold.leg)?;
    }
    if found != number(commit.before.version) {
        return Err(Error::Conflict(id).into());
    }
    let mut task = commit.before.clone();
    for change in commit.changes {
        task.apply(change);
    }
    task.version += 1;
    tables.update_task(&TaskRow::of(&task, now)?)?;
    if task.roots != commit.before.roots {
        let roots: Vec<&str> = task.roots.iter().map(Fingerprint::as_str).collect();
        tables.set_roots(key(id), &plain(&task.seed.project.path), &roots)?;
    }
    if task.state != commit.before.state {
        set_blocked(tables, &task, &commit.before.state)?;
    }
    move_legs(tables, now, &task, commit.changes, commit.hold)?;
    let mut all = noted(commit.hold.map(|hold| hold.leg.number), commit.notes, commit.by)?;
    all.extend(events(now, commit.changes, commit.by)?);
    if !all.is_empty() {
        tables.append(key(id), &all)?;
    }
    Ok(task)
}

/// Updates what the task waits for, if that changed.
fn set_blocked(tables: &mut dyn Tables, task: &Task, before: &State) -> Result<()> {
    match (&task.state, before) {
        (State::Blocked { root, .. }, _) => {
            let project = plain(&task.seed.project.path);
            let on =
                Blocked { root: key(root.task), project: &project, fingerprint: root.fingerprint.as_str() };
            tables.set_blocked(key(task.id()), Some(&on))
        }
        (_, State::Blocked { .. }) => tables.set_blocked(key(task.id()), None),
        (_, _) => Ok(()),
    }
}

/// Applies the changes to the legs' rows.
fn move_legs(
    tables: &mut dyn Tables,
    now: Timestamp,
    task: &Task,
    changes: &[Change],
    hold: Option<Hold>,
) -> Result<()> {
    let id = |number: u32| LegId { task: task.id(), number };
    for change in changes {
        match change {
            Change::LegReadied { leg, entry, delay } => {
                let (needs, shares) = demands(tables, task.id(), entry)?;
                let project = plain(&task.seed.project.path);
                let pools = shares.iter().map(|share| share.pool.key(&project)).collect::<Vec<_>>();
                for (pool, share) in pools.iter().zip(&shares) {
                    let most = share.at_once.map(i64::from);
                    if tables.at_once(pool)? != most {
                        tables.set_at_once(pool, most)?;
                    }
                }
                tables.insert_leg(&NewLeg {
                    place: id(*leg).into(),
                    stage: entry.stage.as_str(),
                    entry: json("entry", entry.as_ref())?,
                    not_before: now.plus(delay.duration()),
                    priority: i64::from(task.seed.wish.priority),
                    needs,
                    pools: json("pools", &pools)?,
                    project: &project,
                    now,
                })?;
            }
            Change::LegEnded { leg, report } => end_leg(tables, now, id(*leg), report, hold)?,
            Change::CancelAsked { .. } => tables.ask_cancel(key(task.id()))?,
            Change::DefinitionUpdated { definition, .. } => {
                tables.set_definition(key(task.id()), &DefinitionRow::of(definition)?)?;
            }
            Change::Created { .. }
            | Change::BudgetSpent { .. }
            | Change::BudgetsReset
            | Change::AllowanceRenewed
            | Change::VariationTried { .. }
            | Change::Blocked { .. }
            | Change::BranchNamed { .. }
            | Change::RequestOpened { .. }
            | Change::RequestAnswered { .. }
            | Change::Remarked { .. }
            | Change::Ended { .. } => {}
        }
    }
    Ok(())
}

/// Returns what a leg needs from the machine that runs it, and the pools that it is in, according to its stage.
fn demands(tables: &mut dyn Tables, task: TaskId, entry: &Entry) -> Result<(String, Vec<Share>)> {
    let (needs, pools) = tables.demands(key(task))?.unwrap_or_else(|| ("{}".to_owned(), "{}".to_owned()));
    let (stage, what) = (entry.stage.as_str(), "needs of a task");
    let mut needs: BTreeMap<Name, Vec<Need>> = read(what, &needs)?;
    let mut pools: BTreeMap<Name, Vec<Share>> = read("pools of a task", &pools)?;
    Ok((json(what, &needs.remove(stage).unwrap_or_default())?, pools.remove(stage).unwrap_or_default()))
}

fn end_leg(
    tables: &mut dyn Tables,
    now: Timestamp,
    leg: LegId,
    report: &Report,
    hold: Option<Hold>,
) -> Result<()> {
    let end = LegEnd { state: report.ending.state().name(), at: now, usage: json("usage", &report.usage)? };
    must_hold(tables.end_leg(Place::from(leg), hold.map(|hold| hold.fence.0), &end)?, leg)
}

/// Returns an error if the row was not found: then another process owns the leg.
pub(crate) fn must_hold(touched: Touched, leg: LegId) -> Result<()> {
    match touched {
        Touched::Row => Ok(()),
        Touched::Nothing => Err(Error::Fenced(leg).into()),
    }
}

/// Returns an error if the parcel was not found: then the store no longer has the repository.
pub(crate) fn must_have(touched: Touched, repository: &str) -> Result<()> {
    match touched {
        Touched::Row => Ok(()),
        Touched::Nothing => Err(Error::Removed(repository.to_owned()).into()),
    }
}

/// Creates the events of changes that are made now.
fn events(now: Timestamp, changes: &[Change], by: &Actor) -> Result<Vec<NewEvent>> {
    let event =
        |change: &Change| NewEvent::of(change.leg(), now, by, &Body::Change { change: change.clone() });
    changes.iter().map(event).collect()
}

/// Creates the events of notes.
pub(crate) fn noted(leg: Option<u32>, notes: &[Note], by: &Actor) -> Result<Vec<NewEvent>> {
    notes.iter().map(|note| NewEvent::of(leg, note.at, by, &note.body)).collect()
}
