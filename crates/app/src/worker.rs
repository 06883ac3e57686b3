//! A worker: takes legs from a shared store for which its machine has everything, and needs no checkout.
//!
//! It registers in the store with what it offers, reads the waiting legs, and checks whether it has what they need:
//! labels from its command line, agents on its `PATH`, secrets of its own configuration, repositories from their
//! remotes or from the store. For each suitable leg it starts a harness, which claims a leg with the worker's row. Like
//! the daemon it may be killed at any time: its harnesses continue, any other process detects legs that died with it,
//! and another worker continues from the last handoff.

mod alive;
mod repositories;
mod sweep;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acquit_core::fleet::{Idle, IdleReason, Need, WaitingLeg, Worker, WorkerState};
use acquit_core::label::is_label;
use acquit_core::store::{self, Store};
use acquit_core::time::{Timestamp, backoff};
use acquit_run::fleet::{Offered, offer};
use acquit_run::process::{Detached, Identity, Interrupt};
use acquit_run::{room, supervise};

pub use self::alive::check as check_alive;
use self::repositories::Repositories;
use crate::error::Refused;
use crate::serve::{log, sleep};
use crate::systemd::Systemd;
use crate::workers::travels;
use crate::{App, Error};

/// Longest sleep. Limits how long a stop request goes unnoticed.
const BEAT: Duration = Duration::from_secs(1);
/// Minimum time between two looks. Every write of any leg of the fleet wakes every worker, and a look reads the queue:
/// without this, the database would be busy with looks as soon as a few dozen workers share it.
const CALM: Duration = Duration::from_millis(500);
/// Interval of its reports to the store: several times within [`Worker::SILENCE`].
const REPORT: Duration = Duration::from_secs(5);
/// Interval of checks for legs whose harness died, and for blocked tasks that can continue.
const PATROL: Duration = Duration::from_secs(5);
/// Maximum time that a patrol may spend on removing files: it must not delay reports.
const SWEEP: Duration = Duration::from_secs(1);
/// Time after which a missing need is checked again.
const LACKING: Duration = Duration::from_secs(30);
/// Time after which an available need is checked again.
const OFFERED: Duration = Duration::from_mins(5);
/// Maximum number of waiting legs to read.
const LOOKED_AT: u32 = 1_000;
/// Number of waiting legs to read first. Mostly enough to fill the free slots.
const FIRST_LOOKED_AT: u32 = 32;
/// First backoff after a failed harness or an error of the store. Each further failure increases it.
const FIRST: Duration = Duration::from_secs(1);
/// Longest backoff.
const LONGEST: Duration = Duration::from_secs(15);

/// Options of a worker.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name. Defaults to the machine's.
    pub name: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// Maximum number of legs that run at the same time.
    pub slots: u32,
    /// Whether the user agrees to run what others wrote to the store.
    pub trust_store: bool,
    /// Whether to hand back running legs at once on a stop request, instead of finishing them.
    pub hand_back: bool,
}

/// Result of checking a need.
struct Probed {
    at: Instant,
    offered: Offered,
}

/// The worker. All of its state can be rebuilt.
struct Work<'w> {
    app: &'w App,
    options: Options,
    worker: Worker,
    harnesses: Vec<Detached>,
    probed: BTreeMap<Need, Probed>,
    repositories: Repositories,
    reported: Option<Instant>,
    patrolled: Option<Instant>,
    failures: u32,
    paused: Option<Instant>,
}

