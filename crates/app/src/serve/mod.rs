//! The daemon: follows schedules, goes on with nights, starts harnesses, finds what died, and sends what is to be told.
//!
//! It may be killed at any time and started again, and there may be several at once. Nothing that matters is in its memory: nights,
//! messages and how far it has read are in the store, and legs are processes of their own, which neither its start nor its end
//! touches. Whatever asks somebody elsewhere, or takes as long
//! as a folder is large, is done beside it, so that nobody holds up the rest. It sleeps in the store and looks when something was written, when something is due, and now and then.

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
use crate::error::Error;
use crate::notice::Notice;

/// The longest sleep: so soon a request to stop is heard.
const BEAT: Duration = Duration::from_secs(1);
/// The same while somebody waits for its end: the end of a process that it started is no news in the store.
const SOON: Duration = Duration::from_millis(100);
/// How often it looks for legs whose harness died, and for tasks that wait for nobody any more.
const PATROL: Duration = Duration::from_secs(5);
/// How often the configuration is read again, and schedules looked at that others may have paused.
const REREAD: Duration = Duration::from_secs(30);
/// The same while the configuration is not trusted: somebody may be about to trust it.
const REREAD_UNTRUSTED: Duration = Duration::from_secs(2);
/// How long it waits after the store refused.
const TROUBLE: Duration = Duration::from_secs(5);

/// How the daemon runs.
pub struct Options {
    /// When it ends by itself.
    pub until: Until,
    /// What it does when it is asked to stop.
    pub stop: Stop,
    /// How many tasks run at the same time.
    pub most: u32,
    /// The one night that it is to look after; everything if none is named.
    pub only: Option<(Name, Timestamp)>,
    /// Arguments for the processes beside it, such as the form of their log.
    pub pass_on: Vec<OsString>,
    /// The dashboard that is served beside it, if one is.
    pub dashboard: Option<Dashboard>,
}

/// When the daemon ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Never.
    Stopped,
    /// When nothing is due any more.
    Done,
}

/// What the daemon does when it is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ends at once; legs go on by themselves.
    Leave,
    /// Begins nothing more, and waits for the legs that run.
    Drain,
}

/// Whether something is still under way that the daemon would wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Yes,
    No,
}

/// The daemon. What is in here can be found again.
struct Daemon<'d> {
    app: &'d App,
    options: Options,
    home: Home,
    workers: work::Workers,
    beginners: night_starters::Beginners,
    finished: finished::Finished,
    sweep: sweep::Sweep,
    /// The process that sends messages, while there is one.
    sender: Option<Detached>,
    /// The process that serves the dashboard.
    web: dashboard::Web,
    patrolled: Option<Instant>,
    reread: Option<Instant>,
    /// Whether the files that it goes by are not trusted: then nothing is begun and nobody is told anything until they are.
    waits: bool,
    /// When a schedule is looked at again, if not earlier.
    next_run: Option<Timestamp>,
}

/// Runs until it is stopped, or until nothing is due.
pub fn run(app: &App, options: Options) -> Result<(), Error> {
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
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
        sender: None,
        web: dashboard::Web::default(),
        patrolled: None,
        reread: None,
        waits: false,
        next_run: None,
    };
    if let Some(error) = daemon.home.untrusted.take() {
        daemon.wait_for_trust(&error);
    }
    daemon.log("serve", &format!("looks after {} schedules", daemon.home.config.schedules.len()));
    let mut troubled = false;
    while interrupt.count() == 0 {
        let pause = match daemon.look(store.as_mut()) {
            Ok(Busy::No) if daemon.options.until == Until::Done => {
                daemon.log("serve", "nothing is due any more");
                return Ok(());
            }
            Ok(_) => {
                troubled = false;
                daemon.beat()
            }
            // A database that restarts, a disk that is full for a while, a process too many: whoever watches over others does not give up.
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
        sleep(store.as_mut(), pause, &interrupt);
    }
    daemon.stop(store.as_mut(), &interrupt)
}

/// Sleeps in the store, or without it while it cannot be reached.
fn sleep(store: &mut dyn Store, pause: Duration, interrupt: &Interrupt) {
    if pause <= BEAT && store.wait(pause).is_ok() {
        return;
    }
    let begun = Instant::now();
    while begun.elapsed() < pause && interrupt.count() == 0 {
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

impl Daemon<'_> {
    /// Does all that is due, and says whether something is still under way.
    fn look(&mut self, store: &mut dyn Store) -> Result<Busy, Error> {
        self.keep_dashboard();
        let now = store.now()?;
        if self.patrolled.is_none_or(|at| at.elapsed() >= PATROL) {
            self.patrolled = Some(Instant::now());
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

    /// The files that it goes by are not trusted. What runs goes on by what it began with; nothing else is begun.
    fn wait_for_trust(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.waits, true) {
            let words = acquit_run::harness::chain(error);
            self.log("trust", &format!("schedules and messages wait for `acquit trust`: failed to {words}"));
        }
    }

    /// How long it sleeps when nothing is wrong.
    fn beat(&self) -> Duration {
        match self.options.until {
            Until::Stopped => BEAT,
            Until::Done => SOON,
        }
    }

    /// Ends as it was asked to.
    fn stop(&mut self, store: &mut dyn Store, interrupt: &Interrupt) -> Result<(), Error> {
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

    /// One line about one thing that happened.
    fn log(&self, what: &str, words: &str) {
        log(self.app, what, words);
    }

    /// Starts this program again with a hidden verb, as a process that ends with this one.
    fn beside(&self, words: &[impl AsRef<OsStr>]) -> Result<Detached, Error> {
        let own = ["--parent".into(), std::process::id().to_string().into()];
        let words = words.iter().map(|word| word.as_ref().to_owned()).chain(own);
        let args: Vec<OsString> = words.chain(self.options.pass_on.iter().cloned()).collect();
        Ok(self.app.runtime.spawner.beside(&args, self.app.harness_environment())?)
    }
}

/// One line about one thing that happened, of the daemon or of a process beside it.
pub fn log(app: &App, what: &str, words: &str) {
    let at = (app.runtime.now)();
    app.notice(&Notice::Log { at, what: what.to_owned(), text: words.to_owned() });
}
