//! Dilution: a change that makes the tests, the lints or the pipeline say less than before.
//!
//! An agent that must get to green has two ways, and this check closes the second. It compares the tests before and after,
//! one by one, and reads the settings that decide what counts as green. It does not ask why: a task that is meant to
//! remove a test says so, and everything else is shown with the line that proves it.
//!
//! What is not dilution: a test that moved to another file, has another name but does the same, or asserts as much in
//! other words.

mod balance;
mod commands;
mod compare;
mod examples;
mod files;
mod marks;
mod permit;
mod pipelines;
mod settings;
mod shadows;
mod snapshots;
mod values;
mod words;

use std::collections::BTreeSet;

use crate::check::Finding;
use crate::check::diff::{Diff, FileChange};
use crate::check::outline::Outline;

pub use permit::{BadPermit, Permit, Permits, Promise};
pub use shadows::is_wanted;

/// The rules, by which settings and tasks can allow what they are about, each with what it is about.
pub const RULES: [(&str, &str); 16] = [
    (TEST_REMOVED, "a test is gone"),
    (TEST_SKIPPED, "a test does not run any more, or is not expected to pass"),
    (TEST_HIDDEN, "a file of tests has a name or a form by which no runner finds it"),
    (ASSERTIONS_REMOVED, "a test asserts less than before"),
    (ASSERTION_WEAKENED, "an assertion demands less of the same value, or is made only under a condition"),
    (ASSERTION_DEAD, "an assertion cannot fail, or is never reached"),
    (
        EXPECTATION_CHANGED,
        "a change of tests alone, or one that keeps the behaviour, expects another value than before",
    ),
    (SUBJECT_REPLACED, "a test replaces what it is about by a double or by a copy of its own"),
    (SPECIAL_CASED, "code gives a fixed answer to the very input of a test"),
    (TEST_DETECTED, "code finds out whether it is being tested"),
    (FEATURE_REMOVED, "a test is gone together with what it tests"),
    (RETRIES_ADDED, "a test that fails is tried again"),
    (FAILURE_IGNORED, "a command of the pipeline may fail without anybody noticing"),
    (SUPPRESSED, "a warning is switched off where it is given"),
    (SETTINGS_LOOSENED, "lints, thresholds, pipelines or the choice of tests demand less than before"),
    (SNAPSHOT_REWRITTEN, "an expected output was written anew instead of being met"),
];

const TEST_REMOVED: &str = "test-removed";
const TEST_SKIPPED: &str = "test-skipped";
const TEST_HIDDEN: &str = "test-hidden";
const ASSERTIONS_REMOVED: &str = "assertions-removed";
const ASSERTION_WEAKENED: &str = "assertion-weakened";
const ASSERTION_DEAD: &str = "assertion-dead";
const EXPECTATION_CHANGED: &str = "expectation-changed";
const SUBJECT_REPLACED: &str = "subject-replaced";
const SPECIAL_CASED: &str = "special-cased";
const TEST_DETECTED: &str = "test-detected";
const FEATURE_REMOVED: &str = "feature-removed";
const RETRIES_ADDED: &str = "retries-added";
const FAILURE_IGNORED: &str = "failure-ignored";
const SUPPRESSED: &str = "suppressed";
const SETTINGS_LOOSENED: &str = "settings-loosened";
const SNAPSHOT_REWRITTEN: &str = "snapshot-rewritten";

/// A source file that is larger than this was made by a program. Tests are written by hand.
const LARGEST: usize = 4 << 20;

/// What the files of a change say about their tests, before and after, in the order of the diff. Files that are not there
/// are looked at by their text.
#[derive(Clone, Debug, Default)]
pub struct Outlines(pub Vec<Sides>);

/// A file before and after.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Before.
    pub before: Option<Outline>,
    /// After.
    pub after: Option<Outline>,
}

impl Outlines {
    fn of(&self, index: usize) -> Option<&Sides> {
        self.0.get(index)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// What is held against the change.
    pub findings: Vec<Finding>,
    /// What whoever reviews should know: an honest change does it too.
    pub notes: Vec<Finding>,
}

/// What a change takes away from what the project demands of itself. The diff must show whole files; `settled` are the files of
/// the base that [`is_wanted`] asks for, with their texts.
pub fn dilution(
    diff: &Diff,
    outlines: &Outlines,
    settled: &[(String, String)],
    promise: Promise,
    permits: &Permits,
) -> Examined {
    let mut examined = compare::tests(diff, outlines, promise);
    let moved = marks::Moved::new(diff);
    let findings = &mut examined.findings;
    for (index, file) in diff.files.iter().enumerate() {
        let by_tree = outlines.of(index).is_some_and(|sides| sides.after.is_some());
        findings.extend(marks::suppressions(file, &moved, by_tree));
        findings.extend(marks::ignored_failures(file, &moved));
        let outline = outlines.of(index).and_then(|sides| sides.after.as_ref());
        findings.extend(examples::detected(file, &moved, outline));
        findings.extend(settings::loosened(file, diff, settled));
    }
    findings.extend(shadows::loosened(diff, settled));
    findings.extend(snapshots::rewritten(diff, promise));
    once_per_line(findings);
    findings.retain(|finding| !permits.allow(finding.rule, finding.file.as_deref()));
    examined.notes.retain(|finding| !permits.allow(finding.rule, finding.file.as_deref()));
    examined
}

/// A line of settings that several rules object to is reported once, by the first of them.
fn once_per_line(findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    findings.retain(|finding| {
        let of_settings = [SETTINGS_LOOSENED, FAILURE_IGNORED].contains(&finding.rule);
        !of_settings || finding.line.is_none() || seen.insert((finding.file.clone(), finding.line))
    });
}

/// The text before and after, unless one of them is too large to have been written.
fn texts(file: &FileChange) -> Option<(String, String)> {
    let (before, after) = (file.before(), file.after());
    (before.len() <= LARGEST && after.len() <= LARGEST).then_some((before, after))
}
