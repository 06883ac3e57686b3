//! The history of one task, read once: verdicts of each leg, its agents, and current progress.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::artifact::Artifact;
use acquit_core::change::Change;
use acquit_core::event::{Body, Event, SetupAgain, Step};
use acquit_core::gate::Verdict;
use acquit_core::human_request::Answer;
use acquit_core::ids::TaskId;
use acquit_core::store::{Store, each_event};
use acquit_core::task::{Actor, Task};
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;

/// Number of newest events to keep.
const EVENTS: usize = 200;

/// The history of a task.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// All verdicts with their legs, in order.
    pub verdicts: Vec<(u32, Verdict)>,
    /// Details of each leg that the leg itself does not hold.
    pub legs: BTreeMap<u32, LegHistory>,
    /// Setups that ran because of changed lock files.
    pub setups: Vec<SetupAgain>,
    /// When each request was opened, by number.
    pub opened: BTreeMap<u32, Timestamp>,
    /// Time of each remark of the task's conversation, in order.
    pub remarks: Vec<Timestamp>,
    /// Answers to requests.
    pub answers: Vec<Answered>,
    /// The newest events, oldest first.
    pub events: Vec<Event>,
    /// Number of all events.
    pub count: usize,
}

/// Details of a leg that the leg itself does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegHistory {
    /// Name of the agent in the configuration.
    pub agent: Option<String>,
    /// Run time of the agent.
    pub agent_took: Duration,
    /// Run time of the gates.
    pub gates_took: Duration,
    /// The last completed step.
    pub step: Option<Step>,
    /// How long each completed step took. The leg that follows records how long it took to pass on.
    pub steps: BTreeMap<Step, Duration>,
    /// The agent's newest progress message.
    pub progress: Option<String>,
    /// Private ref that keeps the leg's work, if it was set aside.
    pub saved: Option<String>,
}

/// An answer of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Number of the request.
    pub request: u32,
    /// Who answered.
    pub by: Actor,
    /// Time of the answer.
    pub at: Timestamp,
    /// The answer in one line.
    pub answer: String,
}

impl History {
    /// Returns the newest verdict of each gate, in the order of their first run.
    pub fn newest_verdicts(&self) -> Vec<&Verdict> {
        let mut newest: Vec<&Verdict> = Vec::new();
        for (_, verdict) in &self.verdicts {
            match newest.iter_mut().find(|known| known.gate == verdict.gate) {
                Some(known) => *known = verdict,
                None => newest.push(verdict),
            }
        }
        newest
    }

    /// Returns the verdicts of a leg.
    pub fn of_leg(&self, leg: u32) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(move |(number, _)| *number == leg).map(|(_, verdict)| verdict)
    }

    fn hear(&mut self, event: Event) {
        self.count += 1;
        if let (Body::Step { step: Step::PassOn, took }, Some(next)) = (&event.body, event.leg) {
            let before = self.legs.entry(next.saturating_sub(1)).or_default();
            before.steps.insert(Step::PassOn, took.duration());
        }
        let leg = self.legs.entry(event.leg.unwrap_or(0)).or_default();
        match &event.body {
            Body::Gate { verdict } => {
                leg.gates_took += verdict.took.duration();
                self.verdicts.push((event.leg.unwrap_or(0), (**verdict).clone()));
            }
            Body::SetupAgain(setup) if self.setups.iter().all(|known| !known.is_same(setup)) => {
                self.setups.push(setup.clone());
            }
            Body::Step { step: Step::PassOn, .. } => {}
            Body::Step { step, took } => {
                leg.step = Some(*step);
                leg.steps.insert(*step, took.duration());
            }
            Body::AgentStarted { agent, .. } => leg.agent = Some(agent.clone()),
            Body::AgentEnded { took, .. } => leg.agent_took += took.duration(),
            Body::Progress { text, .. } => leg.progress = Some(text.clone()),
            Body::WorkSaved { reference, .. } => leg.saved = Some(reference.clone()),
            Body::Change { change: Change::RequestAnswered { request, by, answer } } => {
                // An answer to several questions is a remark for each.
                let remarks = if let Answer::Each { answers } = answer { answers.len() } else { 1 };
                self.remarks.extend(std::iter::repeat_n(event.at, remarks));
                let answer = in_words(answer);
                self.answers.push(Answered { request: *request, by: by.clone(), at: event.at, answer });
            }
            Body::Change { change: Change::Remarked { .. } } => self.remarks.push(event.at),
            Body::Change { change: Change::RequestOpened { request } } => {
                self.opened.insert(request.number, event.at);
            }
            Body::Change { .. } | Body::SetupAgain(_) | Body::Notify { .. } | Body::Notice { .. } => {}
        }
        self.events.push(event);
        if self.events.len() >= 2 * EVENTS {
            self.events.drain(..EVENTS);
        }
    }
}

/// Returns the commit of the work at the end of a leg, if the leg or an earlier one made any.
pub fn commit_at(task: &Task, leg: u32) -> Option<&str> {
    let made = task.artifacts.iter().filter_map(|artifact| match artifact {
        Artifact::Commits { leg: of, commits } if *of <= leg => Some((*of, commits.last()?)),
        _ => None,
    });
    made.max_by_key(|(of, _)| *of).map(|(_, commit)| commit.id.as_str())
}

/// Returns the first leg after this one that changed the work.
pub fn changed_since(task: &Task, leg: u32) -> Option<u32> {
    let made = task.artifacts.iter().filter_map(|artifact| match artifact {
        Artifact::Commits { leg: of, commits } if *of > leg && !commits.is_empty() => Some(*of),
        _ => None,
    });
    made.min()
}

/// Formats an answer as one line.
pub fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Approve => "approved".to_owned(),
        Answer::Reject { reason } => format!("rejected: {reason}"),
        Answer::Choose { option } => option.clone(),
        Answer::Text { text } => text.clone(),
        Answer::Each { answers } => answers.join("; "),
    }
}

/// Reads the history of a task.
pub fn history(store: &mut dyn Store, id: TaskId) -> Result<History, Error> {
    let mut history = History::default();
    each_event(store, Some(id), |event| history.hear(event))?;
    let surplus = history.events.len().saturating_sub(EVENTS);
    history.events.drain(..surplus);
    Ok(history)
}