/// Runs until it is stopped.
pub fn run(app: &App, options: Options) -> Result<(), Error> {
    if !app.runtime.shared {
        return Err(Refused::NotShared(app.surroundings.store.clone()).into());
    }
    if !options.trust_store {
        return Err(Refused::Untrusting.into());
    }
    if let Some(label) = options.labels.iter().find(|label| !is_label(label)) {
        return Err(Refused::Label(label.clone()).into());
    }
    let name = options.name.clone().unwrap_or_else(|| app.runtime.host.clone());
    if !is_label(&name) {
        return Err(Refused::Name(name).into());
    }
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
    let mut store = app.store()?;
    // Report mistakes in the configuration now, rather than by each harness.
    app.user_config()?;
    let own = Identity::of_self().map_err(acquit_run::harness::Error::Identity)?;
    let worker = Worker {
        name,
        process: format!("{}/{}/{}", own.boot(), own.pid(), own.start()),
        host: app.runtime.host.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        slots: options.slots,
        state: WorkerState::Working,
        offers: options.labels.iter().cloned().map(Need::Label).collect(),
        lacks: BTreeMap::new(),
        idle: None,
    };
    let mut work = Work {
        app,
        options,
        worker,
        harnesses: Vec::new(),
        probed: BTreeMap::new(),
        repositories: Repositories::default(),
        reported: None,
        patrolled: None,
        failures: 0,
        paused: None,
    };
    work.take_name(store.as_mut())?;
    log(app, "worker", &format!("{} takes up to {} legs", work.worker.name, work.worker.slots));
    let systemd = Systemd::of(&app.surroundings.environment);
    systemd.ready();
    let mut troubles = 0;
    while interrupt.count() == 0 {
        systemd.alive();
        alive::mark(app, &work.worker.name);
        let looked = Instant::now();
        let pause = match work.look(store.as_mut()) {
            Ok(()) => {
                troubles = 0;
                BEAT
            }
            Err(error @ Error::Store(store::Error::Newer { .. })) => {
                let why = "its acquit is older than the store: stop it and install the newer one";
                log(app, "worker", why);
                work.worker.idle = Some(Idle { reason: IdleReason::Outdated, why: why.to_owned() });
                work.stop(store.as_mut(), &interrupt, &systemd)?;
                return Err(error);
            }
            Err(error @ (Error::Store(_) | Error::NoTask(_) | Error::Process(_))) => {
                if troubles == 0 {
                    log(app, "trouble", &acquit_run::harness::chain(&error));
                }
                troubles += 1;
                backoff(FIRST, troubles - 1, LONGEST)
            }
            Err(error) => return Err(error),
        };
        sleep(store.as_mut(), pause, &interrupt);
        while looked.elapsed() < CALM && interrupt.count() == 0 {
            std::thread::park_timeout(CALM.saturating_sub(looked.elapsed()).min(CALM / 5));
        }
    }
    systemd.stopping();
    work.stop(store.as_mut(), &interrupt, &systemd)
}

