//! Files of earlier legs for an agent to read.

use std::path::{Component, Path, PathBuf};

use acquit_core::artifact::Artifact;

use crate::leg::{Job, LegContext};

/// Returns the files of earlier legs that the prompt names, for the sandbox to show. Agents wrote the files, and their
/// paths come from the store, which other machines write to.
pub(super) fn named(ctx: &LegContext<'_>, job: &Job<'_>, inputs: &[String]) -> Vec<PathBuf> {
    let legs = ctx.runtime.task_folder(ctx.hold.leg.task).join("legs");
    let wanted = |artifact: &Artifact| match artifact {
        Artifact::File { name, path, .. } if inputs.is_empty() || inputs.contains(name) => {
            Some(PathBuf::from(path))
        }
        _ => None,
    };
    job.task.artifacts.iter().filter_map(wanted).filter(|path| is_output(&legs, path)).collect()
}

/// Returns whether this is a regular file of the output folder of one of these legs, reached without a symlink. Other
/// files of a leg are acquit's own.
fn is_output(legs: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(legs) else { return false };
    let is_out = below.components().nth(1) == Some(Component::Normal("out".as_ref()));
    let real = legs.canonicalize().map(|legs| legs.join(below)).ok();
    is_out && path.is_file() && path.canonicalize().ok() == real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outputs_of_the_tasks_own_legs_are_shown() {
        let world = tempfile::tempdir().unwrap();
        let legs = world.path().join("T-1/legs");
        let other = world.path().join("T-2/legs/1/out");
        for folder in [legs.join("1/out/deep"), other.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for file in ["1/out/plan.md", "1/out/deep/x", "1/prompt.md", "1/network-agent.jsonl", "out"] {
            std::fs::write(legs.join(file), "x").unwrap();
        }
        std::fs::write(other.join("plan.md"), "x").unwrap();
        std::os::unix::fs::symlink(&other, legs.join("1/out/link")).unwrap();
        std::os::unix::fs::symlink(legs.join("1/prompt.md"), legs.join("1/out/prompt.md")).unwrap();
        for good in ["1/out/plan.md", "1/out/deep/x"] {
            assert!(is_output(&legs, &legs.join(good)), "{good}");
        }
        for bad in [
            "1/prompt.md",
            "1/network-agent.jsonl",
            "1/out/link/plan.md",
            "1/out/prompt.md",
            "1/out",
            "out",
            "1/out/../prompt.md",
            "../../T-2/legs/1/out/plan.md",
        ] {
            assert!(!is_output(&legs, &legs.join(bad)), "{bad}");
        }
        assert!(!is_output(&legs, &other.join("plan.md")));
    }
}
