//! A suspicion that tests say less than before, put to the test: the code is broken in single places, and what the tests of the
//! base notice those of the change must notice too.

use std::collections::BTreeSet;

use acquit_core::gate::check::Check;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::loosened::{Rewritten, places};
use acquit_core::time::Span;

use super::earlier::{Beside, Run};
use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{Become, LockedWorkspace};

/// How long all runs may take, in milliseconds.
const MOST_TIME: u64 = 60 * 1000;

/// How many runs there must be time for, or nothing is begun.
const FEWEST_RUNS: u64 = 6;

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
    if !beside.test_lines.is_rewritten() {
        return Ok(None);
    }
    let scratch = workspace.scratch()?;
    let began = spent.took;
    let mut at = Run { ctx, job, workspace, scratch: &scratch, head, spent };
    // The same for every run, so that another gate finds it again.
    let timeout = Span::from(MOST_TIME.min(u64::from(gate.timeout)));
    let gate = Gate { timeout, ..gate.clone() };
    let whole = Suite { gate: &gate, build, run, report };
    let with_data = |mut files: Vec<(String, Become)>| {
        files.extend(beside.data.iter().cloned());
        files
    };
    let Some(now) = at.once_or_kept(&whole, &[], "loosened")? else { return Ok(None) };
    let took = at.spent.run;
    if took * FEWEST_RUNS > MOST_TIME {
        return Ok(None);
    }
    let old = with_data(beside.files(workspace, &[])?);
    let Some(before) = at.once_or_kept(&whole, &old, "loosened-before")? else { return Ok(None) };
    let tests = Rewritten::of(&beside.edited, &before.merged, &now.merged);
    if !tests.is_comparable() {
        return Ok(None);
    }
    let sources = at.sources()?;
    let code: Vec<(String, String)> =
        sources.iter().map(|(path, _, text)| (path.clone(), text.clone())).collect();
    let (mut noticed, mut by) = (0, BTreeSet::new());
    for (number, place) in places(&code, &beside.test_lines.lost).into_iter().enumerate() {
        if at.spent.took - began + 2 * took > MOST_TIME {
            break;
        }
        let Some((_, stored, _)) = sources.iter().find(|(path, ..)| *path == place.path) else { continue };
        let broken = vec![(place.path.clone(), Become::Text(stored.clone(), place.text))];
        let old = with_data(beside.files(workspace, &broken)?);
        let phase = |side: &str| format!("loosened-{number}-{side}");
        let Some(before) = at.once_or_kept(&whole, &old, &phase("before"))? else { continue };
        let noticing = tests.noticing(&before.merged);
        if noticing.is_empty() {
            continue;
        }
        let Some(after) = at.once_or_kept(&whole, &broken, &phase("after"))? else { continue };
        if !tests.notices(&before.merged, &after.merged) {
            return Ok(Some(Found::Weaker(place.path, place.line)));
        }
        noticed += 1;
        by.extend(noticing);
    }
    Ok(tests.is_told(noticed, &by).then_some(Found::AsStrong(noticed)))
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