impl Work<'_> {
    fn look(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        self.reap();
        if self.patrolled.is_none_or(|at| at.elapsed() >= PATROL) {
            self.patrolled = Some(Instant::now());
            store.check_version()?;
            let lost = supervise::reap_lost(&self.app.runtime, store)?;
            if lost > 0 {
                log(self.app, "lost", &format!("{lost} legs whose harness is gone are ready again"));
            }
            supervise::release(store)?;
            self.sweep(store)?;
        }
        let before = self.worker.clone();
        let free = (self.worker.slots as usize).saturating_sub(self.harnesses.len());
        self.worker.idle = self.short_of_room()?;
        let takes_none = free == 0 || self.worker.idle.is_some();
        let fitting = if takes_none { 0 } else { self.fitting(store, free)? };
        if self.worker != before || self.reported.is_none_or(|at| at.elapsed() >= REPORT) {
            self.report(store)?;
        }
        if fitting == 0 || self.paused.is_some_and(|until| until > Instant::now()) {
            return Ok(());
        }
        let free = (self.worker.slots as usize).saturating_sub(self.used(store)?);
        for _ in 0..free.min(fitting) {
            self.start()?;
        }
        Ok(())
    }

    /// Returns why it takes no legs, if its disk has too little room.
    fn short_of_room(&self) -> Result<Option<Idle>, Error> {
        let short = room::check(&self.app.runtime, &self.app.user_config()?.retention).err();
        let idle = short.map(|short| Idle { reason: IdleReason::Full, why: short.words() });
        match (&idle, &self.worker.idle) {
            (Some(idle), None) => log(self.app, "disk", &format!("takes no leg: {}", idle.why)),
            (None, Some(_)) => log(self.app, "disk", "there is room again; takes legs"),
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(idle)
    }

    /// Returns the number of waiting legs that this machine could run, up to the number it could take. Reads the whole
    /// queue only if there are too few among the first.
    fn fitting(&mut self, store: &mut dyn Store, free: usize) -> Result<usize, Error> {
        let now = store.now()?;
        let mut fitting = 0;
        for limit in [FIRST_LOOKED_AT, LOOKED_AT] {
            let mut due = store.waiting(limit)?;
            let is_whole = due.len() < limit as usize;
            due.retain(|leg| leg.is_due(now) && travels(leg));
            self.probe(&due)?;
            fitting = due.iter().filter(|leg| self.worker.missing(&leg.needs).is_empty()).count();
            if is_whole || fitting >= free {
                break;
            }
        }
        Ok(fitting)
    }

    /// Checks whether this machine has what legs need, unless that was checked recently.
    fn probe(&mut self, due: &[WaitingLeg]) -> Result<(), Error> {
        let own = self.app.user_config()?;
        for leg in due {
            // If a label is missing, nothing else about the leg matters here.
            let unfit = |need: &Need| {
                matches!(need, Need::Label(_) | Need::Home(_)) && !self.worker.offers.contains(need)
            };
            if leg.needs.iter().any(unfit) {
                continue;
            }
            for need in leg.needs.iter().filter(|need| !matches!(need, Need::Label(_))) {
                let known = self.probed.get(need).is_some_and(|probed| match probed.offered {
                    Offered::Yes => probed.at.elapsed() < OFFERED,
                    Offered::No(_) => probed.at.elapsed() < LACKING,
                });
                if known {
                    continue;
                }
                let offered = match need {
                    Need::Repository(key) => self.repositories.offer(self.app, key, leg.leg.task)?,
                    need => Some(offer(&self.app.runtime, &own, need)),
                };
                // While the repository is being fetched, the earlier answer applies.
                let Some(offered) = offered else { continue };
                if let Offered::No(why) = &offered {
                    log(self.app, "lacks", &format!("{}: {why}", need.words()));
                }
                self.probed.insert(need.clone(), Probed { at: Instant::now(), offered });
            }
        }
        let labels = self.options.labels.iter().cloned().map(Need::Label);
        let found = self.probed.iter().filter(|(_, probed)| probed.offered == Offered::Yes);
        self.worker.offers = labels.chain(found.map(|(need, _)| need.clone())).collect();
        self.worker.lacks = self
            .probed
            .iter()
            .filter_map(|(need, probed)| match &probed.offered {
                Offered::Yes => None,
                Offered::No(why) => Some((need.to_string(), why.clone())),
            })
            .collect();
        Ok(())
    }

    /// Takes the worker's name. A former worker of this machine that had it and is gone no longer needs it.
    fn take_name(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let former = store.workers()?.into_iter().find(|seen| seen.worker.name == self.worker.name);
        if let Some(former) = former.filter(|former| is_gone(&former.worker.process)) {
            store.remove_worker(&former.worker)?;
        }
        self.report(store)
    }

    fn report(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        if !store.report_worker(&self.worker)? {
            return Err(Refused::NameTaken(self.worker.name.clone()).into());
        }
        self.reported = Some(Instant::now());
        Ok(())
    }

    /// Removes what this machine no longer needs, for a short while.
    fn sweep(&self, store: &mut dyn Store) -> Result<(), Error> {
        sweep::sweep(self.app, store, Instant::now() + SWEEP)
    }

    /// Returns the number of used slots: by its own harnesses, and by those that an earlier worker with the same name
    /// left.
    fn used(&self, store: &mut dyn Store) -> Result<usize, Error> {
        let own: Vec<u32> = self.harnesses.iter().map(Detached::pid).collect();
        let left = store.running()?.into_iter().filter(|(leg, _)| {
            leg.owner.as_ref().is_some_and(|owner| {
                owner.worker.as_ref() == Some(&self.worker.name) && !own.contains(&owner.pid)
            })
        });
        Ok(left.count() + own.len())
    }

    fn start(&mut self) -> Result<(), Error> {
        let home = &self.app.runtime.home;
        let path = file(home, &self.worker.name, "log");
        sweep::turn_over(&path);
        let made = acquit_run::runtime::make_private(home);
        made.map_err(|source| Error::File { doing: "create", path: home.clone(), source })?;
        let args = ["leg".into(), "--worker".into(), self.worker.name.clone().into()];
        let harness = self.app.runtime.spawner.detach(&args, self.app.harness_environment(), &path)?;
        self.harnesses.push(harness);
        Ok(())
    }

    /// Removes harnesses that have ended. A failed one delays the next.
    fn reap(&mut self) {
        let mut failed = None;
        self.harnesses.retain_mut(|harness| match harness.has_succeeded() {
            Ok(None) => true,
            Ok(Some(succeeded)) => {
                failed = Some(failed.unwrap_or(false) || !succeeded);
                false
            }
            Err(_) => false,
        });
        match failed {
            Some(true) => {
                self.paused = Some(Instant::now() + backoff(FIRST, self.failures, LONGEST));
                self.failures = self.failures.saturating_add(1);
                log(self.app, "trouble", "a harness failed, see the log of the worker in ACQUIT_HOME");
                // The reason may be its repository: check that again.
                self.probed.retain(|need, _| !matches!(need, Need::Repository(_)));
                self.patrolled = None;
            }
            Some(false) => self.failures = 0,
            None => {}
        }
    }

    /// Takes no more legs. Running legs are finished, or handed back; a second stop request hands them back.
    fn stop(&mut self, store: &mut dyn Store, interrupt: &Interrupt, systemd: &Systemd) -> Result<(), Error> {
        self.worker.state = WorkerState::Stopping;
        self.repositories.end();
        let most = if self.options.hand_back { 1 } else { 2 };
        self.reap();
        if !self.harnesses.is_empty() && interrupt.count() < most {
            log(self.app, "worker", &format!("stops when {} legs are over", self.harnesses.len()));
        }
        while !self.harnesses.is_empty() && interrupt.count() < most {
            // An unreachable store must not prevent the end.
            let _ = self.report(store);
            systemd.alive();
            alive::mark(self.app, &self.worker.name);
            sleep(store, BEAT, interrupt);
            self.reap();
        }
        let given_back = self.harnesses.len();
        for harness in self.harnesses.drain(..) {
            harness.end();
        }
        if given_back > 0 {
            supervise::reap_lost(&self.app.runtime, store)?;
            log(self.app, "worker", &format!("gave {given_back} legs back"));
        }
        store.remove_worker(&self.worker)?;
        log(self.app, "worker", "stops");
        Ok(())
    }
}

