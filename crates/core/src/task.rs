//! Tasks: what is to be done, where it stands, and what has happened. Folded from changes, see [`Task::apply`].

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

/// What a person wants done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// One line.
    pub title: String,
    /// The rest. Untrusted text: it may come from an issue tracker.
    pub description: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// How large, by the author's guess.
    pub size: Option<String>,
    /// How hard, by the author's guess.
    pub complexity: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Variables for templates, over the workflow's and the project's.
    pub variables: BTreeMap<String, String>,
    /// Anything else, for tools around acquit.
    pub metadata: BTreeMap<String, String>,
}

/// The key of the ticket in [`Wish::metadata`].
pub const TICKET: &str = "ticket";

impl Wish {
    /// One that is said in a line.
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

/// What never changes about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// Its id.
    pub id: TaskId,
    /// What is wanted.
    pub wish: Wish,
    /// The repository.
    pub project: Project,
    /// The workflow's name; the workflow itself is pinned in the definition.
    pub workflow: Name,
    /// Where it starts.
    pub base: Base,
    /// The branch it works on.
    pub branch: String,
    /// When it was created.
    pub created: Timestamp,
}

/// A git repository known to acquit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Short name for listings.
    pub name: String,
    /// The repository's path.
    pub path: String,
}

/// The commit that a task starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The branch it was the tip of, if it was one.
    pub branch: Option<String>,
    /// The commit.
    pub commit: String,
    /// Work on top of it that is there before the task begins, such as that of a request which is to be reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What never changes.
    pub seed: Seed,
    /// Where it stands.
    pub state: State,
    /// The commit that the next leg starts from: the base, or what the last leg that counted left.
    pub tip: String,
    /// The commit of the base branch that the work stands on, if that is not the one it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// The commit of the base branch on which gates last found the work good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<String>,
    /// How much of each budget is spent.
    pub spent: BTreeMap<Name, u32>,
    /// Values of the workflow's variation that were tried in vain.
    pub tried: Vec<Tried>,
    /// Legs that have ended, oldest first.
    pub past: Vec<Past>,
    /// What was left behind.
    pub artifacts: Vec<Artifact>,
    /// What was learned.
    pub learnings: Vec<String>,
    /// What people said, oldest first.
    pub conversation: Vec<Remark>,
    /// The number of the newest leg, 0 before the first.
    pub legs: u32,
    /// The number of the newest request, 0 before the first.
    pub requests: u32,
    /// The failures that it mends. No other task of the project tries what one of them is about until this one is over.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roots: BTreeSet<Fingerprint>,
    /// How many of `past` a person has answered for since: what they cost counts against no limit any more.
    #[serde(default)]
    pub paid_for: usize,
    /// Counts the transactions that changed it. A write that expects another version is refused.
    pub version: u64,
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum State {
    /// Just made; nothing was decided yet. Never committed in this state.
    New,
    /// A leg is ready or running.
    Working {
        /// The leg's number.
        leg: u32,
        /// What it is to do.
        entry: Entry,
        /// Who asked for the task's end, if somebody did.
        cancel: Option<Actor>,
    },
    /// A person must answer.
    Waiting {
        /// What.
        request: HumanRequest,
    },
    /// Another task mends the failure that this one met.
    Blocked {
        /// Which task, and which failure.
        root: Root,
        /// What is to be done when that task is over.
        resume: Entry,
    },
    /// It is over.
    Ended {
        /// How.
        end: End,
    },
}

/// A failure that another task mends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The task that mends it. It is never blocked itself, so nobody waits in a circle.
    pub task: TaskId,
    /// The failure.
    pub fingerprint: Fingerprint,
}

/// How a task is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum End {
    /// The workflow came to its end.
    Done,
    /// It came to a bad end.
    Failed {
        /// Why.
        reason: String,
    },
    /// Every value of the variation was tried in vain.
    NoImprovement,
    /// A person ended it.
    Cancelled {
        /// Who.
        by: Actor,
    },
}

/// A variation's value that led nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The value.
    pub value: String,
    /// Why it led nowhere.
    pub reason: String,
    /// The kind of failure that ended it; `None` if its stage reported that there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Name>,
    /// How many values were still to be tried.
    #[serde(default)]
    pub left: usize,
    /// The value that comes after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The number of the last leg that was about it.
    #[serde(default)]
    pub last_leg: u32,
}

impl Tried {
    /// Whether nothing was learnt about the value, because the agent or acquit itself broke.
    pub fn is_broken(&self) -> bool {
        self.failure.as_ref().is_some_and(|kind| kind::is_breakdown(kind.as_str()))
    }
}

/// The review comment that a remark comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The comment.
    pub id: String,
    /// Where an answer goes.
    pub thread: Option<String>,
}

