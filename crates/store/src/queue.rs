//! Merge queues: the effect of each method of the store on their rows.

use acquit_core::delivery::queue::{Candidate, Entry, Place, Queue, Settled};
use acquit_core::ids::TaskId;
use acquit_core::leg::Hold;
use acquit_core::store::Error;

use crate::record::{json, key};
use crate::step::must_hold;
use crate::tables::{EntryRow, QueueRow, Tables, Touched};
use crate::tx_error::Result;

pub(crate) fn enter(tables: &mut dyn Tables, hold: Hold, queue: &Queue, candidate: &Candidate) -> Result<()> {
    must_hold(tables.lock_hold(hold)?, hold.leg)?;
    tables.enter(&QueueRow::of(queue), hold, &json("merge candidate", candidate)?)
}

pub(crate) fn entries(tables: &mut dyn Tables, queue: &Queue) -> Result<Vec<Entry>> {
    tables.entries(&QueueRow::of(queue))?.into_iter().map(EntryRow::entry).collect()
}

pub(crate) fn entry(tables: &mut dyn Tables, task: TaskId) -> Result<Option<Entry>> {
    tables.entry(key(task))?.map(EntryRow::entry).transpose()
}

pub(crate) fn lead(tables: &mut dyn Tables, hold: Hold, queue: &Queue) -> Result<Place> {
    must_hold(tables.lock_hold(hold)?, hold.leg)?;
    let queue = QueueRow::of(queue);
    tables.take_head(&queue, hold)?;
    Ok(match tables.is_head(&queue, hold)? {
        Touched::Row => Place::Head,
        Touched::Nothing => Place::Waits,
    })
}

pub(crate) fn plan(
    tables: &mut dyn Tables,
    hold: Hold,
    queue: &Queue,
    planned: &[(TaskId, String)],
) -> Result<()> {
    let queue = must_lead(tables, hold, queue)?;
    planned.iter().try_for_each(|(task, commit)| tables.set_planned(&queue, key(*task), commit))
}

pub(crate) fn settle(
    tables: &mut dyn Tables,
    hold: Hold,
    queue: &Queue,
    settled: &[(TaskId, Settled)],
) -> Result<()> {
    let queue = must_lead(tables, hold, queue)?;
    for (task, settled) in settled {
        tables.set_settled(&queue, key(*task), &json("merge", settled)?)?;
        tables.wake(key(*task))?;
        tables.announce(key(*task))?;
    }
    wake_next(tables, &queue)
}

/// Makes the first task that was handed back claimable. The store has to do this, because no process waits for the
/// queue.
fn wake_next(tables: &mut dyn Tables, queue: &QueueRow) -> Result<()> {
    let waiting: Vec<i64> = tables
        .entries(queue)?
        .into_iter()
        .filter(|entry| entry.settled.is_none())
        .map(|entry| entry.task)
        .collect();
    for task in waiting {
        if tables.wake(task)? == Touched::Row {
            return tables.announce(task);
        }
    }
    Ok(())
}

pub(crate) fn leave(tables: &mut dyn Tables, hold: Hold, queue: &Queue) -> Result<()> {
    must_hold(tables.lock_hold(hold)?, hold.leg)?;
    tables.leave(key(hold.leg.task))?;
    let queue = QueueRow::of(queue);
    tables.drop_head(&queue, hold)?;
    wake_next(tables, &queue)?;
    tables.announce(key(hold.leg.task))
}

/// Returns an error if the leg is no longer the head: a replaced head must stop, like a replaced leg.
fn must_lead(tables: &mut dyn Tables, hold: Hold, queue: &Queue) -> Result<QueueRow> {
    must_hold(tables.lock_hold(hold)?, hold.leg)?;
    let queue = QueueRow::of(queue);
    match tables.is_head(&queue, hold)? {
        Touched::Row => Ok(queue),
        Touched::Nothing => Err(Error::Fenced(hold.leg).into()),
    }
}
