//! Small workflows and a task to lead through them.

use std::collections::BTreeMap;

use acquit_core::change::Change;
use acquit_core::decide::{Illegal, Input, decide_among};
use acquit_core::failure::Failure;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::human_request::{Answer, Ask, HumanRequest};
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Entry, Purpose, Report};
use acquit_core::outcome::{Outcome, Source};
use acquit_core::task::{Actor, Base, Project, Seed, State, Task, Wish};
use acquit_core::time::Timestamp;
use acquit_core::workflow::{
    Action, AgentWork, Commits, Consent, Limits, Mode, Stage, Target, Transition, Variation, Work, Workflow,
};

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(crate) fn ann() -> Actor {
    Actor::Person("ann".to_owned())
}

pub(crate) fn agent() -> Work {
    let (mode, instructions) = (Mode::Implement, acquit_core::template::Template::default());
    Work::Agent(AgentWork {
        mode,
        agent: None,
        model: None,
        role: None,
        step: acquit_core::template::Template::default(),
        instructions,
        outputs: Vec::new(),
        inputs: Vec::new(),
        tools: None,
        commands: Vec::new(),
        secrets: Vec::new(),
        network: None,
        session: acquit_core::workflow::Continue::Earlier,
        refused: acquit_core::workflow::Refused::Told,
    })
}

pub(crate) fn human() -> Work {
    Work::Human { question: "well?".to_owned() }
}

pub(crate) fn action() -> Work {
    Work::Action { action: Action::Squash, commits: Commits::One }
}

pub(crate) fn stage(called: &str, work: Work) -> Stage {
    Stage {
        name: name(called),
        work,
        gates: Vec::new(),
        stop: acquit_core::workflow::Stop::AtEnd,
        warnings: acquit_core::workflow::Warnings::Shown,
        fix: None,
        on: BTreeMap::new(),
        limits: Limits::default(),
        consent: Consent::NotNeeded,
        from: acquit_core::workflow::Begin::Work,
        runs_on: Vec::new(),
    }
}

/// Targets as workflows write them: words for the fixed ones, anything else is a stage.
pub(crate) fn target(text: &str) -> Target {
    let word = Target::WORDS.into_iter().find(|(word, _)| *word == text);
    word.map_or_else(|| Target::Stage(name(text)), |(_, target)| target)
}

pub(crate) trait Build {
    fn on(self, outcome: &str, to: &[&str]) -> Self;
    fn spending(self, outcome: &str, budget: &str) -> Self;
    fn fixed_by(self, fix: &str) -> Self;
    fn consent(self, consent: Consent) -> Self;
}

impl Build for Stage {
    fn on(mut self, outcome: &str, to: &[&str]) -> Self {
        let to = to.iter().map(|text| target(text)).collect();
        let transition = Transition { to, budget: None, schema: None, description: None };
        self.on.insert(name(outcome), transition);
        self
    }

    fn spending(mut self, outcome: &str, budget: &str) -> Self {
        self.on.get_mut(outcome).unwrap().budget = Some(name(budget));
        self
    }

    fn fixed_by(mut self, fix: &str) -> Self {
        self.fix = Some(name(fix));
        self
    }

    fn consent(mut self, consent: Consent) -> Self {
        self.consent = consent;
        self
    }
}

pub(crate) fn workflow(stages: Vec<Stage>, budgets: &[(&str, u32)]) -> Workflow {
    Workflow {
        branch_prefix: None,
        at_once: None,
        name: name("flow"),
        description: String::new(),
        start: stages[0].name.clone(),
        stages,
        gates: Vec::new(),
        budgets: budgets.iter().map(|(budget, limit)| (name(budget), *limit)).collect(),
        variation: None,
        variables: BTreeMap::new(),
        conflict: None,
    }
}

pub(crate) fn varying(mut workflow: Workflow, values: &[&str], first: usize) -> Workflow {
    let values = values.iter().map(ToString::to_string).collect();
    workflow.variation = Some(Variation {
        variable: "category".to_owned(),
        values,
        first,
        guidance: std::collections::BTreeMap::new(),
    });
    workflow
}

pub(crate) fn seed() -> Seed {
    let wish = Wish::titled("a title");
    Seed {
        id: TaskId(1),
        wish,
        project: Project { name: "p".to_owned(), path: "/p".to_owned() },
        workflow: name("flow"),
        base: Base { branch: None, commit: "base".to_owned(), work: None },
        branch: "acquit/a-title-1".to_owned(),
        created: Timestamp(0),
    }
}

pub(crate) fn outcome(called: &str, summary: &str) -> Outcome {
    let payload = serde_json::json!({ "summary": summary });
    Outcome { name: name(called), payload, source: Source::HandoffFile }
}

