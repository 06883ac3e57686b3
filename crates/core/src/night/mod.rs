//! Nights: one run of a schedule, from its nominal time to its morning report.
//!
//! A [`Night`] is the durable record of a run. The next steps follow from the record and the state of its tasks
//! ([`moves`]), so any process can continue a night, and nothing is lost with the one that started it. [`memory`] has
//! the proposals of earlier nights, [`morning_report`] is what people read.

pub mod memory;
pub mod morning_report;
mod record;
mod steps;

use serde::{Deserialize, Serialize};

pub use record::Record;
pub use steps::{Door, Move, Rules, Standing, Work, moves};

use crate::ids::{Name, TaskId};
use crate::task::Task;
use crate::time::Timestamp;

/// Metadata keys that record the origin of a task.
pub mod key {
    /// Schedule that created it.
    pub const SCHEDULE: &str = "schedule";
    /// Nominal time of the night, in milliseconds since 1970.
    pub const NIGHT: &str = "night";
    /// Project whose schedule created it, if it is not the task's own project.
    pub const PROJECT: &str = "project";
    /// The schedule's name for the repository.
    pub const REPOSITORY: &str = "repository";
    /// Proposals of earlier nights as JSON, for [`super::memory::refusal`].
    pub const EARLIER: &str = "earlier";
    /// All of these keys. acquit sets them; they are not part of what the task's author wrote.
    pub const ALL: [&str; 5] = [SCHEDULE, NIGHT, PROJECT, REPOSITORY, EARLIER];
}

impl Task {
    /// Returns the title of the task in lists and messages. Titles of scheduled tasks do not say what the tasks do, so
    /// their work is used instead.
    pub fn listed_title(&self) -> String {
        let wish = &self.seed.wish;
        let title = if wish.metadata.contains_key(key::SCHEDULE) { self.headline() } else { &wish.title };
        match self.fallback() {
            Some(fallback) => format!("{title} [{fallback}]"),
            None => title.to_owned(),
        }
    }
}

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// Project of the schedule; empty for the user's own, and for nights recorded before projects were distinguished.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// Schedule name.
    pub schedule: Name,
    /// Nominal time by the schedule. Each is recorded only once.
    pub nominal: Timestamp,
    /// Current state.
    pub state: State,
    /// What started it.
    #[serde(default)]
    pub cause: Cause,
    /// First value of the workflow's variation.
    pub category: Option<String>,
    /// Work per repository.
    pub jobs: Vec<Job>,
    /// Start time.
    pub began: Option<Timestamp>,
    /// End time.
    pub ended: Option<Timestamp>,
    /// Entries of its report, as of its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<morning_report::Entry>,
    /// Number of writes. The store rejects a write that expects another version.
    pub version: u64,
}

/// What started a night.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The clock, at one of the schedule's times.
    #[default]
    Clock,
    /// A person, at any time. It replaces none of the scheduled runs.
    Hand,
}

/// The state of a night.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum State {
    /// Waits for an earlier night of the same schedule.
    Queued,
    /// Its repositories are being worked on.
    Running,
    /// Finished; its report is being sent.
    Over,
    /// It did not take place.
    Skipped {
        /// Reason.
        reason: String,
    },
}

impl State {
    /// Returns the name in the store and in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Over => "over",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Returns whether work is left.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Queued | Self::Running => true,
            Self::Over | Self::Skipped { .. } => false,
        }
    }
}

/// One repository of a night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The schedule's name for the repository.
    pub repository: String,
    /// Progress.
    pub progress: Progress,
}

/// The progress of a night in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Progress {
    /// Not started.
    Todo,
    /// Has a task. Recorded before the task is created, so that any process that continues creates the same one.
    Task {
        /// Task id.
        task: TaskId,
    },
    /// Continues an earlier task of the schedule, because its pull request got feedback.
    Again {
        /// Task id.
        task: TaskId,
    },
    /// Skipped.
    Skipped {
        /// Reason.
        reason: String,
    },
}

impl Night {
    /// Creates a night that starts or waits.
    pub fn new(
        schedule: Name,
        nominal: Timestamp,
        state: State,
        category: Option<String>,
        repositories: &[String],
    ) -> Self {
        let job = |repository: &String| Job { repository: repository.clone(), progress: Progress::Todo };
        let jobs = repositories.iter().map(job).collect();
        let cause = Cause::Clock;
        let project = String::new();
        Self {
            project,
            schedule,
            nominal,
            state,
            cause,
            category,
            jobs,
            began: None,
            ended: None,
            entries: Vec::new(),
            version: 1,
        }
    }

    /// Assigns the night to a project.
    #[must_use]
    pub fn of(mut self, project: &str) -> Self {
        project.clone_into(&mut self.project);
        self
    }

    /// Returns the tasks of the night.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.jobs.iter().filter_map(|job| match job.progress {
            Progress::Task { task } | Progress::Again { task } => Some(task),
            Progress::Todo | Progress::Skipped { .. } => None,
        })
    }
}
