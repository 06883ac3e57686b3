//! Dilution: a change that makes the tests, the lints or the pipeline say less than before.
//!
//! An agent that must get to green has two ways, and this check closes the second. It compares the tests before and after,
//! one by one, and reads the settings that decide what counts as green. It does not ask why: a task that is meant to
//! remove a test says so, and everything else is shown with the line that proves it.
//!
//! What is not dilution: a test that moved to another file, has another name but does the same, or asserts as much in
//! other words.

mod compare;
mod marks;
mod permit;
mod settings;
mod snapshots;
mod values;

use crate::check::Finding;
use crate::check::diff::{Diff, FileChange};

pub use permit::{BadPermit, Permit, Permits};

/// The rules, by which settings and tasks can allow what they are about, each with what it is about.
pub const RULES: [(&str, &str); 8] = [
    (TEST_REMOVED, "a test is gone"),
    (TEST_SKIPPED, "a test does not run any more, or is not expected to pass"),
    (TEST_HIDDEN, "a file of tests has a name or a form by which no runner finds it"),
    (ASSERTIONS_REMOVED, "a test asserts less than before"),
    (FAILURE_IGNORED, "a command of the pipeline may fail without anybody noticing"),
    (SUPPRESSED, "a warning is switched off where it is given"),
    (SETTINGS_LOOSENED, "lints, thresholds, pipelines or the choice of tests demand less than before"),
    (SNAPSHOT_REWRITTEN, "an expected output was written anew instead of being met"),
];

const TEST_REMOVED: &str = "test-removed";
const TEST_SKIPPED: &str = "test-skipped";
const TEST_HIDDEN: &str = "test-hidden";
const ASSERTIONS_REMOVED: &str = "assertions-removed";
const FAILURE_IGNORED: &str = "failure-ignored";
const SUPPRESSED: &str = "suppressed";
const SETTINGS_LOOSENED: &str = "settings-loosened";
const SNAPSHOT_REWRITTEN: &str = "snapshot-rewritten";

/// A source file that is larger than this was made by a program. Tests are written by hand.
const LARGEST: usize = 4 << 20;

/// What a change takes away from what the project demands of itself. The diff must show whole files.
pub fn dilution(diff: &Diff, permits: &Permits) -> Vec<Finding> {
    let mut findings = compare::tests(diff);
    let moved = marks::Moved::new(diff);
    for file in &diff.files {
        findings.extend(marks::suppressions(file, &moved));
        findings.extend(marks::ignored_failures(file, &moved));
        findings.extend(settings::loosened(file, diff));
    }
    findings.extend(snapshots::rewritten(diff));
    findings.retain(|finding| !permits.allow(finding.rule, finding.file.as_deref()));
    findings
}

/// The text before and after, unless one of them is too large to have been written.
fn texts(file: &FileChange) -> Option<(String, String)> {
    let (before, after) = (file.before(), file.after());
    (before.len() <= LARGEST && after.len() <= LARGEST).then_some((before, after))
}
