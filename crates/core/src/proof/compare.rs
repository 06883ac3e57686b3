//! Test by test against the base: only what passed there and fails now, or is new and fails, is held against the work.

use super::Ran;
use crate::gate::{Evidence, Weight};
use crate::results::{Known, Merged};

/// Adds what the comparison found.
pub fn compare(base: &Merged, now: &Ran, evidence: &mut Evidence) {
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
        gone += usize::from(base.of(id) != Known::Skipped);
    }
    for (what, number) in [("failed before", before), ("flaky", flaky), ("gone", gone)] {
        if number > 0 {
            evidence.figure(what, number);
        }
    }
}
