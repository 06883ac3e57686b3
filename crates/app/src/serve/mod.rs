//! The daemon: fires schedules, advances nights, starts harnesses, detects dead harnesses, and sends messages.
//!
//! It may be killed at any time and restarted, and several may run at once. It keeps no important state in memory:
//! nights, messages and its read position are in the store. Legs are separate processes, which neither its start nor
//! its end affects. Network calls, and work that grows with the size of a folder, run in separate processes, so that
//! they never block the rest. It sleeps in the store, and wakes up when something was written, when something is due,
//! and at regular intervals.

mod dashboard;
mod finished;
mod home;
mod memory;
mod mistakes;
mod night_start;
mod night_starters;
mod nights;
mod outbox;
mod rework;
mod sweep;
#[cfg(feature = "otel")]
mod traces;
mod work;

use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use acquit_core::ids::Name;
use acquit_core::store::{self, Store};
use acquit_core::time::Timestamp;
use acquit_run::process::{Detached, Interrupt};
use acquit_run::supervise;

pub use dashboard::Dashboard;
pub use finished::remove;
pub use home::{Home, repositories, zone};
pub use mistakes::mistakes;
pub use night_start::{Which, start as start_night};
pub use nights::{begin_by_hand, date_of, report};
pub use outbox::{Tested, send as send_messages, test_channels};
pub use sweep::tidy;

use crate::app::App;
use crate::error::{Error, Refused};
use crate::notice::Notice;
use crate::systemd::Systemd;

/// Longest sleep. Limits how long a stop request goes unnoticed.
const BEAT: Duration = Duration::from_secs(1);
/// Longest sleep while a caller waits for the daemon to finish: the store does not report the end of a process that the
/// daemon started.
const SOON: Duration = Duration::from_millis(100);
/// Interval of checks for legs whose harness died, and for blocked tasks that can continue.
const PATROL: Duration = Duration::from_secs(5);
/// Interval for rereading the configuration and the schedules, which other processes may have paused.
const REREAD: Duration = Duration::from_secs(30);
/// Interval for rereading the configuration while it is not trusted: the user may be about to trust it.
const REREAD_UNTRUSTED: Duration = Duration::from_secs(2);
/// Interval for returning unused memory while something is in progress.
const GIVE_BACK: Duration = Duration::from_mins(1);
/// Delay after an error of the store.
const TROUBLE: Duration = Duration::from_secs(5);

/// Options of the daemon.
pub struct Options {
    /// When it exits.
    pub until: Until,
    /// What to do on a stop request.
    pub stop: Stop,
    /// Maximum number of tasks that run at the same time. With 0, only what no worker may run does, one at a time.
    pub most: u32,
    /// The only night to handle; everything if `None`.
    pub only: Option<(Name, Timestamp)>,
    /// Arguments for child processes, such as the log format.
    pub pass_on: Vec<OsString>,
    /// The dashboard to serve, if any.
    pub dashboard: Option<Dashboard>,
}

/// When the daemon exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Never.
    Stopped,
    /// When nothing is due.
    Done,
}

/// What the daemon does on a stop request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Exits at once. Legs continue on their own.
    Leave,
    /// Starts nothing more, and waits for running legs.
    Drain,
}

/// Whether something is in progress that the daemon would wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Yes,
    No,
}

/// The daemon. All of its state can be rebuilt.
struct Daemon<'d> {
    app: &'d App,
    options: Options,
    home: Home,
    workers: work::Workers,
    beginners: night_starters::Beginners,
    finished: finished::Finished,
    sweep: sweep::Sweep,
    /// When traces were last sent.
    traced: Option<Instant>,
    /// The process that sends messages, while it runs.
    sender: Option<Detached>,
    /// The dashboard process.
    web: dashboard::Web,
    patrolled: Option<Instant>,
    gave_back: Option<Instant>,
    reread: Option<Instant>,
    /// Whether the configuration is not trusted. Then the daemon starts nothing and sends nothing until it is.
    waits: bool,
    /// When to check the schedules again at the latest.
    next_run: Option<Timestamp>,
}

