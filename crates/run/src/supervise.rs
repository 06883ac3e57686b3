//! Detects dead harnesses: a leg whose harness died becomes `lost`, and its task continues without using up a retry.

use acquit_core::change::Change;
use acquit_core::decide::{Input, decide};
use acquit_core::ids::TaskId;
use acquit_core::leg::{Ending, Hold, Leg, Report};
use acquit_core::store::{Commit, Error, Lease, Result, Store};
use acquit_core::task::{Actor, Task};

use crate::fault::{self, Act};
use crate::process::Identity;
use crate::runtime::Runtime;

/// Maximum number of legs to declare lost in one transaction. A daemon that starts after a crash of its machine finds
/// hundreds, and a transaction for each takes too long; but other writers wait for the whole transaction.
const AT_ONCE: usize = 100;

/// Marks as lost every leg whose harness is gone: on this machine and boot by checking the process, otherwise by the
/// lease. Also replaces and ends a harness of this machine that was stopped for longer than its lease, because it holds
/// the workspace. Returns their number. Safe to run anywhere, by any number of processes at once.
pub fn reap_lost(runtime: &Runtime, store: &mut dyn Store) -> Result<usize> {
    let running = store.running()?;
    let gone: Vec<(Leg, String)> = running
        .into_iter()
        .filter_map(|(leg, lease)| gone(runtime, &leg, lease).map(|why| (leg, why)))
        .collect();
    let mut count = 0;
    for some in gone.chunks(AT_ONCE) {
        count += declare_lost(runtime, store, some)?;
    }
    Ok(count)
}

/// Returns whether a live harness works on a task.
pub fn is_worked_on(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> Result<bool> {
    let running = store.running()?;
    Ok(running.iter().any(|(leg, lease)| leg.id.task == task && gone(runtime, leg, *lease).is_none()))
}

/// Resumes every task that waited for another one which has ended. Returns their number. Delaying this loses nothing:
/// the store has the reason for each wait, and the next call finds it.
pub fn release(store: &mut dyn Store) -> Result<usize> {
    let mut count = 0;
    for id in store.released()? {
        let task = store.task(id)?;
        let definition = store.definition(id)?;
        // Someone else was faster.
        let Ok(changes) = decide(&task, &definition.workflow, Input::Release) else { continue };
        let by = Actor::Supervisor;
        match store.commit(Commit { before: &task, changes: &changes, by: &by, hold: None, notes: &[] }) {
            Ok(_) => count += 1,
            Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Returns why the leg's harness counts as gone, if it does.
fn gone(runtime: &Runtime, leg: &Leg, lease: Lease) -> Option<String> {
    let owner = leg.owner.as_ref()?;
    // Machine names repeat in a fleet, and a process id means nothing elsewhere, in another pid namespace, or after a
    // reboot. So check the process table only if machine, boot and namespace match; otherwise, or if it cannot be read,
    // the lease decides.
    let boot_is_ours = Identity::of_self().is_ok_and(|own| own.boot() == owner.boot);
    if owner.host == runtime.host && boot_is_ours {
        let process = Identity::from_parts(&owner.boot, owner.pid, owner.started);
        match process.is_alive() {
            // A busy harness may be late, because the lease is not renewed while git runs. A stopped one does nothing
            // at all.
            Ok(true) if lease == Lease::Expired && process.is_stopped().unwrap_or(false) => {
                return Some(format!("process {} was stopped for longer than its lease", owner.pid));
            }
            Ok(true) => return None,
            Ok(false) => {
                let words = last_words(runtime, leg, owner.pid).map(|words| format!(": {words}"));
                return Some(format!("process {} is gone{}", owner.pid, words.unwrap_or_default()));
            }
            Err(_) => {}
        }
    }
    (lease == Lease::Expired).then(|| format!("no sign of life from {} in time", owner.host))
}

/// Ends the stopped harness of a leg whose lease has expired, if it is a process of this machine. It holds the
/// workspace and has nothing to lose: another harness takes over its leg.
fn end_replaced(runtime: &Runtime, leg: &Leg) {
    let Some(owner) = leg.owner.as_ref().filter(|owner| owner.host == runtime.host) else { return };
    let process = Identity::from_parts(&owner.boot, owner.pid, owner.started);
    if process.is_stopped().unwrap_or(false) {
        // The process may belong to someone else, or have ended by now.
        let _ = process.end();
    }
}

/// Returns the last message that a harness writes to its log when it cannot continue, so that the process that finds
/// its leg can report why.
pub fn farewell(pid: u32, error: &(dyn std::error::Error + 'static)) -> String {
    format!("process {pid}: failed to {}", acquit_core::failure::chain(error))
}

/// Returns the last message of a harness before it died, if any.
fn last_words(runtime: &Runtime, leg: &Leg, pid: u32) -> Option<String> {
    /// Only the last message matters, and an error has a few lines.
    const END: u64 = 16 * 1024;
    let log = crate::untrusted::tail(&runtime.harness_log(leg.id.task), END);
    let begin = format!("process {pid}: ");
    log.lines()
        .rev()
        .find_map(|line| line.strip_prefix(&begin))
        .map(|words| acquit_core::agent::shorten(words, 500))
}

/// Ends legs as lost, in one transaction. Returns their number: for the others, another process was faster, or the
/// harness is alive and has just written.
fn declare_lost(runtime: &Runtime, store: &mut dyn Store, gone: &[(Leg, String)]) -> Result<usize> {
    let ids: Vec<TaskId> = gone.iter().map(|(leg, _)| leg.id.task).collect();
    let mut unread = None;
    let mut lost = Vec::new();
    for found in store.tasks(&ids)? {
        let (task, definition) = match found {
            Ok(found) => found,
            // It must not block the others.
            Err(error) => {
                unread = Some(error);
                continue;
            }
        };
        let Some((leg, why)) = gone.iter().find(|(leg, _)| leg.id.task == task.id()) else { continue };
        let report = Report { usage: leg.usage.clone(), ..Report::bare(Ending::Lost { why: why.clone() }) };
        let input = Input::LegEnded { leg: leg.id.number, report: Box::new(report) };
        if let (Some(fence), Ok(changes)) = (leg.fence, decide(&task, &definition.workflow, input)) {
            lost.push(Lost { leg, hold: Hold { leg: leg.id, fence }, task, changes });
        }
    }
    // Do this before the commit, because afterwards nothing looks at these legs again.
    lost.iter().for_each(|lost| end_replaced(runtime, lost.leg));
    let commits: Vec<Commit<'_>> = lost.iter().map(Lost::commit).collect();
    let holds: Vec<Hold> = lost.iter().map(|lost| lost.hold).collect();
    let end = || store.commit_all(&commits);
    let answers = fault::all_held(&runtime.environment, Act::End, &holds, end)?;
    fault::point("lost", &runtime.environment);
    let mut count = 0;
    for answer in answers {
        match answer {
            Ok(task) => {
                count += 1;
                unread = unread.or(crate::ended::clean_up(runtime, store, &task).err());
            }
            Err(Error::Conflict(_) | Error::Fenced(_)) => {}
            Err(error) => unread = Some(error),
        }
    }
    unread.map_or(Ok(count), Err)
}

/// A leg that is to be declared lost.
struct Lost<'l> {
    leg: &'l Leg,
    hold: Hold,
    task: Task,
    changes: Vec<Change>,
}

impl Lost<'_> {
    fn commit(&self) -> Commit<'_> {
        Commit {
            before: &self.task,
            changes: &self.changes,
            by: &Actor::Supervisor,
            hold: Some(self.hold),
            notes: &[],
        }
    }
}
