//! The tests of the change: red without it, green with it.
//!
//! Three trees are shown in the same scratch folder, in this order: the base, the base with the tests of the change, the
//! change. What is built for one is there for the next, and code of the change never runs before code of the base did.

use std::collections::BTreeSet;

use acquit_core::gate::check::{Phases, Tdd};
use acquit_core::gate::{Evidence, Gate, Paths, Verdict, Weight};
use acquit_core::proof::{Seen, inline, judge, words};

use super::looking::is_too_large;
use super::suite::{Spent, Suite};
use super::{baseline, conclude, phases};
use crate::git::CommitId;
use crate::harness::{Desk, Ground, Job, Trouble, setup_aside};
use crate::workspace::{Become, Changed, Locked};

/// How many files of a change are looked at one by one. What changes more is no change that anybody can judge by its tests.
const MOST_FILES: usize = 2_000;

/// What is said of a change that has more of them.
pub(super) const TOO_LARGE: &str = "the change is too large to be looked at as a whole: do less at once";

/// What a change consists of.
#[derive(Default)]
struct Parts {
    /// The files of the tests, as they are to be on the base.
    tests: Vec<(String, Become)>,
    /// Whether anything was changed that needs a test.
    code: bool,
    added: BTreeSet<String>,
    declared: Vec<(String, String)>,
    removed: BTreeSet<String>,
    new_files: Vec<String>,
}

/// Runs the check.
pub(super) fn run(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gate: &Gate,
    tdd: &Tdd,
    workspace: &Locked,
) -> Result<Verdict, Trouble> {
    let (base, head) = (job.base(), workspace.work_head()?);
    let mut spent = Spent::default();
    let here = Ground::of(workspace);
    let mut evidence = Evidence::default();
    let Some(changed) = changed(workspace, &base, &head)? else {
        evidence.find(Weight::Fails, "too-large", TOO_LARGE, None);
        return Ok(conclude(gate, &spent, evidence, &here));
    };
    let first = phases::first(workspace, tdd, &base, &head)?;
    match (&first, tdd.phases) {
        (Some(first), _) => phases::look(workspace, tdd, &base, first, &head, &mut evidence)?,
        (None, Phases::Require) => evidence.find(Weight::Fails, "no-phase", phases::MISSING, None),
        (None, Phases::Allow | Phases::Ignore) => {}
    }
    let parts = split(workspace, &tdd.tests, &tdd.exempt, changed)?;
    if !parts.code && parts.tests.is_empty() {
        evidence.find(Weight::Noted, "exempt", "nothing was changed that needs a test", None);
        return Ok(conclude(gate, &spent, evidence, &here));
    }
    if parts.tests.is_empty() && parts.new_files.is_empty() {
        let what = "the change has no test: write one that fails without the change and passes with it";
        evidence.find(Weight::Fails, "untested", what, None);
        return Ok(conclude(gate, &spent, evidence, &here));
    }
    if !parts.code {
        let what = "the change has nothing but tests, so none of them can fail without it; the check `mutation` is for such \
                    changes";
        evidence.find(Weight::Fails, "unproven", what, None);
        return Ok(conclude(gate, &spent, evidence, &here));
    }
    let suite = Suite { gate, build: tdd.build.as_ref(), run: &tdd.run, report: &tdd.report };
    let scratch = workspace.scratch()?;
    let ground = scratch.ground();
    let on_base = baseline::base(desk, job, &suite, workspace, &scratch, 1, &mut spent)?;
    match &first {
        Some(first) => scratch.show(first.as_str(), first)?,
        None => scratch.show(&scratch.compose(&base, &parts.tests)?, &base)?,
    }
    setup_aside(desk, job, &scratch)?;
    let red = suite.tree(desk, job, &ground, "without", 1, &mut spent)?;
    scratch.show(head.as_str(), &head)?;
    setup_aside(desk, job, &scratch)?;
    let green = suite.tree(desk, job, &ground, "with", tdd.runs, &mut spent)?;
    let Parts { added, declared, removed, new_files, .. } = parts;
    let mut seen = Seen { base: on_base, red, green, added, declared, removed, new_files };
    drop(scratch);
    if seen.blames_the_change() && tdd.runs > 1 {
        // Once is not enough to say that a test passed before. In a tree of its own again: what is kept of the base must not
        // come after code of the change.
        let again = workspace.scratch()?;
        seen.base = baseline::base(desk, job, &suite, workspace, &again, tdd.runs, &mut spent)?;
    }
    evidence.add(judge(&seen, tdd.red, tdd.weak));
    Ok(conclude(gate, &spent, evidence, &here))
}

