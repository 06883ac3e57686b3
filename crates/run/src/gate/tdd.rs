//! Checks the tests of the change: red without it, green with it.
//!
//! One clone beside the work shows the base, and then the base with the tests of the change. The change has a separate
//! clone, so that leftovers of the tests don't help them to pass. Then the tests must be red once more. If the change
//! touches what runs the tests, both run again with the base's version of that.

use std::collections::BTreeSet;

use acquit_core::gate::check::{Phases, Tdd};
use acquit_core::gate::{Evidence, Gate, Paths, Verdict, Weight, rule};
use acquit_core::proof::{How, Ran, Seen, Tree, independent, inline, judge, red_by_judge, words};
use acquit_core::results::{Known, Merged, TestId};

use super::apart;
use super::neighbours::{self, Trees};
use super::noticed::{self, Tried};
use super::regressions::{name_judges, needed};
use super::repeat::Repeat;
use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use super::{Case, Judge, baseline, conclude, origin, phases};
use crate::git::CommitId;
use crate::leg::{LegAbort, LegContext, WorkingTree, setup_aside};
use crate::workspace::{Become, Changed, LockedWorkspace, Scratch};

/// Maximum number of files of a change to read one by one. A larger change cannot be judged by its tests.
const MOST_FILES: usize = 2_000;

/// Message for a change with more files.
pub(super) const TOO_LARGE: &str = "the change is too large to be looked at as a whole: do less at once";

/// The parts of a change.
#[derive(Default)]
struct Parts {
    /// Test files, as added to the base.
    tests: Vec<(String, Become)>,
    /// Whether anything changed that needs a test.
    code: bool,
    /// The same, among the paths of the gate.
    own_code: bool,
    /// Whether any of the tests are among the paths of the gate.
    own_tests: bool,
    added: BTreeSet<String>,
    reshaped: BTreeSet<String>,
    declared: Vec<(String, String)>,
    new_files: Vec<String>,
}

