//! Nights: one run of a schedule, from its nominal time to its morning report.
//!
//! A [`Night`] is the durable record of a run. What is to be done next about it follows from the record and from how its tasks
//! stand ([`moves`]), so whoever looks can go on with it, and nothing is lost with who began it. [`memory`] is what earlier nights
//! proposed, [`morning_report`] what people read about it.

pub mod memory;
pub mod morning_report;
mod record;
mod steps;

use serde::{Deserialize, Serialize};

pub use record::Record;
pub use steps::{Door, Move, Rules, Standing, Work, moves};

use crate::ids::{Name, TaskId};
use crate::time::Timestamp;

/// Keys of a task's metadata that say where it comes from.
pub mod key {
    /// The schedule that made it.
    pub const SCHEDULE: &str = "schedule";
    /// The nominal time of the night, in milliseconds since 1970.
    pub const NIGHT: &str = "night";
    /// The project whose schedule made it, where that is not the task's own.
    pub const PROJECT: &str = "project";
    /// What the schedule calls the repository.
    pub const REPOSITORY: &str = "repository";
    /// What was proposed on earlier nights, as JSON: what [`super::memory::refusal`] is asked with.
    pub const EARLIER: &str = "earlier";
}

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// The project whose schedule it is; empty for the user's own, and for nights of before projects were told apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The schedule.
    pub schedule: Name,
    /// Its time by the schedule; nobody records a second one for it.
    pub nominal: Timestamp,
    /// Where it stands.
    pub state: State,
    /// Who began it.
    #[serde(default)]
    pub cause: Cause,
    /// What the workflow's variation begins with.
    pub category: Option<String>,
    /// What is to be done, repository by repository.
    pub jobs: Vec<Job>,
    /// When work began.
    pub began: Option<Timestamp>,
    /// When all of it was over.
    pub ended: Option<Timestamp>,
    /// Its report, as it was when all was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<morning_report::Entry>,
    /// Counts the writes. One that expects another version is refused.
    pub version: u64,
}

/// Who began a night.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The clock: its nominal time is one of the schedule's.
    #[default]
    Clock,
    /// A person, whatever the hour. It stands for none of the schedule's.
    Hand,
}

/// Where a night stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum State {
    /// It waits for an earlier one of the same schedule.
    Queued,
    /// Its repositories are being worked on.
    Running,
    /// Nothing is left to do, and its report is on its way.
    Over,
    /// It did not take place.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl State {
    /// Its word in the store and in listings.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Over => "over",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Whether something is still to be done.
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
    /// The repository, as the schedule names it.
    pub repository: String,
    /// How far it is.
    pub progress: Progress,
}

/// How far a night is with a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Progress {
    /// Not begun.
    Todo,
    /// This is its task. Written before the task is made, so that whoever goes on makes the same one.
    Task {
        /// Its id.
        task: TaskId,
    },
    /// An earlier task of the schedule goes on, because something was said about its request.
    Again {
        /// Its id.
        task: TaskId,
    },
    /// It was left alone.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Night {
    /// A night that begins or waits.
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

    /// The same as a night of a project.
    #[must_use]
    pub fn of(mut self, project: &str) -> Self {
        project.clone_into(&mut self.project);
        self
    }

    /// Its tasks.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.jobs.iter().filter_map(|job| match job.progress {
            Progress::Task { task } | Progress::Again { task } => Some(task),
            Progress::Todo | Progress::Skipped { .. } => None,
        })
    }
}
