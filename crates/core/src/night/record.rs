//! The result of a night in one repository, for scripts: the output of `--json`.

use serde::Serialize;

use super::morning_report::{Entry, Result};
use crate::ids::TaskId;

/// The result of a night in one repository.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record<'e> {
    /// The schedule's name for the repository.
    pub repository: &'e str,
    /// Task, if one was created.
    pub task: Option<TaskId>,
    /// Result in one word, such as `MR_CREATED`.
    pub outcome: &'static str,
    /// Address of the pull request.
    pub url: Option<&'e str>,
    /// Branch, if there is no pull request.
    pub branch: Option<&'e str>,
    /// Category of the work: `refactoring (fallback from tests)`.
    pub category: Option<&'e str>,
    /// Whether the category differs from the night's first one.
    pub fallback: bool,
    /// First category of the night, if it differs.
    pub fallback_from: Option<&'e str>,
    /// Title of the change.
    pub change: Option<&'e str>,
    /// Why there is no change, as one text.
    pub reason: Option<String>,
    /// Why each category failed, in the order in which they were tried.
    pub reasons: Vec<Reason<'e>>,
    /// Cost in millionths of a dollar; `None` if no price is known.
    pub cost_micros: Option<u64>,
    /// Time from the start of the first leg to the end of the last, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// Why a category failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason<'e> {
    /// The category.
    pub category: &'e str,
    /// The reason.
    pub reason: &'e str,
}

impl<'e> From<&'e Entry> for Record<'e> {
    fn from(entry: &'e Entry) -> Self {
        let (mut url, mut branch, mut reason, mut reasons) = (None, None, None, Vec::new());
        match &entry.result {
            Result::Requested { link } | Result::Updated { link } => url = Some(link.as_str()),
            Result::Branch { name } => branch = Some(name.as_str()),
            Result::NoImprovement { reasons: tried } => {
                reasons.extend(
                    tried.iter().map(|tried| Reason { category: &tried.value, reason: &tried.reason }),
                );
                let each: Vec<String> =
                    reasons.iter().map(|one| format!("{}: {}", one.category, one.reason)).collect();
                reason = Some(format!("all categories exhausted; {}", each.join("; ")));
            }
            Result::Failed { reason: text }
            | Result::Skipped { reason: text }
            | Result::Waits { what: text }
            | Result::Cancelled { by: text } => reason = Some(text.clone()),
            Result::Done | Result::Working => {}
        }
        Self {
            repository: &entry.repository,
            task: entry.task,
            outcome: entry.result.word(),
            url,
            branch,
            category: entry.category.as_deref(),
            fallback: entry.fallback_from.is_some(),
            fallback_from: entry.fallback_from.as_deref(),
            change: entry.change.as_deref(),
            reason,
            reasons,
            cost_micros: entry.usage.paid(),
            duration_ms: entry.took.map(u64::from),
        }
    }
}
