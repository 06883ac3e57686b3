//! Runs the tests of the base on the code of the change: assertions that decided before still decide.
//!
//! Tests, helpers and test data belong to the change, and so does their verdict. So the base's version of them runs on
//! the new code. A test with unchanged text that passes only with a changed helper is reported under its own rule. A
//! test with a changed expectation is reported; if the task promises unchanged results, it counts against the change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::GlobSet;
use regex::Regex;

use super::account::is_called;
use super::compare::family;
use super::pieces::{is_declaration, rest};
use super::replaced::{Files, Replaced, dropped};
use super::turned::TestFile;
use super::{Ran, is_fault_of_test};
use crate::check::cases::{Case, cases};
use crate::check::source::{Language, Source};
use crate::gate::check::{TESTS, dilution::Promise};
use crate::gate::{Evidence, Paths, Weight};
use crate::pattern::pattern;
use crate::results::{Known, Merged, Outcome, TestId};

/// Maximum number of named tests per kind.
const NAMED: usize = 5;

/// Folders and files that belong to tests, in addition to those in which runners look for tests.
const BESIDE: [&str; 24] = [
    "spec/**",
    "**/spec/**",
    "**/testing/**",
    "**/testutil/**",
    "**/testutils/**",
    "**/test_utils/**",
    "**/test-utils/**",
    "**/testhelpers/**",
    "**/test_helpers/**",
    "**/test_support/**",
    "**/testkit/**",
    "**/__mocks__/**",
    "**/golden/**",
    "**/goldens/**",
    "**/snapshots/**",
    "**/approvals/**",
    "*.snap",
    "*.golden",
    "*.ambr",
    "*.approved.*",
    "*.snapshot",
    "vitest.setup.*",
    "jest.setup.*",
    "setupTests.*",
];

/// What a file is for the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tests or their helpers.
    Tests,
    /// Data that tests read: expected outputs, examples.
    Data,
    /// Something else.
    Other,
}

/// Returns what a file is for the tests, by its path.
pub fn part(path: &str) -> Part {
    static SET: LazyLock<GlobSet> = LazyLock::new(|| {
        let all: Vec<&str> = TESTS.iter().chain(&BESIDE).copied().collect();
        Paths::literal(&all).compile()
    });
    match Language::of(path) {
        _ if !SET.is_match(path) => Part::Other,
        Some(_) => Part::Tests,
        None => Part::Data,
    }
}

/// Changes to existing tests. Additions are not part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// Tests whose text changed.
    tests: BTreeSet<String>,
    /// Their texts before and after.
    texts: BTreeMap<String, String>,
    /// Changed values in tests and beside them.
    values_of: BTreeMap<String, Replaced>,
    /// Lines of tests whose question no remaining line asks.
    dropped: BTreeMap<String, Vec<String>>,
    /// Tests with only value changes beside them.
    beside: BTreeSet<String>,
    /// Files with changed code outside of tests.
    helpers: Vec<String>,
    /// Whether values outside of tests changed.
    values: bool,
}

impl Edited {
    /// Compares files of tests and helpers.
    pub fn of(files: &[TestFile]) -> Self {
        let mut edited = Self::default();
        let all = Files::of(files);
        for file in files {
            edited.add(file, &all);
        }
        edited
    }

    /// Returns whether nothing that existed changed.
    pub fn is_nothing(&self) -> bool {
        self.tests.is_empty() && self.helpers.is_empty() && !self.values
    }