impl Judge for Tdd {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        let Case { ctx, job, gate, workspace, .. } = case;
        let (base, head) = (job.base(), workspace.work_head()?);
        let mut spent = Spent::default();
        let here = WorkingTree::of(workspace);
        let mut evidence = Evidence::default();
        let Some(changed) = changed(workspace, &base, &head)? else {
            evidence.find(Weight::Fails, rule::TOO_LARGE, TOO_LARGE, None);
            return Ok(conclude(gate, &spent, evidence, &here));
        };
        let first = phases::first(workspace, self, &base, &head)?;
        match (&first, self.phases) {
            (Some(first), _) => phases::look(workspace, self, &base, first, &head, &mut evidence)?,
            (None, Phases::Require) => evidence.find(Weight::Fails, "no-phase", phases::MISSING, None),
            (None, Phases::Allow | Phases::Ignore) => {}
        }
        let parts = split(workspace, gate, (&self.tests, &self.exempt), changed)?;
        if !parts.own_code && !parts.own_tests {
            evidence.find(Weight::Noted, rule::EXEMPT, "nothing was changed that needs a test", None);
            return Ok(conclude(gate, &spent, evidence, &here));
        }
        if !parts.code {
            let what = "the change has nothing but tests, so none of them can fail without it; the check `mutation` is for such \
                        changes";
            evidence.find(Weight::Fails, rule::UNPROVEN, what, None);
            return Ok(conclude(gate, &spent, evidence, &here));
        }
        let doings = Doings::of(job, gate, workspace, &base, &head)?;
        let suite = Suite { gate, build: self.build.as_ref(), run: &self.run, report: &self.report };
        let scratch = workspace.scratch()?;
        let on_base = baseline::base(ctx, job, &suite, workspace, &scratch, 1, &mut spent)?;
        // Without a test of its own, a change can still fix one that fails on the base.
        let none = !parts.own_tests && parts.new_files.is_empty();
        let mends = matches!(&on_base, Tree::Ran(ran) if ran.merged.results.red().next().is_some());
        if none && !mends {
            let what = "the change has no test: write one that fails without the change and passes with it";
            evidence.find(Weight::Fails, rule::UNTESTED, what, None);
            return Ok(conclude(gate, &spent, evidence, &here));
        }
        let show = |ctx: &mut LegContext<'_>, tree: &Scratch<'_>, tests: &[(String, Become)]| {
            match &first {
                Some(first) => tree.show(first.as_str(), first)?,
                None => tree.show(&tree.compose(&base, tests)?, &base)?,
            }
            setup_aside(ctx, job, tree)
        };
        show(ctx, &scratch, &parts.tests)?;
        let red_tree = scratch.shown().unwrap_or_else(|| base.clone());
        let red_runs = suite.kept(ctx, job, workspace, &red_tree)?;
        let without = WorkingTree::of_scratch(&scratch);
        let mut red = suite.runs(ctx, job, &without, ("without", 1..=1), Some(&red_runs), &mut spent)?;
        let red_is_built = spent.built;
        origin::locate(&mut red, &scratch, &self.tests);
        // A separate clone, so that leftovers of the failing runs don't help the tests to pass.
        let fresh = workspace.beside("with")?;
        fresh.show(head.as_str(), &head)?;
        setup_aside(ctx, job, &fresh)?;
        let green_runs = suite.kept(ctx, job, workspace, &head)?;
        let with = WorkingTree::of_scratch(&fresh);
        let mut green = suite.runs(ctx, job, &with, ("with", 1..=1), Some(&green_runs), &mut spent)?;
        let took = spent.run;
        if let Tree::Ran(now) = &mut green {
            let tests = counting(&on_base, &red, &now.merged);
            let mut repeat = Repeat {
                suite: &suite,
                part: self.part.as_ref(),
                tests: &tests,
                workspace,
                shown: &head,
                working_tree: &with,
                kept: &green_runs,
                built: spent.built,
            };
            repeat.add(ctx, job, ("with", 2..=self.runs), now, &mut spent)?;
            green_runs.forget_flaky(&now.merged);
            if let Tree::Ran(before) = &mut red
                && before.hung.is_none()
            {
                // Red once more, in the tree in which they were red before: a test that is red only the first time is
                // flaky.
                let (shown, working_tree, kept) = (&red_tree, &without, &red_runs);
                repeat = Repeat { shown, working_tree, kept, built: red_is_built, ..repeat };
                let mut again = Ran { merged: before.merged.clone(), ..Ran::default() };
                repeat.add(ctx, job, ("without", 2..=2), &mut again, &mut spent)?;
                before.merged = again.merged;
                origin::locate(&mut red, &scratch, &self.tests);
            }
            if let Tree::Ran(before) = &red {
                red_runs.forget_flaky(&before.merged);
            }
        }
        let Parts { tests, added, reshaped, declared, new_files, .. } = parts;
        let accounts = doings.accounts.clone();
        let mut seen = Seen { base: on_base, red, green, added, reshaped, declared, accounts, new_files };
        if first.is_none() {
            let turned = judge(&seen, self.red, self.weak);
            let trees = Trees { without: &scratch, base: &base, with: &fresh, head: &head, tests: &tests };
            evidence.add(neighbours::look(ctx, job, (&suite, self), workspace, &trees, &mut spent, &turned)?);
            // A test that crashed or hung without the change tests it by reaching its end.
            let by_end = [How::CrashRed.rule(), How::TimeoutRed.rule()];
            let ends = turned.findings.iter().any(|finding| by_end.contains(&finding.rule.as_str()));
            if let Tree::Ran(now) = &seen.green
                && !ends
                && evidence.failing().chain(turned.failing()).next().is_none()
            {
                let tests = proving(&seen.red, counting(&seen.base, &seen.red, &now.merged));
                let is_strong = !turned.red.is_empty();
                let tried = Tried { with: &fresh, base: &base, head: &head, tests: &tests, is_strong, took };
                evidence.add(noticed::look(ctx, job, (&suite, self), workspace, &tried, &mut spent)?);
            }
            if let Tree::Ran(now) = &seen.green
                && evidence.failing().chain(turned.failing()).next().is_none()
            {
                let tests = now.merged.passing();
                let tried =
                    Tried { with: &fresh, base: &base, head: &head, tests: &tests, is_strong: false, took };
                evidence.add(apart::look(ctx, job, (&suite, self), workspace, &tried, &mut spent)?);
            }
        }
        if !doings.judges.is_empty() {
            name_judges(&doings, &mut evidence);
            // In new trees: code of the change ran in the others and could have prepared them.
            let under = workspace.beside("judge")?;
            under.show(&under.compose(&head, &doings.judges)?, &head)?;
            setup_aside(ctx, job, &under)?;
            let green = suite.tree(ctx, job, &WorkingTree::of_scratch(&under), "judge", 1, &mut spent)?;
            if let (Tree::Ran(now), Tree::Ran(under_base)) = (&seen.green, &green) {
                independent(&now.merged, under_base, &doings.judges(), &mut evidence);
            } else if let Tree::NotBuilt(said) = &green {
                needed(&doings, said, &mut evidence);
            }
            let is_judge = |path: &String| doings.judges.iter().any(|(judge, _)| judge == path);
            let rest: Vec<(String, Become)> = tests.into_iter().filter(|(path, _)| !is_judge(path)).collect();
            let under = workspace.beside("judge-without")?;
            show(ctx, &under, &rest)?;
            let red =
                suite.tree(ctx, job, &WorkingTree::of_scratch(&under), "judge-without", 1, &mut spent)?;
            if let (Tree::Ran(red), Tree::Ran(under_base), Tree::Ran(now)) = (&seen.red, &red, &seen.green) {
                red_by_judge(&red.merged, &under_base.merged, &now.merged, &doings.judges(), &mut evidence);
            }
        }
        drop((scratch, fresh));
        if seen.blames_the_change() && self.runs > 1 {
            // One run does not prove that a test passed before. Use another new tree: runs of the base must not come
            // after code of the change.
            let again = workspace.scratch()?;
            seen.base = baseline::base(ctx, job, &suite, workspace, &again, self.runs, &mut spent)?;
        }
        if let Some(why) = unread(&[&seen.base, &seen.red, &seen.green]) {
            let what = format!(
                "no test of the base and none of the change could be read, so nothing was judged: {why}"
            );
            evidence.find(Weight::Person, "unjudged", &what, None);
            return Ok(conclude(gate, &spent, evidence, &here));
        }
        evidence.add(judge(&seen, self.red, self.weak));
        Ok(conclude(gate, &spent, evidence, &here))
    }
}

