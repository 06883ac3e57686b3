//! Checks whether tests that pass with a change still pass with the runner settings and hooks of the base.

use super::{Ran, is_fault_of_test};
use crate::gate::{Evidence, Weight};
use crate::results::{Known, Merged};

/// Maximum number of named tests that need the new settings.
const NAMED: usize = 5;

/// Adds the conclusions from a run of the change with the base's version of `files`. `red` are the results of the same
/// tests without the change, also with the base's version, if that ran.
pub fn independent(now: &Merged, under_base: &Ran, files: &[String], evidence: &mut Evidence) {
    let list = files.join(", ");
    let mut needed = Vec::new();
    let results = &under_base.merged.results;
    if results.executed() == 0 {
        let what = format!(
            "with the base's version of {list} no test runs, so whether the tests hold without that change could not be judged: a \
             person should look at it"
        );
        return evidence.find(Weight::Noted, "judge-needed", &what, None);
    }
    for id in now.results.tests.keys().filter(|id| now.of(id) == Known::Passed) {
        match under_base.merged.of(id) {
            Known::Red(case) if is_fault_of_test(&case.message) => needed.push(id.to_string()),
            Known::Red(case) => {
                let what = format!(
                    "{id} passes only with the changed {list}; with the base's version it fails: {}\nmake it pass without changing \
                     how tests are run",
                    case.message
                );
                evidence.find(Weight::Fails, "judge-changed", &what, case.location.clone());
            }
            Known::Absent if !results.broken.is_empty() => needed.push(id.to_string()),
            Known::Absent | Known::Skipped | Known::Passed | Known::Flaky => {}
        }
    }
    if let Some(first) = needed.get(..needed.len().min(NAMED)).filter(|first| !first.is_empty()) {
        let what = format!(
            "{} tests need the changed {list} to run, for example {}",
            needed.len(),
            first.join(", ")
        );
        evidence.find(Weight::Noted, "judge-needed", &what, None);
    }
}

/// Adds the conclusions from a run of the change's tests without the change, with the base's version of `files`. A test
/// that failed there only because of the new version proves nothing. Returns whether there is one.
pub fn red_by_judge(
    red: &Merged,
    under_base: &Merged,
    now: &Merged,
    files: &[String],
    evidence: &mut Evidence,
) {
    for id in now.results.tests.keys().filter(|id| now.of(id) == Known::Passed) {
        // If the code itself broke, the new version only gave it different input and decided nothing.
        let decides = matches!(red.of(id), Known::Red(case) if case.raised.is_none());
        if decides && under_base.of(id) == Known::Passed {
            let what = format!(
                "{id} fails without the change only because of the changed {}; with the base's version it passes",
                files.join(", ")
            );
            evidence.find(Weight::Fails, "judge-changed", &what, None);
        }
    }
}
