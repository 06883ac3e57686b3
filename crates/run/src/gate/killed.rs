//! Commands of gates that something else kills, such as the kernel when memory runs out. The end of such a command says nothing about
//! the work, so it is no verdict.

use acquit_core::event::Level;
use acquit_core::gate::Report;

use super::reports;
use crate::leg::{Job, LegAbort, LegContext, Ran, Wanted, WorkingTree, command, killed_again};

/// Runs a command of a gate. Runs it once more if it is killed; if it is killed again, the leg ends without a verdict.
pub(super) fn run(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    working_tree: &WorkingTree,
    wanted: &Wanted<'_>,
    report: Option<&Report>,
) -> Result<Ran, LegAbort> {
    let clear = || report.iter().for_each(|report| reports::clear(working_tree, report));
    clear();
    let ran = command(ctx, job, working_tree, wanted)?;
    if !ran.killed {
        return Ok(ran);
    }
    clear();
    again(ctx, job, working_tree, wanted, &ran)
}

/// Runs a command again that was killed.
pub(super) fn again(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    working_tree: &WorkingTree,
    wanted: &Wanted<'_>,
    killed: &Ran,
) -> Result<Ran, LegAbort> {
    let words =
        format!("`{}` was killed, and not by acquit ({}): running it again", wanted.name, killed.ended);
    ctx.notice(Level::Warning, words);
    let ran = command(ctx, job, working_tree, wanted)?;
    if ran.killed { Err(killed_again(wanted.name, &ran)) } else { Ok(ran) }
}
