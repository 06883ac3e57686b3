//! The tests as they were before a change, on the code of the change: what decided before decides still.
//!
//! Tests, their helpers and their data belong to the change, and so does the judgement that they give. So what the base had of
//! them is put on the new code. A test whose own text is the same and which passes only with a changed helper is not judged by
//! what it says. One that expects something else is told; where the task promises the same results it is held against the change.

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

/// How many tests of one kind are named.
const NAMED: usize = 5;

/// Folders and files that belong to tests, beside those in which runners look for tests.
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

/// What a file is to the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tests, or what helps them.
    Tests,
    /// What tests read: expected outputs, examples.
    Data,
    /// Something else.
    Other,
}

/// What a file is to the tests, by its path.
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

/// What a change did to the tests that were there. What it only adds is not among it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// The tests whose own text is another one.
    tests: BTreeSet<String>,
    /// What those said before, and say now.
    texts: BTreeMap<String, String>,
    /// The values that are other ones in those tests, and beside them.
    values_of: BTreeMap<String, Replaced>,
    /// The lines of tests whose question nothing asks any more.
    dropped: BTreeMap<String, Vec<String>>,
    /// The tests beside which only values are other ones.
    beside: BTreeSet<String>,
    /// The files with other code outside of tests.
    helpers: Vec<String>,
    /// Whether values outside of tests are other ones.
    values: bool,
}

impl Edited {
    /// Compares files that have tests or help them.
    pub fn of(files: &[TestFile]) -> Self {
        let mut edited = Self::default();
        let all = Files::of(files);
        for file in files {
            edited.add(file, &all);
        }
        edited
    }

    /// Whether all that was there is as it was.
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
        // What is new and only declares something changes nothing for those that do not use it.
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

    /// Whether a test's own text is another one, or gone.
    pub fn names(&self, id: &TestId) -> bool {
        Self::has(&self.tests, id)
    }

    /// Whether code or values beside the tests are other ones.
    pub fn touches_helpers(&self) -> bool {
        !self.helpers.is_empty() || self.values
    }

    fn has(names: &BTreeSet<String>, id: &TestId) -> bool {
        names.iter().any(|name| is_called(&id.name, name))
    }

    /// What a test said before and says now, if that is not the same.
    fn text(&self, id: &TestId) -> &str {
        self.texts.iter().find(|(name, _)| is_called(&id.name, name)).map_or("", |(_, text)| text)
    }

    /// The values that are other ones in a test, or beside it.
    fn replaced(&self, id: &TestId) -> Replaced {
        let all = self.values_of.iter().filter(|(name, _)| is_called(&id.name, name));
        all.fold(Replaced::default(), |all, (_, one)| all.and(one))
    }

    /// A line of a test whose question nothing asks any more.
    fn dropped(&self, id: &TestId) -> Option<&str> {
        let mut all = self.dropped.iter().filter(|(name, _)| is_called(&id.name, name));
        all.find_map(|(_, lines)| lines.first()).map(String::as_str)
    }

    /// Whether a test's own text, or the values beside it, are other ones.
    fn is_own(&self, id: &TestId) -> bool {
        Self::has(&self.tests, id) || Self::has(&self.beside, id)
    }
}

/// A piece of code with a sign in place of each text and number.
fn without_values(item: &str) -> String {
    static VALUE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\b\d[\d_.]*\b"#));
    VALUE.replace_all(item, "#").into_owned()
}

/// What ran of the tests as they were.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The base.
    pub base: &'a Merged,
    /// The change.
    pub now: &'a Merged,
    /// The code of the change with the tests, helpers and data of the base.
    pub earlier: &'a Ran,
    /// The same with the data of the change, if that is another one.
    pub new_data: Option<&'a Ran>,
}

/// Whether a test failed by what it says and not because it does not fit the code any more.
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

