//! A suspicion that tests say less than before, put to the test: the code is broken in single places, and what the tests of the
//! base notice those of the change must notice too.

use acquit_core::gate::check::Check;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::loosened::{FEWEST, Rewritten, places};
use acquit_core::time::Span;

use super::earlier::{Beside, LEAST_TIME, PATIENCE, Run};
use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{Become, LockedWorkspace};

/// How long all runs on broken code may take.
const MOST_TIME: u64 = 5 * 60 * 1000;

/// What came out.
pub(super) enum Found {
    /// Whatever the old tests noticed the new ones notice: so many places of the code were broken.
    AsStrong(usize),
    /// The old tests notice that this line is broken, and the new ones do not.
    Weaker(String, u32),
}

/// Compares the tests of the base with those of the change, by the first gate of the workflow that runs tests. `None` if nothing could
/// be told.
pub(super) fn compare(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    (base, head): (&CommitId, &CommitId),
    spent: &mut Spent,
) -> Result<Option<Found>, LegAbort> {
    let all = &job.definition.workflow.gates;
    let runs = |gate: &&Gate| matches!(&gate.check, Check::Tests(_) | Check::Tdd(_));
    let Some(gate) = all.iter().find(runs) else { return Ok(None) };
    let (build, run, report) = match &gate.check {
        Check::Tests(it) => (it.build.as_ref(), &it.run, &it.report),
        Check::Tdd(it) => (it.build.as_ref(), &it.run, &it.report),
        _ => return Ok(None),
    };
    let changed = match workspace.changed(base, head) {
        Ok(changed) => changed,
        Err(error) if is_too_large(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let doings = Doings::of(job, gate, workspace, base, head)?;
    let beside = Beside::of(workspace, &doings, changed)?;
    let scratch = workspace.scratch()?;
    let mut at = Run { ctx, job, workspace, scratch: &scratch, head, spent };
    let whole = Suite { gate, build, run, report };
    let with_data = |mut files: Vec<(String, Become)>| {
        files.extend(beside.data.iter().cloned());
        files
    };
    let Some(now) = at.once(&whole, &[], "loosened")? else { return Ok(None) };
    let took = at.spent.run;
    let Some(before) = at.once(&whole, &with_data(beside.files(workspace, &[])?), "loosened-before")? else {
        return Ok(None);
    };
    let tests = Rewritten::of(&beside.edited, &before.merged, &now.merged);
    if !tests.is_comparable() {
        return Ok(None);
    }
    let least = took.saturating_mul(PATIENCE).max(LEAST_TIME);
    let gate = Gate { timeout: Span::from(least.min(u64::from(gate.timeout))), ..gate.clone() };
    let whole = Suite { gate: &gate, ..whole };
    let sources = at.sources()?;
    let code: Vec<(String, String)> =
        sources.iter().map(|(path, _, text)| (path.clone(), text.clone())).collect();
    let (began, mut noticed) = (at.spent.took, 0);
    for (number, place) in places(&code, &beside.edited.said()).into_iter().enumerate() {
        if at.spent.took - began + 2 * took > MOST_TIME {
            break;
        }
        let Some((_, stored, _)) = sources.iter().find(|(path, ..)| *path == place.path) else { continue };
        let broken = vec![(place.path.clone(), Become::Text(stored.clone(), place.text))];
        let old = with_data(beside.files(workspace, &broken)?);
        let Some(before) = at.once(&whole, &old, &format!("loosened-{number}-before"))? else { continue };
        if !tests.noticed(&before.merged) {
            continue;
        }
        noticed += 1;
        let Some(after) = at.once(&whole, &broken, &format!("loosened-{number}-after"))? else { continue };
        if !tests.notices(&before.merged, &after.merged) {
            return Ok(Some(Found::Weaker(place.path, place.line)));
        }
    }
    Ok((noticed >= FEWEST).then_some(Found::AsStrong(noticed)))
}

/// Whether all that speaks against a change are suspicions by these rules.
pub(super) fn is_suspicion(evidence: &Evidence, rules: &[&str]) -> bool {
    let mut failing = evidence.failing().peekable();
    failing.peek().is_some() && failing.all(|finding| rules.contains(&finding.rule.as_str()))
}

/// Lets suspicions that turned out to be nothing be notes.
pub(super) fn clear(evidence: &mut Evidence, places: usize) {
    for finding in evidence.findings.iter_mut().filter(|finding| finding.weight == Weight::Fails) {
        finding.weight = Weight::Noted;
        finding.message = format!(
            "{}\nthe tests as they are notice whatever those before noticed, in {places} places of the code that were broken on \
             purpose",
            finding.message
        );
    }
}
