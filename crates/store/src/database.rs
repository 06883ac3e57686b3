//! The methods of the store for any database. Each is one transaction.

mod fleet;
mod ledger;

use std::sync::Arc;
use std::time::Duration;

use acquit_core::agent::{Chunk, Usage};
use acquit_core::change::Change;
use acquit_core::definition::Definition;
use acquit_core::delivery::queue::{Candidate, Entry, Place, Queue, Settled};
use acquit_core::event::Event;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::ids::{BadId, Fence, LegId, StoreId, TaskId};
use acquit_core::leg::{Hold, Leg, Owner};
use acquit_core::store::{Claim, Commit, Defined, Error, Filter, Lease, Note, Pulse, Result, Store, Wanted};
use acquit_core::task::{Actor, Summary, Task};
use acquit_core::time::Timestamp;

use crate::queue;
use crate::record::{
    ChunkRow, EventRow, LegRow, SummaryRow, WholeRow, json, key, number, plain, read, task_id,
};
use crate::step;
use crate::tables::{Backend, Place as LegPlace, Tables, Terms, Touched};
use crate::tx_error::{self, TxError};

/// A store on a database.
pub(crate) struct Database<B>(pub(crate) B);

impl<B: Backend> Database<B> {
    fn read<T>(
        &mut self,
        doing: &'static str,
        looking: impl FnOnce(&mut dyn Tables) -> tx_error::Result<T>,
    ) -> Result<T> {
        self.0.read(looking).map_err(|refusal| refusal.while_doing(doing))
    }

    fn write<T>(
        &mut self,
        doing: &'static str,
        change: impl FnOnce(&mut dyn Tables, Timestamp) -> tx_error::Result<T>,
    ) -> Result<T> {
        let now = self.now()?;
        self.0.write(|tables| change(tables, now)).map_err(|refusal| refusal.while_doing(doing))
    }
}

impl<B: Backend> Store for Database<B> {
    fn id(&mut self) -> Result<StoreId> {
        self.read("say which it is", |tables| {
            tables
                .store_id()?
                .parse()
                .map_err(|error: BadId| TxError::corrupt("id of the store", error.to_string()))
        })
    }

    fn check_version(&mut self) -> Result<()> {
        let known = self.0.known();
        let found = self.read("say which version it has", |tables| tables.version())?;
        if found > known { Err(Error::Newer { found, known }) } else { Ok(()) }
    }

    fn renewals(&mut self) -> Result<u64> {
        self.read("count renewals", |tables| Ok(u64::try_from(tables.renewals()?).unwrap_or_default()))
    }

    fn reserve(&mut self) -> Result<TaskId> {
        self.write("give a task id", |tables, _| tables.reserve().map(task_id))
    }

    fn create(&mut self, definition: &Definition, changes: &[Change], by: &Actor) -> Result<Task> {
        self.write("take a new task", |tables, now| step::create(tables, now, definition, changes, by))
    }

    fn task(&mut self, id: TaskId) -> Result<Task> {
        self.read("give a task", |tables| task(tables, id))
    }

    fn definition(&mut self, id: TaskId) -> Result<Definition> {
        self.read("give a task's definition", |tables| definition(tables, id))
    }

