//! Checks that read the change and run nothing: dilution, secrets, scope, commits, and the findings of a review.
//!
//! The data comes from git alone, through the harness's own repository. A change that is too large to be read as a
//! whole fails: checking only a part could be exploited.

use std::time::Instant;

use acquit_core::check::Finding;
use acquit_core::failure::Location;
use acquit_core::gate::check::{Commits, Dilution, Review, Scope, Secrets};
use acquit_core::gate::{Evidence, Verdict, Weight, rule};
use acquit_core::outcome::Outcome;

use super::suite::Spent;
use super::too_large::is_too_large;
use super::{Case, Judge, conclude};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree};
use crate::workspace::{Error, LockedWorkspace};

mod commits;
mod dilution;
mod review;
mod scope;
mod secrets;

/// The change to check.
struct Change<'a, 'c> {
    ctx: &'a mut LegContext<'c>,
    job: &'a Job<'a>,
    workspace: &'a LockedWorkspace,
    /// Commit that the change is based on.
    base: CommitId,
    /// Newest commit of the change.
    head: CommitId,
    /// What the stage's agent reported.
    outcome: &'a Outcome,
}

/// A check that reads a change.
trait Look {
    /// Adds its findings to the evidence.
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped>;

    /// Changes the verdict before it is reported.
    fn amend(&self, _verdict: &mut Verdict) {}
}

/// Why a check could not read the change.
enum Stopped {
    /// The change could not be read.
    Change(Error),
    /// The leg cannot continue.
    Leg(LegAbort),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Change(error)
    }
}

impl From<LegAbort> for Stopped {
    fn from(abort: LegAbort) -> Self {
        Self::Leg(abort)
    }
}

macro_rules! judges {
    ($($kind:ty),+) => {
        $(impl Judge for $kind {
            fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
                judge(self, case)
            }
        })+
    };
}

judges!(Commits, Dilution, Review, Scope, Secrets);

/// Runs a check on the change of a case, and draws the verdict.
fn judge(check: &impl Look, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
    let Case { ctx, job, gate, workspace, outcome } = case;
    let began = Instant::now();
    let mut change = Change { ctx, job, workspace, base: job.base(), head: workspace.work_head()?, outcome };
    let mut evidence = Evidence::default();
    match check.look(&mut change, &mut evidence) {
        Ok(()) => {}
        Err(Stopped::Change(error)) if is_too_large(&error) => {
            let what = "the change is too large to be looked at as a whole: do less at once";
            evidence.find(Weight::Fails, rule::TOO_LARGE, what, None);
        }
        Err(Stopped::Change(error)) => return Err(error.into()),
        Err(Stopped::Leg(abort)) => return Err(abort),
    }
    // A line of the change is shown as evidence, so a secret could leak there.
    for finding in &mut evidence.findings {
        finding.message = change.ctx.redactor.text(&finding.message);
    }
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let spent = Spent { took, ..Spent::default() };
    let mut verdict = conclude(gate, &spent, evidence, &WorkingTree::of(workspace));
    check.amend(&mut verdict);
    if verdict.passed {
        "nothing was found".clone_into(&mut verdict.ended);
    }
    Ok(verdict)
}

/// Adds findings of a check in the core to the evidence.
pub(super) fn add(evidence: &mut Evidence, weight: Weight, findings: &[Finding]) {
    for finding in findings {
        let mut words = finding.what.clone();
        for line in &finding.evidence {
            words.push_str("\n    ");
            words.push_str(line);
        }
        let place = finding
            .file
            .as_ref()
            .map(|file| Location { path: file.clone(), line: finding.line.unwrap_or(1) });
        evidence.find(weight, finding.rule, &words, place);
    }
}