/// Returns a file of a worker in its directory.
fn file(home: &std::path::Path, name: &str, ending: &str) -> std::path::PathBuf {
    home.join(format!("worker-{}.{ending}", name.replace('/', "-")))
}

/// Returns whether a worker's process belongs to this machine, boot and pid namespace, and has ended.
fn is_gone(process: &str) -> bool {
    let mut parts = process.rsplitn(3, '/');
    let (start, pid, boot) = (parts.next(), parts.next(), parts.next());
    let (Some(Ok(start)), Some(Ok(pid)), Some(boot)) = (start.map(str::parse), pid.map(str::parse), boot)
    else {
        return false;
    };
    let here = Identity::of_self().is_ok_and(|own| own.boot() == boot);
    here && Identity::from_parts(boot, pid, start).is_alive().is_ok_and(|alive| !alive)
}

/// Returns whether a worker still takes legs. Its harnesses continue with the next leg only then.
pub fn goes_on(store: &mut dyn Store, name: &str, now: Timestamp) -> Result<bool, Error> {
    let silent = |seen: Timestamp| now.since(seen) > Worker::SILENCE;
    let working = store.workers()?.into_iter().find(|seen| seen.worker.name == name && !silent(seen.seen));
    Ok(working.is_some_and(|seen| seen.worker.takes_legs()))
}
