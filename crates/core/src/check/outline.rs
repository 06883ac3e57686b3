//! Describes the tests of a source file: what each asserts, and what skips it.
//!
//! A separate process builds the description from a syntax tree, because the grammars are C code and the file is
//! hostile. The description is a plain value, so two of them, before and after a change, can be compared without the
//! files. Without a tree, [`from_text`] builds a coarser one.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::cases::cases;
use super::source::{Language, Source};
use crate::pattern::pattern;

/// Maximum number of tests, assertions and marks of one file.
pub const MOST: usize = 20_000;
/// Number of rows of a table that cannot be counted in the source. The test run counts the rows that run.
pub const MANY: u32 = 10_000;
/// Maximum length of a text.
pub const TEXT: usize = 400;
/// Maximum length of a test's body.
pub const BODY: usize = 4_000;

/// The tests of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// Tests, in order.
    pub tests: Vec<Test>,
    /// Functions that are not tests but assert something, or whose names say so.
    pub helpers: Vec<Helper>,
    /// Marks that keep several tests from running or from failing.
    pub marks: Vec<Mark>,
    /// Names of functions and classes that the file defines.
    pub defines: Vec<String>,
    /// Modules and functions that test doubles replace.
    pub doubles: Vec<Double>,
    /// Names that the file imports.
    pub imports: Vec<String>,
    /// First and last lines of test code in a file that also has other code.
    pub spans: Vec<(u32, u32)>,
    /// Fixed answers to fixed inputs, in functions that are not tests.
    #[serde(default)]
    pub shortcuts: Vec<Shortcut>,
    /// Functions that are not tests and use nothing but the language.
    #[serde(default)]
    pub own: Vec<String>,
}

/// A branch that applies only to certain values and returns a literal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortcut {
    /// Enclosing function.
    pub function: String,
    /// Its line.
    pub line: u32,
    /// Its text without blanks.
    pub text: String,
    /// Numbers and texts that it compares with.
    pub inputs: Vec<String>,
    /// Numbers and texts that it returns; empty if it is only a condition, whatever its effect.
    pub output: Vec<String>,
    /// Line of the table that it is an entry of; 0 if it is a branch.
    #[serde(default)]
    pub table: u32,
}