    fn add(&mut self, file: &TestFile, all: &Files) {
        let Some(language) = Language::of(&file.path) else { return };
        let (old, new) = (Source::new(language, file.old.clone()), Source::new(language, file.new.clone()));
        let (before, after) = (cases(language, &old), cases(language, &new));
        for case in &before {
            let text = old.essence(case.whole.clone());
            let same = |other: &Case| other.name == case.name && new.essence(other.whole.clone()) == text;
            if !after.iter().any(same) {
                let now = after.iter().filter(|other| other.name == case.name);
                let now: Vec<&str> = now.filter_map(|other| new.text.get(other.whole.clone())).collect();
                let both =
                    std::iter::once(&text.as_str()).chain(&now).copied().collect::<Vec<_>>().join("\n");
                let was = old.text.get(case.whole.clone()).unwrap_or_default();
                let replaced = self.values_of.entry(case.name.clone()).or_default();
                replaced.add_code(was, &now.join("\n"));
                let gone = dropped(was, now.first().copied(), all);
                self.dropped.entry(case.name.clone()).or_default().extend(gone);
                self.texts.entry(case.name.clone()).or_default().push_str(&both);
                self.tests.insert(case.name.clone());
            }
        }
        let (rest, now) = (rest(&old, &before), rest(&new, &after));
        // A new declaration affects only the code that uses it.
        let lost = rest.iter().any(|item| !now.contains(item));
        let acts = now.iter().any(|item| !rest.contains(item) && !is_declaration(item));
        if !lost && !acts {
            return;
        }
        let blank =
            |items: &[String]| -> Vec<String> { items.iter().map(|item| without_values(item)).collect() };
        if blank(&rest) == blank(&now) {
            self.values = true;
            let (was, is) = (rest.join("\n"), now.join("\n"));
            for case in before {
                self.values_of.entry(case.name.clone()).or_default().add_code(&was, &is);
                let gone = dropped(&was, None, all);
                self.dropped.entry(case.name.clone()).or_default().extend(gone);
                self.beside.insert(case.name);
            }
        } else {
            self.helpers.push(file.path.clone());
        }
    }

    /// Returns whether the text of a test changed, or the test is gone.
    pub fn names(&self, id: &TestId) -> bool {
        Self::has(&self.tests, id)
    }

    /// Returns whether code or values beside the tests changed.
    pub fn touches_helpers(&self) -> bool {
        !self.helpers.is_empty() || self.values
    }

    fn has(names: &BTreeSet<String>, id: &TestId) -> bool {
        names.iter().any(|name| is_called(&id.name, name))
    }

    /// Returns the text of a test before and after; empty if it did not change.
    fn text(&self, id: &TestId) -> &str {
        self.texts.iter().find(|(name, _)| is_called(&id.name, name)).map_or("", |(_, text)| text)
    }

    /// Returns the changed values in a test or beside it.
    fn replaced(&self, id: &TestId) -> Replaced {
        let all = self.values_of.iter().filter(|(name, _)| is_called(&id.name, name));
        all.fold(Replaced::default(), |all, (_, one)| all.and(one))
    }

    /// Returns a line of a test whose question no remaining line asks.
    fn dropped(&self, id: &TestId) -> Option<&str> {
        let mut all = self.dropped.iter().filter(|(name, _)| is_called(&id.name, name));
        all.find_map(|(_, lines)| lines.first()).map(String::as_str)
    }

    /// Returns whether a test's text, or values beside it, changed.
    fn is_own(&self, id: &TestId) -> bool {
        Self::has(&self.tests, id) || Self::has(&self.beside, id)
    }
}

/// Returns code with a placeholder for each text and number.
fn without_values(item: &str) -> String {
    static VALUE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\b\d[\d_.]*\b"#));
    VALUE.replace_all(item, "#").into_owned()
}

/// Runs with the tests of the base.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The base.
    pub base: &'a Merged,
    /// The change.
    pub now: &'a Merged,
    /// Code of the change with tests, helpers and data of the base.
    pub earlier: &'a Ran,
    /// The same with the data of the change, if it differs.
    pub new_data: Option<&'a Ran>,
}

/// Returns whether a test failed by an assertion, and not because it no longer fits the code.
fn is_asserted(known: Known<'_>) -> bool {
    const MISFIT: [&str; 16] = [
        "TypeError",
        "AttributeError",
        "has no attribute",
        "is not a function",
        "is not a constructor",
        "is not defined",
        "unexpected keyword",
        "required positional",
        "positional argument",
        "Cannot read properties of",
        "NoSuchMethod",
        "NoSuchField",
        "has no exported member",
        "does not provide an export",
        "Failed to resolve import",
        "No known",
    ];
    match known {
        Known::Red(case) => {
            case.outcome == Outcome::Failed
                && !is_fault_of_test(&case.message)
                && !MISFIT.iter().any(|sign| case.message.contains(sign))
        }
        Known::Passed | Known::Skipped | Known::Flaky | Known::Absent => false,
    }
}