/// Returns the tests that pass with the change and did not pass on the base, or not without the change.
fn counting(base: &Tree, red: &Tree, now: &Merged) -> BTreeSet<TestId> {
    let passed = |tree: &Tree, id: &TestId| match tree {
        Tree::Ran(ran) => Some(ran.merged.of(id) == Known::Passed),
        Tree::NotBuilt(_) => None,
    };
    let counts = |id: &&TestId| passed(base, id) != Some(true) || passed(red, id) == Some(false);
    let all = now.results.tests.keys().filter(|id| now.of(id) == Known::Passed);
    all.filter(counts).cloned().collect()
}

/// Returns those of the tests that don't pass without the change.
fn proving(red: &Tree, mut tests: BTreeSet<TestId>) -> BTreeSet<TestId> {
    if let Tree::Ran(red) = red {
        tests.retain(|id| red.merged.of(id) != Known::Passed);
    }
    tests
}

/// Returns why none of these trees reported a test although their runs ended well.
fn unread<'t>(trees: &[&'t Tree]) -> Option<&'t str> {
    let mut why = None;
    for tree in trees {
        match tree {
            Tree::Ran(ran) if ran.merged.results.tests.is_empty() => why = ran.unread.as_deref().or(why),
            Tree::Ran(_) | Tree::NotBuilt(_) => return None,
        }
    }
    why
}

