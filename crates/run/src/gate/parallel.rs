//! Runs commands in parallel: each in a separate tree, all watched in one place.
//!
//! No command sees what another writes. A cancellation ends all of them.

use acquit_core::failure::kind;
use acquit_core::gate::check::Plain;
use acquit_core::gate::{Check, Gate, Severity, Verdict};
use acquit_core::workflow::Stop;

use super::plain;
use crate::leg::{Job, LegAbort, LegContext, Ran, Running, Started, WorkingTree, is_killed};
use crate::process::{Ended, Exit, Next};
use crate::workspace::LockedWorkspace;

/// A gate with its tree.
struct Prepared<'g> {
    gate: &'g Gate,
    settings: &'g Plain,
    working_tree: WorkingTree,
}

/// Runs them. If the stage stops at the first rejection, the others are stopped then and have no verdict.
pub(super) fn run<'g>(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gates: &[&'g Gate],
    workspace: &LockedWorkspace,
) -> Result<Vec<(&'g Gate, Verdict)>, LegAbort> {
    let prepared = prepare(ctx, job, gates, workspace)?;
    let mut rans: Vec<Option<Ran>> = Vec::new();
    let (mut running, mut places) = (Vec::new(), Vec::new());
    for one in &prepared {
        match plain::start(ctx, job, one.gate, one.settings, &one.working_tree)? {
            Started::Running(child) => {
                places.push(rans.len());
                running.push(*child);
                rans.push(None);
            }
            Started::Failed(ran) => rans.push(Some(ran)),
        }
    }
    let mut stopped = false;
    let mut over = |index: usize, ended: &Ended| {
        let gate = places.get(index).and_then(|place| prepared.get(*place)).map(|one| one.gate);
        let fails = ended.exit != Exit::Code(0) && !is_killed(ended.exit);
        let rejects = fails && gate.is_some_and(|gate| gate.severity == Severity::Error);
        stopped |= rejects && job.stage.stop == Stop::AtFirst;
        if stopped { Next::Stop } else { Next::Continue }
    };
    let ended = Running::watch(ctx, running, &mut over)?;
    for (place, ran) in places.iter().zip(ended) {
        rans[*place] = Some(ran);
    }
    let mut verdicts = Vec::new();
    for (one, ran) in prepared.iter().zip(rans) {
        let Some(ran) = ran else { continue };
        // A command that was stopped because of another one was not cancelled by a person; it has no verdict.
        if stopped && ran.cancelled {
            continue;
        }
        let ran = if ran.killed {
            plain::again(ctx, job, one.gate, one.settings, (&one.working_tree, &ran))?
        } else {
            ran
        };
        verdicts.push((one.gate, plain::judge(job, one.gate, one.settings, &ran, &one.working_tree)));
    }
    Ok(verdicts)
}

/// Creates a tree for each, with its dependencies installed.
fn prepare<'g>(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gates: &[&'g Gate],
    workspace: &LockedWorkspace,
) -> Result<Vec<Prepared<'g>>, LegAbort> {
    workspace.clear_beside()?;
    let mut prepared = Vec::new();
    for gate in gates {
        let Check::Command(settings) = &gate.check else {
            let words = format!("gate `{}` is no command and cannot run beside others", gate.name);
            return Err(LegAbort::failed(kind::HARNESS, words));
        };
        let working_tree = WorkingTree::of_work(ctx, job, workspace, gate.name.as_str())?;
        prepared.push(Prepared { gate, settings, working_tree });
    }
    Ok(prepared)
}
