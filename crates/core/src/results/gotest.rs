//! Parses the output of `go test -json`: one object per line, with compiler output in between for packages that did
//! not build.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Case, LONGEST_MESSAGE, MOST_CASES, Outcome, Results, TestId};

/// Maximum number of tests whose output is kept at the same time.
const MOST_OPEN: usize = 20_000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

/// Adds the results in the output.
pub(super) fn read(text: &str, results: &mut Results) {
    let mut said: BTreeMap<TestId, String> = BTreeMap::new();
    // Compiler output by package.
    let mut building: BTreeMap<String, String> = BTreeMap::new();
    let mut package = String::new();
    let mut failed: Vec<String> = Vec::new();
    let mut started: BTreeMap<TestId, usize> = BTreeMap::new();
    for text in text.lines() {
        let Some(line) = text.starts_with('{').then(|| serde_json::from_str::<Line>(text).ok()).flatten()
        else {
            compiler(text, &mut package, &mut building, results);
            continue;
        };
        if line.test.is_empty() {
            match line.action.as_str() {
                "build-output" | "output" => {
                    compiler(line.output.trim_end(), &mut package, &mut building, results);
                }
                "build-fail" => fail(&line.import_path, &building, results),
                "fail" if failed.len() < MOST_OPEN => failed.push(line.package),
                _ => {}
            }
            continue;
        }
        let id = TestId::new(&line.package, &line.test);
        match line.action.as_str() {
            "run" if started.len() < MOST_CASES => *started.entry(id.clone()).or_default() += 1,
            "pass" | "fail" | "skip" => match started.get_mut(&id) {
                Some(open) if *open > 0 => *open -= 1,
                // With `-count` a test runs several times, and each run has its own start event.
                Some(_) => results.doubt(format!("{id} ended more often than it began")),
                None => results.doubt(format!("{id} ended without having begun")),
            },
            _ => {}
        }
        match line.action.as_str() {
            "output" => {
                let full = said.len() >= MOST_OPEN && !said.contains_key(&id);
                if !full && !line.output.starts_with("=== ") {
                    let text = said.entry(id).or_default();
                    if text.len() < LONGEST_MESSAGE * 4 {
                        text.push_str(&line.output);
                    }
                }
            }
            "pass" => results.add(id, Case::passed()),
            "skip" => {
                let why = said.remove(&id).unwrap_or_default();
                results.add(id, Case::skipped(&why));
            }
            "fail" => {
                let words = said.remove(&id).unwrap_or_default();
                results.add(id, Case::red(judge(&words), &words));
            }
            _ => {}
        }
    }
    // A package can fail without a failing test: it exits, or crashes in another goroutine.
    for package in failed {
        let is_red = results.red().any(|(id, _)| id.suite == package);
        if !is_red && !results.broken.iter().any(|broken| broken.what == package) {
            results.add_broken(&package, "the package failed outside of its tests");
        }
    }
    // A test that fails because of a subtest has no message of its own.
    let parents: Vec<TestId> = results
        .tests
        .iter()
        .filter(|(id, case)| case.outcome == Outcome::Error && has_failed_below(results, id))
        .map(|(id, _)| id.clone())
        .collect();
    for id in parents {
        if let Some(case) = results.tests.get_mut(&id) {
            case.outcome = Outcome::Failed;
        }
    }
}

fn has_failed_below(results: &Results, id: &TestId) -> bool {
    let prefix = format!("{}/", id.name);
    let from = TestId { suite: id.suite.clone(), name: prefix.clone() };
    results
        .tests
        .range(from..)
        .take_while(|(below, _)| below.suite == id.suite && below.name.starts_with(&prefix))
        .any(|(_, case)| case.outcome == Outcome::Failed)
}

/// Handles a line that is not an event: `# package` starts the compiler output of a package,
/// `FAIL package [build failed]` ends it.
fn compiler(
    line: &str,
    package: &mut String,
    building: &mut BTreeMap<String, String>,
    results: &mut Results,
) {
    if let Some(name) = line.strip_prefix("# ") {
        name.split(' ').next().unwrap_or(name).clone_into(package);
    } else if let Some(rest) = line.strip_prefix("FAIL\t") {
        if let Some((name, _)) = rest.split_once(" [") {
            fail(name, building, results);
        }
    } else if !package.is_empty() && building.len() < MOST_OPEN {
        let text = building.entry(package.clone()).or_default();
        if text.len() < LONGEST_MESSAGE {
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn fail(package: &str, building: &BTreeMap<String, String>, results: &mut Results) {
    let name = package.split(' ').next().unwrap_or(package);
    if !results.broken.iter().any(|broken| broken.what == name) {
        let said = building.get(name).map_or("the package could not be built", String::as_str);
        results.add_broken(name, said);
    }
}

/// Classifies a failure: `t.Error` and `t.Fatal` name the file and the line; a panic says that it is one.
fn judge(words: &str) -> Outcome {
    let panics = |line: &str| line.starts_with("panic: ") || line.starts_with("fatal error: ");
    let says = |line: &str| {
        let named = line
            .trim_start()
            .split_once(".go:")
            .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
        named && line.starts_with(' ')
    };
    if words.lines().any(panics) || !words.lines().any(says) { Outcome::Error } else { Outcome::Failed }
}
