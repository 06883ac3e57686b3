//! A command that must end with code 0.

use acquit_core::failure::Failure;
use acquit_core::gate::check::Plain;
use acquit_core::gate::{Gate, Verdict};

use super::{Ran, Wanted, command, distill, verdict};
use crate::harness::{Desk, Ground, Job, Trouble};
use crate::workspace::Locked;

/// Runs it in the workspace.
pub(super) fn run(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gate: &Gate,
    plain: &Plain,
    workspace: &Locked,
) -> Result<Verdict, Trouble> {
    let network = gate.network.unwrap_or(job.definition.config.network.gates);
    let wanted = Wanted { name: gate.name.as_str(), command: &plain.run, timeout: gate.timeout, network };
    let ground = Ground::of(workspace);
    let ran = command(desk, job, &ground, &wanted)?;
    let failure = (!ran.passed).then(|| failed(gate, &plain.run, &ran, &ground));
    Ok(verdict(gate, &ran, failure))
}

/// What a command that failed says.
pub(super) fn failed(
    gate: &Gate,
    command: &acquit_core::gate::Command,
    ran: &Ran,
    ground: &Ground,
) -> Failure {
    let found = distill(&ran.log, &ground.tree);
    let message = match (&ran.cut_short, found.message.is_empty()) {
        (_, true) => format!("`{command}`: {}; it printed nothing", ran.ended),
        (Some(why), false) => format!("`{command}`: {why}\n{}", found.message),
        (None, false) => found.message,
    };
    Failure {
        gate: gate.name.clone(),
        kind: gate.kind.clone(),
        message,
        location: found.location,
        excerpt: found.excerpt,
    }
}
