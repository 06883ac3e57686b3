//! Runs tests of the change with other values, without the change and with it: code that is right only for the values
//! of its tests is not a fix.

use acquit_core::check::dilution::Permits;
use acquit_core::failure::Location;
use acquit_core::gate::check::Tdd;
use acquit_core::gate::{Evidence, Weight};
use acquit_core::proof::neighbours::{Code, Special, plan, special};
use acquit_core::proof::{Tree, inline};

use super::origin;
use super::suite::{Spent, Suite};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree};
use crate::workspace::{Become, Changed, LockedWorkspace, Scratch};

/// Rule of the finding, as in `dilution`.
const RULE: &str = "special-cased";

/// Maximum number of test files to read.
const MOST_FILES: usize = 200;

/// The trees in which copies run.
pub(super) struct Trees<'a, 'w> {
    /// Shows the base with the tests of the change.
    pub(super) without: &'a Scratch<'w>,
    pub(super) base: &'a CommitId,
    /// Shows the change.
    pub(super) with: &'a Scratch<'w>,
    pub(super) head: &'a CommitId,
    /// The tests of the change, as added to the base.
    pub(super) tests: &'a [(String, Become)],
}

/// A test file after the change.
struct TestFile {
    path: String,
    stored: crate::workspace::Stored,
    text: String,
}

/// Tries the tests that turned by the change with other values, if its code checks for one of theirs.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    (suite, tdd): (&Suite<'_>, &Tdd),
    workspace: &LockedWorkspace,
    trees: &Trees<'_, '_>,
    spent: &mut Spent,
    turned: &Evidence,
) -> Result<Evidence, LegAbort> {
    let mut evidence = Evidence::default();
    let wish = &job.task.seed.wish;
    let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
    if turned.red.is_empty() || turned.failing().next().is_some() || permits.allow(RULE, None) {
        return Ok(evidence);
    }
    let changed = workspace.changed(trees.base, trees.head)?;
    let code = code(workspace, tdd, &changed)?;
    let names: Vec<String> =
        turned.red.iter().map(|id| id.rsplit(" › ").next().unwrap_or(id).to_owned()).collect();
    let files = files(workspace, tdd, trees.head, &names)?;
    let tests: Vec<(String, String)> = files.iter().map(|it| (it.path.clone(), it.text.clone())).collect();
    let task = format!("{}\n{}", wish.title, wish.description);
    let Some(plan) = plan(&code, &tests, &names, &task) else { return Ok(evidence) };
    let mut on_base = trees.tests.to_vec();
    let mut on_head = Vec::new();
    for (path, text) in &plan.files {
        let Some(file) = files.iter().find(|file| file.path == *path) else { continue };
        on_base.retain(|(known, _)| known != path);
        let old = changed.iter().find(|file| file.path == *path).and_then(|file| file.old.as_ref());
        let before = match old {
            Some(old) if is_inline(tdd, path) => workspace.text(old)?.unwrap_or_default(),
            Some(_) | None => String::new(),
        };
        let without = if is_inline(tdd, path) { inline::graft(&before, text) } else { Some(text.clone()) };
        let Some(without) = without else { return Ok(evidence) };
        on_base.push((path.clone(), Become::Text(file.stored.clone(), without)));
        on_head.push((path.clone(), Become::Text(file.stored.clone(), text.clone())));
    }
    trees.without.show(&trees.without.compose(trees.base, &on_base)?, trees.base)?;
    let mut without =
        suite.tree(ctx, job, &WorkingTree::of_scratch(trees.without), "neighbours-without", 1, spent)?;
    origin::locate(&mut without, trees.without, &tdd.tests);
    trees.with.show(&trees.with.compose(trees.head, &on_head)?, trees.head)?;
    let mut with = suite.tree(ctx, job, &WorkingTree::of_scratch(trees.with), "neighbours", 1, spent)?;
    origin::locate(&mut with, trees.with, &tdd.tests);
    if let (Tree::Ran(without), Tree::Ran(with)) = (without, with) {
        for found in special(&plan, &without.merged, &with.merged) {
            report(found, &mut evidence);
        }
    }
    Ok(evidence)
}

fn report(found: Special, evidence: &mut Evidence) {
    let Special { value, path, line, tried, is_given } = found;
    let tried = tried.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    let what = if is_given {
        format!(
            "the code gives `{value}`, which the change's own test expects. Where the test asks with {tried} instead, the change makes \
             no difference: make the code right for every input"
        )
    } else {
        format!(
            "the code asks for `{value}`, a value of the change's own test. With {tried} in its place the change makes no \
             difference: make the code right for every input"
        )
    };
    evidence.find(Weight::Fails, RULE, &what, Some(Location { path, line }));
}

fn is_rust(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|ending| ending == "rs")
}

/// Returns whether a file has tests beside its code.
fn is_inline(tdd: &Tdd, path: &str) -> bool {
    is_rust(path) && !tdd.tests.compile().is_match(path)
}

/// Returns the files of a change that are neither tests nor prose, without inline tests.
fn code(workspace: &LockedWorkspace, tdd: &Tdd, changed: &[Changed]) -> Result<Vec<Code>, LegAbort> {
    let (tests, exempt) = (tdd.tests.compile(), tdd.exempt.compile());
    let mut code = Vec::new();
    for file in changed {
        let Some(new) = &file.new else { continue };
        if tests.is_match(&file.path) || exempt.is_match(&file.path) {
            continue;
        }
        let Some(mut new) = workspace.text(new)? else { continue };
        let mut old = match &file.old {
            Some(old) => workspace.text(old)?.unwrap_or_default(),
            None => String::new(),
        };
        if is_inline(tdd, &file.path) {
            (old, new) = (inline::without_tests(&old), inline::without_tests(&new));
        }
        code.push(Code { path: file.path.clone(), old, new });
    }
    Ok(code)
}

/// Returns the files that have a test with one of these names after the change.
fn files(
    workspace: &LockedWorkspace,
    tdd: &Tdd,
    head: &CommitId,
    names: &[String],
) -> Result<Vec<TestFile>, LegAbort> {
    let tests = tdd.tests.compile();
    let wanted = |path: &str| tests.is_match(path) || is_rust(path);
    let mut found = Vec::new();
    for (path, stored) in workspace.files_of(head, &wanted)?.into_iter().take(MOST_FILES) {
        let Some(text) = workspace.text(&stored)? else { continue };
        let declared = acquit_core::proof::words::tests(&path, &text);
        let has = |name: &String| declared.iter().any(|test| name.contains(test.as_str()));
        if names.iter().any(has) {
            found.push(TestFile { path, stored, text });
        }
    }
    Ok(found)
}
