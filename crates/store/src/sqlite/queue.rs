//! Rows of merge queues in SQLite.

use acquit_core::leg::Hold;
use rusqlite::params;

use super::rows::Rows;
use crate::record::key;
use crate::tables::Touched;
use crate::tables::{EntryRow, QueueRow, Queues};
use crate::tx_error::Result;

impl Queues for Rows<'_> {
    fn enter(&mut self, queue: &QueueRow, hold: Hold, candidate: &str) -> Result<()> {
        let place = self.one(
            "select place from merges where task = ?1 and project_path = ?2 and branch = ?3 and settled is null",
            params![key(hold.leg.task), queue.project, queue.branch],
            |row| row.get::<_, i64>(0),
        )?;
        self.leave(key(hold.leg.task))?;
        self.execute(
            "insert into merges (task, project_path, branch, leg, fence, candidate, place)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                key(hold.leg.task),
                queue.project,
                queue.branch,
                i64::from(hold.leg.number),
                hold.fence.0,
                candidate,
                place.unwrap_or(hold.fence.0)
            ],
        )?;
        Ok(())
    }

    fn entries(&mut self, queue: &QueueRow) -> Result<Vec<EntryRow>> {
        self.all(
            "select merges.task, merges.leg, candidate, planned, settled from merges
             join legs on legs.task = merges.task and legs.number = merges.leg and legs.fence = merges.fence
             where project_path = ?1 and branch = ?2 and (legs.state = 'running' or (legs.state = 'held' and exists
                (select 1 from legs again where again.task = merges.task and again.number = merges.leg + 1
                    and again.state = 'ready' and again.cancel = 0)))
             order by place",
            params![queue.project, queue.branch],
            entry,
        )
    }

    fn entry(&mut self, task: i64) -> Result<Option<EntryRow>> {
        self.one(
            "select task, leg, candidate, planned, settled from merges where task = ?1",
            params![task],
            entry,
        )
    }

    fn take_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()> {
        self.execute(
            "insert into queue_heads (project_path, branch, task, leg, fence) values (?1, ?2, ?3, ?4, ?5)
             on conflict (project_path, branch)
             do update set task = excluded.task, leg = excluded.leg, fence = excluded.fence
             where not exists (select 1 from legs where legs.task = queue_heads.task and legs.number = queue_heads.leg
                and legs.fence = queue_heads.fence and legs.state = 'running')",
            params![queue.project, queue.branch, key(hold.leg.task), i64::from(hold.leg.number), hold.fence.0],
        )?;
        Ok(())
    }

    fn is_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<Touched> {
        let found = self.one(
            "select fence from queue_heads where project_path = ?1 and branch = ?2 and fence = ?3",
            params![queue.project, queue.branch, hold.fence.0],
            |row| row.get::<_, i64>(0),
        )?;
        Ok(found.map_or(Touched::Nothing, |_| Touched::Row))
    }

    fn drop_head(&mut self, queue: &QueueRow, hold: Hold) -> Result<()> {
        self.execute(
            "delete from queue_heads where project_path = ?1 and branch = ?2 and fence = ?3",
            params![queue.project, queue.branch, hold.fence.0],
        )?;
        Ok(())
    }

    fn set_planned(&mut self, queue: &QueueRow, task: i64, commit: &str) -> Result<()> {
        self.execute(
            "update merges set planned = ?4 where task = ?1 and project_path = ?2 and branch = ?3
                and settled is null",
            params![task, queue.project, queue.branch, commit],
        )?;
        Ok(())
    }

    fn set_settled(&mut self, queue: &QueueRow, task: i64, settled: &str) -> Result<()> {
        self.execute(
            "update merges set settled = ?4 where task = ?1 and project_path = ?2 and branch = ?3",
            params![task, queue.project, queue.branch, settled],
        )?;
        Ok(())
    }

    fn wake(&mut self, task: i64) -> Result<Touched> {
        let woken = self.execute(
            "update legs set not_before = 0 where task = ?1 and state = 'ready' and not_before > 0 and exists
                (select 1 from merges join legs held on held.task = merges.task and held.number = merges.leg
                    where merges.task = ?1 and held.state = 'held' and legs.number = merges.leg + 1)",
            params![task],
        )?;
        Ok(woken)
    }

    fn leave(&mut self, task: i64) -> Result<()> {
        self.execute("delete from merges where task = ?1", params![task])?;
        Ok(())
    }
}

fn entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        task: row.get(0)?,
        leg: row.get(1)?,
        candidate: row.get(2)?,
        planned: row.get(3)?,
        settled: row.get(4)?,
    })
}
