//! Gates: check the work, and describe each failure to the agent or person who fixes it.

use acquit_core::failure::{Failure, kind};
use acquit_core::gate::{Evidence, Gate, Verdict, Weight};
use acquit_core::ids::Name;
use acquit_core::outcome::Outcome;

use crate::leg::{Job, LegAbort, LegContext, Ran, WorkingTree};
use crate::workspace::LockedWorkspace;

mod apart;
mod baseline;
mod cache;
mod distill;
mod earlier;
mod killed;
mod loosened;
mod metrics;
mod neighbours;
mod noticed;
mod origin;
mod parallel;
mod phases;
mod plain;
mod regressions;
mod related;
mod repeat;
mod reports;
mod reproduced;
mod runner;
mod runs;
mod sides;
mod static_checks;
mod suite;
mod tdd;
mod too_large;
mod turned;
mod verdicts;

pub use distill::distill;
pub(crate) use runner::{Judged, run_all};
pub(crate) use too_large::is_too_large;

/// Size of the output's end that is stored with the event, to see what ran without its files.
const TAIL: u64 = 4_000;

/// Maximum number of findings to pass to the agent or person who fixes them.
const MOST_TOLD: usize = 12;

/// The work to judge.
struct Case<'a, 'c> {
    ctx: &'a mut LegContext<'c>,
    job: &'a Job<'a>,
    gate: &'a Gate,
    workspace: &'a LockedWorkspace,
    /// What the stage's agent reported.
    outcome: &'a Outcome,
}

/// Judges work by one kind of check. The settings of each kind implement it in the file of that kind.
trait Judge {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort>;
}

/// Runs a gate on the work, for which the stage's agent reported this outcome.
fn run(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    workspace: &LockedWorkspace,
    outcome: &Outcome,
) -> Result<Verdict, LegAbort> {
    let case = Case { ctx, job, gate, workspace, outcome };
    acquit_core::each_check!(&gate.check, settings => settings.judge(case))
}

/// Draws the verdict from evidence: the work passes unless a finding fails it.
fn conclude(gate: &Gate, spent: &suite::Spent, evidence: Evidence, working_tree: &WorkingTree) -> Verdict {
    let failing: Vec<String> = evidence.failing().map(ToString::to_string).collect();
    let failure = (!failing.is_empty()).then(|| {
        let more = failing.len().saturating_sub(MOST_TOLD) + evidence.more as usize;
        let mut message = failing.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join("\n");
        if more > 0 {
            message.push_str(&format!("\n… ({more} findings more)"));
        }
        let named = evidence.failing().filter_map(|finding| finding.location.as_ref());
        let (place, excerpt) = distill::around(named, &working_tree.committed);
        // An agent first fixes what it can; a person gets the rest.
        let person = evidence.failing().all(|finding| finding.weight == Weight::Person);
        let kind = if person { Name::literal(kind::UNJUDGED) } else { gate.kind.clone() };
        Failure { gate: gate.name.clone(), kind, message, location: place, excerpt }
    });
    let ended = match evidence.failing().count() {
        0 if spent.ended.is_empty() => "nothing had to be run".to_owned(),
        // The last command of a check may be expected to fail; its exit code would look like a failure of the gate.
        0 => "passed".to_owned(),
        1 => "1 finding".to_owned(),
        number => format!("{number} findings"),
    };
    let (passed, took, log) = (failure.is_none(), spent.took(), spent.log.clone());
    let all = Ran { passed, ended, took, log, ..Ran::default() };
    Verdict { evidence, stopped: spent.stopped, ..verdict(gate, &all, failure) }
}

/// Returns the verdict of a gate that ended with a command.
fn verdict(gate: &Gate, ran: &Ran, failure: Option<Failure>) -> Verdict {
    let tail = distill::tail(&ran.log, TAIL);
    Verdict {
        gate: gate.name.clone(),
        passed: failure.is_none(),
        severity: gate.severity,
        command: gate.check.to_string(),
        ended: ran.ended.clone(),
        took: ran.took,
        output: ran.log.to_string_lossy().into_owned(),
        failure,
        evidence: Evidence::default(),
        tail,
        reused: None,
        stopped: ran.cut_short.as_ref().map(|cut| cut.by),
    }
}

/// Removes incomplete files of killed harnesses from the caches of gates.
pub(crate) fn sweep_unfinished(home: &std::path::Path) {
    for folder in ["baselines", "durations", "verdicts"] {
        cache::sweep(&home.join(folder));
    }
}
