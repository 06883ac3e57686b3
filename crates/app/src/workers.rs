//! The workers of a store, and why none of them takes a waiting leg.

use acquit_core::fleet::{IdleReason, Need, SeenWorker, WaitingLeg, Worker, WorkerState};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::store::Store;
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;

/// Maximum number of waiting legs to read.
const LOOKED_AT: u32 = 1_000;

/// All workers, and the waiting legs.
#[derive(Clone, Debug, Serialize)]
pub struct Workers {
    /// Workers by name.
    pub workers: Vec<Shown>,
    /// Legs that are due and not claimed, in claim order.
    pub waiting: Vec<Waiting>,
}

/// A worker.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The worker's own report.
    #[serde(flatten)]
    pub seen: SeenWorker,
    /// Status.
    pub standing: Standing,
    /// Number of running legs.
    pub running: usize,
}

/// Status of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It takes legs.
    Working,
    /// It finishes its legs and takes no more.
    Stopping,
    /// Its disk has too little room for a leg.
    Full,
    /// A newer acquit has migrated the store; it finishes its legs and ends.
    Outdated,
    /// It takes no legs, for another reason.
    Idle,
    /// It has not reported for a while.
    Silent,
}

impl Standing {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Stopping => "stopping",
            Self::Full => "full",
            Self::Outdated => "outdated",
            Self::Idle => "idle",
            Self::Silent => "silent",
        }
    }
}

/// A waiting leg.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// Leg id.
    pub leg: LegId,
    /// Stage name.
    pub stage: String,
    /// Since when it can be claimed.
    pub since: Timestamp,
    /// What it needs.
    pub needs: Vec<Need>,
    /// Names of workers that have everything it needs, but no free slot yet.
    pub fits: Vec<String>,
    /// Why no worker takes it.
    pub why: Vec<String>,
}

/// Reads the workers and the waiting legs.
pub fn look(store: &mut dyn Store) -> Result<Workers, Error> {
    let now = store.now()?;
    let running = store.running()?;
    let runs = |name: &str| {
        let by = |leg: &acquit_core::leg::Leg| leg.owner.as_ref().and_then(|owner| owner.worker.clone());
        running.iter().filter(|(leg, _)| by(leg).as_deref() == Some(name)).count()
    };
    let shown =
        |seen: SeenWorker| Shown { standing: standing(&seen, now), running: runs(&seen.worker.name), seen };
    let workers: Vec<Shown> = store.workers()?.into_iter().map(shown).collect();
    let living: Vec<&Worker> = workers
        .iter()
        .filter(|shown| shown.standing == Standing::Working)
        .map(|shown| &shown.seen.worker)
        .collect();
    let due = store.waiting(LOOKED_AT)?.into_iter().filter(|leg| leg.not_before <= now);
    let others: Vec<String> = workers.iter().filter_map(absence).collect();
    let waiting = due.map(|leg| explain(leg, &living, &others)).collect();
    Ok(Workers { workers, waiting })
}

/// Returns in words why a task's leg waits for a worker.
pub fn why(store: &mut dyn Store, task: TaskId) -> Result<String, Error> {
    let waiting = look(store)?.waiting.into_iter().find(|waiting| waiting.leg.task == task);
    let why = waiting.map(|waiting| match waiting.fits.as_slice() {
        [] => waiting.why.join("; "),
        fits => format!("a slot of {} must become free", fits.join(" or ")),
    });
    Ok(format!("its leg waits for a worker: {}", why.unwrap_or_default()))
}

fn standing(seen: &SeenWorker, now: Timestamp) -> Standing {
    if now.since(seen.seen) > Worker::SILENCE {
        return Standing::Silent;
    }
    match (seen.worker.idle.as_ref().map(|idle| idle.reason), seen.worker.state) {
        (Some(IdleReason::Full), _) => Standing::Full,
        (Some(IdleReason::Outdated), _) => Standing::Outdated,
        (Some(IdleReason::Other), _) => Standing::Idle,
        (None, WorkerState::Working) => Standing::Working,
        (None, WorkerState::Stopping) => Standing::Stopping,
    }
}