pub(crate) fn failure(kind: &str) -> Failure {
    let message = format!("{kind} is red");
    Failure { gate: name("gate"), kind: name(kind), message, location: None, excerpt: None }
}

pub(crate) fn passed(called: &str) -> Ending {
    Ending::Passed { outcome: outcome(called, &format!("it is {called}")) }
}

pub(crate) fn rejected(called: &str, kinds: &[&str]) -> Ending {
    Ending::Rejected {
        outcome: outcome(called, ""),
        failures: kinds.iter().map(|kind| failure(kind)).collect(),
    }
}

pub(crate) fn failed(kind: &str) -> Ending {
    Ending::Failed { kind: name(kind), reason: "it broke".to_owned() }
}

/// A task on its way, with all that has changed about it.
pub(crate) struct Way {
    pub(crate) workflow: Workflow,
    pub(crate) task: Task,
    pub(crate) changes: Vec<Change>,
}

impl Way {
    /// A task that exists and has not begun.
    pub(crate) fn new(workflow: Workflow) -> Self {
        let created = Change::Created { seed: Box::new(seed()) };
        Self { workflow, task: Task::new(seed()), changes: vec![created] }
    }

    /// A task that has begun.
    pub(crate) fn begun(workflow: Workflow) -> Self {
        let mut way = Self::new(workflow);
        way.give(Input::Begin).unwrap();
        way
    }

    /// Lets something happen, and returns what changed.
    pub(crate) fn give(&mut self, input: Input) -> Result<Vec<Change>, Illegal> {
        let changes = decide_among(&self.task, &self.workflow, input, &mends)?;
        for change in &changes {
            self.task.apply(change);
        }
        self.changes.extend(changes.iter().cloned());
        Ok(changes)
    }

    /// Ends the current leg.
    pub(crate) fn end(&mut self, ending: Ending) -> Vec<Change> {
        let (leg, report) = (self.task.legs, Report::bare(ending));
        self.give(Input::LegEnded { leg, report: Box::new(report) }).unwrap()
    }

    /// Ends legs one after another.
    pub(crate) fn ends<const N: usize>(&mut self, endings: [Ending; N]) {
        for ending in endings {
            self.end(ending);
        }
    }

    pub(crate) fn answer(&mut self, answer: Answer) -> Result<Vec<Change>, Illegal> {
        let request = self.task.requests;
        self.give(Input::Answer { request, by: ann(), answer })
    }

    pub(crate) fn retry(&mut self, at: Option<&str>) -> Result<Vec<Change>, Illegal> {
        self.give(Input::Retry { by: ann(), stage: at.map(name), note: None })
    }

    /// What the current leg is to do.
    pub(crate) fn entry(&self) -> &Entry {
        match &self.task.state {
            State::Working { entry, .. } => entry,
            other => panic!("not working: {other:?}"),
        }
    }

    /// Stage and purpose of the current leg, in words.
    pub(crate) fn at(&self) -> String {
        let entry = self.entry();
        match &entry.purpose {
            Purpose::Work => entry.stage.to_string(),
            Purpose::Fix { of, .. } => format!("{} fixes {of}", entry.stage),
            Purpose::Merge => format!("{} merges", entry.stage),
            Purpose::Resolve { of, .. } => format!("{} resolves for {}", entry.stage, of.stage),
            Purpose::Recheck { outcome } => format!("{} rechecks {}", entry.stage, outcome.name),
        }
    }

    pub(crate) fn open(&self) -> &HumanRequest {
        match &self.task.state {
            State::Waiting { request } => request,
            other => panic!("not waiting: {other:?}"),
        }
    }

    pub(crate) fn ask(&self) -> &Ask {
        &self.open().ask
    }

    pub(crate) fn word(&self) -> &'static str {
        self.task.state.word()
    }

    pub(crate) fn spent(&self, budget: &str) -> u32 {
        self.task.spent.get(budget).copied().unwrap_or(0)
    }
}

pub(crate) fn approve() -> Answer {
    Answer::Approve
}

pub(crate) fn reject() -> Answer {
    Answer::Reject { reason: "no".to_owned() }
}

pub(crate) fn choose(option: &str) -> Answer {
    Answer::Choose { option: option.to_owned() }
}

pub(crate) fn say(text: &str) -> Answer {
    Answer::Text { text: text.to_owned() }
}

/// Another task, which mends half of all failures that there could be.
pub(crate) fn mends(fingerprint: &Fingerprint) -> Option<TaskId> {
    fingerprint.as_str().ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']).then_some(TaskId(999))
}
