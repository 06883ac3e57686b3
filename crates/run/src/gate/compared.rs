//! Tests, compared one by one with the base. They run in the workspace, as any command does; the base is only asked when
//! something fails.

use std::collections::BTreeSet;

use acquit_core::gate::check::Tests;
use acquit_core::gate::{Evidence, Gate, Verdict, Weight};
use acquit_core::proof::{Tree, compare};
use acquit_core::results::Merged;

use super::suite::{Spent, Suite};
use super::{baseline, conclude, tdd};
use crate::harness::{Desk, Ground, Job, Trouble};
use crate::workspace::Locked;

/// Runs them.
pub(super) fn run(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gate: &Gate,
    tests: &Tests,
    workspace: &Locked,
) -> Result<Verdict, Trouble> {
    let suite = Suite { gate, build: tests.build.as_ref(), run: &tests.run, report: &tests.report };
    let ground = Ground::of(workspace);
    let mut spent = Spent::default();
    let mut evidence = Evidence::default();
    let first = suite.tree(desk, job, &ground, "change", 1, &mut spent)?;
    let mut now = match first {
        Tree::NotBuilt(said) => {
            evidence.find(Weight::Fails, "build", &format!("the change does not build:\n{said}"), None);
            return Ok(conclude(gate, &spent, evidence, &ground));
        }
        Tree::Ran(ran) => ran,
    };
    let results = &now.merged.results;
    let fails = results.red().next().is_some() || !results.broken.is_empty();
    if fails && tests.again > 0 {
        let again = Suite { build: None, ..suite };
        if let Tree::Ran(more) = again.tree(desk, job, &ground, "again", tests.again, &mut spent)? {
            now.merged.add(more.merged.results);
            now.merged.runs += more.merged.runs - 1;
            now.merged.flaky.extend(more.merged.flaky);
            now.trouble = now.trouble.or(more.trouble);
            now.exit = now.exit.or(more.exit);
        }
    }
    evidence.figure("tests", now.merged.results.executed());
    evidence.figure("runs", now.merged.runs);
    let suite = Suite { gate, build: tests.build.as_ref(), run: &tests.run, report: &tests.report };
    let is_red = now.merged.results.red().any(|(id, _)| !now.merged.flaky.contains(id));
    let base = if is_red || !now.merged.results.broken.is_empty() {
        let scratch = workspace.scratch()?;
        baseline::base(desk, job, &suite, workspace, &scratch, tests.again + 1, &mut spent)?
    } else {
        Tree::Ran(acquit_core::proof::Ran::default())
    };
    let empty = Merged::default();
    let known = match &base {
        Tree::Ran(base) => &base.merged,
        Tree::NotBuilt(_) => {
            evidence.find(
                Weight::Noted,
                "base",
                "the base does not build, so nothing is known of its tests",
                None,
            );
            &empty
        }
    };
    let removed = match &now.exit {
        Some(_) => tdd::removed(workspace, &job.base(), &workspace.work_head()?)?,
        None => BTreeSet::new(),
    };
    compare(known, &now, &removed, &mut evidence);
    unsound(known, &now, &mut evidence);
    Ok(conclude(gate, &spent, evidence, &ground))
}

/// What makes the runs say nothing, where that is not so on the base as well.
fn unsound(base: &Merged, now: &acquit_core::proof::Ran, evidence: &mut Evidence) {
    let results = &now.merged.results;
    for broken in &results.broken {
        let before = base.results.broken.iter().any(|old| old.what == broken.what);
        let (weight, rule) =
            if before { (Weight::Noted, "broken-before") } else { (Weight::Fails, "broken") };
        let what = format!("{} could not be loaded: {}", broken.what, broken.message);
        evidence.find(weight, rule, &what, None);
    }
    if results.cut {
        let what = "the report of the tests is incomplete or too large to be read";
        evidence.find(Weight::Fails, "report", what, None);
    } else if results.executed() == 0 && results.broken.is_empty() {
        let why = now.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        evidence.find(
            Weight::Fails,
            "nothing-ran",
            &format!("no test was executed{why}\n{}", now.said),
            None,
        );
    } else if let Some(trouble) = &now.trouble {
        evidence.find(Weight::Fails, "exit", &format!("{trouble}\n{}", now.said), None);
    }
}
