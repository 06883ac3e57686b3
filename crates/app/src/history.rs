//! The history of one task, read once: what gates said of each leg, who worked, and what happens now.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::change::Change;
use acquit_core::event::{Body, Event, SetupAgain, Step};
use acquit_core::gate::Verdict;
use acquit_core::human_request::Answer;
use acquit_core::ids::TaskId;
use acquit_core::store::{Store, each_event};
use acquit_core::task::Actor;
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::Error;

/// So many of the newest events are kept.
const EVENTS: usize = 200;

/// What happened to a task.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Every verdict with its leg, in the order in which they were given.
    pub verdicts: Vec<(u32, Verdict)>,
    /// What is known of each leg beside the leg itself.
    pub legs: BTreeMap<u32, LegHistory>,
    /// Setups that ran for changed lock files.
    pub setups: Vec<SetupAgain>,
    /// When each request was opened, by its number.
    pub opened: BTreeMap<u32, Timestamp>,
    /// Who answered which request.
    pub answers: Vec<Answered>,
    /// The newest events, oldest first.
    pub events: Vec<Event>,
    /// How many events there are.
    pub count: usize,
}

/// What is known of a leg beside the leg itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegHistory {
    /// The agent's name in the configuration.
    pub agent: Option<String>,
    /// How long the agent ran.
    pub agent_took: Duration,
    /// How long gates ran.
    pub gates_took: Duration,
    /// The last step that is over.
    pub step: Option<Step>,
    /// The newest words of the agent about its progress.
    pub progress: Option<String>,
    /// The private ref that keeps its work, if it was put aside.
    pub saved: Option<String>,
}

/// An answer that a person gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Which request.
    pub request: u32,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// What, in a line.
    pub answer: String,
}

impl History {
    /// What each gate said last, in the order in which they were first run.
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

    /// What gates said of a leg.
    pub fn of_leg(&self, leg: u32) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(move |(number, _)| *number == leg).map(|(_, verdict)| verdict)
    }

    fn hear(&mut self, event: Event) {
        self.count += 1;
        let leg = self.legs.entry(event.leg.unwrap_or(0)).or_default();
        match &event.body {
            Body::Gate { verdict } => {
                leg.gates_took += verdict.took.duration();
                self.verdicts.push((event.leg.unwrap_or(0), (**verdict).clone()));
            }
            Body::SetupAgain(setup) if self.setups.iter().all(|known| !known.is_same(setup)) => {
                self.setups.push(setup.clone());
            }
            Body::Step { step, .. } => leg.step = Some(*step),
            Body::AgentStarted { agent, .. } => leg.agent = Some(agent.clone()),
            Body::AgentEnded { took, .. } => leg.agent_took += took.duration(),
            Body::Progress { text, .. } => leg.progress = Some(text.clone()),
            Body::WorkSaved { reference, .. } => leg.saved = Some(reference.clone()),
            Body::Change { change: Change::RequestAnswered { request, by, answer } } => {
                let answer = in_words(answer);
                self.answers.push(Answered { request: *request, by: by.clone(), at: event.at, answer });
            }
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

/// An answer in a line.
fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Approve => "approved".to_owned(),
        Answer::Reject { reason } => format!("rejected: {reason}"),
        Answer::Choose { option } => option.clone(),
        Answer::Text { text } => text.clone(),
        Answer::Each { answers } => answers.join("; "),
    }
}

/// Reads it.
pub fn history(store: &mut dyn Store, id: TaskId) -> Result<History, Error> {
    let mut history = History::default();
    each_event(store, Some(id), |event| history.hear(event))?;
    let surplus = history.events.len().saturating_sub(EVENTS);
    history.events.drain(..surplus);
    Ok(history)
}