/// Runs until it is stopped, or until nothing is due.
pub fn run(app: &App, options: Options) -> Result<(), Error> {
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
    if options.most == 0 && !app.runtime.shared {
        return Err(Refused::NoWorkers(app.surroundings.store.clone()).into());
    }
    let mut store = app.store()?;
    let mut home = Home::read(app)?;
    if options.until == Until::Done {
        home = home.trusted()?;
    }
    let mut daemon = Daemon {
        app,
        options,
        home,
        workers: work::Workers::default(),
        beginners: night_starters::Beginners::default(),
        finished: finished::Finished::default(),
        sweep: sweep::Sweep::new(),
        traced: None,
        sender: None,
        web: dashboard::Web::default(),
        patrolled: None,
        gave_back: None,
        reread: None,
        waits: false,
        next_run: None,
    };
    if let Some(error) = daemon.home.untrusted.take() {
        daemon.wait_for_trust(&error);
    }
    let schedules = match daemon.home.config.schedules.len() {
        1 => "1 schedule".to_owned(),
        count => format!("{count} schedules"),
    };
    daemon.log("serve", &format!("looks after {schedules}"));
    let systemd = Systemd::of(&app.surroundings.environment);
    systemd.ready();
    let mut troubled = false;
    while interrupt.count() == 0 {
        systemd.alive();
        let mut busy = Busy::Yes;
        let pause = match daemon.look(store.as_mut()) {
            Ok(Busy::No) if daemon.options.until == Until::Done => {
                daemon.log("serve", "nothing is due any more");
                return Ok(());
            }
            Ok(found) => {
                (busy, troubled) = (found, false);
                daemon.beat()
            }
            // Another program has migrated the store. Legs that run go on; a new daemon must be installed.
            Err(error @ Error::Store(store::Error::Newer { .. })) => return Err(error),
            // A restarting database, a full disk, too many processes: these pass, so the daemon retries instead of
            // giving up.
            Err(error @ (Error::Store(_) | Error::NoTask(_) | Error::Process(_))) => {
                if !troubled || daemon.options.until == Until::Done {
                    daemon.log("trouble", &acquit_run::harness::chain(&error));
                }
                if daemon.options.until == Until::Done {
                    return Err(error);
                }
                troubled = true;
                TROUBLE
            }
            Err(error) => return Err(error),
        };
        daemon.give_memory_back(busy);
        sleep(store.as_mut(), pause, &interrupt);
    }
    systemd.stopping();
    daemon.stop(store.as_mut(), &interrupt, &systemd)
}

