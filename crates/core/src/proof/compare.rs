//! Test by test against the base: only what passed there and fails now, or is new and fails, is held against the work.

use std::collections::BTreeSet;

use super::Ran;
use crate::gate::{Evidence, Weight};
use crate::results::{Known, Merged};

/// Adds what the comparison found. `removed` are the tests that the change takes away, by name.
pub fn compare(base: &Merged, now: &Ran, removed: &BTreeSet<String>, evidence: &mut Evidence) {
    let (mut before, mut flaky) = (0_usize, 0_usize);
    let mut gone = 0_usize;
    for id in now.merged.results.tests.keys() {
        match (base.of(id), now.merged.of(id)) {
            (Known::Flaky, Known::Red(_)) | (_, Known::Flaky) => {
                flaky += 1;
                let what = format!("{id} passes in one run and fails in another");
                evidence.find(Weight::Noted, "flaky", &what, None);
            }
            (Known::Red(_), Known::Red(_)) => {
                before += 1;
                let what = format!("{id} failed before the change, too");
                evidence.find(Weight::Noted, "broken-before", &what, None);
            }
            (Known::Passed, Known::Red(case)) => {
                let what = format!("{id} passed before the change: {}", case.message);
                evidence.find(Weight::Fails, "new-failure", &what, case.location.clone());
            }
            (Known::Absent | Known::Skipped, Known::Red(case)) => {
                let what = format!("{id} is new and fails: {}", case.message);
                evidence.find(Weight::Fails, "new-failure", &what, case.location.clone());
            }
            (_, Known::Passed | Known::Skipped | Known::Absent) => {}
        }
    }
    for id in base.results.tests.keys().filter(|id| now.merged.of(id) == Known::Absent) {
        gone += 1;
        let is_removed = removed.iter().any(|name| id.name.contains(name.as_str()));
        // A runner that crashes takes the tests with it that it had not come to.
        if let (Some(exit), Known::Passed, false) = (&now.exit, base.of(id), is_removed) {
            let what = format!("{id} passed before the change and was not run any more: {exit}");
            evidence.find(Weight::Fails, "lost", &what, None);
        }
    }
    for (what, number) in [("failed before", before), ("flaky", flaky), ("gone", gone)] {
        if number > 0 {
            evidence.figure(what, number);
        }
    }
}