/// Returns the numbers and texts in a piece of code of any language.
pub fn literals(code: &str) -> Vec<String> {
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`|(?:^|[^\w.])(\d[\d_]*(?:\.\d+)?)"#)
    });
    let words = LITERAL.captures_iter(code).filter_map(|found| found.iter().skip(1).flatten().next());
    words.map(|word| crate::agent::shorten(&word.as_str().replace('_', ""), TEXT)).take(200).collect()
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// Name.
    pub name: String,
    /// Enclosing classes, modules or groups.
    pub path: Vec<String>,
    /// Line of its name.
    pub line: u32,
    /// Its last line.
    pub last: u32,
    /// Its body without blanks.
    pub body: String,
    /// Assertions that can fail and are reached.
    pub checks: Vec<Check>,
    /// Assertions that cannot fail or are never reached.
    pub dead: Vec<Dead>,
    /// What skips it.
    pub skip: Option<Skip>,
    /// Number of runs with different values: the rows of its table.
    pub rows: u32,
    /// Functions that it calls and the file does not define, with the number of calls.
    pub calls: Vec<(String, u32)>,
    /// Whether it fails if fewer assertions run than it declares: `expect.assertions(2)`.
    #[serde(default)]
    pub counted: bool,
}

/// A function that asserts on behalf of tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// Name.
    pub name: String,
    /// Line of its name.
    pub line: u32,
    /// Its assertions.
    pub checks: Vec<Check>,
    /// Assertions that cannot fail or are never reached.
    pub dead: Vec<Dead>,
    /// The line that skips the calling test.
    pub skips: Option<u32>,
}

/// An assertion that can fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its line.
    pub line: u32,
    /// Its text without blanks.
    pub text: String,
    /// The asserted value.
    pub subject: String,
    /// Functions that the subject comes from.
    pub about: Vec<String>,
    /// Expected value, if there is one.
    pub expected: Option<String>,
    /// How much it requires.
    pub strength: Strength,
    /// How often it runs: the entries of a loop, the rows of a table.
    pub times: u32,
    /// The condition under which it runs.
    pub only_if: Option<String>,
    /// Whether that condition depends on the code under test, so that wrong code can skip the assertion.
    #[serde(default)]
    pub by_result: bool,
    /// Whether it is in a callback.
    #[serde(default)]
    pub called_back: bool,
}

/// How much an assertion requires of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Strength {
    /// That it exists, or has a type.
    Shape,
    /// That it contains a part, or lies within bounds.
    Partial,
    /// That it equals a value after conversion to a common type: `==` of JavaScript.
    Loose,
    /// That it equals a value.
    Exact,
}

/// An assertion that proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// Its line.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Why it proves nothing.
    pub why: String,
}

/// What keeps a test from running, or marks it as expected to fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Its line.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Whether it depends on a condition such as the platform or the environment.
    pub conditional: bool,
}

/// A mark that affects several tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its line.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Its effect.
    pub deed: Deed,
}

/// The effect of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// Tests do not run.
    Skips,
    /// A failing test is retried.
    Retries,
    /// Assertions are replaced by code that cannot fail.
    Disarms,
}

/// A replacement by a test double.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Double {
    /// Its line.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Replaced names: functions, or the imports from the replaced module.
    pub names: Vec<String>,
}

/// Finds the tests of a file in its text, for files that no grammar can parse. All assertions get the same strength.
pub fn from_text(language: Language, source: &Source) -> Outline {
    // Nested tests share their assertions, so only this limit bounds their number.
    let mut left = 2 * MOST;
    let test = |case: super::cases::Case| {
        let text = |line: u32| crate::agent::shorten(source.line_text(line).trim(), TEXT);
        let check = |line: &u32| Check {
            line: *line,
            text: text(*line),
            subject: text(*line),
            about: Vec::new(),
            expected: None,
            strength: Strength::Exact,
            times: 1,
            only_if: None,
            by_result: false,
            called_back: false,
        };
        let body = case.body.start..case.body.end.min(case.body.start + BODY);
        let asserts = &case.asserts[..case.asserts.len().min(left)];
        left -= asserts.len();
        let skip = |line: u32| Skip { line, text: text(line), conditional: false };
        Test {
            name: case.name,
            path: Vec::new(),
            line: case.line,
            last: source.line_of(case.whole.end.saturating_sub(1)),
            body: source.essence(body),
            checks: asserts.iter().map(check).collect(),
            dead: Vec::new(),
            skip: case.skipped.map(skip),
            rows: 1,
            calls: Vec::new(),
            counted: false,
        }
    };
    let tests: Vec<Test> = cases(language, source).into_iter().map(test).collect();
    let spans = tests.iter().map(|test| (test.line, test.last)).collect();
    Outline { tests, spans, ..Outline::default() }
}

impl Outline {
    /// Returns whether the parser process's answer is valid: bounded, and about lines that the file has.
    pub fn is_sound(&self, lines: u32) -> bool {
        let bounded = |count: usize| count <= MOST;
        let checks: usize = self.tests.iter().map(|test| test.checks.len() + test.dead.len()).sum();
        let inside = |line: u32| line >= 1 && line <= lines.max(1);
        bounded(self.tests.len())
            && bounded(self.helpers.len())
            && bounded(self.marks.len())
            && bounded(self.doubles.len())
            && bounded(self.shortcuts.len())
            && checks <= 4 * MOST
            && self.tests.iter().all(|test| {
                inside(test.line)
                    && test.checks.iter().all(|check| inside(check.line))
                    && test.dead.iter().all(|dead| inside(dead.line))
                    && test.skip.as_ref().is_none_or(|skip| inside(skip.line))
            })
            && self.marks.iter().all(|mark| inside(mark.line))
            && self.helpers.iter().all(|helper| inside(helper.line))
            && self.shortcuts.iter().all(|shortcut| inside(shortcut.line))
    }
}