/// The files that a change consists of. `None` if they are too many: a part of them would be a way around the check.
fn changed(workspace: &Locked, base: &CommitId, head: &CommitId) -> Result<Option<Vec<Changed>>, Trouble> {
    match workspace.changed(base, head) {
        Ok(changed) => Ok(Some(changed).filter(|changed| changed.len() <= MOST_FILES)),
        Err(error) if is_too_large(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The files of the work that have changes of something else than tests. `None` if the change is too large.
pub(super) fn others(
    workspace: &Locked,
    tests: &Paths,
    exempt: &Paths,
    base: &CommitId,
) -> Result<Option<Vec<String>>, Trouble> {
    let Some(changed) = changed(workspace, base, &workspace.work_head()?)? else { return Ok(None) };
    let mut others = Vec::new();
    for file in changed {
        let path = file.path.clone();
        if split(workspace, tests, exempt, vec![file])?.code {
            others.push(path);
        }
    }
    Ok(Some(others))
}

/// Tells the tests of a change from the rest of it.
fn split(workspace: &Locked, tests: &Paths, exempt: &Paths, changed: Vec<Changed>) -> Result<Parts, Trouble> {
    let (tests, exempt) = (tests.compile(), exempt.compile());
    let mut parts = Parts::default();
    for file in changed {
        let text = |stored: &Option<_>| match stored {
            Some(stored) => workspace.text(stored),
            None => Ok(None),
        };
        if tests.is_match(&file.path) {
            let declares =
                |text: Option<String>| text.map(|text| words::tests(&file.path, &text)).unwrap_or_default();
            let (old, new) = (declares(text(&file.old)?), declares(text(&file.new)?));
            parts.declared.extend(new.difference(&old).map(|name| (name.clone(), file.path.clone())));
            parts.removed.extend(old.difference(&new).cloned());
            let to = file.new.map_or(Become::Gone, Become::Stored);
            parts.tests.push((file.path, to));
        } else if !exempt.is_match(&file.path) {
            let (old, new) = (text(&file.old)?, text(&file.new)?);
            parts.source(file, old, new);
        }
    }
    // A test that only moved to another file is declared there and here.
    let mut seen = BTreeSet::new();
    parts.declared.retain(|(name, _)| seen.insert(name.clone()));
    Ok(parts)
}

/// The names of the tests that a change takes away.
pub(super) fn removed(
    workspace: &Locked,
    base: &CommitId,
    head: &CommitId,
) -> Result<BTreeSet<String>, Trouble> {
    let mut removed = BTreeSet::new();
    for file in workspace.changed(base, head)? {
        let Some(old) = &file.old else { continue };
        let declares = |text: Option<String>| words::tests(&file.path, &text.unwrap_or_default());
        let old = declares(workspace.text(old)?);
        if !old.is_empty() {
            let new = file.new.as_ref().map_or(Ok(None), |new| workspace.text(new))?;
            removed.extend(old.difference(&declares(new)).cloned());
        }
    }
    Ok(removed)
}

impl Parts {
    /// A file that is no test as a whole, but may have tests inside.
    fn source(&mut self, file: Changed, old: Option<String>, new: Option<String>) {
        let is_rust = std::path::Path::new(&file.path).extension().is_some_and(|it| it == "rs");
        let stem =
            std::path::Path::new(&file.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let known = words::tests(&file.path, old.as_deref().unwrap_or_default());
        let declared = words::tests(&file.path, new.as_deref().unwrap_or_default());
        self.removed.extend(known.difference(&declared).cloned());
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
            return;
        }
        let before = old.as_deref().unwrap_or_default();
        let (old_code, new_code) = (inline::without_tests(before), inline::without_tests(&new));
        self.added.extend(words::added(Some(&old_code), &new_code));
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