/// Whether what was asked for accounts for the tests of the base that the new code fails by what they say: `earlier` are those on it.
pub fn is_asked(task: &str, edited: &Edited, base: &Merged, earlier: &Merged) -> bool {
    let passed = base.results.tests.keys().filter(|id| base.of(id) == Known::Passed);
    let mut failed = passed.filter(|id| is_asserted(earlier.of(id))).peekable();
    failed.peek().is_none()
        || Promise::of(task) != Promise::Same
            && failed.all(|id| is_about(task, &format!("{id}\n{}", edited.text(id))))
}

impl Runs<'_> {
    /// The run in which only code of tests is that of the base.
    fn code(&self) -> &Merged {
        &self.new_data.unwrap_or(self.earlier).merged
    }

    /// The tests of the base that the new code fails.
    fn failed(&self) -> impl Iterator<Item = &TestId> {
        let all = self.base.results.tests.keys();
        all.filter(|id| self.base.of(id) == Known::Passed && is_asserted(self.earlier.merged.of(id)))
    }

    /// Of the tests of the base that the new code fails one that passes in other runs of them.
    pub fn mended(&self, earlier: &Merged) -> Option<&TestId> {
        self.failed().find(|id| earlier.of(id) == Known::Passed)
    }

    /// Whether all tests that pass with the change pass in another run of them, too.
    pub fn all_pass(&self, other: &Merged) -> bool {
        let mut passing = self.now.results.tests.keys().filter(|id| self.now.of(id) == Known::Passed);
        passing.all(|id| other.of(id) == Known::Passed)
    }

    /// Whether the new code fails tests of the base.
    pub fn is_worse(&self) -> bool {
        self.failed().next().is_some()
    }

    /// Whether a test of the base passes with the change. The rows of a table have other names if their values are others.
    fn lives(&self) -> impl Fn(&TestId) -> bool {
        let all = self.now.results.tests.keys();
        let rows: BTreeSet<(String, String)> =
            all.filter(|id| self.now.of(id) == Known::Passed).map(family).collect();
        move |id| match self.now.of(id) {
            Known::Absent => rows.contains(&family(id)),
            known => known == Known::Passed,
        }
    }

    /// The tests that pass on the new code as they were and as they are, with the same data.
    pub fn sound(&self) -> BTreeSet<TestId> {
        let lives = self.lives();
        let all = self.code().results.tests.keys();
        all.filter(|id| self.code().of(id) == Known::Passed && lives(id)).cloned().collect()
    }

    /// Adds what follows. `judges` are the changed settings and hooks of runners, `task` is what was asked, and `data` what was changed
    /// of the files that tests read.
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

/// Whether a task has a word in common with what a test is about. A task of few words may mean anything.
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

/// What stands between the marks of code, or in quotes.
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[`"']([^`"'\n]{1,40})[`"']"#));

/// The words of a text and of the names in it, in small letters.
fn words(text: &str) -> BTreeSet<String> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+"));
    WORD.find_iter(text).map(|word| word.as_str().to_lowercase()).collect()
}

/// A word without its ending.
fn stem(word: &str) -> String {
    word.chars().take(5).collect::<String>().trim_end_matches(['s', 'e']).to_owned()
}

/// The tests that fail on broken code as they were, and pass on the same code as they are. `sound` are those that pass on the code
/// of the change either way.
pub fn blinded(sound: &BTreeSet<TestId>, edited: &Edited, before: &Merged, after: &Merged) -> Vec<TestId> {
    let noticed = |id: &TestId| match before.of(id) {
        Known::Red(case) => !is_fault_of_test(&case.message),
        Known::Passed | Known::Skipped | Known::Flaky | Known::Absent => false,
    };
    // What one test asserted may be asserted by another one now, if it is the tests that were written anew.
    let elsewhere = |suite: &str| {
        let fresh = |id: &&TestId| !sound.contains(*id) || Edited::has(&edited.tests, id);
        let mut red = after.results.tests.keys().filter(|id| matches!(after.of(id), Known::Red(_)));
        red.any(|id| id.suite == suite && fresh(&id))
    };
    // The rows of a table have other names if their values are others: then all of them together are the test.
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
