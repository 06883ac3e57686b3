//! The harness: runs one leg from claim to handoff, in ten steps (see [`Step`]).
//!
//! Guarantee: the leg's whole effect on its task is the one transaction of the handoff. If the harness is killed before
//! it, the leg becomes `lost`, and the next leg saves its changes in the workspace and resets it. After it, the next
//! leg is in the store and any harness can claim it. So the harness may die between any two lines.
//!
//! Nothing here decides where a task goes: [`acquit_core::decide`] does. Nothing here trusts an agent: its report
//! selects a transition, and the gates decide whether the work counts.

mod artifacts;
mod backoff;
mod earlier_files;
mod end;
mod guard;
mod perform;
mod preview;
mod progress;
mod review;
mod session;
mod sync;
mod turn;
mod work;

use std::time::{Duration, Instant};

use acquit_core::decide::{Illegal, Input, decide_among};
use acquit_core::event::{Body, Level, Step};
use acquit_core::failure::kind;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::fleet::{Need, Pool, SeenWorker, WaitingLeg, Worker, account_of};
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Owner, Past, Purpose, Report};
use acquit_core::store::{self, Claim, Commit, Store, Wanted};
use acquit_core::task::{Actor, State, Task};
use acquit_core::time::Timestamp;
use acquit_core::workflow::Work;

use crate::fault::{self, Act};
use crate::fleet;
use crate::leg::{LegAbort, LegContext, broken, lease, span};
use crate::runtime::Runtime;
use crate::secrets::{self, Vault};
use crate::trusted_definitions::{self, Untrusted};

pub use acquit_core::failure::chain;
pub use preview::preview;

pub use crate::leg::LEASE;
pub(crate) use guard::redactor;

/// How often to retry the handoff if someone else changed the task in between. A person's click takes one retry; more
/// than a few mean that something is wrong.
const HANDOFF_TRIES: u32 = 8;

