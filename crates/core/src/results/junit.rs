//! Parses JUnit XML, as written by the runners of many languages: nextest, pytest, vitest, jest-junit, node:test,
//! gotestsum, surefire, gradle. They agree on `testcase` and disagree on nearly everything around it.

use super::xml::{Event, Reader};
use super::{Case, MOST_CASES, Outcome, Results, TestId, kind};

/// Maximum nesting of suites.
const DEEPEST: usize = 64;

/// A test that is being read.
#[derive(Default)]
struct Open {
    suite: String,
    name: String,
    skipped: Option<String>,
    red: Option<Red>,
    /// Whether it failed before it passed.
    moody: bool,
    /// Whether text belongs to a failure.
    in_red: bool,
}

struct Red {
    element: &'static str,
    typed: String,
    headline: String,
    body: String,
}

/// Adds the results in the report.
pub(super) fn read(text: &str, results: &mut Results) {
    let mut reader = Reader::new(text);
    let mut suites: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    let mut open: Option<Open> = None;
    // Declared totals of each suite, and the counts so far.
    let mut said: Vec<Totals> = Vec::new();
    while let Some(event) = reader.next() {
        match event {
            Event::Start { name: "testsuite", attributes, empty: false } => {
                depth += 1;
                if depth > DEEPEST {
                    results.cut = true;
                    return;
                }
                suites.push(value(&attributes, "name"));
                said.push(Totals::of(&attributes));
            }
            Event::End("testsuite") => {
                depth = depth.saturating_sub(1);
                let name = suites.pop().unwrap_or_default();
                if let Some(inner) = said.pop() {
                    inner.check(&name, results);
                    if let Some(outer) = said.last_mut() {
                        outer.cases += inner.cases;
                        outer.red += inner.red;
                    }
                }
            }
            Event::Start { name: "testcase", attributes, empty } => {
                let case = begin(&attributes, &suites);
                if let Some(totals) = said.last_mut() {
                    totals.cases += 1;
                }
                if empty {
                    end(case, results);
                } else {
                    open = Some(case);
                }
            }
            Event::End("testcase") => {
                if let Some(case) = open.take() {
                    if let (Some(totals), true) = (said.last_mut(), case.red.is_some()) {
                        totals.red += 1;
                    }
                    end(case, results);
                }
            }
            Event::Start { name, attributes, empty } => {
                if let Some(case) = &mut open {
                    inside(case, name, &attributes, empty);
                }
            }
            Event::End("failure" | "error") => {
                if let Some(case) = &mut open {
                    case.in_red = false;
                }
            }
            Event::End(_) => {}
            Event::Text(text) => {
                if let Some(Open { red: Some(red), in_red: true, .. }) = &mut open {
                    red.body.push_str(&text);
                }
            }
        }
    }
    // A report that ends inside a test was cut off, by a crash or by someone.
    results.cut |= open.is_some() || depth > 0;
}

/// Declared totals of a suite, and its counts.
struct Totals {
    tests: Option<usize>,
    failed: Option<usize>,
    cases: usize,
    red: usize,
}

impl Totals {
    fn of(attributes: &[(&str, String)]) -> Self {
        let number = |name: &str| value(attributes, name).parse::<usize>().ok();
        let failed = match (number("failures"), number("errors")) {
            (None, None) => None,
            (failures, errors) => Some(failures.unwrap_or(0) + errors.unwrap_or(0)),
        };
        Self { tests: number("tests"), failed, cases: 0, red: 0 }
    }

    /// Compares them. Runners differ in how they count skipped and unloadable tests. But none has failed tests and
    /// declares no failure, or has far more tests than it declares.
    fn check(&self, name: &str, results: &mut Results) {
        if self.failed.is_some_and(|failed| failed > 0) && self.red == 0 && self.cases > 0 {
            results.doubt(format!("suite `{name}` counts failures and has no test that failed"));
        }
        if self.failed == Some(0) && self.red > 0 {
            results.doubt(format!("suite `{name}` counts no failure and has tests that failed"));
        }
        if self.tests.is_some_and(|tests| tests < self.cases && tests == 0) {
            results.doubt(format!("suite `{name}` counts no test and has {}", self.cases));
        }
    }
}

fn value(attributes: &[(&str, String)], name: &str) -> String {
    attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn begin(attributes: &[(&str, String)], suites: &[String]) -> Open {
    let (class, name) = (value(attributes, "classname"), value(attributes, "name"));
    let file = value(attributes, "file");
    // The runner's own words, the same for every test, don't identify it.
    let telling = |name: &&String| !["", "pytest", "undefined", "test", "jest tests"].contains(&name.trim());
    let mut parts: Vec<&str> = suites.iter().filter(telling).map(|name| name.trim()).collect();
    // Class and suite are often equal, or the class repeats the name.
    let known = class.trim().is_empty() || class.trim() == name.trim() || class == "test";
    if !known && !parts.contains(&class.trim()) {
        parts.push(class.trim());
    }
    if parts.is_empty() && !file.is_empty() {
        parts.push(file.trim());
    }
    Open { suite: parts.join("/"), name, ..Open::default() }
}

fn inside(case: &mut Open, name: &str, attributes: &[(&str, String)], empty: bool) {
    let element = match name {
        "failure" => "failure",
        "error" => "error",
        "skipped" => {
            case.skipped = Some(value(attributes, "message"));
            return;
        }
        "flakyFailure" | "flakyError" => {
            case.moody = true;
            return;
        }
        _ => return,
    };
    if case.red.is_none() {
        case.red = Some(Red {
            element,
            typed: value(attributes, "type"),
            headline: value(attributes, "message"),
            body: String::new(),
        });
        case.in_red = !empty;
    }
}

fn end(case: Open, results: &mut Results) {
    let Open { suite, name, skipped, red, moody, .. } = case;
    if moody && results.flaky.len() < MOST_CASES {
        results.flaky.insert(TestId::new(&suite, &name));
    }
    // A known failure that is marked as such (`todo`) counts as skipped, whatever its result.
    if let Some(why) = skipped {
        return results.add(TestId::new(&suite, &name), Case::skipped(&why));
    }
    let Some(red) = red else { return results.add(TestId::new(&suite, &name), Case::passed()) };
    let message = match (red.headline.is_empty(), red.body.trim().is_empty()) {
        (false, true) => red.headline.clone(),
        (true, _) => red.body.clone(),
        (false, false) => format!("{}\n{}", red.headline, red.body.trim()),
    };
    if is_load_failure(&suite, &name, &red) {
        return results.add_broken(if name.is_empty() { &suite } else { &name }, &message);
    }
    let outcome = match (red.element, kind::judge(&red.typed, &red.headline, &red.body)) {
        // An `error` is an error by its name, unless the runner knows no other word.
        ("error", Outcome::Failed) if red.typed.contains("Assertion") => Outcome::Failed,
        ("error", _) => Outcome::Error,
        (_, outcome) => outcome,
    };
    results.add(TestId::new(&suite, &name), Case::red(outcome, &message));
}

/// Returns whether the failure is a test file that could not be loaded, and not a test.
fn is_load_failure(suite: &str, name: &str, red: &Red) -> bool {
    const SIGNS: [&str; 3] = ["collection failure", "Test suite failed to run", "[build failed]"];
    let said = |sign: &&str| red.headline.contains(*sign) || red.body.contains(*sign);
    const FILES: [&str; 9] = ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py"];
    let stands_alone = suite.is_empty() || name == suite;
    let is_file = stands_alone && name.rsplit_once('.').is_some_and(|(_, end)| FILES.contains(&end));
    name.is_empty() || is_file || SIGNS.iter().any(said)
}
