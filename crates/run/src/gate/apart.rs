//! The functions of a change, each broken alone: whether any test of the project notices.

use acquit_core::check::dilution::Permits;
use acquit_core::failure::Location;
use acquit_core::gate::check::Tdd;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::Tree;
use acquit_core::proof::noticed::{Apart, Code, apart, is_noticed};
use acquit_core::time::Span;

use super::noticed::{PERMIT, RULE, Tried, code};
use super::suite::{Spent, Suite};
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, setup_aside};
use crate::workspace::{Become, LockedWorkspace};

/// Time limit for all runs, in milliseconds.
const MOST_TIME: u64 = 60 * 1000;

/// Breaks one function after another and runs all tests. What none of them notices was not shown.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    (suite, tdd): (&Suite<'_>, &Tdd),
    workspace: &LockedWorkspace,
    tried: &Tried<'_, '_>,
    spent: &mut Spent,
) -> Result<Evidence, LegAbort> {
    let mut evidence = Evidence::default();
    let wish = &job.task.seed.wish;
    let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
    if tried.tests.is_empty() || permits.allow(PERMIT, None) {
        return Ok(evidence);
    }
    let code = code(workspace, tdd, tried)?;
    let texts: Vec<Code> = code.iter().map(|(_, code)| code.clone()).collect();
    let task = format!("{}\n{}", wish.title, wish.description);
    let began = spent.took;
    for broken in apart(&texts, &task) {
        let left = MOST_TIME.saturating_sub(spent.took - began);
        if tried.took >= left {
            let what = "whether any test notices single functions broken was not looked at, or not for all of them: the tests take too long";
            evidence.find(Weight::Noted, RULE, what, None);
            break;
        }
        let Some((stored, _)) = code.iter().find(|(_, code)| code.path == broken.path) else { continue };
        let files = [(broken.path.clone(), Become::Text(stored.clone(), broken.text.clone()))];
        tried.with.show(&tried.with.compose(tried.head, &files)?, tried.head)?;
        setup_aside(ctx, job, tried.with)?;
        let timeout = Span::from(left.min(u64::from(suite.gate.timeout)));
        let gate = Gate { timeout, ..suite.gate.clone() };
        let suite = Suite { gate: &gate, ..*suite };
        let working_tree = WorkingTree::of_scratch(tried.with);
        let tree = suite.tree(ctx, job, &working_tree, "unnoticed-apart", 1, spent)?;
        if let Tree::Ran(ran) = tree
            && ran.hung.is_none()
            && !is_noticed(tried.tests, &ran.merged)
        {
            report(&broken, &mut evidence);
        }
    }
    Ok(evidence)
}

fn report(broken: &Apart, evidence: &mut Evidence) {
    let Apart { path, line, function, alone, is_named, .. } = broken;
    let named = if *is_named { ", which the task names," } else { "" };
    let what = format!(
        "no test notices if `{function}`{named} {}: write one that fails then, or take back what the task does not need",
        alone.words()
    );
    evidence.find(Weight::Fails, RULE, &what, Some(Location { path: path.clone(), line: *line }));
}