/// Why a leg did not reach its handoff. Mistakes of the agent are never among these.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store rejected the operation, or is unavailable.
    #[error("use the store")]
    Store(#[from] store::Error),
    /// The decision was rejected: a bug in this program.
    #[error("decide what follows from the leg")]
    Illegal(#[from] Illegal),
    /// The definition is not trusted on this machine.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// This process could not determine its own identity.
    #[error("find out which process this is")]
    Identity(#[source] std::io::Error),
}

/// Claims a leg that is due, if there is one. Leaves legs whose definition is not trusted on this machine to others.
pub fn claim(runtime: &Runtime, store: &mut dyn Store, wanted: Wanted<'_>) -> Result<Option<Claim>, Error> {
    store.check_version()?;
    let wanted = match wanted {
        Wanted::Of(task) if !trusted_definitions::is_trusted(runtime, store, task)? => {
            return Err(Untrusted { task }.into());
        }
        Wanted::Any if runtime.shared => {
            let (now, workers) = (store.now()?, store.workers()?);
            let mut own = None;
            for waiting in store.waiting(LOOKED_AT)?.iter().filter(|waiting| waiting.is_due(now)) {
                let task = waiting.leg.task;
                if !is_left_to_workers(runtime, store, waiting, now, &workers)?
                    && trusted_definitions::is_trusted(runtime, store, task)?
                {
                    own = Some(task);
                    break;
                }
            }
            let Some(task) = own else { return Ok(None) };
            Wanted::Due(task)
        }
        Wanted::Any | Wanted::Of(_) | Wanted::Due(_) | Wanted::By(..) => wanted,
    };
    if let Wanted::Of(task) | Wanted::Due(task) = wanted
        && is_for_workers(runtime, store, task)?
    {
        return Ok(None);
    }
    let process = crate::process::Identity::of_self().map_err(Error::Identity)?;
    let owner = Owner {
        host: runtime.host.clone(),
        boot: process.boot().to_owned(),
        pid: process.pid().unsigned_abs(),
        started: process.start(),
        worker: match wanted {
            Wanted::By(worker, _) => Some(worker.to_owned()),
            Wanted::Any | Wanted::Of(_) | Wanted::Due(_) => None,
        },
    };
    let claim = fault::claim(&runtime.environment, || store.claim(wanted, &owner, lease(runtime)))?;
    // Check again, for changes in between. On failure this process ends with its claim, and the leg becomes `lost`.
    if let (Some(claim), Wanted::Any | Wanted::Of(_) | Wanted::Due(_)) = (&claim, wanted) {
        trusted_definitions::check(runtime, claim.leg.id.task, &claim.definition)?;
    }
    Ok(claim)
}

/// Returns whether a task waits for a worker. Without a shared store there are no other machines.
pub fn is_for_workers(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> store::Result<bool> {
    if !runtime.shared {
        return Ok(false);
    }
    let Some(waiting) = store.waiting_of(task)? else { return Ok(false) };
    Ok(without_workers_legs(runtime, store, vec![waiting])?.is_empty())
}

/// Returns the legs that this machine may take. The others wait for a worker.
pub fn without_workers_legs(
    runtime: &Runtime,
    store: &mut dyn Store,
    waiting: Vec<WaitingLeg>,
) -> store::Result<Vec<WaitingLeg>> {
    if !runtime.shared || waiting.is_empty() {
        return Ok(waiting);
    }
    let (now, workers) = (store.now()?, store.workers()?);
    let mut own = Vec::new();
    for leg in waiting {
        if !is_left_to_workers(runtime, store, &leg, now, &workers)? {
            own.push(leg);
        }
    }
    Ok(own)
}

/// Returns whether this machine leaves a leg to workers: its stage names labels, which other machines may have; or its
/// agent is not installed here or a secret is missing, and a worker has all that it needs.
fn is_left_to_workers(
    runtime: &Runtime,
    store: &mut dyn Store,
    waiting: &WaitingLeg,
    now: Timestamp,
    workers: &[SeenWorker],
) -> store::Result<bool> {
    // A cancelled leg ends without its work, so everyone may take it.
    if waiting.cancel {
        return Ok(false);
    }
    if waiting.needs.iter().any(|need| matches!(need, Need::Label(_))) {
        return Ok(true);
    }
    let takes_it = |seen: &SeenWorker| {
        seen.worker.takes_legs()
            && now.since(seen.seen) <= Worker::SILENCE
            && seen.worker.missing(&waiting.needs).is_empty()
    };
    if !workers.iter().any(takes_it) {
        return Ok(false);
    }
    let has_agents = waiting.needs.iter().all(|need| match need {
        Need::Agent(program) => fleet::has_program(runtime, program),
        Need::Label(_) | Need::Secret(_) | Need::Repository(_) | Need::Home(_) => true,
    });
    Ok(!has_agents || lacks_secret(runtime, store, waiting)?)
}

/// Returns whether a secret that a leg needs is missing here. Runs no command to find out, and reads nothing for a task of
/// somebody else.
fn lacks_secret(runtime: &Runtime, store: &mut dyn Store, waiting: &WaitingLeg) -> store::Result<bool> {
    let names = waiting.needs.iter().filter_map(|need| match need {
        Need::Secret(name) => Some(name.as_str()),
        Need::Label(_) | Need::Agent(_) | Need::Repository(_) | Need::Home(_) => None,
    });
    let names: Vec<&str> = names.collect();
    let task = waiting.leg.task;
    if names.is_empty() || !trusted_definitions::is_trusted(runtime, store, task)? {
        return Ok(false);
    }
    let definition = store.definition(task)?;
    let vault = Vault::new(&definition.config, &runtime.environment, &runtime.spawner);
    Ok(names.iter().any(|name| vault.is_cheap(name) && vault.resolve(name).is_err()))
}

/// Maximum number of waiting legs to check for one that is trusted here.
const LOOKED_AT: u32 = 1_000;

/// When a harness started.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    /// The moment before it claimed its leg.
    pub at: Instant,
    /// Handoff time of the previous harness, if that became this one. The step of passing on is between two legs, so
    /// only the later one can measure it.
    pub passed_on: Option<Timestamp>,
}

impl Began {
    /// Starts now, without a previous harness.
    pub fn now() -> Self {
        Self { at: Instant::now(), passed_on: None }
    }
}

/// Runs a claimed leg to its handoff. Returns the task as the handoff left it.
pub fn run(runtime: &Runtime, store: &mut dyn Store, claim: Claim, began: Began) -> Result<Task, Error> {
    let Claim { hold, leg, task, definition } = claim;
    let mut ctx = LegContext::new(runtime, store, hold, began.at);
    let config = &definition.config;
    ctx.redactor = secrets::known(
        &Vault::new(config, &runtime.environment, &runtime.spawner),
        config,
        &runtime.environment,
    );
    if let Some(at) = began.passed_on {
        let took = span((runtime.now)().since(at));
        ctx.note(Body::Step { step: Step::PassOn, took });
    }
    ctx.step(Step::Claim);
    let report = if leg.cancel {
        Ok(Report::bare(Ending::Cancelled))
    } else {
        work::stage(&mut ctx, &task, &definition, &leg.entry)
    };
    let report = match report {
        Ok(report) => report,
        Err(LegAbort::Store(error)) => return Err(error.into()),
        Err(LegAbort::Leg(ending)) => {
            // The time counts for what the leg was doing, not for the handoff.
            ctx.time(ctx.under_way);
            Report {
                usage: ctx.usage.clone(),
                session: ctx.session.clone(),
                artifacts: std::mem::take(&mut ctx.left),
                ..Report::bare(ending)
            }
        }
    };
    let report = ctx.redactor.stored(report).unwrap_or_else(|| {
        let reason = "what the leg reported cannot be told without a secret".to_owned();
        Report::bare(Ending::Failed { kind: Name::literal(kind::HARNESS), reason })
    });
    let report = loop {
        match fleet::send_leg(&mut ctx, &task, &definition, &report) {
            Ok(()) => break report,
            Err(fleet::Error::Store(error)) => ctx.wait_for_store(error)?,
            Err(error) => {
                let ending = broken(&error, format!("failed to {}", chain(&error)));
                break Report { usage: report.usage, session: report.session, ..Report::bare(ending) };
            }
        }
    };
    share_limit(&mut ctx, &definition, &leg.entry, &report.ending)?;
    // Record it before it is done, because it is the leg's last write.
    ctx.time(Step::Handoff);
    let task = hand_over(&mut ctx, task, leg.id.number, report, &definition)?;
    fault::after(Step::Handoff, &runtime.environment);
    // Best effort: the next leg writes it again.
    let _ = progress::write(runtime, &task);
    crate::ended::clean_up_with(runtime, &definition, &task);
    if matches!(task.state, State::Ended { .. } | State::Blocked { .. }) {
        // Release tasks that waited for this one at once. If this fails, the supervisor finds them.
        let _ = crate::supervise::release(ctx.store);
    }
    Ok(task)
}

/// How long others wait for a usage limit that one leg has found, until one of them tries again. An agent that lies
/// about a limit delays no other task for longer.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// Lets legs of the same account wait for a usage limit that this leg has found. On a shared store, other machines may use other
/// accounts, so only a named account counts there.
fn share_limit(
    ctx: &mut LegContext<'_>,
    definition: &acquit_core::definition::Definition,
    entry: &acquit_core::leg::Entry,
    ending: &Ending,
) -> Result<(), Error> {
    let Ending::Held { kind: why, wait, .. } = ending else { return Ok(()) };
    if *why != *kind::USAGE {
        return Ok(());
    }
    let config = &definition.config;
    let agent = definition.workflow.stage(entry.stage.as_str()).and_then(|stage| match &stage.work {
        Work::Agent(work) => config.agents.get(work.agent.as_ref().or(config.agent.as_ref())?),
        Work::Check | Work::Action { .. } | Work::Human { .. } => None,
    });
    if let Some(agent) = agent.filter(|agent| agent.account.is_some() || !ctx.runtime.shared) {
        let until = ctx.store.now()?.plus(wait.duration().min(LONGEST_PAUSE));
        ctx.store.pause(ctx.hold, &Pool::Account(account_of(agent)), until)?;
    }
    Ok(())
}

/// Performs the handoff. Tries again while the store is unavailable: an attempt whose answer was lost may have
/// happened, and then the task shows it.
fn hand_over(
    ctx: &mut LegContext<'_>,
    task: Task,
    leg: u32,
    report: Report,
    definition: &acquit_core::definition::Definition,
) -> Result<Task, Error> {
    let mut before = task;
    loop {
        match try_hand_over(ctx, before.clone(), leg, &report, definition) {
            Err(Error::Store(error)) => ctx.wait_for_store(error)?,
            result => return result,
        }
        match ctx.store.task(before.id()) {
            Ok(task) => before = task,
            Err(error) => ctx.wait_for_store(error)?,
        }
        match before.past.iter().find(|past| past.number == leg) {
            Some(Past { ending: Ending::Lost { .. }, .. }) => {
                return Err(store::Error::Fenced(ctx.hold.leg).into());
            }
            Some(_) => return Ok(before),
            None => {}
        }
    }
}

/// Performs the handoff in one transaction: this leg ends, the task moves, the next leg is ready.
fn try_hand_over(
    ctx: &mut LegContext<'_>,
    mut task: Task,
    leg: u32,
    report: &Report,
    definition: &acquit_core::definition::Definition,
) -> Result<Task, Error> {
    for attempt in 1.. {
        let input = Input::LegEnded { leg, report: Box::new(report.clone()) };
        let root = match &report.ending {
            Ending::Rejected { failures, .. } => {
                ctx.store.root(&task.seed.project.path, &Fingerprint::of_all(failures))?
            }
            Ending::Passed { .. }
            | Ending::Failed { .. }
            | Ending::TimedOut { .. }
            | Ending::Cancelled
            | Ending::Lost { .. }
            | Ending::Conflict { .. }
            | Ending::Held { .. } => None,
        };
        let changes = decide_among(&task, &definition.workflow, input, &|_| root)?;
        let by = Actor::Harness(ctx.hold.leg);
        let commit =
            Commit { before: &task, changes: &changes, by: &by, hold: Some(ctx.hold), notes: &ctx.notes };
        let (hold, environment) = (ctx.hold, &ctx.runtime.environment);
        match fault::held(environment, Act::End, hold, || ctx.store.commit(commit)) {
            Ok(task) => return Ok(task),
            Err(store::Error::Conflict(id)) if attempt < HANDOFF_TRIES => task = ctx.store.task(id)?,
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("the loop returns at its last try")
}

/// Fault point after a step outside of this module.
pub fn point(runtime: &Runtime, step: Step) {
    fault::after(step, &runtime.environment);
}

/// Returns whether a leg runs an agent, or only checks.
fn has_agent(purpose: &Purpose, work: &Work) -> bool {
    let rechecks = match purpose {
        Purpose::Recheck { .. } => true,
        Purpose::Work | Purpose::Fix { .. } | Purpose::Resolve { .. } | Purpose::Merge => false,
    };
    !rechecks && matches!(work, Work::Agent(_))
}

/// Level of notices about failed optional steps.
const BEST_EFFORT: Level = Level::Warning;