/// Returns the files of a change; `None` if there are too many, because checking only a part could be exploited.
fn changed(
    workspace: &LockedWorkspace,
    base: &CommitId,
    head: &CommitId,
) -> Result<Option<Vec<Changed>>, LegAbort> {
    match workspace.changed(base, head) {
        Ok(changed) => Ok(Some(changed).filter(|changed| changed.len() <= MOST_FILES)),
        Err(error) if is_too_large(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the files of the work with changes outside of tests; `None` if the change is too large.
pub(super) fn others(
    workspace: &LockedWorkspace,
    gate: &Gate,
    tests: &Paths,
    exempt: &Paths,
    base: &CommitId,
) -> Result<Option<Vec<String>>, LegAbort> {
    let Some(changed) = changed(workspace, base, &workspace.work_head()?)? else { return Ok(None) };
    let mut others = Vec::new();
    for file in changed {
        let path = file.path.clone();
        if split(workspace, gate, (tests, exempt), vec![file])?.code {
            others.push(path);
        }
    }
    Ok(Some(others))
}

/// Splits a change into tests and the rest. Tests outside of the gate's paths are also added to the base, because
/// others may need them, but nothing is required of them.
fn split(
    workspace: &LockedWorkspace,
    gate: &Gate,
    (tests, exempt): (&Paths, &Paths),
    changed: Vec<Changed>,
) -> Result<Parts, LegAbort> {
    let (tests, exempt, paths) = (tests.compile(), exempt.compile(), gate.paths.compile());
    let mut parts = Parts::default();
    for file in changed {
        let text = |stored: &Option<_>| match stored {
            Some(stored) => workspace.text(stored),
            None => Ok(None),
        };
        let own = paths.is_match(&file.path);
        if tests.is_match(&file.path) {
            parts.own_tests |= own;
            let declares =
                |text: Option<String>| text.map(|text| words::tests(&file.path, &text)).unwrap_or_default();
            let (old, new) = (declares(text(&file.old)?), declares(text(&file.new)?));
            let new = if own { new } else { BTreeSet::new() };
            parts.declared.extend(new.difference(&old).map(|name| (name.clone(), file.path.clone())));
            let to = file.new.map_or(Become::Gone, Become::Stored);
            parts.tests.push((file.path, to));
        } else if !exempt.is_match(&file.path) {
            let (old, new) = (text(&file.old)?, text(&file.new)?);
            let mut one = Parts::default();
            one.source(file, old, new);
            parts.join(one, own);
        }
    }
    // A test that only moved is declared in both files.
    let mut seen = BTreeSet::new();
    parts.declared.retain(|(name, _)| seen.insert(name.clone()));
    Ok(parts)
}

impl Parts {
    /// Adds the parts of one file.
    fn join(&mut self, one: Self, own: bool) {
        self.code |= one.code;
        self.added.extend(one.added);
        self.reshaped.extend(one.reshaped);
        if own {
            self.own_code |= one.code;
            self.own_tests |= !one.tests.is_empty();
            self.declared.extend(one.declared);
            self.new_files.extend(one.new_files);
        }
        self.tests.extend(one.tests);
    }

    /// Handles a source file that may contain tests.
    fn source(&mut self, file: Changed, old: Option<String>, new: Option<String>) {
        let is_rust = std::path::Path::new(&file.path).extension().is_some_and(|it| it == "rs");
        let stem =
            std::path::Path::new(&file.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let known = words::tests(&file.path, old.as_deref().unwrap_or_default());
        let declared = words::tests(&file.path, new.as_deref().unwrap_or_default());
        let (Some(new), Some(stored)) = (new, file.new) else {
            self.code = true;
            return;
        };
        if file.old.is_none() {
            self.added.extend(stem);
        }
        if !is_rust {
            self.code = true;
            self.added.extend(words::added(old.as_deref(), &new));
            self.reshaped.extend(words::reshaped(old.as_deref().unwrap_or_default(), &new));
            return;
        }
        let before = old.as_deref().unwrap_or_default();
        let (old_code, new_code) = (inline::without_tests(before), inline::without_tests(&new));
        self.added.extend(words::added(Some(&old_code), &new_code));
        self.reshaped.extend(words::reshaped(&old_code, &new_code));
        self.code |= old_code.trim() != new_code.trim();
        self.declared.extend(declared.difference(&known).map(|name| (name.clone(), file.path.clone())));
        if old.is_none() {
            if inline::has_tests(&new) {
                self.new_files.push(file.path);
            }
        } else if let Some(text) = inline::graft(before, &new) {
            self.tests.push((file.path, Become::Text(stored, text)));
        }
    }
}
