//! Runs a round of gates on a change: a task with one stage, in a private store, run by the harness.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use acquit_core::gate::{Gate, Verdict};
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_run::git::{Offer, Source};
use acquit_run::retention;
use sha2::{Digest, Sha256};

use super::report::Log;
use super::rules::Rules;
use super::{Cache, Conduct, Place};
use crate::app::App;
use crate::check;
use crate::error::Error;
use crate::task::{NewTask, Origin};

/// First task number of rounds. Neither a user's task nor a rehearsal has such a number.
pub(super) const FIRST: u64 = 2_000_000_000;

/// More rounds than a judgement has.
pub(super) const ROUNDS: u64 = 8;

/// Store of a judgement, in its folder.
const STORE: &str = "prove.db";

/// Maximum size of an output to read: more than a gate may print.
const MOST_LOG: u64 = 1 << 30;

/// Key with which a task allows weakened checks.
const ALLOWED: &str = "allow-dilution";

/// Runs rounds of gates.
pub(super) struct Trial<'t> {
    pub(super) app: &'t App,
    pub(super) scratch: &'t Source,
    pub(super) rules: &'t Rules,
    pub(super) place: &'t Place,
    pub(super) next: u64,
    pub(super) cache: Cache,
    /// Folder for copies of the gates' output, if they are to be kept.
    pub(super) logs: Option<&'t Path>,
    /// What the change may weaken.
    pub(super) allow: &'t [String],
}

/// Result of a round.
pub(super) struct Round {
    pub(super) logs: BTreeMap<Name, Log>,
    /// Why it ended before all gates ran: setup, disk or a limit.
    pub(super) stopped: Option<String>,
    pub(super) cancelled: bool,
    /// Verdicts, refused hosts and setups.
    pub(super) told: check::Told,
}

impl Trial<'_> {
    /// Runs gates on a change.
    pub(super) fn run(
        &mut self,
        gates: &[Gate],
        offer: &Offer,
        conduct: &mut Conduct<'_>,
    ) -> Result<Round, Error> {
        let id = self.place.task(self.next);
        self.next += 1;
        let own = own(self.app, self.place);
        let gates: Vec<Gate> = gates
            .iter()
            .map(|gate| match self.cache {
                Cache::Use => gate.clone(),
                Cache::Ignore => Gate { reuse: acquit_core::gate::Reuse::Never, ..gate.clone() },
            })
            .collect();
        let origin = Origin {
            source: self.scratch.clone(),
            project: check::project(&self.rules.config, gates)?,
            id: Some(id),
            category: None,
            metadata: std::collections::BTreeMap::new(),
            by: own.person(),
        };
        let metadata = match self.allow {
            [] => Vec::new(),
            words => vec![(ALLOWED.to_owned(), words.join(","))],
        };
        let new = NewTask { title: "prove".to_owned(), metadata, ..NewTask::default() };
        let mut store = own.store()?;
        let store: &mut dyn Store = store.as_mut();
        let task = own.create_with(store, &new, origin, Some(offer.clone()))?;
        let task = (conduct.run)(&own, store, task.id())?;
        let told = check::told(store, id)?;
        let mut logs = BTreeMap::new();
        for verdict in &told.verdicts {
            if let Some(log) = log_of(verdict, self.logs, self.next)? {
                logs.insert(verdict.gate.clone(), log);
            }
        }
        Ok(Round { told, logs, stopped: stopped(&task), cancelled: is_cancelled(&task) })
    }
}

/// Measures a gate's output and keeps a copy if requested: the file itself is removed with the round.
fn log_of(verdict: &Verdict, keep: Option<&Path>, round: u64) -> Result<Option<Log>, Error> {
    // A reused verdict comes from another round, whose files are gone.
    if verdict.output.is_empty() || verdict.reused.is_some() {
        return Ok(None);
    }
    let at = |path: &Path, source| Error::File { doing: "keep a copy of", path: path.to_owned(), source };
    let from = Path::new(&verdict.output);
    let mut bytes = Vec::new();
    match std::fs::File::open(from) {
        Ok(file) => file.take(MOST_LOG).read_to_end(&mut bytes).map_err(|source| at(from, source))?,
        Err(_) => return Ok(None),
    };
    let sha256 = acquit_core::hex::encode(&Sha256::digest(&bytes));
    let file = match keep {
        None => None,
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|source| at(folder, source))?;
            let name = format!("{round}-{}.log", verdict.gate);
            std::fs::write(folder.join(&name), &bytes).map_err(|source| at(from, source))?;
            Some(name)
        }
    };
    Ok(Some(Log { sha256, bytes: bytes.len() as u64, file }))
}

/// Returns why a round ended before all gates ran.
fn stopped(task: &Task) -> Option<String> {
    task.past.last().and_then(|past| match &past.ending {
        Ending::Failed { reason, .. } | Ending::Held { reason, .. } => Some(reason.clone()),
        Ending::TimedOut { .. } => Some("the time for it is over".to_owned()),
        Ending::Lost { .. } => Some("the process that ran the gates died".to_owned()),
        Ending::Passed { .. } | Ending::Rejected { .. } | Ending::Cancelled | Ending::Conflict { .. } => None,
    })
}

fn is_cancelled(task: &Task) -> bool {
    matches!(task.state, State::Ended { end: End::Cancelled { .. } } | State::Working { cancel: Some(_), .. })
}

/// Returns the same app with the store of a judgement.
fn own(app: &App, place: &Place) -> App {
    let mut surroundings = app.surroundings.clone();
    surroundings.store = place.folder.join(STORE).to_string_lossy().into_owned();
    App::new(surroundings, Box::new(|_| {}), None)
}

/// Removes the folders of a judgement's rounds.
pub(super) fn forget(app: &App, place: &Place) -> Result<(), Error> {
    if !place.folder.join(STORE).exists() {
        return Ok(());
    }
    let own = own(app, place);
    own.store()?;
    for round in 0..ROUNDS {
        retention::forget_files(&own.runtime, place.task(round)).map_err(Error::Retention)?;
    }
    Ok(())
}
