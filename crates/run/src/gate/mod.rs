//! Gates: what the harness checks of the work, and what a failure says to whoever must mend it.

use acquit_core::failure::{Failure, kind};
use acquit_core::gate::{Check, Gate, Verdict};

use crate::harness::{Desk, Job, Trouble};
use crate::workspace::Locked;

mod command;
mod distill;
mod plain;

pub(crate) use command::{Ran, Wanted, command};
pub use distill::distill;

/// How much of a failed gate's output is kept with its event.
const TAIL: u64 = 2_000;

/// Runs a gate on the work.
pub(crate) fn run(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gate: &Gate,
    workspace: &Locked,
) -> Result<Verdict, Trouble> {
    match &gate.check {
        Check::Command(plain) => plain::run(desk, job, gate, plain, workspace),
        Check::Tests(_)
        | Check::Tdd(_)
        | Check::Coverage(_)
        | Check::Mutation(_)
        | Check::Secrets(_)
        | Check::Scope(_)
        | Check::Commits(_)
        | Check::Dilution(_) => {
            let words = format!("gate `{}`: this version has no check `{}`", gate.name, gate.check.word());
            Err(Trouble::failed(kind::HARNESS, words))
        }
    }
}

/// The verdict of a gate that ended with a command.
fn verdict(gate: &Gate, ran: &Ran, failure: Option<Failure>) -> Verdict {
    let tail = failure.as_ref().map(|_| distill::tail(&ran.log, TAIL)).unwrap_or_default();
    Verdict {
        gate: gate.name.clone(),
        passed: failure.is_none(),
        severity: gate.severity,
        command: gate.check.to_string(),
        ended: ran.ended.clone(),
        took: ran.took,
        output: ran.log.to_string_lossy().into_owned(),
        failure,
        evidence: acquit_core::gate::Evidence::default(),
        tail,
    }
}