/// Returns whether the task explains all tests of the base that fail on the new code by an assertion. `earlier` are the
/// results of these tests on it.
pub fn is_asked(task: &str, edited: &Edited, base: &Merged, earlier: &Merged) -> bool {
    let passed = base.results.tests.keys().filter(|id| base.of(id) == Known::Passed);
    let mut failed = passed.filter(|id| is_asserted(earlier.of(id))).peekable();
    failed.peek().is_none()
        || Promise::of(task) != Promise::Same
            && failed.all(|id| is_about(task, &format!("{id}\n{}", edited.text(id))))
}

impl Runs<'_> {
    /// Returns the run in which only test code is from the base.
    fn code(&self) -> &Merged {
        &self.new_data.unwrap_or(self.earlier).merged
    }

    /// Returns the tests of the base that fail on the new code.
    fn failed(&self) -> impl Iterator<Item = &TestId> {
        let all = self.base.results.tests.keys();
        all.filter(|id| self.base.of(id) == Known::Passed && is_asserted(self.earlier.merged.of(id)))
    }

    /// Returns one of those failing tests that passes in another run.
    pub fn mended(&self, earlier: &Merged) -> Option<&TestId> {
        self.failed().find(|id| earlier.of(id) == Known::Passed)
    }

    /// Returns whether all tests that pass with the change also pass in another run.
    pub fn all_pass(&self, other: &Merged) -> bool {
        let mut passing = self.now.results.tests.keys().filter(|id| self.now.of(id) == Known::Passed);
        passing.all(|id| other.of(id) == Known::Passed)
    }

    /// Returns whether the new code fails tests of the base.
    pub fn is_worse(&self) -> bool {
        self.failed().next().is_some()
    }

    /// Returns whether a test of the base passes with the change. Rows of a table have different names if their values
    /// differ.
    fn lives(&self) -> impl Fn(&TestId) -> bool {
        let all = self.now.results.tests.keys();
        let rows: BTreeSet<(String, String)> =
            all.filter(|id| self.now.of(id) == Known::Passed).map(family).collect();
        move |id| match self.now.of(id) {
            Known::Absent => rows.contains(&family(id)),
            known => known == Known::Passed,
        }
    }

    /// Returns the tests that pass on the new code with their old and their new text, with the same data.
    pub fn sound(&self) -> BTreeSet<TestId> {
        let lives = self.lives();
        let all = self.code().results.tests.keys();
        all.filter(|id| self.code().of(id) == Known::Passed && lives(id)).cloned().collect()
    }

    /// Adds the conclusions. `judges` are the changed settings and hooks of runners, `task` is the request, and `data`
    /// are the changes to files that tests read.
    pub fn conclude(
        &self,
        edited: &Edited,
        judges: &[String],
        (task, data): (&str, &Replaced),
        evidence: &mut Evidence,
    ) {
        let promise = Promise::of(task);
        let files: Vec<String> = edited.helpers.iter().chain(judges).cloned().collect();
        let (mut by_helper, mut other) = (Vec::new(), Vec::new());
        let passes_now = self.lives();
        for id in self.failed() {
            let lives = passes_now(id);
            let by_code = is_asserted(self.code().of(id));
            if lives && by_code && !edited.is_own(id) && !files.is_empty() {
                by_helper.push(id);
            } else if lives || promise == Promise::Same {
                other.push(id);
            }
        }
        let said = |id: &TestId| match self.earlier.merged.of(id) {
            Known::Red(case) => (case.message.clone(), case.location.clone()),
            Known::Passed | Known::Skipped | Known::Flaky | Known::Absent => Default::default(),
        };
        for id in by_helper.iter().take(NAMED) {
            let (message, location) = said(id);
            let what = format!(
                "{id} is the same test as before and passes only with the changed {}; with what the base has there it fails: \
                 {message}\nmake the code pass it as it was",
                files.join(", ")
            );
            evidence.find(Weight::Fails, "judge-changed", &what, location);
        }
        for id in other.iter().take(NAMED) {
            let (message, location) = said(id);
            let about = format!("{id}\n{message}\n{}\n{}", edited.text(id), data.text());
            let (weight, why) = match (promise, edited.dropped(id)) {
                (Promise::Same, _) => {
                    let why = "; the task promises the same results: restore what it expected";
                    (Weight::Fails, why.to_owned())
                }
                (_, Some(line)) => {
                    let why = format!(
                        "; and nothing asks any more what `{line}` asked: keep it, with the answer that is right now"
                    );
                    (Weight::Fails, why)
                }
                _ if !is_about(task, &about) => {
                    let why = "; the task says nothing of that: restore what it expected";
                    (Weight::Fails, why.to_owned())
                }
                _ if edited.replaced(id).and(data).is_unasked(task) => {
                    let why = "; nothing that it expects now is in the task: restore what it expected";
                    (Weight::Fails, why.to_owned())
                }
                (Promise::Nothing | Promise::Equality, None) => (Weight::Noted, String::new()),
            };
            let what = format!("{id} as it was before the change fails with it: {message}{why}");
            evidence.find(weight, "expectation-changed", &what, location);
        }
    }
}

