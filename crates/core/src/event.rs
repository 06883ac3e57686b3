//! Events: the append-only history. Every change of a task is an event, and so is everything a leg reports about
//! itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::gate::Verdict;
use crate::ids::{Name, TaskId};
use crate::leg::Ending;
use crate::task::{Actor, End};
use crate::time::{Span, Timestamp};

pub use crate::level::Level;

/// The ten steps of a leg, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Take the leg from the queue.
    Claim,
    /// Create or reset the private clone.
    Workspace,
    /// Build the prompt.
    Context,
    /// Find the agent and the command that starts it.
    Agent,
    /// Run the agent and watch it.
    Run,
    /// Read the reported outcome.
    Outcome,
    /// Run the gates on the work.
    Gates,
    /// Collect the artifacts.
    Artifacts,
    /// End the leg, move the task and ready the next leg, in one transaction.
    Handoff,
    /// Become the harness of the next leg, or stop.
    PassOn,
}

impl Step {
    /// All steps in order, with their names.
    pub const ALL: [(&str, Self); 10] = [
        ("claim", Self::Claim),
        ("workspace", Self::Workspace),
        ("context", Self::Context),
        ("agent", Self::Agent),
        ("run", Self::Run),
        ("outcome", Self::Outcome),
        ("gates", Self::Gates),
        ("artifacts", Self::Artifacts),
        ("handoff", Self::Handoff),
        ("pass_on", Self::PassOn),
    ];

    /// Returns the step after this one; `None` after the last.
    pub fn next(self) -> Option<Self> {
        Self::ALL.iter().map(|(_, step)| *step).find(|step| *step > self)
    }

    /// Returns the name of the step.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, step)| *step == self).map_or("", |(name, _)| name)
    }
}

/// How a program ended. Stored and displayed as text: `exit 0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It ended in another way; a description.
    Other(String),
}

impl From<String> for Exit {
    fn from(words: String) -> Self {
        let code = words.strip_prefix("exit ").and_then(|code| code.parse().ok());
        // Accept a code only if it is written back the same way.
        code.map(Self::Code).filter(|exit| exit.to_string() == words).unwrap_or(Self::Other(words))
    }
}

impl From<Exit> for String {
    fn from(exit: Exit) -> Self {
        exit.to_string()
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    /// The task changed.
    Change {
        /// The change.
        change: Change,
    },
    /// A step of a leg completed.
    Step {
        /// The step.
        step: Step,
        /// Duration.
        took: Span,
    },
    /// The work of an attempt was saved before the workspace was reset.
    WorkSaved {
        /// Private ref that keeps it.
        reference: String,
        /// Commit id.
        commit: String,
    },
    /// The agent started.
    AgentStarted {
        /// Agent name in the configuration.
        agent: String,
        /// Adapter name.
        adapter: String,
        /// How reliably its processes can be ended; a description.
        containment: String,
    },
    /// The agent ended.
    AgentEnded {
        /// How it ended.
        exit: Exit,
        /// Run time.
        took: Span,
        /// Bytes of output.
        output: u64,
        /// Number of processes it left running. They were ended with it.
        #[serde(default)]
        left: u32,
        /// Number of output records per kind that its adapter does not know.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        unknown: BTreeMap<String, u64>,
    },
    /// A gate ran.
    Gate {
        /// Its verdict.
        verdict: Box<Verdict>,
    },
    /// Setup ran for work that changed its lock files, so it ran code that the agent chose.
    SetupAgain(SetupAgain),
    /// The agent reports progress. Its own words, which prove nothing.
    Progress {
        /// The report.
        text: String,
        /// The agent's estimate of completed work, in percent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
    },
    /// A stage sends a notification. The daemon delivers it.
    Notify {
        /// The message.
        text: String,
        /// Channel names; empty means all channels of the project.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<Name>,
    },
    /// Anything else worth knowing.
    Notice {
        /// Severity.
        level: Level,
        /// The message, for people. Programs act on `about`.
        text: String,
        /// What it is about, if programs can act on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<About>,
    },
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A program was refused a host.
    RefusedHost {
        /// Name of the program: a gate, `setup` or `agent`.
        program: String,
        /// Entry of `hosts` that would allow it.
        host: String,
    },
    /// Setup was stopped by its timeout.
    SetupTimedOut,
}

/// A setup that ran for changed lock files, and the hosts it connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupAgain {
    /// Lock files that differ from the base.
    pub changed: Vec<String>,
    /// Description of its network access.
    pub network: String,
    /// Hosts it reached.
    pub reached: Vec<String>,
    /// Hosts it was denied.
    pub refused: Vec<String>,
    /// Whether it ran earlier, for the same files in another task, and its result is reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
}

