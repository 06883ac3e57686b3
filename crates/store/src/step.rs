//! Applies a decision about a task row by row, in the order that all writers use: task, roots, leg, transcript, events.
//! The common order prevents deadlocks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acquit_core::change::Change;
use acquit_core::definition::Definition;
use acquit_core::event::Body;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::fleet::{Need, Share};
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::leg::Entry;
use acquit_core::store::{Commit, Error, Note};
use acquit_core::task::{Actor, State, Task};
use acquit_core::time::Timestamp;

use crate::record::{DefinitionRow, NewEvent, TaskRow, json, key, number, plain, read};
use crate::tables::{Blocked, Expected, LegEnd, NewLeg, Tables, Touched};
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
    move_legs(tables, now, &[Moves { task: &task, changes }])?;
    tables.append(&events(now, task.id(), changes, by)?)?;
    Ok(task)
}

/// Writes a decided step.
pub(crate) fn commit(tables: &mut dyn Tables, now: Timestamp, commit: Commit<'_>) -> Result<Task> {
    let answer = commit_all(tables, now, &[commit])?.pop();
    Ok(answer.unwrap_or(Err(Error::NoTask(commit.before.id())))?)
}

/// Writes decided steps of different tasks, a statement for all of them at each place of the order. A step that is
/// refused writes nothing.
pub(crate) fn commit_all(
    tables: &mut dyn Tables,
    now: Timestamp,
    commits: &[Commit<'_>],
) -> Result<Vec<std::result::Result<Task, Error>>> {
    let after = |commit: &Commit<'_>| {
        let mut task = commit.before.clone();
        commit.changes.iter().for_each(|change| task.apply(change));
        task.version += 1;
        task
    };
    let answers: Vec<_> = refusals(tables, commits)?
        .into_iter()
        .zip(commits)
        .map(|(refusal, commit)| refusal.map_or_else(|| Ok(after(commit)), Err))
        .collect();
    let steps: Vec<(&Commit<'_>, &Task)> = commits
        .iter()
        .zip(&answers)
        .filter_map(|(commit, answer)| Some((commit, answer.as_ref().ok()?)))
        .collect();
    write(tables, now, &steps)?;
    Ok(answers)
}

/// Locks the rows that the steps change, and returns for each step why it is refused, if it is.
fn refusals(tables: &mut dyn Tables, commits: &[Commit<'_>]) -> Result<Vec<Option<Error>>> {
    let ids: Vec<i64> = commits.iter().map(|commit| key(commit.before.id())).collect();
    let mut versions: BTreeMap<i64, i64> = tables.lock_tasks(&ids)?.into_iter().collect();
    let expected: BTreeSet<Expected> = commits.iter().flat_map(expected).collect();
    let expected: Vec<Expected> = expected.into_iter().collect();
    let held = if expected.is_empty() { Vec::new() } else { tables.lock_legs(&expected)? };
    let held: BTreeSet<Expected> = held.into_iter().collect();
    let refusal = |commit: &Commit<'_>| {
        let id = commit.before.id();
        let Some(version) = versions.get_mut(&key(id)) else { return Some(Error::NoTask(id)) };
        // Check the hold before the version: a process that lost the leg must stop, not read again.
        if let Some(hold) = commit.hold
            && (hold.leg.task != id || !held.contains(&Expected::of(hold.leg, Some(hold))))
        {
            return Some(Error::Fenced(hold.leg));
        }
        // A second step of the same task has read an outdated version.
        if std::mem::take(version) != number(commit.before.version) {
            return Some(Error::Conflict(id));
        }
        let lost = expected_ends(commit).find(|(_, expected)| !held.contains(expected));
        lost.map(|(leg, _)| Error::Fenced(leg))
    };
    Ok(commits.iter().map(refusal).collect())
}

/// Returns the legs that a step holds or ends.
fn expected<'c>(commit: &'c Commit<'_>) -> impl Iterator<Item = Expected> + 'c {
    let held = commit.hold.map(|hold| Expected::of(hold.leg, Some(hold)));
    held.into_iter().chain(expected_ends(commit).map(|(_, expected)| expected))
}

/// Returns the legs that a step ends.
fn expected_ends<'c>(commit: &'c Commit<'_>) -> impl Iterator<Item = (LegId, Expected)> + 'c {
    commit.changes.iter().filter_map(|change| {
        let Change::LegEnded { leg, .. } = change else { return None };
        let leg = LegId { task: commit.before.id(), number: *leg };
        Some((leg, Expected::of(leg, commit.hold)))
    })
}

/// Writes steps that nothing speaks against, each with its task as it is afterwards.
fn write(tables: &mut dyn Tables, now: Timestamp, steps: &[(&Commit<'_>, &Task)]) -> Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let rows = steps.iter().map(|(_, task)| TaskRow::of(task, now)).collect::<Result<Vec<_>>>()?;
    tables.update_tasks(&rows)?;
    for (commit, task) in steps {
        if task.roots != commit.before.roots {
            let roots: Vec<&str> = task.roots.iter().map(Fingerprint::as_str).collect();
            tables.set_roots(key(task.id()), &plain(&task.seed.project.path), &roots)?;
        }
        let priority = task.seed.wish.priority;
        if priority != commit.before.seed.wish.priority {
            tables.set_priority(key(task.id()), i64::from(priority))?;
        }
        if task.state != commit.before.state {
            set_blocked(tables, task, &commit.before.state)?;
        }
    }
    let moves: Vec<Moves<'_>> =
        steps.iter().map(|(commit, task)| Moves { task, changes: commit.changes }).collect();
    move_legs(tables, now, &moves)?;
    let mut all = Vec::new();
    for (commit, task) in steps {
        all.extend(noted(task.id(), commit.hold.map(|hold| hold.leg.number), commit.notes, commit.by)?);
        all.extend(events(now, task.id(), commit.changes, commit.by)?);
    }
    if all.is_empty() { Ok(()) } else { tables.append(&all) }
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

/// Changes of a task that its legs follow.
struct Moves<'a> {
    /// The task after them.
    task: &'a Task,
    changes: &'a [Change],
}

/// A leg that becomes ready.
struct Readied<'a> {
    task: &'a Task,
    leg: LegId,
    entry: &'a Entry,
    delay: Duration,
}

/// Applies changes to the legs' rows.
fn move_legs(tables: &mut dyn Tables, now: Timestamp, moves: &[Moves<'_>]) -> Result<()> {
    let (mut ended, mut readied) = (Vec::new(), Vec::new());
    for Moves { task, changes } in moves {
        let id = |number: u32| LegId { task: task.id(), number };
        for change in *changes {
            match change {
                Change::LegReadied { leg, entry, delay } => {
                    readied.push(Readied { task, leg: id(*leg), entry, delay: delay.duration() });
                }
                Change::LegEnded { leg, report } => ended.push(LegEnd {
                    place: id(*leg).into(),
                    state: report.ending.state().name(),
                    at: now,
                    usage: json("usage", &report.usage)?,
                }),
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
                | Change::LabelsEdited { .. }
                | Change::RequestOpened { .. }
                | Change::RequestAnswered { .. }
                | Change::Remarked { .. }
                | Change::Ended { .. } => {}
            }
        }
    }
    // A task has one active leg, so the one that ends makes room for the next.
    if !ended.is_empty() {
        tables.end_legs(&ended)?;
    }
    if readied.is_empty() { Ok(()) } else { ready(tables, now, &readied) }
}

/// Inserts legs with the needs of their stages and their pools.
fn ready(tables: &mut dyn Tables, now: Timestamp, readied: &[Readied<'_>]) -> Result<()> {
    let tasks: Vec<i64> = readied.iter().map(|one| key(one.leg.task)).collect();
    let demands: BTreeMap<i64, (String, String)> =
        tables.demands(&tasks)?.into_iter().map(|(task, needs, pools)| (task, (needs, pools))).collect();
    let mut limits: BTreeMap<String, Option<i64>> = BTreeMap::new();
    let mut legs = Vec::new();
    for Readied { task, leg, entry, delay } in readied {
        let (needs, shares) = demand(demands.get(&key(leg.task)), entry)?;
        let project = plain(&task.seed.project.path);
        let pools = shares.iter().map(|share| share.pool.key(&project)).collect::<Vec<_>>();
        let most = shares.iter().map(|share| share.at_once.map(i64::from));
        limits.extend(pools.iter().cloned().zip(most));
        legs.push(NewLeg {
            place: (*leg).into(),
            stage: entry.stage.as_str(),
            entry: json("entry", *entry)?,
            not_before: now.plus(*delay),
            priority: i64::from(task.seed.wish.priority),
            needs,
            pools: json("pools", &pools)?,
            project,
        });
    }
    let names: Vec<&str> = limits.keys().map(String::as_str).collect();
    let known = if names.is_empty() { Vec::new() } else { tables.at_once(&names)? };
    let known: BTreeMap<String, Option<i64>> = known.into_iter().collect();
    for (pool, most) in limits {
        if known.get(&pool).copied().flatten() != most {
            tables.set_at_once(&pool, most)?;
        }
    }
    tables.insert_legs(&legs, now)
}

/// Returns the needs and pools of a leg at a stage, from those of its task.
fn demand(demands: Option<&(String, String)>, entry: &Entry) -> Result<(String, Vec<Share>)> {
    let (needs, pools) = demands.map_or(("{}", "{}"), |(needs, pools)| (needs.as_str(), pools.as_str()));
    let (stage, what) = (entry.stage.as_str(), "needs of a task");
    let mut needs: BTreeMap<Name, Vec<Need>> = read(what, needs)?;
    let mut pools: BTreeMap<Name, Vec<Share>> = read("pools of a task", pools)?;
    Ok((json(what, &needs.remove(stage).unwrap_or_default())?, pools.remove(stage).unwrap_or_default()))
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
fn events(now: Timestamp, task: TaskId, changes: &[Change], by: &Actor) -> Result<Vec<NewEvent>> {
    let event =
        |change: &Change| NewEvent::of(task, change.leg(), now, by, &Body::Change { change: change.clone() });
    changes.iter().map(event).collect()
}

/// Creates the events of notes.
pub(crate) fn noted(task: TaskId, leg: Option<u32>, notes: &[Note], by: &Actor) -> Result<Vec<NewEvent>> {
    notes.iter().map(|note| NewEvent::of(task, leg, note.at, by, &note.body)).collect()
}