    fn tasks(&mut self, ids: &[TaskId]) -> Result<Vec<Result<Defined>>> {
        let ids: Vec<i64> = ids.iter().copied().map(key).collect();
        self.read("give tasks", |tables| {
            let mut definitions = Definitions::default();
            let mut one = |row: WholeRow| {
                let id = task_id(row.id);
                let task = read(&format!("task {id}"), &row.body)?;
                Ok((task, definitions.parse(id, row.definition)?))
            };
            let refused = |refusal: TxError| refusal.while_doing("give a task");
            Ok(tables.tasks(&ids)?.into_iter().map(|row| one(row).map_err(refused)).collect())
        })
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Summary>> {
        self.read("list tasks", |tables| list(tables, filter)?.into_iter().map(SummaryRow::summary).collect())
    }

    fn commit(&mut self, commit: Commit<'_>) -> Result<Task> {
        self.write("take a step of a task", |tables, now| step::commit(tables, now, commit))
    }

    fn commit_all(&mut self, commits: &[Commit<'_>]) -> Result<Vec<Result<Task>>> {
        self.write("take steps of tasks", |tables, now| step::commit_all(tables, now, commits))
    }

    fn claim(&mut self, wanted: Wanted<'_>, owner: &Owner, lease: Duration) -> Result<Option<Claim>> {
        self.write("give a leg", |tables, now| {
            let owner = json("owner", owner)?;
            let terms = Terms { owner: &owner, now, lease_until: now.plus(lease) };
            let Some(leg) = tables.claim(wanted, &terms)? else { return Ok(None) };
            let leg = leg.leg()?;
            let fence = leg.fence.unwrap_or(Fence(0));
            let task = task(tables, leg.id.task)?;
            let definition = definition(tables, leg.id.task)?;
            Ok(Some(Claim { hold: Hold { leg: leg.id, fence }, leg, task, definition }))
        })
    }

    fn pulse(&mut self, hold: Hold) -> Result<Pulse> {
        self.read("look after a leg", |tables| pulse(hold, tables.pulse(hold)?))
    }

    fn heartbeat(&mut self, hold: Hold, lease: Duration) -> Result<Pulse> {
        self.write("take a heartbeat", |tables, now| pulse(hold, tables.renew(hold, now.plus(lease))?))
    }

    fn note(&mut self, hold: Hold, notes: &[Note]) -> Result<()> {
        self.write("take events", |tables, _| {
            step::must_hold(tables.lock_hold(hold)?, hold.leg)?;
            append_notes(tables, hold, notes)
        })
    }

    fn transcribe(&mut self, hold: Hold, chunk: &Chunk, usage: &Usage, notes: &[Note]) -> Result<()> {
        self.write("take a transcript", |tables, _| {
            step::must_hold(tables.set_usage(hold, &json("usage", usage)?)?, hold.leg)?;
            // Skip an empty chunk: it would replace the chunk that starts at the same byte.
            if chunk.from < chunk.to {
                match tables.insert_chunk(hold.leg.into(), &ChunkRow::of(chunk)?)? {
                    Touched::Row if notes.is_empty() => tables.announce(key(hold.leg.task))?,
                    Touched::Row => {}
                    // The chunk exists, so this call is a repetition and its notes are stored too.
                    Touched::Nothing => return Ok(()),
                }
            }
            append_notes(tables, hold, notes)
        })
    }

    fn transcript(&mut self, leg: LegId, from: u64, limit: u32) -> Result<Vec<Chunk>> {
        self.read("give a transcript", |tables| {
            let rows = tables.chunks(LegPlace::from(leg), number(from), limit)?;
            rows.into_iter().map(ChunkRow::chunk).collect()
        })
    }

    fn events(&mut self, task: Option<TaskId>, after: i64, limit: u32) -> Result<Vec<Event>> {
        self.read("give events", |tables| {
            let rows = tables.events(task.map(key), after, limit)?;
            rows.into_iter().map(EventRow::event).collect()
        })
    }

    fn root(&mut self, project: &str, fingerprint: &Fingerprint) -> Result<Option<TaskId>> {
        self.read("say who mends a failure", |tables| {
            Ok(tables.root(&plain(project), fingerprint.as_str())?.map(task_id))
        })
    }

    fn released(&mut self) -> Result<Vec<TaskId>> {
        self.read("say who waits no more", |tables| Ok(tables.released()?.into_iter().map(task_id).collect()))
    }

    fn legs(&mut self, task: TaskId) -> Result<Vec<Leg>> {
        self.read("give a task's legs", |tables| {
            tables.legs(key(task))?.into_iter().map(LegRow::leg).collect()
        })
    }

    fn running(&mut self) -> Result<Vec<(Leg, Lease)>> {
        let now = self.now()?;
        let lease = |leg: Leg| match leg.lease_until {
            Some(until) if until >= now => (leg, Lease::Valid),
            Some(_) | None => (leg, Lease::Expired),
        };
        self.read("give the running legs", |tables| {
            tables.running()?.into_iter().map(|row| row.leg().map(lease)).collect()
        })
    }

    fn enter_queue(&mut self, hold: Hold, queue: &Queue, candidate: &Candidate) -> Result<()> {
        self.write("take a merge candidate", |tables, _| queue::enter(tables, hold, queue, candidate))
    }

    fn queue(&mut self, queue: &Queue) -> Result<Vec<Entry>> {
        self.read("give a merge queue", |tables| queue::entries(tables, queue))
    }

    fn queued(&mut self, task: TaskId) -> Result<Option<Entry>> {
        self.read("give a merge candidate", |tables| queue::entry(tables, task))
    }

    fn lead_queue(&mut self, hold: Hold, queue: &Queue) -> Result<Place> {
        self.write("give the head of a merge queue", |tables, _| queue::lead(tables, hold, queue))
    }

    fn plan_merges(&mut self, hold: Hold, queue: &Queue, planned: &[(TaskId, String)]) -> Result<()> {
        self.write("take what is to be merged", |tables, _| queue::plan(tables, hold, queue, planned))
    }

    fn settle_merges(&mut self, hold: Hold, queue: &Queue, settled: &[(TaskId, Settled)]) -> Result<()> {
        self.write("take what was merged", |tables, _| queue::settle(tables, hold, queue, settled))
    }

    fn leave_queue(&mut self, hold: Hold, queue: &Queue) -> Result<()> {
        self.write("let a leg leave a merge queue", |tables, _| queue::leave(tables, hold, queue))
    }

    fn now(&mut self) -> Result<Timestamp> {
        self.0.now().map_err(|refusal| refusal.while_doing("tell the time"))
    }

    fn wait(&mut self, at_most: Duration) -> Result<()> {
        self.0.wait(at_most)
    }
}

/// Translates the cancel mark of a held leg for its harness.
fn pulse(hold: Hold, cancel: Option<bool>) -> tx_error::Result<Pulse> {
    match cancel {
        Some(false) => Ok(Pulse::Beating),
        Some(true) => Ok(Pulse::Cancel),
        None => Err(Error::Fenced(hold.leg).into()),
    }
}

/// Lists tasks. The database finds all that fit a search or have a tag, and few others, which are left out here.
fn list(tables: &mut dyn Tables, filter: &Filter) -> tx_error::Result<Vec<SummaryRow>> {
    let limit = filter.limit as usize;
    let mut filter = filter.clone();
    let mut found = Vec::new();
    loop {
        let rows = tables.list(&filter)?;
        let full = limit > 0 && rows.len() == limit;
        filter.below = rows.last().map(|row| task_id(row.id));
        for row in rows {
            if filter.search.as_ref().is_none_or(|text| row.found_by(text))
                && has_tags(tables, &filter.tags, row.id)?
            {
                found.push(row);
                if found.len() >= limit {
                    return Ok(found);
                }
            }
        }
        if !full {
            return Ok(found);
        }
    }
}

fn has_tags(tables: &mut dyn Tables, tags: &[String], id: i64) -> tx_error::Result<bool> {
    if tags.is_empty() {
        return Ok(true);
    }
    let own = task(tables, task_id(id))?.seed.wish.tags;
    Ok(tags.iter().all(|tag| own.contains(tag)))
}

fn task(tables: &mut dyn Tables, id: TaskId) -> tx_error::Result<Task> {
    let body = tables.task(key(id))?.ok_or(Error::NoTask(id))?;
    read(&format!("task {id}"), &body)
}

fn definition(tables: &mut dyn Tables, id: TaskId) -> tx_error::Result<Definition> {
    let body = tables.definition(key(id))?.ok_or(Error::NoTask(id))?;
    parse_definition(id, &body)
}

/// Parses definitions one after the other. Those of neighbours are often equal, and parsing one takes longer than
/// comparing it.
#[derive(Default)]
struct Definitions(Option<(String, Arc<Definition>)>);

impl Definitions {
    fn parse(&mut self, id: TaskId, body: String) -> tx_error::Result<Arc<Definition>> {
        if let Some((_, definition)) = self.0.as_ref().filter(|(text, _)| *text == body) {
            return Ok(Arc::clone(definition));
        }
        let definition = Arc::new(parse_definition(id, &body)?);
        self.0 = Some((body, Arc::clone(&definition)));
        Ok(definition)
    }
}

fn parse_definition(id: TaskId, body: &str) -> tx_error::Result<Definition> {
    /// Distinguishes an unknown format from a damaged definition.
    #[derive(serde::Deserialize)]
    struct Form {
        form: u32,
    }
    let what = format!("definition of task {id}");
    let newer = |form| {
        TxError::corrupt(
            &what,
            format!("it has form {form}, and this acquit knows only {}", Definition::FORM),
        )
    };
    match read::<Definition>(&what, body) {
        Ok(definition) if definition.form > Definition::FORM => Err(newer(definition.form)),
        Ok(definition) => Ok(definition),
        Err(damaged) => match serde_json::from_str(body) {
            Ok(Form { form }) if form > Definition::FORM => Err(newer(form)),
            Ok(_) | Err(_) => Err(damaged),
        },
    }
}

fn append_notes(tables: &mut dyn Tables, hold: Hold, notes: &[Note]) -> tx_error::Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let by = Actor::Harness(hold.leg);
    tables.append(&step::noted(hold.leg.task, Some(hold.leg.number), notes, &by)?)
}