/// Returns why a worker takes no legs, with its name.
fn absence(shown: &Shown) -> Option<String> {
    let name = &shown.seen.worker.name;
    match (shown.standing, &shown.seen.worker.idle) {
        (Standing::Working, _) => None,
        (Standing::Silent, _) => Some(format!("{name} is silent")),
        (Standing::Full | Standing::Outdated | Standing::Idle, Some(idle)) => {
            Some(format!("{name} takes none: {}", idle.why))
        }
        (Standing::Stopping | Standing::Full | Standing::Outdated | Standing::Idle, _) => {
            Some(format!("{name} stops"))
        }
    }
}

fn explain(leg: WaitingLeg, living: &[&Worker], others: &[String]) -> Waiting {
    let fits: Vec<String> = living
        .iter()
        .filter(|worker| travels(&leg) && worker.missing(&leg.needs).is_empty())
        .map(|worker| worker.name.clone())
        .collect();
    let mut why = if fits.is_empty() { reasons(&leg, living, others) } else { Vec::new() };
    why.extend(leg.full.as_ref().map(ToString::to_string));
    Waiting { leg: leg.leg, stage: leg.stage, since: leg.not_before, needs: leg.needs, fits, why }
}

/// Returns whether only the machine that a task was made on can run a leg.
pub(crate) fn stays_home(leg: &WaitingLeg) -> bool {
    !travels(leg) || leg.needs.iter().any(|need| matches!(need, Need::Home(_)))
}

/// Returns whether a worker may run a leg: its repository is in the store or at a remote.
pub(crate) fn travels(leg: &WaitingLeg) -> bool {
    leg.needs.iter().any(|need| matches!(need, Need::Repository(_)))
}

