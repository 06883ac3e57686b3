//! Files of earlier legs for an agent to read.

use std::path::PathBuf;

use acquit_core::artifact::Artifact;

use crate::leg::{Job, LegContext};

/// Returns the files of earlier legs that the prompt names, for the sandbox to show. Agents wrote the files, and their
/// paths come from the store: only regular files of this task's legs count, reached without a symlink.
pub(super) fn named(ctx: &LegContext<'_>, job: &Job<'_>, inputs: &[String]) -> Vec<PathBuf> {
    let legs = ctx.runtime.task_folder(ctx.hold.leg.task).join("legs");
    let Ok(real) = legs.canonicalize() else { return Vec::new() };
    let wanted = |artifact: &Artifact| match artifact {
        Artifact::File { name, path, .. } if inputs.is_empty() || inputs.contains(name) => {
            Some(PathBuf::from(path))
        }
        _ => None,
    };
    let is_ours = |path: &PathBuf| {
        let below = path.strip_prefix(&legs).ok();
        let direct =
            below.zip(path.canonicalize().ok()).is_some_and(|(below, found)| found == real.join(below));
        direct && path.is_file()
    };
    job.task.artifacts.iter().filter_map(wanted).filter(is_ours).collect()
}
