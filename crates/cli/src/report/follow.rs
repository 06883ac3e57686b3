//! Prints a task's events as they happen, as text or as lines of JSON.

use acquit_core::agent::{AgentEvent, Item, Usage};
use acquit_core::change::Change;
use acquit_core::event::{Body, Event, Exit, Level};
use acquit_core::leg::{Ending, Entry, Purpose};
use acquit_core::time::Span;

use super::status::Status;
use super::{Look, Printer, money, text};

/// Maximum width of a text shown in one line.
pub(super) const WIDTH: usize = 110;
/// Maximum width of acquit's own messages. Longer than usual, because the hint comes last.
const NOTICE: usize = 600;
/// Maximum number of lines of a tool result.
const FOLDED: usize = 3;
/// Maximum number of lines of a failure; the log has the rest.
pub(super) const FAILURE_LINES: usize = 8;

/// Where to print a task's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// To stdout: the command was asked for them.
    Asked,
    /// To stderr, separate from the command's result.
    Beside,
    /// The same, for a task that nobody can answer: its questions are left out.
    Rehearsal,
    /// To stderr, and only how far it is: the command's result has the rest.
    Progress,
}

/// Shown for a leg that no harness has claimed yet.
const WAITS: &str = "waits for a harness";

/// What a task's newest leg is doing.
pub enum Now {
    /// Running, with its usage so far.
    Runs(Usage),
    /// Waiting; can be claimed after this time.
    Waits(std::time::Duration),
    /// Ended.
    Between,
}

/// Prints events and agent output.
pub struct Follower {
    printer: Printer,
    story: Story,
    status: Status,
    /// Minimum level of events to show.
    level: Level,
    stage: String,
    doing: String,
    cost: Usage,
}

impl Follower {
    /// Creates a follower that shows events from `level` on.
    pub fn new(printer: Printer, level: Level, story: Story) -> Self {
        let status = Status::new(printer);
        Self {
            printer,
            story,
            status,
            level,
            stage: String::new(),
            doing: String::new(),
            cost: Usage::default(),
        }
    }

    /// Prints an event.
    pub fn event(&mut self, event: &Event) {
        if let Body::Change { change: Change::LegEnded { report, .. } } = &event.body {
            self.cost.add(&report.usage);
        }
        if event.body.level() < self.level {
            return;
        }
        if self.printer.json {
            return self.printer.json_line(&with_summary(event));
        }
        // Events of a leg other than its changes come from its harness.
        if self.doing == WAITS && !matches!(event.body, Body::Change { .. }) {
            self.doing.clear();
        }
        let lines = match &event.body {
            Body::Change { change } if self.story == Story::Progress => {
                self.change(change);
                (self.stage, self.doing) = ("judging".to_owned(), String::new());
                Vec::new()
            }
            Body::Gate { verdict } if self.story == Story::Progress => vec![self.progress(verdict)],
            Body::Change { change } => self.change(change),
            Body::Gate { verdict } => self.printer.gate(verdict),
            Body::AgentStarted { agent, .. } => {
                self.doing = format!("agent {agent}");
                vec![self.faint(&format!("agent {agent} works"))]
            }
            Body::AgentEnded { exit: Exit::Code(0), left: 0, .. } => {
                // Gates and git are next.
                self.doing.clear();
                Vec::new()
            }
            Body::Progress { text, .. } => {
                self.doing = text::line(text, self.room());
                let words = text::line(&event.body.summary(), self.room());
                vec![self.faint(&format!("│ {words}"))]
            }
            Body::AgentEnded { .. } | Body::Step { .. } | Body::WorkSaved { .. } => {
                vec![self.faint(&event.body.summary())]
            }
            Body::SetupAgain(_) | Body::Notify { .. } => {
                let words = text::line(&event.body.summary(), NOTICE);
                vec![format!("  {}", self.printer.paint(Look::Notable, &words))]
            }
            Body::Notice { level, text, .. } => {
                let look = if *level >= Level::Warning { Look::Notable } else { Look::Faint };
                vec![format!("  {}", self.printer.paint(look, &text::line(text, NOTICE)))]
            }
        };
        self.lines(&lines);
    }

