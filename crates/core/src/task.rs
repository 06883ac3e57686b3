//! A task: the request, its current state and its history. Tasks are folded from changes, see [`Task::apply`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Usage;
use crate::artifact::{Artifact, Requested};
use crate::candidate;
use crate::failure::kind;
use crate::fingerprint::Fingerprint;
use crate::human_request::HumanRequest;
use crate::ids::{LegId, Name, TaskId};
use crate::leg::{Ending, Entry, Past};
use crate::sandbox::Mode;
use crate::time::Timestamp;
use crate::workflow::{Stage, Workflow};

/// The request behind a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// One-line title.
    pub title: String,
    /// Full description. Untrusted: it may come from an issue tracker.
    pub description: String,
    /// Tasks with a higher priority are claimed first.
    pub priority: i32,
    /// The author's estimate of the size.
    pub size: Option<String>,
    /// The author's estimate of the complexity.
    pub complexity: Option<String>,
    /// Tags for filtering.
    pub tags: Vec<String>,
    /// Template variables. They override those of the workflow and the project.
    pub variables: BTreeMap<String, String>,
    /// Free-form data for tools around acquit.
    pub metadata: BTreeMap<String, String>,
}

/// Key of the ticket in [`Wish::metadata`].
pub const TICKET: &str = "ticket";

impl Wish {
    /// Creates a request that has only a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: String::new(),
            priority: 0,
            size: None,
            complexity: None,
            tags: Vec::new(),
            variables: BTreeMap::new(),
            metadata: BTreeMap::new(),
        }
    }
}

/// The properties of a task from its creation. Only the labels of its request change later: [`crate::labels`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// Task id.
    pub id: TaskId,
    /// The request.
    pub wish: Wish,
    /// Repository the task works on.
    pub project: Project,
    /// Workflow name. The workflow itself is pinned in the definition.
    pub workflow: Name,
    /// Commit the task starts from.
    pub base: Base,
    /// Branch the task works on.
    pub branch: String,
    /// Creation time.
    pub created: Timestamp,
}

/// A git repository known to acquit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Short name for listings.
    pub name: String,
    /// Path of the repository.
    pub path: String,
}

/// The commit a task starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Branch whose tip the commit was, if any.
    pub branch: Option<String>,
    /// Commit id.
    pub commit: String,
    /// Commit with work on top of the base that exists before the task starts, such as a pull request to review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// A task with its state and history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Properties from its creation.
    pub seed: Seed,
    /// Current state.
    pub state: State,
    /// Commit the next leg starts from: the base, or the result of the last leg that counted.
    pub tip: String,
    /// Base-branch commit the work is based on, if it is no longer the original one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// Base-branch commit on which the gates last accepted the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<String>,
    /// Spent amount of each budget.
    pub spent: BTreeMap<Name, u32>,
    /// Variation values that were tried without success.
    pub tried: Vec<Tried>,
    /// Finished legs, oldest first.
    pub past: Vec<Past>,
    /// Artifacts that legs produced.
    pub artifacts: Vec<Artifact>,
    /// Notes that legs left for later legs.
    pub learnings: Vec<String>,
    /// Remarks of people, oldest first.
    pub conversation: Vec<Remark>,
    /// Number of remarks from before the last leg ended. The later ones resumed the task.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub heard: usize,
    /// Number of the newest leg; 0 before the first.
    pub legs: u32,
    /// Number of the newest human request; 0 before the first.
    pub requests: u32,
    /// Failures this task is fixing. Other tasks of the project that hit one of them wait until this task ends.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roots: BTreeSet<Fingerprint>,
    /// Number of entries of `past` from before a person last renewed the limits. Their cost no longer counts.
    #[serde(default)]
    pub paid_for: usize,
    /// Number of transactions that changed the task. The store rejects a write that expects another version.
    pub version: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The current state of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum State {
    /// Just created; nothing is decided yet. Never stored in this state.
    New,
    /// A leg is ready or running.
    Working {
        /// Leg number.
        leg: u32,
        /// Work of the leg.
        entry: Entry,
        /// Who asked to cancel the task, if anyone.
        cancel: Option<Actor>,
    },
    /// Waits for a person to answer.
    Waiting {
        /// The open question or approval.
        request: HumanRequest,
    },
    /// Waits for another task that is fixing the same failure.
    Blocked {
        /// The other task and the failure.
        root: Root,
        /// Work to resume when the other task ends.
        resume: Entry,
    },
    /// Finished.
    Ended {
        /// Result of the task.
        end: End,
    },
}

/// A failure that another task is fixing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The task that fixes it. It is never blocked itself, so tasks cannot wait in a cycle.
    pub task: TaskId,
    /// Fingerprint of the failure.
    pub fingerprint: Fingerprint,
}

