//! Background of open requests, read once: the workflow, the verdicts of gates, and when they were opened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use acquit_app::Error;
use acquit_app::answer::{Leads, leads};
use acquit_app::history::{history, in_words};
use acquit_core::change::Change;
use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::human_request::{Answer, HumanRequest};
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_core::time::Timestamp;
use acquit_core::workflow::{Work, Workflow};

use crate::page::Sign;

/// Maximum number of requests whose background is kept.
const KEPT: usize = 500;

/// The background of an open request. It does not change while the request is open.
pub struct Background {
    /// Workflow of the task.
    pub workflow: Workflow,
    /// Agents of its configuration.
    pub agents: Vec<String>,
    /// Newest verdict of each gate.
    pub marks: Vec<GateMark>,
    /// When the request was opened.
    pub asked: Option<Timestamp>,
}

/// A gate's newest verdict in short.
pub struct GateMark {
    /// Name of the gate.
    pub gate: String,
    /// Its verdict.
    pub sign: Sign,
    /// Number of tests that fail without the change.
    pub red: usize,
}

/// Number and commit of a request, and the data read for it.
type Known = (u32, String, Arc<Background>);

/// Background of open requests, by task. It needs all events of the task, so it is read once.
#[derive(Default)]
pub struct Requests(Mutex<BTreeMap<TaskId, Known>>);

/// Number of recent answers to keep, and the number of events in which they are looked for at first.
const ANSWERS: usize = 8;
const EARLIER: i64 = 2_000;
/// Number of events to read at once.
const PAGE: u32 = 500;

/// A recent answer of a person.
#[derive(Clone)]
pub struct Answered {
    /// Task id.
    pub task: TaskId,
    /// Who answered.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The answer in one line.
    pub answer: String,
}

/// The newest answers of people, read from new events only.
#[derive(Default)]
pub struct Answers(Mutex<(i64, Vec<Answered>)>);

impl Answers {
    /// Returns the newest answers, newest first.
    pub fn newest(&self, store: &mut dyn Store, seq: i64) -> Result<Vec<Answered>, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = known.0.max(seq - EARLIER).max(0);
        loop {
            let events = store.events(None, after, PAGE)?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in events {
                if let Body::Change { change: Change::RequestAnswered { by, answer, .. } } = &event.body {
                    let (by, answer) = (by.to_string(), in_words(answer));
                    known.1.push(Answered { task: event.task, by, at: event.at, answer });
                }
            }
        }
        known.0 = after;
        let surplus = known.1.len().saturating_sub(ANSWERS);
        known.1.drain(..surplus);
        Ok(known.1.iter().rev().cloned().collect())
    }
}

impl Background {
    /// Returns whether an agent reads a note after an answer. A note to a merge has no reader, for example.
    pub fn has_agent(&self, leads: Option<&Leads>) -> bool {
        let Some(Leads::Stage { stage, .. }) = leads else { return false };
        let found = self.workflow.stages.iter().find(|known| known.name.as_str() == stage);
        found.is_some_and(|stage| matches!(stage.work, Work::Agent(_)))
    }

    /// Returns the stage to which a rejection sends the task, if any.
    pub fn sends_back(&self, task: &Task) -> Option<String> {
        let rejected = Answer::Reject { reason: String::new() };
        match leads(task, &self.workflow, rejected) {
            Some(Leads::Stage { stage, .. }) => Some(stage),
            Some(Leads::Done | Leads::Ends | Leads::Asks) | None => None,
        }
    }
}

impl Requests {
    /// Returns the background of the open request of a task.
    pub fn get(
        &self,
        store: &mut dyn Store,
        task: &Task,
        request: &HumanRequest,
    ) -> Result<Arc<Background>, Error> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, commit, background)) = known().get(&task.id())
            && (*number, commit) == (request.number, &task.tip)
        {
            return Ok(Arc::clone(background));
        }
        let history = history(store, task.id())?;
        let definition = store.definition(task.id())?;
        let background = Arc::new(Background {
            agents: definition.config.agents.keys().map(ToString::to_string).collect(),
            workflow: definition.workflow,
            marks: history.newest_verdicts().into_iter().map(GateMark::of).collect(),
            asked: history.opened.get(&request.number).copied(),
        });
        let mut known = known();
        if known.len() >= KEPT {
            known.pop_first();
        }
        known.insert(task.id(), (request.number, task.tip.clone(), Arc::clone(&background)));
        Ok(background)
    }
}

impl GateMark {
    fn of(verdict: &Verdict) -> Self {
        let sign = match (verdict.passed, verdict.rejects()) {
            (true, _) => Sign::Proven,
            (false, true) => Sign::Rejected,
            (false, false) => Sign::Noted,
        };
        Self { gate: verdict.gate.to_string(), sign, red: verdict.evidence.red.len() }
    }
}
