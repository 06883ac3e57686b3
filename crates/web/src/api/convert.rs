//! Converts results of use cases to types of the API.

use acquit_core::agent::{AgentEvent, Item};
use acquit_core::artifact as core_artifact;
use acquit_core::event as core_event;
use acquit_core::gate as core_gate;
use acquit_core::human_request::{Ask, HumanRequest, Kind};
use acquit_core::leg as core_leg;
use acquit_core::task as core_task;

use super::types::{
    Artifact, Choice, Event, Finding, Gate, InboxItem, Leg, Line, Moment, Project, Question, Remark, Request,
    Task, TaskSummary,
};
use crate::words;

fn lower(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

impl From<&core_task::Summary> for TaskSummary {
    fn from(task: &core_task::Summary) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title.clone(),
            project: task.project.clone(),
            workflow: task.workflow.to_string(),
            state: task.state.clone(),
            stage: task.stage.as_ref().map(ToString::to_string),
            priority: task.priority,
            legs: task.legs,
            cost_micros: task.cost_micros,
            created: task.created.into(),
            updated: task.updated.into(),
        }
    }
}

impl From<&core_task::Project> for Project {
    fn from(project: &core_task::Project) -> Self {
        Self { name: project.name.clone(), path: project.path.clone() }
    }
}

impl Request {
    /// Converts a request of a task.
    pub fn of(task: &core_task::Task, request: &HumanRequest) -> Self {
        let (kind, options) = match &request.ask {
            Ask::Question { .. } => ("question", Vec::new()),
            Ask::Choice { options } => ("choice", options.iter().map(ToString::to_string).collect()),
            Ask::Approval { .. } => ("approval", Vec::new()),
            Ask::Stage { outcomes } => ("stage", outcomes.iter().map(ToString::to_string).collect()),
            Ask::Budget { .. } => ("budget", Vec::new()),
            Ask::Stuck => ("stuck", Vec::new()),
        };
        let questions = match &request.ask {
            Ask::Question { questions } => questions.as_slice(),
            _ => &[],
        };
        let name =
            |kind: Kind| Kind::ALL.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name);
        let question = |one: &acquit_core::human_request::Question| Question {
            question: one.question.clone(),
            kind: name(one.kind).to_owned(),
            options: one
                .options
                .iter()
                .map(|option| Choice { name: option.name.clone(), trade_offs: option.trade_offs.clone() })
                .collect(),
            recommended: one.recommended.clone(),
            context: one.context.clone(),
        };
        Self {
            number: request.number,
            kind: kind.to_owned(),
            stage: request.stage.to_string(),
            question: request.question.clone(),
            questions: questions.iter().map(question).collect(),
            options,
            commit: task.tip.clone(),
            resume: request.resume.stage.to_string(),
        }
    }
}

impl InboxItem {
    /// Converts a task with an open request; `None` without one.
    pub fn of(task: &core_task::Task) -> Option<Self> {
        let core_task::State::Waiting { request } = &task.state else { return None };
        Some(Self {
            task: task.id().to_string(),
            title: task.seed.wish.title.clone(),
            project: (&task.seed.project).into(),
            workflow: task.seed.workflow.to_string(),
            request: Request::of(task, request),
        })
    }
}

impl Task {
    /// Converts a task with its legs and verdicts.
    pub fn new(details: &acquit_app::tasks::Details) -> Self {
        let task = &details.task;
        let (seed, wish) = (&task.seed, &task.seed.wish);
        let mut usage = acquit_core::agent::Usage::default();
        details.legs.iter().for_each(|leg| usage.add(&leg.usage));
        let (request, reason) = match &task.state {
            core_task::State::Waiting { request } => (Some(Request::of(task, request)), None),
            core_task::State::Ended { end: core_task::End::Failed { reason } } => {
                (None, Some(reason.clone()))
            }
            core_task::State::Ended { end: core_task::End::Cancelled { by } } => {
                (None, Some(format!("cancelled by {by}")))
            }
            core_task::State::Blocked { root, .. } => {
                (None, Some(format!("{} mends the same failure", root.task)))
            }
            _ => (None, None),
        };
        Self {
            id: task.id().to_string(),
            title: wish.title.clone(),
            description: wish.description.clone(),
            project: (&seed.project).into(),
            workflow: seed.workflow.to_string(),
            state: details.state.to_owned(),
            reason,
            stage: task.state.stage().map(ToString::to_string),
            request,
            fallback: task.fallback(),
            priority: wish.priority,
            tags: wish.tags.clone(),
            size: wish.size.clone(),
            complexity: wish.complexity.clone(),
            metadata: wish.metadata.clone(),
            branch: seed.branch.clone(),
            base_branch: seed.base.branch.clone(),
            base: task.base().to_owned(),
            tip: task.tip.clone(),
            spent: task.spent.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
            artifacts: artifacts(task),
            conversation: task.conversation.iter().map(Remark::from).collect(),
            legs: details.legs.iter().map(|leg| Leg::of(task, leg)).collect(),
            gates: details.gates.iter().map(Gate::from).collect(),
            cost_micros: usage.paid(),
            created: seed.created.into(),
            version: task.version,
            notices: Vec::new(),
        }
    }
}

impl From<&core_task::Remark> for Remark {
    fn from(remark: &core_task::Remark) -> Self {
        Self {
            by: remark.by.to_string(),
            question: remark.question.clone(),
            text: remark.text.clone(),
            at_forge: remark.origin.is_some(),
        }
    }
}