    /// Returns how a gate ended, without its evidence.
    fn progress(&self, verdict: &acquit_core::gate::Verdict) -> String {
        let ended = if verdict.passed { "done" } else { "found something" };
        let took = if verdict.reused.is_some() { "cached".to_owned() } else { verdict.took.to_string() };
        self.faint(&format!("{}: {ended} · {took}", verdict.gate))
    }

    /// Prints an item of an agent's output.
    pub fn item(&mut self, item: &Item) {
        if self.printer.json {
            return;
        }
        let shown = match &item.said {
            AgentEvent::Text { text } | AgentEvent::Raw { text } => text::line(text, self.room()),
            AgentEvent::ToolUse { name, input } => {
                self.doing = text::line(&format!("{name} {input}"), self.room());
                format!("→ {}", self.doing)
            }
            AgentEvent::Limit { text, .. } => text::line(&format!("usage limit: {text}"), self.room()),
            AgentEvent::Denied { tool, text } => {
                text::line(&format!("{tool} was refused: {text}"), self.room())
            }
            AgentEvent::Fault { text, .. } => text::line(&format!("trouble: {text}"), self.room()),
            AgentEvent::ToolResult { ok, text } if self.story == Story::Asked => {
                return self.result(*ok, text);
            }
            AgentEvent::Thinking { text } if self.story == Story::Asked && self.level == Level::Debug => {
                text::line(&format!("thinks: {text}"), self.room())
            }
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Session { .. }
            | AgentEvent::Report { .. }
            | AgentEvent::Unknown { .. }
            | AgentEvent::End { .. } => return,
        };
        if !shown.is_empty() {
            let line = self.faint(&format!("│ {shown}"));
            self.lines(&[line]);
        }
    }

    /// Prints a tool result: its first lines, or all of it at debug level.
    fn result(&mut self, ok: bool, text: &str) {
        let all: Vec<&str> = text.trim_end().lines().collect();
        let shown = if self.level == Level::Debug { all.len() } else { FOLDED };
        let mark = if ok { "⎿" } else { "⎿ failed:" };
        let mut lines = Vec::new();
        for (index, line) in all.iter().take(shown).enumerate() {
            let front = if index == 0 { mark } else { " " };
            lines.push(
                self.faint(&format!("│   {front} {}", text::line(line, self.room().saturating_sub(6)))),
            );
        }
        if all.is_empty() && !ok {
            lines.push(self.faint(&format!("│   {mark}")));
        }
        if all.len() > shown {
            lines.push(self.faint(&format!("│     … {} more lines (--all)", all.len() - shown)));
        }
        self.lines(&lines);
    }

    /// Returns the width left for text in a line.
    fn room(&self) -> usize {
        self.printer.width().saturating_sub(8).clamp(15, WIDTH)
    }

    /// Prints a line between the events.
    pub fn say(&mut self, text: &str) {
        self.lines(&[text.to_owned()]);
    }

    /// Updates the status line.
    pub fn tick(&mut self, now: &Now) {
        let mut cost = self.cost.clone();
        let mut doing = self.doing.clone();
        match now {
            Now::Runs(usage) => cost.add(usage),
            // Don't show waits that are too short to read.
            Now::Waits(left) if left.as_secs() > 0 => {
                let left = Span::secs(left.as_secs());
                doing = format!("goes on in {left}");
            }
            Now::Waits(_) | Now::Between => {}
        }
        let cost = money::usage_cost(&cost);
        let parts = [self.stage.as_str(), doing.as_str(), cost.as_str()];
        let what: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.status.show(&what.join(" · "));
    }

