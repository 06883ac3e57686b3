//! Collects the artifacts of a leg. Their files are untrusted: only regular ones are read, with a size limit and never
//! through a symlink.
//!
//! Collecting is best effort: a failure is a notice in the event log and never loses the leg.

use std::fs;
use std::path::Path;

use acquit_core::agent::shorten;
use acquit_core::artifact::{Artifact, Commit, DiffStats};
use acquit_core::workflow::Work;
use globset::{Glob, GlobSetBuilder};

use super::work::Done;
use crate::leg::{Job, LegContext};
use crate::runtime::LegFolder;
use crate::untrusted::{self, not_a_folder};
use crate::workspace::{Error, LockedWorkspace};

/// Maximum size of a plan. Agents do not follow a longer one.
const PLAN_LIMIT: u64 = 64 * 1024;
/// File name of a plan.
const PLAN: &str = "plan.md";
/// Maximum number of files. A stage leaves reports, not data.
const FILES_LIMIT: usize = 64;
/// Maximum size of a file.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;

/// Collects all artifacts: plan, branch, commits, size of the change, files.
pub(super) fn collect(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    done: &Done,
    workspace: &LockedWorkspace,
) -> Vec<Artifact> {
    let mut list = Vec::new();
    if let Some(moved) = &done.moved {
        list.extend(moved.artifacts.iter().cloned());
    }
    if let Some(work) = done.collected.as_ref().filter(|work| work.head != job.start) {
        let commits = work.new_commits.iter();
        list.push(Artifact::Commits {
            leg: ctx.hold.leg.number,
            commits: commits
                .map(|commit| Commit { id: commit.id.to_string(), subject: shorten(&commit.subject, 200) })
                .collect(),
        });
        list.push(Artifact::Branch {
            name: job.task.seed.branch.clone(),
            commit: work.head.to_string(),
            published: false,
        });
    }
    list.append(&mut ctx.reports);
    match size(job, done, workspace) {
        Ok(stats) => list.extend(stats.map(Artifact::Diff)),
        Err(error) => {
            let words = format!("the size of the change is not known: failed to {}", super::chain(&error));
            ctx.notice(super::BEST_EFFORT, words);
        }
    }
    if let Work::Agent(agent) = &job.stage.work
        && done.collected.is_some()
    {
        let folder = ctx.runtime.leg_folder(ctx.hold.leg);
        let payload_plan = done.outcome.payload.get("plan").and_then(|plan| plan.as_str());
        let text = plan(&folder).or_else(|| payload_plan.map(str::to_owned));
        list.extend(text.map(|text| Artifact::Plan { text }));
        match files(job, &folder.output_dir(), &agent.outputs) {
            Ok(found) => list.extend(found),
            Err(error) => {
                ctx.notice(super::BEST_EFFORT, format!("the stage's files were not collected: {error}"));
            }
        }
    }
    list
}

/// Returns the size of the whole change of the task, from its base to the end of this leg. `None` if it did not change.
fn size(job: &Job<'_>, done: &Done, workspace: &LockedWorkspace) -> Result<Option<DiffStats>, Error> {
    let (tip, base) = match (&done.moved, &done.collected) {
        // Delivery changes the commits but not their content, unless the base moved too.
        (Some(moved), _) if moved.base.as_str() == job.task.base() => return Ok(None),
        (Some(moved), _) => (&moved.tip, &moved.base),
        (None, Some(work)) => (&work.head, &job.base),
        (None, None) => (&job.start, &job.base),
    };
    if tip.as_str() == job.task.tip && base.as_str() == job.task.base() {
        return Ok(None);
    }
    match &done.collected {
        // This leg made the whole change, and its stats are already known.
        Some(work) if job.start == *base && done.moved.is_none() => Ok(Some(work.stats)),
        _ => workspace.difference(base, tip).map(Some),
    }
}

/// Returns the plan that an agent left.
pub(super) fn plan(folder: &LegFolder) -> Option<String> {
    let text = untrusted::text(&folder.output_dir().join(PLAN), PLAN_LIMIT).ok()??;
    (!text.trim().is_empty()).then_some(text)
}

fn files(job: &Job<'_>, folder: &Path, patterns: &[String]) -> std::io::Result<Vec<Artifact>> {
    let mut wanted = GlobSetBuilder::new();
    for pattern in patterns {
        wanted.add(Glob::new(pattern).map_err(std::io::Error::other)?);
    }
    let wanted = wanted.build().map_err(std::io::Error::other)?;
    if let Some(what) = not_a_folder(folder) {
        return Err(std::io::Error::other(format!("the output folder was replaced by {what}")));
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kept = meta.is_file() && meta.len() <= FILE_LIMIT && !LegFolder::is_own(&name);
        if kept && wanted.is_match(&name) {
            found.push(Artifact::File {
                stage: job.stage.name.clone(),
                path: entry.path().to_string_lossy().into_owned(),
                bytes: meta.len(),
                name,
            });
        }
    }
    found.sort_by_key(Artifact::key);
    found.truncate(FILES_LIMIT);
    Ok(found)
}
