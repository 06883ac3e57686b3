//! Checks `docs/coverage.md`: every row names at least one test, every named test exists, and a row without a test says that
//! something is missing.

use super::Finding;
use super::source::Tree;

/// The table of promises and their tests.
const PATH: &str = "docs/coverage.md";

/// How a row says that no test shows its promise.
const MISSING: &str = "missing";

/// Finds rows without a test and tests that do not exist.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(PATH) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut report = |what| findings.push(Finding { path: PATH.to_owned(), line: number + 1, what });
        let Some(last) = row(line) else { continue };
        let mut tests = names(last).peekable();
        if tests.peek().is_none() && !last.starts_with(MISSING) {
            report(format!("no test, and not `{MISSING}`"));
        }
        for test in tests.filter(|test| !exists(tree, test)) {
            report(format!("no test `{test}`"));
        }
    }
    findings
}

/// The last cell of a table's row; its header and its rule are not rows.
fn row(line: &str) -> Option<&str> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let number = cells.next()?;
    let last = cells.next_back()?;
    (number.ends_with(|character: char| character.is_ascii_digit())).then_some(last)
}

/// What stands in backquotes and has the form of a test.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("::"))
}

/// Whether `crate/file::name` is a word in that file.
fn exists(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Some((krate, file)) = path.split_once('/') else { return false };
    let below = if file.starts_with("src/") { "" } else { "tests/" };
    [".rs", "/mod.rs"].iter().any(|ending| {
        tree.get(&format!("crates/{krate}/{below}{file}{ending}"))
            .is_some_and(|file| super::rules::words(&file.text, name).next().is_some())
    })
}