    fn change(&mut self, change: &Change) -> Vec<String> {
        match change {
            Change::LegReadied { leg, entry, delay } => {
                self.stage = entry.stage.to_string();
                self.doing = WAITS.to_owned();
                self.status.restart();
                let mut head = format!(
                    "{} {}",
                    self.printer.paint(Look::Strong, &heading(entry)),
                    self.dim(&format!("leg {leg}"))
                );
                if u64::from(*delay) > 0 {
                    head.push_str(&self.dim(&format!(" in {delay}")));
                }
                vec![format!("● {head}")]
            }
            Change::LegEnded { report, .. } => self.ending(&report.ending, &report.usage),
            Change::BudgetSpent { budget, spent, limit } => {
                vec![self.faint(&format!("{budget}: {spent} of {limit} tries spent"))]
            }
            Change::RequestOpened { .. } if self.story == Story::Rehearsal => Vec::new(),
            Change::RequestOpened { request } => {
                vec![format!(
                    "{} {}",
                    self.printer.paint(Look::Notable, "? needs a person:"),
                    text::visible(&request.question)
                )]
            }
            Change::Created { .. } | Change::Ended { .. } => Vec::new(),
            Change::DefinitionUpdated { difference, .. } => {
                let head = self.printer.paint(Look::Notable, "configuration updated");
                let lines = difference.iter().map(|line| self.faint(&text::line(line, self.room())));
                std::iter::once(format!("  {head}")).chain(lines).collect()
            }
            Change::BudgetsReset
            | Change::AllowanceRenewed
            | Change::VariationTried { .. }
            | Change::Blocked { .. }
            | Change::BranchNamed { .. }
            | Change::LabelsEdited { .. }
            | Change::RequestAnswered { .. }
            | Change::Remarked { .. }
            | Change::CancelAsked { .. } => {
                let body = Body::Change { change: change.clone() };
                vec![format!(
                    "  {}",
                    self.printer.paint(Look::Notable, &text::line(&body.summary(), self.room()))
                )]
            }
        }
    }

    fn ending(&self, ending: &Ending, usage: &Usage) -> Vec<String> {
        let cost = self.dim(&money::usage_cost(usage));
        match ending {
            Ending::Passed { outcome } => {
                let summary = outcome
                    .summary()
                    .map(|text| format!(": {}", text::line(&text, self.room())))
                    .unwrap_or_default();
                vec![
                    format!("  {} {}{summary} {cost}", self.printer.paint(Look::Good, "✓"), outcome.name)
                        .trim_end()
                        .to_owned(),
                ]
            }
            Ending::Rejected { .. }
            | Ending::Failed { .. }
            | Ending::TimedOut { .. }
            | Ending::Cancelled
            | Ending::Lost { .. }
            | Ending::Conflict { .. }
            | Ending::Held { .. } => {
                let trouble = ending.trouble().unwrap_or_default();
                let mut lines = trouble.lines();
                let first = text::line(lines.next().unwrap_or_default(), self.room());
                let head =
                    format!("  {} {first} {cost}", self.printer.paint(Look::Bad, "✗")).trim_end().to_owned();
                let rest = lines
                    .take(FAILURE_LINES)
                    .map(|line| self.faint(&format!("  {}", text::line(line, self.room()))));
                std::iter::once(head).chain(rest).collect()
            }
        }
    }

    fn lines(&mut self, lines: &[String]) {
        self.status.clear();
        for line in lines {
            match self.story {
                Story::Asked => self.printer.data(line),
                Story::Beside | Story::Rehearsal | Story::Progress => self.printer.say(line),
            }
        }
    }

    fn faint(&self, text: &str) -> String {
        self.printer.paint(Look::Faint, &format!("  {}", text::visible(text)))
    }

    fn dim(&self, text: &str) -> String {
        self.printer.paint(Look::Faint, text)
    }
}

/// Describes a leg in a few words.
pub fn heading(entry: &Entry) -> String {
    match &entry.purpose {
        Purpose::Work => entry.stage.to_string(),
        Purpose::Fix { of, failures, .. } => {
            let gates: Vec<&str> = failures.iter().map(|failure| failure.gate.as_str()).collect();
            format!("{} (for {of}: {})", entry.stage, gates.join(", "))
        }
        Purpose::Recheck { .. } => format!("{} (gates again)", entry.stage),
        Purpose::Merge => format!("{} (merge)", entry.stage),
        Purpose::Resolve { of, .. } => format!("{} (a conflict before {})", entry.stage, of.stage),
    }
}
/// Adds fields to an event that can be used without knowing its kind.
fn with_summary(event: &Event) -> serde_json::Value {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    value["category"] = event.body.category().into();
    value["kind"] = event.body.kind().into();
    value["level"] = serde_json::to_value(event.body.level()).unwrap_or_default();
    value["summary"] = event.body.summary().into();
    value
}