/// Sleeps in the store, or without it while it is unreachable.
pub(crate) fn sleep(store: &mut dyn Store, pause: Duration, interrupt: &Interrupt) {
    if pause <= BEAT && store.wait(pause).is_ok() {
        return;
    }
    let begun = Instant::now();
    while begun.elapsed() < pause && interrupt.count() == 0 {
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

impl Daemon<'_> {
    /// Returns memory to the system that was needed by the start or by due work. While nothing is in progress, does so
    /// before each sleep: a look needs little memory, but for each page that it reads the kernel maps sixteen pages of
    /// the program.
    fn give_memory_back(&mut self, busy: Busy) {
        if busy == Busy::No || self.gave_back.is_none_or(|at| at.elapsed() >= GIVE_BACK) {
            self.gave_back = Some(Instant::now());
            acquit_run::process::give_back();
        }
    }

    /// Does everything that is due, and returns whether something is still in progress.
    fn look(&mut self, store: &mut dyn Store) -> Result<Busy, Error> {
        self.keep_dashboard();
        let now = store.now()?;
        if self.patrolled.is_none_or(|at| at.elapsed() >= PATROL) {
            self.patrolled = Some(Instant::now());
            store.check_version()?;
            let lost = supervise::reap_lost(&self.app.runtime, store)?;
            let released = supervise::release(store)?;
            if lost > 0 {
                self.log("lost", &format!("{lost} legs whose harness is gone are ready again"));
            }
            if released > 0 {
                self.log("released", &format!("{released} tasks wait for nobody any more"));
            }
        }
        let everything = self.options.only.is_none();
        let reread = if self.waits { REREAD_UNTRUSTED } else { REREAD };
        if everything && self.reread.is_none_or(|at| at.elapsed() >= reread) {
            self.reread = Some(Instant::now());
            self.next_run = None;
            match Home::read(self.app) {
                Ok(Home { untrusted: Some(error), .. }) => self.wait_for_trust(&error),
                Ok(home) => {
                    if std::mem::take(&mut self.waits) {
                        self.log("trust", "the configuration is trusted; schedules go on");
                    }
                    self.home = home;
                }
                Err(error) => {
                    let words = acquit_run::harness::chain(&error);
                    self.log("trouble", &format!("the configuration of before stays: {words}"));
                }
            }
        }
        if everything && !self.waits && self.next_run.is_none_or(|at| at <= now) {
            self.next_run = self.fire(store, now)?;
        }
        let nights = self.go_on(store, now)?;
        let work = self.work(store, now)?;
        let rooms = self.clear()?;
        if everything {
            self.tell(store)?;
        }
        let letters = self.send(store)?;
        if everything && self.options.until == Until::Stopped {
            self.sweep(store)?;
        }
        let idle = [nights, work, rooms, letters].iter().all(|busy| *busy == Busy::No);
        Ok(if idle { Busy::No } else { Busy::Yes })
    }

    /// Handles an untrusted configuration. Running work continues with the configuration it started with; nothing else
    /// starts.
    fn wait_for_trust(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.waits, true) {
            let words = acquit_run::harness::chain(error);
            self.log("trust", &format!("schedules and messages wait for `acquit trust`: failed to {words}"));
        }
    }

    /// Returns how long to sleep when there is no error.
    fn beat(&self) -> Duration {
        match self.options.until {
            Until::Stopped => BEAT,
            Until::Done => SOON,
        }
    }

    /// Stops the daemon as [`Options::stop`] says.
    fn stop(&mut self, store: &mut dyn Store, interrupt: &Interrupt, systemd: &Systemd) -> Result<(), Error> {
        self.beginners.end();
        self.finished.end();
        self.sweep.end();
        self.web.end();
        if let Some(sender) = self.sender.take() {
            sender.end();
        }
        let running = self.running_here(store)?;
        if self.options.stop == Stop::Leave || running.is_empty() {
            let words = match running.len() {
                0 => "stops".to_owned(),
                count => format!("stops; {count} tasks go on by themselves"),
            };
            self.log("serve", &words);
            return Ok(());
        }
        self.log("serve", &format!("begins nothing more and waits for {} tasks", running.len()));
        while interrupt.count() < 2 {
            systemd.alive();
            self.workers.reap();
            if self.running_here(store)?.is_empty() {
                break;
            }
            match store.wait(BEAT) {
                Ok(()) | Err(store::Error::Database { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.log("serve", "stops");
        Ok(())
    }

    /// Logs an event in one line.
    fn log(&self, what: &str, words: &str) {
        log(self.app, what, words);
    }

    /// Starts this program again with a hidden subcommand. The process ends with this one.
    fn beside(&self, words: &[impl AsRef<OsStr>]) -> Result<Detached, Error> {
        let own = ["--parent".into(), std::process::id().to_string().into()];
        let words = words.iter().map(|word| word.as_ref().to_owned()).chain(own);
        let args: Vec<OsString> = words.chain(self.options.pass_on.iter().cloned()).collect();
        Ok(self.app.runtime.spawner.beside(&args, self.app.harness_environment())?)
    }
}

/// Logs an event of the daemon or of one of its processes in one line.
pub fn log(app: &App, what: &str, words: &str) {
    let at = (app.runtime.now)();
    app.notice(&Notice::Log { at, what: what.to_owned(), text: words.to_owned() });
}
