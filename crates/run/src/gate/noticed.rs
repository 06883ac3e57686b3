//! Runs the tests of a change on its own code, broken on purpose: tests that prove the change must look at what it
//! does.

use std::collections::BTreeSet;

use acquit_core::check::dilution::Permits;
use acquit_core::gate::check::Tdd;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::Tree;
use acquit_core::proof::noticed::{Code, Mutant, Way, is_noticed, mutant};
use acquit_core::results::TestId;
use acquit_core::time::Span;

use super::suite::{Spent, Suite};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, setup_aside};
use crate::workspace::{Become, LockedWorkspace, Scratch, Stored};

/// Rule of the finding.
pub(super) const RULE: &str = "unnoticed";

/// The rule of `dilution` whose permit disables this check for a task: tests that prove nothing.
pub(super) const PERMIT: &str = "assertion-dead";

/// Maximum number of changed files to read.
const MOST_FILES: usize = 200;

/// Time limit of all runs on broken code, in milliseconds.
const MOST_TIME: u64 = 60 * 1000;

/// Input of the check.
pub(super) struct Tried<'a, 'w> {
    /// Tree that shows the change.
    pub(super) with: &'a Scratch<'w>,
    pub(super) base: &'a CommitId,
    pub(super) head: &'a CommitId,
    /// Tests that prove the change.
    pub(super) tests: &'a BTreeSet<TestId>,
    /// Whether one of them fails without the change because of what the code does, and not only because something is
    /// missing.
    pub(super) is_strong: bool,
    /// How long they took with the change.
    pub(super) took: u64,
}

/// Breaks the code of the change and runs its tests. If none notices, the change fails.
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
    let began = spent.took;
    let mut blind: Option<(Way, Mutant)> = None;
    for way in Way::ALL {
        // If no result can be broken, it is enough that the tests fail without the change.
        if way == Way::Everything && tried.is_strong && blind.is_none() {
            return Ok(evidence);
        }
        let Some(mutant) = mutant(&texts, way) else { continue };
        // The tests may look at a part that was not broken.
        if way == Way::Everything && !mutant.is_whole {
            return Ok(evidence);
        }
        let left = MOST_TIME.saturating_sub(spent.took - began);
        if tried.took >= left {
            let what = "whether the tests of the change notice its code broken was not looked at: they take too long";
            evidence.find(Weight::Noted, RULE, what, None);
            return Ok(evidence);
        }
        let timeout = Span::from(left.min(u64::from(suite.gate.timeout)));
        let gate = Gate { timeout, ..suite.gate.clone() };
        let suite = Suite { gate: &gate, ..*suite };
        let files: Vec<(String, Become)> = mutant
            .files
            .iter()
            .filter_map(|(path, text)| {
                let (stored, _) = code.iter().find(|(_, code)| code.path == *path)?;
                Some((path.clone(), Become::Text(stored.clone(), text.clone())))
            })
            .collect();
        tried.with.show(&tried.with.compose(tried.head, &files)?, tried.head)?;
        setup_aside(ctx, job, tried.with)?;
        match seen(ctx, job, (&suite, tdd), way, tried, spent)? {
            Some(false) => blind = Some((way, mutant)),
            // The tests noticed, or the code did not compile.
            Some(true) => return Ok(evidence),
            None if way == Way::Everything => return Ok(evidence),
            None => {}
        }
    }
    if let Some((way, mutant)) = blind.filter(|(way, _)| *way == Way::Everything) {
        let tests: Vec<String> = tried.tests.iter().take(3).map(|id| format!("`{id}`")).collect();
        let places: Vec<String> =
            mutant.places.iter().map(|place| format!("{}:{}", place.path, place.line)).collect();
        let what = format!(
            "the tests of the change ({}) pass as well if {} ({}): they do not look at what the change does. Assert the values that \
             it gives",
            tests.join(", "),
            way.words(),
            places.join(", ")
        );
        evidence.find(Weight::Fails, RULE, &what, mutant.places.into_iter().next());
    }
    Ok(evidence)
}

/// Returns whether the tests of the change notice; `None` if unknown.
fn seen(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    (suite, tdd): (&Suite<'_>, &Tdd),
    way: Way,
    tried: &Tried<'_, '_>,
    spent: &mut Spent,
) -> Result<Option<bool>, LegAbort> {
    let working_tree = WorkingTree::of_scratch(tried.with);
    let phase = format!("unnoticed-{}", way.name());
    if let Some(run) = tdd.part.as_ref() {
        let part = Suite { run, ..*suite };
        let tree = part.tree(ctx, job, &working_tree, &format!("{phase}-part"), 1, spent)?;
        if let Tree::Ran(ran) = &tree
            && tried.tests.iter().all(|id| ran.merged.results.tests.contains_key(id))
        {
            return Ok(Some(is_noticed(tried.tests, &ran.merged)));
        }
    }
    Ok(match suite.tree(ctx, job, &working_tree, &phase, 1, spent)? {
        Tree::Ran(ran) if ran.hung.is_some() => Some(true),
        Tree::Ran(ran) => Some(is_noticed(tried.tests, &ran.merged)),
        Tree::NotBuilt(_) => None,
    })
}

/// Returns the files of the change that are neither tests nor prose, before and after.
pub(super) fn code(
    workspace: &LockedWorkspace,
    tdd: &Tdd,
    tried: &Tried<'_, '_>,
) -> Result<Vec<(Stored, Code)>, LegAbort> {
    let (tests, exempt) = (tdd.tests.compile(), tdd.exempt.compile());
    let mut code = Vec::new();
    for file in workspace.changed(tried.base, tried.head)?.into_iter().take(MOST_FILES) {
        let Some(stored) = file.new else { continue };
        if tests.is_match(&file.path) || exempt.is_match(&file.path) {
            continue;
        }
        let Some(new) = workspace.text(&stored)? else { continue };
        let old = match &file.old {
            Some(old) => workspace.text(old)?.unwrap_or_default(),
            None => String::new(),
        };
        code.push((stored, Code { path: file.path, old, new }));
    }
    Ok(code)
}
