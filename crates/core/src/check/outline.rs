//! What a source file says about its tests: the tests, what each asserts, and by what it does not run.
//!
//! The description is made from a syntax tree by a process of its own, because the grammars are C and the file is hostile.
//! It is a plain value, so that two of them, before and after a change, can be compared without the files. Where no tree
//! can be had, [`from_text`] makes a coarser one.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::cases::cases;
use super::source::{Language, Source};
use crate::pattern::pattern;

/// The most tests, assertions and marks that are told of one file.
pub const MOST: usize = 20_000;
/// The rows of a table that cannot be counted where the test stands. Those that run are counted by whoever runs them.
pub const MANY: u32 = 10_000;
/// What is told of a text.
pub const TEXT: usize = 400;
/// What is told of a test's body.
pub const BODY: usize = 4_000;

/// The tests of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// Functions that are no tests and assert something, or whose names say that they do.
    pub helpers: Vec<Helper>,
    /// What keeps more than one test from running or from failing.
    pub marks: Vec<Mark>,
    /// Names of functions and classes that the file defines.
    pub defines: Vec<String>,
    /// Modules and functions that are replaced by doubles.
    pub doubles: Vec<Double>,
    /// Names that the file imports.
    pub imports: Vec<String>,
    /// First and last lines of what belongs to tests in a file that has other code too.
    pub spans: Vec<(u32, u32)>,
    /// Fixed answers to fixed questions, in functions that are no tests.
    #[serde(default)]
    pub shortcuts: Vec<Shortcut>,
    /// Functions that are no tests and need nothing but the language.
    #[serde(default)]
    pub own: Vec<String>,
}

/// A branch that is taken for certain values only and gives a value that is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortcut {
    /// The function that it stands in.
    pub function: String,
    /// Its line.
    pub line: u32,
    /// As it stands, without blanks.
    pub text: String,
    /// The numbers and texts that it asks for.
    pub inputs: Vec<String>,
    /// The numbers and texts that it gives; none if it is only a condition, whatever follows from it.
    pub output: Vec<String>,
    /// The line of the table that it is an entry of; 0 if it is a branch.
    #[serde(default)]
    pub table: u32,
}

/// The numbers and texts that are written down in a piece of code, in any language.
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
    /// What it is called.
    pub name: String,
    /// The classes, modules or groups around it.
    pub path: Vec<String>,
    /// The line of its name.
    pub line: u32,
    /// Its last line.
    pub last: u32,
    /// What it does, without blanks.
    pub body: String,
    /// What it asserts, where the assertion can fail and is reached.
    pub checks: Vec<Check>,
    /// Assertions that cannot fail, or are never reached.
    pub dead: Vec<Dead>,
    /// By what it does not run.
    pub skip: Option<Skip>,
    /// How often it is run with other values: the rows of its table.
    pub rows: u32,
    /// Functions that it calls and the file does not define, and how often.
    pub calls: Vec<(String, u32)>,
    /// Whether it fails if fewer assertions are made than it says: `expect.assertions(2)`.
    #[serde(default)]
    pub counted: bool,
}

/// A function that asserts for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// What it is called.
    pub name: String,
    /// The line of its name.
    pub line: u32,
    /// What it asserts.
    pub checks: Vec<Check>,
    /// Assertions that cannot fail, or are never reached.
    pub dead: Vec<Dead>,
    /// The line by which it skips the test that calls it.
    pub skips: Option<u32>,
}

/// An assertion that can fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its line.
    pub line: u32,
    /// As it stands, without blanks.
    pub text: String,
    /// What it is about.
    pub subject: String,
    /// The functions that the subject comes from.
    pub about: Vec<String>,
    /// What the subject must be, if that is a value.
    pub expected: Option<String>,
    /// How much it says.
    pub strength: Strength,
    /// How often it is made: the entries of a loop, the rows of a table.
    pub times: u32,
    /// The condition under which it is made at all.
    pub only_if: Option<String>,
    /// Whether the code under test decides about that condition, so that wrong code is not asserted about.
    #[serde(default)]
    pub by_result: bool,
    /// Whether it stands in a function that something else must call.
    #[serde(default)]
    pub called_back: bool,
}

/// How much an assertion says about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Strength {
    /// That there is one, or of which type it is.
    Shape,
    /// That it has a part, or lies within bounds.
    Partial,
    /// Which one it is, after both were brought to a common type: `==` of JavaScript.
    Loose,
    /// Which one it is.
    Exact,
}

/// An assertion that proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// Its line.
    pub line: u32,
    /// As it stands.
    pub text: String,
    /// Why it proves nothing.
    pub why: String,
}

/// By what a test does not run, or is not expected to pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Its line.
    pub line: u32,
    /// As it stands.
    pub text: String,
    /// Whether it depends on something: the platform, the environment.
    pub conditional: bool,
}

/// Something about more than one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its line.
    pub line: u32,
    /// As it stands.
    pub text: String,
    /// What it does.
    pub deed: Deed,
}

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// Tests do not run.
    Skips,
    /// A test that fails is tried again.
    Retries,
    /// Assertions are replaced by something that cannot fail.
    Disarms,
}

/// Something that is replaced by a double.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Double {
    /// Its line.
    pub line: u32,
    /// As it stands.
    pub text: String,
    /// The names that are replaced: functions, or what is imported from the replaced module.
    pub names: Vec<String>,
}

/// The tests of a file by the forms of its text: for files that no grammar can read. Each assertion counts alike.
pub fn from_text(language: Language, source: &Source) -> Outline {
    // Tests inside of tests share their assertions, so their number has no limit but this.
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
    /// Whether an answer of the process that read the file is one: bounded, and about lines that the file has.
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
