//! Compares tests with the base, one by one: every test that passed there passes now or is accounted for. It must also
//! pass with the runner settings and hooks of the base.

use acquit_core::gate::check::Tests;
use acquit_core::gate::{Evidence, Verdict, Weight, rule};
use acquit_core::proof::{Ran, Tree, compare, independent, misses, refuse};
use acquit_core::results::{Known, Merged};

use super::earlier::Ends;
use super::loosened::{self, Strength, Told};
use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::{Case, Judge, baseline, conclude, earlier, turned};
use crate::leg::{LegAbort, WorkingTree, setup_aside};

impl Judge for Tests {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        let Case { ctx, job, gate, workspace, .. } = case;
        let suite = Suite { gate, build: self.build.as_ref(), run: &self.run, report: &self.report };
        let working_tree = WorkingTree::of_work(ctx, job, workspace, gate.name.as_str())?;
        let mut spent = Spent::default();
        let mut evidence = Evidence::default();
        let kept = suite.kept(ctx, job, workspace, &workspace.work_head()?)?;
        let first = suite.runs(ctx, job, &working_tree, ("change", 1..=1), Some(&kept), &mut spent)?;
        let took = spent.run;
        let mut now = match first {
            Tree::NotBuilt(said) => {
                evidence.find(
                    Weight::Fails,
                    rule::BUILD,
                    &format!("the change does not build:\n{said}"),
                    None,
                );
                return Ok(conclude(gate, &spent, evidence, &working_tree));
            }
            Tree::Ran(ran) => ran,
        };
        let results = &now.merged.results;
        let fails = results.red().next().is_some() || !results.broken.is_empty();
        if fails && self.again > 0 {
            let again = suite.in_tree(spent.built);
            if let Tree::Ran(more) = again.tree(ctx, job, &working_tree, "again", self.again, &mut spent)? {
                now.merged.join(more.merged);
                now.trouble = now.trouble.or(more.trouble);
                now.exit = now.exit.or(more.exit);
            }
            kept.forget_flaky(&now.merged);
        }
        let (commit, head) = (job.base(), workspace.work_head()?);
        let doings = Doings::of(job, gate, workspace, &commit, &head)?;
        let mut base = {
            let scratch = workspace.scratch()?;
            baseline::base(ctx, job, &suite, workspace, &scratch, 1, &mut spent)?
        };
        if self.again > 0 && matches!(&base, Tree::Ran(base) if is_worse(&base.merged, &now.merged)) {
            // One run does not prove that a test passed before. Use another new tree, without leftovers of the first
            // run.
            let scratch = workspace.scratch()?;
            base = baseline::base(ctx, job, &suite, workspace, &scratch, self.again + 1, &mut spent)?;
        }
        evidence.figure("tests", now.merged.results.executed());
        evidence.figure("runs", now.merged.runs);
        let empty = Merged::default();
        let known = match &base {
            Tree::Ran(base) => &base.merged,
            Tree::NotBuilt(_) => {
                let what = "the base does not build, so nothing is known of its tests";
                evidence.find(Weight::Noted, "base", what, None);
                &empty
            }
        };
        compare(known, &now, &doings.accounts, &mut evidence);
        unsound(known, &now, &mut evidence);
        if !doings.judges.is_empty() {
            name_judges(&doings, &mut evidence);
            let scratch = workspace.scratch()?;
            scratch.show(&scratch.compose(&head, &doings.judges)?, &head)?;
            setup_aside(ctx, job, &scratch)?;
            match suite.tree(ctx, job, &WorkingTree::of_scratch(&scratch), "judge", 1, &mut spent)? {
                Tree::Ran(under_base) => {
                    independent(&now.merged, &under_base, &doings.judges(), &mut evidence);
                }
                Tree::NotBuilt(said) => needed(&doings, &said, &mut evidence),
            }
        }
        // By its name, a rewritten test looks like a removed one.
        if loosened::is_suspicion(&evidence, &["vanished"])
            && let Some(Told { strength: Some(Strength::Equal(places)), .. }) =
                loosened::compare(ctx, job, workspace, (&commit, &head), &mut spent)?
        {
            loosened::clear(&mut evidence, places);
        }
        if evidence.failing().next().is_none() && matches!(base, Tree::Ran(_)) {
            let ends = Ends { base: &commit, head: &head, before: known, now: &now.merged, took };
            evidence.add(earlier::look(ctx, job, &suite, workspace, &doings, &ends, &mut spent)?);
        }
        if evidence.failing().next().is_none() && matches!(base, Tree::Ran(_)) {
            evidence.add(loosened::look(ctx, job, workspace, (&commit, &head), &mut spent)?);
        }
        if evidence.failing().next().is_none() {
            let by = (&suite, self.part.as_ref());
            evidence.add(turned::look(ctx, job, by, workspace, (&commit, &head), &mut spent)?);
        }
        Ok(conclude(gate, &spent, evidence, &working_tree))
    }
}

/// Returns whether a test that passed on the base does not pass now.
fn is_worse(base: &Merged, now: &Merged) -> bool {
    let failed = |id| matches!((base.of(id), now.of(id)), (Known::Passed, Known::Red(_)));
    now.results.tests.keys().any(failed) || misses(base, now)
}

/// Reports the changed files that decide how the change is judged.
pub(super) fn name_judges(doings: &Doings, evidence: &mut Evidence) {
    let what = format!(
        "the change touches how tests are run: {}. The tests ran with both versions; whoever reviews should look at it",
        doings.judges().join(", ")
    );
    evidence.find(Weight::Noted, "judge-changed", &what, None);
}

/// Reports that the change does not build with the base's version of those files.
pub(super) fn needed(doings: &Doings, said: &str, evidence: &mut Evidence) {
    let what = format!(
        "the change does not build with the base's version of {}, so only its own version could be tried; a person should look at \
         it\n{said}",
        doings.judges().join(", ")
    );
    evidence.find(Weight::Noted, "judge-needed", &what, None);
}

/// Adds reasons why the runs are meaningless, unless they also apply to the base.
fn unsound(base: &Merged, now: &Ran, evidence: &mut Evidence) {
    let results = &now.merged.results;
    for broken in &results.broken {
        let before = base.results.broken.iter().any(|old| old.what == broken.what);
        let (weight, rule) =
            if before { (Weight::Noted, rule::BROKEN_BEFORE) } else { (Weight::Fails, rule::BROKEN) };
        let what = format!("{} could not be loaded: {}", broken.what, broken.message);
        evidence.find(weight, rule, &what, None);
    }
    refuse(results, evidence);
    if results.cut {
        let what = "the report of the tests is incomplete or too large to be read";
        evidence.find(Weight::Fails, rule::REPORT, what, None);
    } else if results.executed() == 0 && results.broken.is_empty() {
        let why = now.trouble.as_ref().or(now.unread.as_ref());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        // If the base has no report either, the gate is at fault and not the work; no agent can fix that.
        let unjudged = now.unread.is_some() && base.results.executed() == 0;
        let weight = if unjudged { Weight::Person } else { Weight::Fails };
        evidence.find(weight, rule::NOTHING_RAN, &format!("no test was executed{why}\n{}", now.said), None);
    } else if let Some(trouble) = &now.trouble {
        evidence.find(Weight::Fails, rule::EXIT, &format!("{trouble}\n{}", now.said), None);
    }
}