impl SetupAgain {
    /// Returns when and why it ran and where it connected to, as the rest of a sentence about setup.
    pub fn summary(&self) -> String {
        let when = if self.earlier { "ran earlier" } else { "ran" };
        format!("{when} for changed {}: {}", self.changed.join(", "), self.use_of_network())
    }

    /// Returns whether both describe the same setup, regardless of when it ran.
    pub fn is_same(&self, other: &Self) -> bool {
        Self { earlier: false, ..self.clone() } == Self { earlier: false, ..other.clone() }
    }

    /// Describes the network access and its use.
    fn use_of_network(&self) -> String {
        let hosts = |word: &str, hosts: &[String]| match hosts {
            [] => String::new(),
            hosts => format!("; {word} {}", hosts.join(", ")),
        };
        let reached = match &self.reached[..] {
            [] => "; reached no host".to_owned(),
            some => hosts("reached", some),
        };
        format!("network {}{reached}{}", self.network, hosts("was refused", &self.refused))
    }
}

/// An entry of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Sequence number, increasing over the whole store.
    pub seq: i64,
    /// Task of the event.
    pub task: TaskId,
    /// Leg of the event, if any.
    pub leg: Option<u32>,
    /// Time of the event.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// Content. In JSON it is `data`, next to `category`, `kind`, `level` and `summary`.
    #[serde(rename = "data", alias = "body")]
    pub body: Body,
}

impl Body {
    /// Creates a notice for people.
    pub fn notice(level: Level, text: impl Into<String>) -> Self {
        Self::Notice { level, text: text.into(), about: None }
    }

    /// Returns the part of the program it comes from: `task`, `leg`, `agent` or `gate`.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Change { change } if change.leg().is_none() => "task",
            Self::Change { .. }
            | Self::Step { .. }
            | Self::WorkSaved { .. }
            | Self::Notice { .. }
            | Self::Notify { .. }
            | Self::SetupAgain(_) => "leg",
            Self::AgentStarted { .. } | Self::AgentEnded { .. } | Self::Progress { .. } => "agent",
            Self::Gate { .. } => "gate",
        }
    }

    /// Returns the kind of event as one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Change { change } => change.kind(),
            Self::Step { .. } => "step",
            Self::WorkSaved { .. } => "work_saved",
            Self::AgentStarted { .. } => "agent_started",
            Self::AgentEnded { .. } => "agent_ended",
            Self::Gate { .. } => "gate_ended",
            Self::Progress { .. } => "progress",
            Self::SetupAgain(_) => "setup_again",
            Self::Notify { .. } => "notify",
            Self::Notice { .. } => "notice",
        }
    }

    /// Returns the severity.
    pub fn level(&self) -> Level {
        match self {
            Self::Step { .. } => Level::Debug,
            Self::Notice { level, .. } => *level,
            Self::Gate { verdict } if !verdict.passed => Level::Warning,
            Self::Change { change } => change_level(change),
            Self::WorkSaved { .. }
            | Self::AgentStarted { .. }
            | Self::AgentEnded { .. }
            | Self::Progress { .. }
            | Self::SetupAgain(_)
            | Self::Notify { .. }
            | Self::Gate { .. } => Level::Info,
        }
    }

    /// Describes the event in one sentence. Texts of agents in it are bounded but not escaped; the caller must escape
    /// them.
    pub fn summary(&self) -> String {
        match self {
            Self::Change { change } => change_summary(change),
            Self::Step { step, took } => format!("{} took {took}", step.name()),
            Self::WorkSaved { reference, .. } => format!("earlier work saved to {reference}"),
            Self::AgentStarted { agent, adapter, .. } => format!("agent {agent} started ({adapter})"),
            Self::AgentEnded { exit, took, left, .. } => match left {
                0 => format!("agent ended: {exit} after {took}"),
                1 => format!("agent ended: {exit} after {took}; it left a process running, which was ended"),
                left => format!(
                    "agent ended: {exit} after {took}; it left {left} processes running, which were ended"
                ),
            },
            Self::Gate { verdict } => {
                let word = if verdict.passed { "passed" } else { "failed" };
                format!("gate {} {word} ({}, {})", verdict.gate, verdict.ended, verdict.took)
            }
            Self::Progress { text, percent: None } => format!("agent: {text}"),
            Self::Progress { text, percent: Some(percent) } => format!("agent ({percent} %): {text}"),
            Self::SetupAgain(setup) => format!("setup {}", setup.summary()),
            Self::Notify { text, .. } => format!("message to people: {text}"),
            Self::Notice { text, .. } => text.clone(),
        }
    }
}