fn reasons(leg: &WaitingLeg, living: &[&Worker], others: &[String]) -> Vec<String> {
    let home = leg.needs.iter().find(|need| matches!(need, Need::Home(_)));
    if let Some(home) = home {
        return vec![format!("it needs {}", home.words())];
    }
    if !travels(leg) {
        return vec![
            "its repository is not in the store; it waits for the machine that it was made on".to_owned(),
        ];
    }
    if living.is_empty() {
        return match others {
            [] => vec!["no worker runs".to_owned()],
            others => vec![format!("no worker takes legs: {}", others.join("; "))],
        };
    }
    // A worker checks other needs only if it has the labels.
    let is_label = |need: &&Need| matches!(need, Need::Label(_));
    let labels: Vec<&Need> = leg.needs.iter().filter(is_label).collect();
    let labelled: Vec<&Worker> = living
        .iter()
        .filter(|worker| labels.iter().all(|label| worker.offers.contains(label)))
        .copied()
        .collect();
    if labelled.is_empty() {
        let words: Vec<String> = labels.iter().map(|label| label.words()).collect();
        return vec![format!("no worker has {}", words.join(" and "))];
    }
    let living = labelled;
    let nobody: Vec<String> = leg
        .needs
        .iter()
        .filter(|need| living.iter().all(|worker| !worker.offers.contains(need)))
        .map(|need| {
            let told = living.iter().filter_map(|worker| {
                Some(format!("{}: {}", worker.name, worker.lacks.get(&need.to_string())?))
            });
            let told: Vec<String> = told.collect();
            let told = if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) };
            format!("no worker has {}{told}", need.words())
        })
        .collect();
    if !nobody.is_empty() {
        return nobody;
    }
    let lacks = |worker: &&Worker| {
        let missing: Vec<String> = worker.missing(&leg.needs).iter().map(|need| need.words()).collect();
        format!("{} does not have {}", worker.name, missing.join(" and "))
    };
    living.iter().map(lacks).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use acquit_core::fleet::Idle;

    use super::*;

    fn worker(name: &str, offers: &[&str], lacks: &[(&str, &str)]) -> Worker {
        Worker {
            name: name.to_owned(),
            process: String::new(),
            host: String::new(),
            version: String::new(),
            slots: 1,
            state: WorkerState::Working,
            offers: offers.iter().map(|need| need.parse().expect("a need")).collect(),
            lacks: lacks
                .iter()
                .map(|(need, why)| ((*need).to_owned(), (*why).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            idle: None,
        }
    }

    fn told(needs: &[&str], living: &[Worker]) -> (Vec<String>, Vec<String>) {
        let leg = WaitingLeg {
            leg: "T-1.1".parse().expect("a leg"),
            stage: "code".to_owned(),
            not_before: Timestamp(0),
            needs: needs.iter().map(|need| need.parse().expect("a need")).collect(),
            cancel: false,
            full: None,
        };
        let waiting = explain(leg, &living.iter().collect::<Vec<_>>(), &[]);
        (waiting.fits, waiting.why)
    }

    #[test]
    fn it_is_said_why_nobody_takes_a_leg() {
        let needs = ["repository:r", "label:gpu", "agent:claude"];
        let why = |workers: &[Worker]| told(&needs, workers).1.join("\n");
        assert_eq!(why(&[]), "no worker runs");
        let bare =
            worker("a", &["repository:r", "label:gpu"], &[("agent:claude", "claude is not installed")]);
        assert_eq!(
            why(std::slice::from_ref(&bare)),
            "no worker has the agent `claude` (a: claude is not installed)"
        );
        let other = worker("b", &["repository:r", "agent:claude"], &[]);
        assert_eq!(why(&[bare, other]), "no worker has the agent `claude` (a: claude is not installed)");
        let other = worker("b", &["repository:r", "agent:claude"], &[]);
        assert_eq!(why(&[other]), "no worker has the label `gpu`");
        let keyless = worker("k", &["repository:r", "label:gpu", "agent:claude"], &[]);
        let agentless = worker("l", &["repository:r", "label:gpu", "secret:KEY"], &[]);
        assert_eq!(
            told(&["repository:r", "label:gpu", "agent:claude", "secret:KEY"], &[keyless, agentless]).1,
            ["k does not have the secret `KEY`", "l does not have the agent `claude`"]
        );
        let whole = worker("c", &needs, &[]);
        assert_eq!(told(&needs, &[whole]), (vec!["c".to_owned()], Vec::new()));
        assert_eq!(
            told(&["home:submodules"], &[]).1,
            ["it needs the machine that the task was made on: submodules"]
        );
        assert!(told(&[], &[]).1[0].contains("not in the store"));
    }

    #[test]
    fn workers_that_take_no_legs_say_why() {
        let leg = |state, idle| Worker { state, idle, ..worker("w", &[], &[]) };
        let full = Idle { reason: IdleReason::Full, why: "its disk is full".to_owned() };
        let told = |worker: Worker, seen: i64| {
            let seen = SeenWorker { worker, seen: Timestamp(seen) };
            let standing = standing(&seen, Timestamp(100_000));
            (standing.name(), absence(&Shown { seen, standing, running: 0 }))
        };
        assert_eq!(told(leg(WorkerState::Working, None), 100_000), ("working", None));
        assert_eq!(
            told(leg(WorkerState::Working, Some(full.clone())), 100_000),
            ("full", Some("w takes none: its disk is full".to_owned()))
        );
        assert_eq!(told(leg(WorkerState::Stopping, None), 100_000), ("stopping", Some("w stops".to_owned())));
        assert_eq!(
            told(leg(WorkerState::Working, Some(full)), 1),
            ("silent", Some("w is silent".to_owned()))
        );
    }

    #[test]
    fn a_reason_of_a_newer_acquit_is_still_read() {
        let text = r#"{"reason":"asleep","why":"it is night"}"#;
        let idle: Idle = serde_json::from_str(text).expect("an older acquit reads it");
        assert_eq!(idle.reason, IdleReason::Other);
    }
}
