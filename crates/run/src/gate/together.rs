//! Commands that run at the same time: each in a tree of its own, all of them watched in one place.
//!
//! No command sees what another writes. A cancellation ends all of them.

use acquit_core::failure::kind;
use acquit_core::gate::check::Plain;
use acquit_core::gate::{Check, Gate, Severity, Verdict};
use acquit_core::workflow::Stop;

use super::command::{Running, Started};
use super::{Ran, plain};
use crate::harness::{Desk, Ground, Job, Trouble};
use crate::process::{Ended, Exit, Next};
use crate::workspace::Locked;

/// A gate with its tree.
struct Prepared<'g> {
    gate: &'g Gate,
    settings: &'g Plain,
    ground: Ground,
}

/// Runs them. Where the stage wants no more after the first that rejects, the others are stopped then, and have no verdict.
pub(super) fn run<'g>(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gates: &[&'g Gate],
    workspace: &Locked,
) -> Result<Vec<(&'g Gate, Verdict)>, Trouble> {
    let prepared = prepare(desk, job, gates, workspace)?;
    let mut rans: Vec<Option<Ran>> = Vec::new();
    let (mut running, mut places) = (Vec::new(), Vec::new());
    for one in &prepared {
        match plain::start(desk, job, one.gate, one.settings, &one.ground)? {
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
        let rejects =
            ended.exit != Exit::Code(0) && gate.is_some_and(|gate| gate.severity == Severity::Error);
        stopped |= rejects && job.stage.stop == Stop::AtFirst;
        if stopped { Next::Stop } else { Next::Continue }
    };
    let ended = Running::watch(desk, running, &mut over)?;
    for (place, ran) in places.iter().zip(ended) {
        rans[*place] = Some(ran);
    }
    let mut verdicts = Vec::new();
    for (one, ran) in prepared.iter().zip(rans) {
        let Some(ran) = ran else { continue };
        // Nobody asked for the end of one that was stopped for another's sake: it has nothing to say.
        if stopped && ran.ended == Exit::Cancelled.to_string() {
            continue;
        }
        desk.cut_short |= ran.cut_short.is_some();
        verdicts.push((one.gate, plain::judge(one.gate, one.settings, &ran, &one.ground)));
    }
    Ok(verdicts)
}

/// Makes a tree for each, with what it needs installed.
fn prepare<'g>(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    gates: &[&'g Gate],
    workspace: &Locked,
) -> Result<Vec<Prepared<'g>>, Trouble> {
    workspace.clear_beside()?;
    let mut prepared = Vec::new();
    for gate in gates {
        let Check::Command(settings) = &gate.check else {
            let words = format!("gate `{}` is no command and cannot run beside others", gate.name);
            return Err(Trouble::failed(kind::HARNESS, words));
        };
        let ground = Ground::of_work(desk, job, workspace, gate.name.as_str())?;
        prepared.push(Prepared { gate, settings, ground });
    }
    Ok(prepared)
}