fn change_level(change: &Change) -> Level {
    match change {
        Change::LegEnded { report, .. } => match report.ending {
            Ending::Passed { .. } => Level::Info,
            Ending::Rejected { .. }
            | Ending::Conflict { .. }
            | Ending::Cancelled
            | Ending::Lost { .. }
            | Ending::Held { .. } => Level::Warning,
            Ending::Failed { .. } | Ending::TimedOut { .. } => Level::Error,
        },
        Change::Ended { end: End::Failed { .. } } => Level::Error,
        Change::RequestOpened { .. } | Change::CancelAsked { .. } => Level::Warning,
        Change::Created { .. }
        | Change::DefinitionUpdated { .. }
        | Change::LegReadied { .. }
        | Change::BudgetSpent { .. }
        | Change::BudgetsReset
        | Change::AllowanceRenewed
        | Change::VariationTried { .. }
        | Change::Blocked { .. }
        | Change::BranchNamed { .. }
        | Change::LabelsEdited { .. }
        | Change::RequestAnswered { .. }
        | Change::Remarked { .. }
        | Change::Ended { .. } => Level::Info,
    }
}

fn change_summary(change: &Change) -> String {
    match change {
        Change::Created { seed } => format!("created: {}", seed.wish.title),
        Change::DefinitionUpdated { difference, .. } => {
            let lines: Vec<String> = difference.iter().map(|line| format!("\n    {line}")).collect();
            format!("configuration updated:{}", lines.concat())
        }
        Change::LegReadied { leg, entry, .. } => format!("leg {leg} ready: {}", entry.stage),
        Change::LegEnded { leg, report } => match (&report.ending, report.ending.trouble()) {
            (Ending::Passed { outcome }, _) => format!("leg {leg} passed: {}", outcome.name),
            (_, trouble) => format!("leg {leg} {}", trouble.unwrap_or_default()),
        },
        Change::BudgetSpent { budget, spent, limit } => format!("budget {budget}: {spent} of {limit} spent"),
        Change::BudgetsReset => "budgets renewed".to_owned(),
        Change::BranchNamed { branch } => format!("the branch is called {branch}"),
        Change::LabelsEdited { labels } => format!("edited: {labels}"),
        Change::AllowanceRenewed => "limits on money and time renewed".to_owned(),
        Change::VariationTried { tried } => format!("{} led nowhere: {}", tried.value, tried.reason),
        Change::Blocked { root, .. } => format!("waits for {}, which mends the same failure", root.task),
        Change::RequestOpened { request } => format!("needs a person: {}", request.question),
        Change::RequestAnswered { by, .. } => format!("answered by {by}"),
        Change::Remarked { remark } => format!("{} said: {}", remark.by, remark.text),
        Change::CancelAsked { by } => format!("{by} asked to cancel"),
        Change::Ended { end } => match end {
            End::Done => "done".to_owned(),
            End::Failed { reason } => format!("failed: {reason}"),
            End::NoImprovement => "no improvement found".to_owned(),
            End::Cancelled { by } => format!("cancelled by {by}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_stored_in_the_words_that_it_always_had() {
        for (words, exit) in [
            ("exit 0", Exit::Code(0)),
            ("exit 101", Exit::Code(101)),
            ("exit 00", Exit::Other("exit 00".to_owned())),
            ("timed out after 10m", Exit::Other("timed out after 10m".to_owned())),
        ] {
            let stored = serde_json::to_string(words).unwrap();
            assert_eq!(serde_json::from_str::<Exit>(&stored).unwrap(), exit);
            assert_eq!(serde_json::to_string(&exit).unwrap(), stored);
        }
    }
}
