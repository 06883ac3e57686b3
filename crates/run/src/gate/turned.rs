//! Runs tests of the change with inverted assertions: a test that passes either way asserts nothing.

use acquit_core::check::dilution::Permits;
use acquit_core::check::source::Language;
use acquit_core::failure::Location;
use acquit_core::gate::{Command, Evidence, Weight};
use acquit_core::proof::Tree;
use acquit_core::proof::turned::{TestFile, dead, plan};

use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, setup_aside};
use crate::workspace::{Become, LockedWorkspace};

/// Rule of the finding, as in `dilution`.
const RULE: &str = "assertion-dead";

/// Maximum number of changed files to read.
const MOST_FILES: usize = 500;

/// Runs the tests that the change adds or changes with inverted assertions.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    (suite, part): (&Suite<'_>, Option<&Command>),
    workspace: &LockedWorkspace,
    (base, head): (&CommitId, &CommitId),
    spent: &mut Spent,
) -> Result<Evidence, LegAbort> {
    let mut evidence = Evidence::default();
    let wish = &job.task.seed.wish;
    if Permits::default().of_task(&wish.tags, &wish.metadata).allow(RULE, None) {
        return Ok(evidence);
    }
    let changed = match workspace.changed(base, head) {
        Ok(changed) => changed,
        Err(error) if is_too_large(&error) => return Ok(evidence),
        Err(error) => return Err(error.into()),
    };
    let mut files = Vec::new();
    for file in changed.iter().filter(|file| Language::of(&file.path).is_some()).take(MOST_FILES) {
        let Some(new) = file.new.as_ref().map(|new| workspace.text(new)).transpose()?.flatten() else {
            continue;
        };
        let old = file.old.as_ref().map(|old| workspace.text(old)).transpose()?.flatten().unwrap_or_default();
        files.push(TestFile { path: file.path.clone(), old, new });
    }
    let Some(plan) = plan(&files) else { return Ok(evidence) };
    let stored = |path: &String| changed.iter().find(|file| file.path == *path)?.new.clone();
    let turned: Vec<(String, Become)> = plan
        .files
        .iter()
        .filter_map(|(path, text)| Some((path.clone(), Become::Text(stored(path)?, text.clone()))))
        .collect();
    let scratch = workspace.scratch()?;
    scratch.show(&scratch.compose(head, &turned)?, head)?;
    setup_aside(ctx, job, &scratch)?;
    let working_tree = WorkingTree::of_scratch(&scratch);
    let mut ran = None;
    if let Some(run) = part {
        // The copies count as tests of the change.
        let part = Suite { run, ..*suite };
        ran = Some(part.tree(ctx, job, &working_tree, "turned-part", 1, spent)?);
        ran = ran.filter(|ran| matches!(ran, Tree::Ran(ran) if plan.all_ran(&ran.merged)));
    }
    let ran = match ran {
        Some(ran) => ran,
        None => suite.tree(ctx, job, &working_tree, "turned", 1, spent)?,
    };
    if let Tree::Ran(ran) = ran {
        for copy in dead(&plan, &ran.merged) {
            let what = format!(
                "`{}` passes too if its assertions are turned around, so they prove nothing: they are never reached, or their \
                 failure is swallowed. Make a wrong result fail the test",
                copy.name
            );
            let place = Location { path: copy.path, line: copy.line };
            evidence.find(Weight::Fails, RULE, &what, Some(place));
        }
    }
    Ok(evidence)
}