/// The result of a finished task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum End {
    /// The workflow completed.
    Done,
    /// The workflow ended in failure.
    Failed {
        /// Reason for the failure.
        reason: String,
    },
    /// Every value of the variation was tried without success.
    NoImprovement,
    /// A person cancelled the task.
    Cancelled {
        /// Who cancelled it.
        by: Actor,
    },
}

/// Start of the stored reason of a task that a person's rejection ended.
const REJECTED: &str = "rejected: ";

impl End {
    /// Creates the end of a task that a person rejected.
    pub fn rejected(reason: &str) -> Self {
        Self::Failed { reason: format!("{REJECTED}{reason}") }
    }

    /// Returns whether a person's rejection ended the task.
    pub fn is_rejection(&self) -> bool {
        matches!(self, Self::Failed { reason } if reason.starts_with(REJECTED))
    }
}

/// A variation value that was tried without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The value.
    pub value: String,
    /// Why it did not succeed.
    pub reason: String,
    /// Kind of the failure that ended it. `None` if the stage reported that there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Name>,
    /// Number of values that were left to try.
    #[serde(default)]
    pub left: usize,
    /// The next value to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of the last leg that worked on this value.
    #[serde(default)]
    pub last_leg: u32,
}

impl Tried {
    /// Returns whether the agent or acquit itself broke, so that the attempt says nothing about the value.
    pub fn is_broken(&self) -> bool {
        self.failure.as_ref().is_some_and(|kind| kind::is_breakdown(kind.as_str()))
    }
}

/// The review comment a remark comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Comment id.
    pub id: String,
    /// Thread to reply to.
    pub thread: Option<String>,
}

/// Something a person said about the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Author.
    pub by: Actor,
    /// The question it answers, if any.
    pub question: Option<String>,
    /// The text.
    pub text: String,
    /// Review comment it comes from, if it was written at a forge. Such text is untrusted: it is not the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "name", rename_all = "snake_case")]
pub enum Actor {
    /// The harness of a leg.
    Harness(LegId),
    /// The supervisor, which detects dead harnesses.
    Supervisor,
    /// A person, by their system user name.
    Person(String),
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Harness(leg) => write!(f, "harness {leg}"),
            Self::Supervisor => f.pad("supervisor"),
            Self::Person(name) => f.pad(name),
        }
    }
}

impl State {
    /// Returns the state as one word for listings.
    pub fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Working { cancel: None, .. } => "working",
            Self::Working { cancel: Some(_), .. } => "cancelling",
            Self::Waiting { request } if request.is_irreversible() => "blocked",
            Self::Waiting { .. } => "waiting",
            Self::Blocked { .. } => "blocked",
            Self::Ended { end } => match end {
                End::Done => "done",
                End::Failed { .. } => "failed",
                End::NoImprovement => "no_improvement",
                End::Cancelled { .. } => "cancelled",
            },
        }
    }

    /// Returns the state as one word, of a task that no harness works on at present: it is ready.
    pub fn idle_word(&self) -> &'static str {
        match self {
            Self::Working { cancel: None, .. } => "ready",
            other => other.word(),
        }
    }

    /// Returns the current stage, if there is one.
    pub fn stage(&self) -> Option<&Name> {
        match self {
            Self::Working { entry, .. } => Some(&entry.stage),
            Self::Waiting { request } => Some(&request.stage),
            Self::Blocked { resume, .. } => Some(&resume.stage),
            Self::New | Self::Ended { .. } => None,
        }
    }
}

impl Task {
    /// Creates a task without history.
    pub fn new(seed: Seed) -> Self {
        Self {
            tip: seed.base.work.as_ref().unwrap_or(&seed.base.commit).clone(),
            seed,
            state: State::New,
            onto: None,
            proven: None,
            spent: BTreeMap::new(),
            tried: Vec::new(),
            past: Vec::new(),
            artifacts: Vec::new(),
            learnings: Vec::new(),
            conversation: Vec::new(),
            heard: 0,
            legs: 0,
            requests: 0,
            roots: BTreeSet::new(),
            paid_for: 0,
            version: 0,
        }
    }

    /// Returns the task id.
    pub fn id(&self) -> TaskId {
        self.seed.id
    }

    /// Returns the base-branch commit the work is based on.
    pub fn base(&self) -> &str {
        self.onto.as_deref().unwrap_or(&self.seed.base.commit)
    }

    /// Returns whether the task requires approval for everything: it is tagged `irreversible` or `approval`.
    pub fn is_bound(&self) -> bool {
        self.seed.wish.tags.iter().any(|tag| tag == "irreversible" || tag == "approval")
    }

