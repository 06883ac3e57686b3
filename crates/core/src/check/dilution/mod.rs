//! Dilution: a change that makes tests, lints or the pipeline weaker than before.
//!
//! An agent that needs green tests can fix the code or weaken the tests. This check rejects the second. It compares the
//! tests before and after, one by one, and reads the settings that decide what passes. It does not ask for reasons: a
//! task that is meant to remove a test says so. Each finding shows the line that proves it.
//!
//! These are not dilution: a test that moved to another file, a test with another name that does the same, and a test
//! that asserts as much in other words.

mod balance;
mod commands;
mod compare;
mod demands;
mod equality;
mod examples;
mod files;
mod marks;
mod pipelines;
mod settings;
mod shadows;
mod silent;
mod snapshots;
mod unasserted;
mod values;
mod wanted;
mod words;

use std::collections::BTreeSet;

use crate::check::Finding;
use crate::check::diff::{Diff, FileChange};
use crate::check::outline::Outline;

#[allow(clippy::wildcard_imports, reason = "the names of the rules, all of which are used")]
use crate::gate::check::dilution::rules::*;
pub use crate::gate::check::dilution::{BadPermit, Permit, Permits, Promise, RULES};
pub use shadows::is_wanted;
pub use silent::silent;
pub use unasserted::unasserted;

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
        findings.extend(equality::changed(file, promise));
    }
    findings.extend(shadows::loosened(diff, settled));
    findings.extend(demands::loosened(diff));
    findings.extend(snapshots::rewritten(diff, promise));
    once_per_line(findings);
    findings.retain(|finding| finding.rule != SUPPRESSED || !marks::is_new_lint(diff, finding));
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
