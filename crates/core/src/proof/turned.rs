//! Inverts assertions: `assert a == b` becomes `assert not (a == b)`. A test that passes either way asserts nothing.
//!
//! An assertion can be dead in countless ways: in a callback that is never called, behind a branch that is never taken,
//! in a block that swallows its failure, by an equality that always holds. In all of them, inverting it makes no
//! difference.

mod edits;

use crate::check::cases::{Case, cases};
use crate::check::source::{Language, Source};
use crate::results::{Known, Merged, TestId};

/// Maximum number of tests to try per change.
const MOST: usize = 200;

/// A test file before and after a change.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// Path.
    pub path: String,
    /// Text before; empty if it is new.
    pub old: String,
    /// Text after.
    pub new: String,
}

/// Files with a copy of each new or changed test, with inverted assertions.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Files with copies: path and text.
    pub files: Vec<(String, String)>,
    copies: Vec<Copy>,
}

/// A copy of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Name of the test.
    pub name: String,
    /// File.
    pub path: String,
    /// Line of its first inverted assertion.
    pub line: u32,
    tag: String,
}

/// Plans copies of the tests that a change adds or changes. Returns `None` if no assertion can be inverted.
pub fn plan(files: &[TestFile]) -> Option<Plan> {
    let mut plan = Plan::default();
    for file in files {
        let Some(language) = Language::of(&file.path) else { continue };
        let (old, new) = (Source::new(language, file.old.clone()), Source::new(language, file.new.clone()));
        let known: Vec<String> =
            cases(language, &old).into_iter().map(|case| old.essence(case.whole)).collect();
        let all = cases(language, &new);
        let is_inside = |case: &Case| {
            all.iter().any(|other| other.whole.start < case.whole.start && case.whole.end <= other.whole.end)
        };
        let mut text = file.new.clone();
        for case in all.iter().rev().filter(|case| !is_inside(case) && is_plain(&new, case)) {
            if known.contains(&new.essence(case.whole.clone())) || plan.copies.len() >= MOST {
                continue;
            }
            let tag = format!("iv{}q", plan.copies.len());
            let Some((copy, line)) = copy(language, &new, case, &tag) else { continue };
            text.insert_str(case.whole.end, &copy);
            plan.copies.push(Copy { name: case.name.clone(), path: file.path.clone(), line, tag });
        }
        if text != file.new {
            plan.files.push((file.path.clone(), text));
        }
    }
    (!plan.copies.is_empty()).then_some(plan)
}

/// Returns whether a test runs, and is not expected to fail.
fn is_plain(source: &Source, case: &Case) -> bool {
    const OTHER: [&str; 7] = [
        "snapshot",
        "should_panic",
        "expectedfailure",
        "xfail",
        "(expected =",
        "(expected=",
        "assertionerror",
    ];
    let text = source.text.get(case.whole.clone()).unwrap_or_default().to_lowercase();
    case.skipped.is_none() && !OTHER.iter().any(|word| text.contains(word))
}

/// Returns a renamed copy of a test with inverted assertions, and the line of the first of them.
fn copy(language: Language, source: &Source, case: &Case, tag: &str) -> Option<(String, u32)> {
    let whole = case.whole.clone();
    let edits = edits::of(language, source, whole.clone());
    let line = source.line_of(edits.first()?.0.start);
    let mut text = source.text.get(whole.clone())?.to_owned();
    for (at, new) in edits.into_iter().rev() {
        text.replace_range(at.start - whole.start..at.end - whole.start, &new);
    }
    super::neighbours::renamed(&text, &case.name, tag).map(|text| (text, line))
}

impl Plan {
    /// Returns whether every copy ran.
    pub fn all_ran(&self, with: &Merged) -> bool {
        let ran = |copy: &Copy| with.results.tests.keys().any(|id| id.name.contains(&copy.tag));
        self.copies.iter().all(ran)
    }
}

/// Returns the copies that pass: the assertions of their tests make no difference.
pub fn dead(plan: &Plan, with: &Merged) -> Vec<Copy> {
    let passes = |copy: &&Copy| {
        let mut rows =
            with.results.tests.keys().filter(|id: &&TestId| id.name.contains(&copy.tag)).peekable();
        rows.peek().is_some() && rows.all(|id| with.of(id) == Known::Passed)
    };
    plan.copies.iter().filter(passes).cloned().collect()
}

#[cfg(test)]
mod tests;