/// Returns whether a task shares a word with the subject of a test. A task of few words may mean anything.
fn is_about(task: &str, about: &str) -> bool {
    const EMPTY: [&str; 34] = [
        "must", "should", "shall", "when", "with", "that", "this", "these", "have", "from", "into", "which",
        "their", "than", "then", "them", "does", "give", "gives", "make", "return", "returns", "instead",
        "without", "test", "tests", "only", "also", "every", "each", "more", "other", "same", "assert",
    ];
    let wanted: BTreeSet<String> = words(task)
        .into_iter()
        .filter(|word| word.len() > 3 && !EMPTY.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect();
    let signs = CODE.captures_iter(task).filter_map(|found| found.get(1)).map(|sign| sign.as_str());
    let known: BTreeSet<String> = words(about).into_iter().map(|word| stem(&word)).collect();
    wanted.len() < 3
        || wanted.iter().any(|word| known.contains(word))
        || signs.into_iter().any(|sign| about.contains(sign))
}

/// Text in code marks or quotes.
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[`"']([^`"'\n]{1,40})[`"']"#));

/// Returns the lower-case words of a text and of the names in it.
fn words(text: &str) -> BTreeSet<String> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+"));
    WORD.find_iter(text).map(|word| word.as_str().to_lowercase()).collect()
}

/// Returns a word without its ending.
fn stem(word: &str) -> String {
    word.chars().take(5).collect::<String>().trim_end_matches(['s', 'e']).to_owned()
}

/// Returns tests whose old text fails on broken code while their new text passes. `sound` are those that pass on the
/// code of the change with both texts.
pub fn blinded(sound: &BTreeSet<TestId>, edited: &Edited, before: &Merged, after: &Merged) -> Vec<TestId> {
    let noticed = |id: &TestId| match before.of(id) {
        Known::Red(case) => !is_fault_of_test(&case.message),
        Known::Passed | Known::Skipped | Known::Flaky | Known::Absent => false,
    };
    // A rewritten test may have taken over the assertions of another one.
    let elsewhere = |suite: &str| {
        let fresh = |id: &&TestId| !sound.contains(*id) || Edited::has(&edited.tests, id);
        let mut red = after.results.tests.keys().filter(|id| matches!(after.of(id), Known::Red(_)));
        red.any(|id| id.suite == suite && fresh(&id))
    };
    // Rows of a table have different names if their values differ. Then all rows together count as the test.
    let passes = |id: &TestId| match after.of(id) {
        Known::Absent => {
            let mut rows = after.results.tests.keys().filter(|row| family(row) == family(id)).peekable();
            rows.peek().is_some() && rows.all(|row| after.of(row) == Known::Passed)
        }
        known => known == Known::Passed,
    };
    let all = sound.iter().filter(|id| noticed(id) && passes(id));
    all.filter(|id| !(Edited::has(&edited.tests, id) && elsewhere(&id.suite))).cloned().collect()
}

#[cfg(test)]
mod tests;