impl Leg {
    fn of(task: &core_task::Task, leg: &core_leg::Leg) -> Self {
        let past = task.past.iter().find(|past| past.number == leg.id.number);
        let outcome = past.and_then(|past| match &past.ending {
            core_leg::Ending::Passed { outcome } | core_leg::Ending::Rejected { outcome, .. } => {
                Some(outcome.name.to_string())
            }
            _ => None,
        });
        let purpose = match leg.entry.purpose {
            core_leg::Purpose::Work => "work",
            core_leg::Purpose::Fix { .. } => "fix",
            core_leg::Purpose::Recheck { .. } => "recheck",
            core_leg::Purpose::Merge => "merge",
            core_leg::Purpose::Resolve { .. } => "resolve",
        };
        Self {
            number: leg.id.number,
            stage: leg.entry.stage.to_string(),
            purpose: purpose.to_owned(),
            state: leg.state.name().to_owned(),
            outcome,
            trouble: past.and_then(|past| past.ending.trouble()),
            not_before: leg.not_before.into(),
            started: leg.started.map(Moment::from),
            ended: leg.ended.map(Moment::from),
            model: leg.usage.model.clone(),
            tokens: leg.usage.tokens(),
            cost_micros: leg.usage.paid(),
        }
    }
}

impl From<&core_gate::Verdict> for Gate {
    fn from(verdict: &core_gate::Verdict) -> Self {
        let finding = |finding: &core_gate::Finding| Finding {
            weight: lower(finding.weight),
            rule: finding.rule.clone(),
            message: finding.message.clone(),
            location: finding.location.as_ref().map(|place| format!("{}:{}", place.path, place.line)),
        };
        let figures = verdict.evidence.figures.iter();
        Self {
            gate: verdict.gate.to_string(),
            passed: verdict.passed,
            severity: lower(verdict.severity),
            command: verdict.command.clone(),
            ended: verdict.ended.clone(),
            took_ms: u64::try_from(verdict.took.duration().as_millis()).unwrap_or(u64::MAX),
            failure: verdict.failure.as_ref().map(|failure| failure.message.clone()),
            figures: figures.map(|figure| (figure.what.clone(), figure.value.clone())).collect(),
            findings: verdict.evidence.findings.iter().map(finding).collect(),
            red_to_green: verdict.evidence.red.clone(),
        }
    }
}

/// Converts the artifacts of a task.
pub fn artifacts(task: &core_task::Task) -> Vec<Artifact> {
    use core_artifact::Artifact as Core;
    let one = |(index, artifact): (usize, &Core)| {
        let (kind, name, about, url) = match artifact {
            Core::Plan { text } => ("plan", "plan".to_owned(), words::line(text, 200), None),
            Core::Branch { name, commit, published } => {
                let place = if *published { "in the repository" } else { "in the workspace" };
                ("branch", name.clone(), format!("{commit}, {place}"), None)
            }
            Core::Merged { branch, commit } => ("merged", branch.clone(), commit.clone(), None),
            Core::Commits { leg, commits } => {
                ("commits", format!("leg {leg}"), crate::words::count(commits.len(), "commit"), None)
            }
            Core::Diff(stats) => {
                let about = format!("{} files, +{} -{}", stats.files, stats.insertions, stats.deletions);
                ("diff", "diff".to_owned(), about, None)
            }
            Core::File { stage, name, bytes, .. } => {
                ("file", name.clone(), format!("{bytes} bytes, stage {stage}"), None)
            }
            Core::Report { stage, gate, passed, .. } => {
                let word = if *passed { "passed" } else { "failed" };
                ("report", gate.to_string(), format!("{word}, stage {stage}"), None)
            }
            Core::Pushed { remote, branch, .. } => ("pushed", branch.clone(), remote.clone(), None),
            Core::PullRequest(request) => {
                let name = format!("#{}", request.number);
                ("pull_request", name, request.commit.clone(), Some(request.url.clone()))
            }
        };
        let readable = matches!(artifact, Core::Plan { .. } | Core::File { .. } | Core::Report { .. });
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Artifact { index, kind: kind.to_owned(), name, about, url, readable }
    };
    task.artifacts.iter().enumerate().map(one).collect()
}

impl From<&core_event::Event> for Event {
    fn from(event: &core_event::Event) -> Self {
        Self {
            seq: event.seq,
            task: event.task.to_string(),
            leg: event.leg,
            at: event.at.into(),
            actor: event.actor.to_string(),
            category: event.body.category().to_owned(),
            kind: event.body.kind().to_owned(),
            level: lower(event.body.level()),
            summary: event.body.summary(),
        }
    }
}

impl Line {
    /// Converts an item; `None` for figures that are reported elsewhere.
    pub fn of(item: &Item) -> Option<Self> {
        let (kind, name, ok, text) = match &item.said {
            AgentEvent::Text { text } => ("text", None, None, text.clone()),
            AgentEvent::Thinking { text } => ("thinking", None, None, text.clone()),
            AgentEvent::ToolUse { name, input } => ("tool_use", Some(name.clone()), None, input.clone()),
            AgentEvent::ToolResult { ok, text } => ("tool_result", None, Some(*ok), text.clone()),
            AgentEvent::Limit { text, .. } => ("limit", None, None, text.clone()),
            AgentEvent::End { ok, text } => ("end", None, Some(*ok), text.clone()),
            AgentEvent::Denied { tool, text } => ("denied", Some(tool.clone()), Some(false), text.clone()),
            AgentEvent::Fault { text, .. } => ("fault", None, Some(false), text.clone()),
            AgentEvent::Report { value } => ("report", None, None, value.to_string()),
            AgentEvent::Raw { text } => ("raw", None, None, text.clone()),
            AgentEvent::Usage(_) | AgentEvent::Session { .. } | AgentEvent::Unknown { .. } => return None,
        };
        Some(Self { offset: item.offset, kind: kind.to_owned(), name, ok, text })
    }
}