    /// Returns the last stage whose gates accepted the work. Skips review stages: an agent's findings are not a
    /// property of the work, so they cannot be checked again.
    pub fn last_gated<'w>(&self, workflow: &'w Workflow) -> Option<&'w Stage> {
        let passed = |past: &&Past| matches!(past.ending, Ending::Passed { .. });
        let stage = |past: &Past| workflow.stage(past.entry.stage.as_str());
        let repeats =
            |name: &Name| workflow.gate(name.as_str()).is_none_or(|gate| gate.check.sets_outcome().is_none());
        let gated = |stage: &&Stage| stage.gates.iter().any(repeats);
        self.past.iter().rev().filter(passed).filter_map(stage).find(gated)
    }

    /// Returns the plan, if a stage wrote one.
    pub fn plan(&self) -> Option<&str> {
        self.artifacts.iter().find_map(|artifact| match artifact {
            Artifact::Plan { text } => Some(text.as_str()),
            Artifact::Branch { .. }
            | Artifact::Merged { .. }
            | Artifact::Commits { .. }
            | Artifact::Diff(_)
            | Artifact::File { .. }
            | Artifact::Report { .. }
            | Artifact::Pushed { .. }
            | Artifact::PullRequest(_) => None,
        })
    }

    /// Returns whether the task recorded that its work was merged as `commit`.
    pub fn was_merged_as(&self, commit: &str) -> bool {
        self.artifacts
            .iter()
            .any(|artifact| matches!(artifact, Artifact::Merged { commit: known, .. } if known == commit))
    }

    /// Returns the pull request, if one was opened.
    pub fn request(&self) -> Option<&Requested> {
        self.artifacts.iter().find_map(|artifact| match artifact {
            Artifact::PullRequest(request) => Some(request),
            Artifact::Plan { .. }
            | Artifact::Branch { .. }
            | Artifact::Commits { .. }
            | Artifact::Diff(_)
            | Artifact::File { .. }
            | Artifact::Report { .. }
            | Artifact::Merged { .. }
            | Artifact::Pushed { .. } => None,
        })
    }

    /// Returns the legs that contributed to the work, oldest first. Omits legs for abandoned variation values.
    pub fn legs_of_work(&self) -> impl DoubleEndedIterator<Item = &Past> {
        let abandoned = self.tried.last().map_or(0, |tried| tried.last_leg);
        self.past.iter().filter(move |past| past.number > abandoned)
    }

    /// Returns the current variation value if it is not the first one, as `refactoring (fallback from tests)`.
    pub fn fallback(&self) -> Option<String> {
        let (first, last) = (self.tried.first()?, self.tried.last()?);
        last.next.as_ref().map(|value| format!("{value} (fallback from {})", first.value))
    }

    /// Returns the agents' own summaries: the newest of each stage, without those of abandoned attempts.
    pub fn account(&self) -> Vec<String> {
        let stage = |words: &str| words.split(": ").next().unwrap_or_default().to_owned();
        let mut newest: Vec<String> = Vec::new();
        for words in &self.learnings {
            newest.retain(|older| stage(older) != stage(words));
            newest.push(words.clone());
        }
        newest
    }

    /// Returns the title of the work: the newest title or chosen candidate that a leg reported, else the title of the
    /// request.
    pub fn headline(&self) -> &str {
        let described = self.legs_of_work().rev().find_map(|past| {
            let payload = &past.ending.passed()?.payload;
            payload.get("title").and_then(Value::as_str).or_else(|| candidate::chosen(payload))
        });
        described.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(&self.seed.wish.title)
    }

    /// Returns the cost of finished legs that still counts against limits, restricted to legs that match `counts`.
    pub fn spent_money(&self, counts: impl Fn(&Past) -> bool) -> u64 {
        let since = self.past.iter().skip(self.paid_for).filter(|past| counts(past));
        since.filter_map(|past| past.usage.paid()).fold(0, u64::saturating_add)
    }

    /// Returns the total usage of all finished legs.
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for past in &self.past {
            total.add(&past.usage);
        }
        total
    }
}

/// A task as one row of a listing. It is updated with the task, so that listing costs the same at any age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Task id.
    pub id: TaskId,
    /// Title of the request.
    pub title: String,
    /// Short name of the repository.
    pub project: String,
    /// Workflow name.
    pub workflow: Name,
    /// [`State::word`].
    pub state: String,
    /// Current stage.
    pub stage: Option<Name>,
    /// Tasks with a higher priority are claimed first.
    pub priority: i32,
    /// Number of legs so far.
    pub legs: u32,
    /// Cost of the finished legs, if known.
    pub cost_micros: Option<u64>,
    /// Creation time.
    pub created: Timestamp,
    /// Time of the last change.
    pub updated: Timestamp,
    /// Sandbox mode of the task's programs.
    pub sandbox: Mode,
}