/// Something a person said about the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Who.
    pub by: Actor,
    /// What they were asked, if they were.
    pub question: Option<String>,
    /// What they said.
    pub text: String,
    /// The comment that it was, if it was said at a forge. Such words come from outside, and are none of the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "name", rename_all = "snake_case")]
pub enum Actor {
    /// The harness of a leg.
    Harness(LegId),
    /// The supervisor, which finds what died.
    Supervisor,
    /// A person, by the name that the system knows.
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
    /// One word for listings: the stage's progress for people.
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

    /// The stage it stands at, as long as it stands at one.
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
    /// A task that nothing has happened to yet.
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
            legs: 0,
            requests: 0,
            roots: BTreeSet::new(),
            paid_for: 0,
            version: 0,
        }
    }

    /// Its id.
    pub fn id(&self) -> TaskId {
        self.seed.id
    }

    /// The commit of the base branch that the work stands on.
    pub fn base(&self) -> &str {
        self.onto.as_deref().unwrap_or(&self.seed.base.commit)
    }

    /// Whether it says of itself that nothing about it happens without a person's word: a tag `irreversible` or `approval`.
    pub fn is_bound(&self) -> bool {
        self.seed.wish.tags.iter().any(|tag| tag == "irreversible" || tag == "approval")
    }

    /// The last stage whose gates found the work good. Reviews are passed over: what an agent found is no property of the work
    /// that could be looked at again.
    pub fn last_gated<'w>(&self, workflow: &'w Workflow) -> Option<&'w Stage> {
        let passed = |past: &&Past| matches!(past.ending, Ending::Passed { .. });
        let stage = |past: &Past| workflow.stage(past.entry.stage.as_str());
        let repeats =
            |name: &Name| workflow.gate(name.as_str()).is_none_or(|gate| gate.check.sets_outcome().is_none());
        let gated = |stage: &&Stage| stage.gates.iter().any(repeats);
        self.past.iter().rev().filter(passed).filter_map(stage).find(gated)
    }

    /// The plan, if a stage left one.
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

    /// Whether the task has recorded that its work was merged as this commit.
    pub fn was_merged_as(&self, commit: &str) -> bool {
        self.artifacts
            .iter()
            .any(|artifact| matches!(artifact, Artifact::Merged { commit: known, .. } if known == commit))
    }

    /// The request at a forge, if one was made.
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

    /// The legs that its work comes from, oldest first: not those about values of the variation that led nowhere.
    pub fn legs_of_work(&self) -> impl DoubleEndedIterator<Item = &Past> {
        let abandoned = self.tried.last().map_or(0, |tried| tried.last_leg);
        self.past.iter().filter(move |past| past.number > abandoned)
    }

    /// What the work is about where that is not what the task began with: `refactoring (fallback from tests)`.
    pub fn fallback(&self) -> Option<String> {
        let (first, last) = (self.tried.first()?, self.tried.last()?);
        last.next.as_ref().map(|value| format!("{value} (fallback from {})", first.value))
    }

    /// What the agents say that they did: the newest words of each stage, without those of tries that were abandoned.
    pub fn account(&self) -> Vec<String> {
        let stage = |words: &str| words.split(": ").next().unwrap_or_default().to_owned();
        let mut newest: Vec<String> = Vec::new();
        for words in &self.learnings {
            newest.retain(|older| stage(older) != stage(words));
            newest.push(words.clone());
        }
        newest
    }

    /// What its work is called: by whoever described it last, or chose it, else as it was wished for.
    pub fn headline(&self) -> &str {
        let described = self.legs_of_work().rev().find_map(|past| {
            let payload = &past.ending.passed()?.payload;
            payload.get("title").and_then(Value::as_str).or_else(|| candidate::chosen(payload))
        });
        described.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(&self.seed.wish.title)
    }

    /// What its ended legs cost that a limit still counts, as far as `counts` wants them.
    pub fn spent_money(&self, counts: impl Fn(&Past) -> bool) -> u64 {
        let since = self.past.iter().skip(self.paid_for).filter(|past| counts(past));
        since.filter_map(|past| past.usage.paid()).fold(0, u64::saturating_add)
    }

    /// What all its ended legs used.
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for past in &self.past {
            total.add(&past.usage);
        }
        total
    }
}

/// A task in a line: what lists show, kept up to date with the task so that a list costs the same at any age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its id.
    pub id: TaskId,
    /// What is wanted.
    pub title: String,
    /// The repository's short name.
    pub project: String,
    /// The workflow.
    pub workflow: Name,
    /// [`State::word`].
    pub state: String,
    /// The stage it stands at.
    pub stage: Option<Name>,
    /// Higher is claimed first.
    pub priority: i32,
    /// How many legs it had.
    pub legs: u32,
    /// What its ended legs cost, if anybody told.
    pub cost_micros: Option<u64>,
    /// When it was created.
    pub created: Timestamp,
    /// When it changed last.
    pub updated: Timestamp,
    /// How its programs are held.
    pub sandbox: Mode,
}
