//! Checks a suspicion that tests assert less than before: breaks single places of the code, and the tests of the change
//! must notice what the tests of the base notice.

use acquit_core::check::dilution::{Permits, Promise};
use acquit_core::gate::check::Check;
use acquit_core::gate::{Evidence, Gate, Weight};
use acquit_core::proof::earlier::{Part, is_asked, part};
use acquit_core::proof::loosened::{Noticed, Rewritten, carried, places};
use acquit_core::time::Span;

use super::earlier::{Beside, Run};
use super::sides::Doings;
use super::suite::{Spent, Suite};
use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::workspace::{Become, LockedWorkspace, Stored};

/// Time limit of all runs for a change without findings, in milliseconds.
const MOST_TIME: u64 = 60 * 1000;

/// Time limit of all runs that may clear a suspicion. It is generous because rejecting an honest change on a slow machine
/// costs more.
const MOST_TIME_TO_CLEAR: u64 = 5 * 60 * 1000;

/// Minimum number of runs that must fit into the time, or nothing starts.
const FEWEST_RUNS: u64 = 6;

/// Rule of tests that notice less than before.
const WEAKENED: &str = "assertion-weakened";

/// The result of the comparison.
pub(super) struct Told {
    /// Whether no rewritten or removed test fails on the new code in its old form.
    pub(super) as_before: bool,
    /// Whether the new tests have most of the values of the old ones.
    pub(super) keeps_values: bool,
    /// What the new tests notice; `None` if unknown.
    pub(super) strength: Option<Strength>,
}

/// What tests notice, compared with those that they replace.
pub(super) enum Strength {
    /// The new tests noticed every broken place that the old ones noticed; the number of broken places.
    Equal(usize),
    /// The old tests notice that this line is broken; the new ones don't.
    Weaker(String, u32),
}

/// Compares them for a change that rewrites tests without changing behaviour: nothing else shows that they assert as
/// much as before.
pub(super) fn look(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    ends: (&CommitId, &CommitId),
    spent: &mut Spent,
) -> Result<Evidence, LegAbort> {
    let mut evidence = Evidence::default();
    let wish = &job.task.seed.wish;
    let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
    let changed = match workspace.changed(ends.0, ends.1) {
        Ok(changed) => changed,
        Err(error) if is_too_large(&error) => return Ok(evidence),
        Err(error) => return Err(error.into()),
    };
    let same = Promise::of(&format!("{}\n{}", wish.title, wish.description)) == Promise::Same;
    if permits.allow(WEAKENED, None) || !same && changed.iter().any(|file| part(&file.path) == Part::Other) {
        return Ok(evidence);
    }
    let told = compare_within(MOST_TIME, ctx, job, workspace, ends, spent)?;
    if let Some(Told { strength: Some(Strength::Weaker(path, line)), .. }) = told {
        weaker(&path, line, &mut evidence);
    }
    Ok(evidence)
}

/// Describes tests that notice less.
pub(super) fn weaker(path: &str, line: u32, evidence: &mut Evidence) {
    let what = format!(
        "the tests as they were notice that {path}:{line} is broken on purpose, and as they are they do not: restore what they noticed"
    );
    evidence.find(Weight::Fails, WEAKENED, &what, None);
}

/// Compares the tests of the base with those of the change, with the first gate of the workflow that runs tests.
/// Returns `None` if there is no result.
pub(super) fn compare(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    ends: (&CommitId, &CommitId),
    spent: &mut Spent,
) -> Result<Option<Told>, LegAbort> {
    compare_within(MOST_TIME_TO_CLEAR, ctx, job, workspace, ends, spent)
}

/// Does the same with a time limit in milliseconds.
fn compare_within(
    most_time: u64,
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    (base, head): (&CommitId, &CommitId),
    spent: &mut Spent,
) -> Result<Option<Told>, LegAbort> {
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
    let mut at = Run { ctx, job, workspace, scratch: &scratch, head, spent };
    // The same limit for every run, so that another gate finds it in the cache.
    let timeout = Span::from(MOST_TIME.min(u64::from(gate.timeout)));
    let gate = Gate { timeout, ..gate.clone() };
    let whole = Suite { gate: &gate, build, run, report };
    let began = at.spent.took;
    let Some(now) = at.once_or_kept(&whole, &[], "loosened")? else { return Ok(None) };
    let took = at.spent.run;
    if took * FEWEST_RUNS > most_time {
        return Ok(None);
    }
    at.head = base;
    let Some(on_base) = at.once_or_kept(&whole, &[], "loosened-base")? else { return Ok(None) };
    at.head = head;
    let of_base = Rewritten::of(&beside.edited, &on_base.merged, &now.merged);
    let mut old = beside.files(workspace, &[])?;
    old.extend(beside.data.iter().cloned());
    let before = at.once_or_kept(&whole, &old, "loosened-before")?;
    let fitting = before.as_ref().map(|before| Rewritten::of(&beside.edited, &before.merged, &now.merged));
    let as_before = fitting.as_ref().is_some_and(|fitting| fitting.has_all(&of_base));
    let wish = &job.task.seed.wish;
    let task = format!("{}\n{}", wish.title, wish.description);
    let mut told = Told { as_before, keeps_values: beside.test_lines.keeps_values(false), strength: None };
    // If the old tests don't fit the new code, try them on the old code with the same lines broken. Only if the task
    // asks for the difference that they fail by, or if the new tests have the same values in another form.
    let is_meant = match &before {
        Some(before) => is_asked(&task, &beside.edited, &on_base.merged, &before.merged),
        None => beside.test_lines.keeps_values(false),
    };
    let side = match fitting {
        Some(tests) if as_before => Side { tests, head, base: head },
        Some(_) | None if is_meant => Side { tests: of_base, head, base },
        Some(_) | None => return Ok(Some(told)),
    };
    if side.tests.is_comparable() {
        let limit = most_time.saturating_sub(at.spent.took - began);
        told.strength = strength(&mut at, &whole, &beside, &side, (took, limit))?;
    }
    Ok(Some(told))
}

/// The tests to compare, and their code.
struct Side<'a> {
    tests: Rewritten,
    /// Where the tests of the change run.
    head: &'a CommitId,
    /// Where the tests of the base run: on the new code, or on their own.
    base: &'a CommitId,
}

/// Breaks single places and runs both.
fn strength<'a>(
    at: &mut Run<'a, '_, '_>,
    whole: &Suite<'_>,
    beside: &Beside,
    side: &Side<'a>,
    (took, limit): (u64, u64),
) -> Result<Option<Strength>, LegAbort> {
    let texts = |sources: &[(String, Stored, String)]| -> Vec<(String, String)> {
        sources.iter().map(|(path, _, text)| (path.clone(), text.clone())).collect()
    };
    let new = at.sources()?;
    at.head = side.base;
    let old = at.sources()?;
    let (new_code, old_code) = (texts(&new), texts(&old));
    let stored = |sources: &[(String, Stored, String)], path: &str| {
        sources.iter().find(|(known, ..)| known == path).map(|(_, stored, _)| stored.clone())
    };
    let on_new = side.base == side.head;
    let began = at.spent.took;
    let mut found = Noticed::default();
    for (number, place) in places(&old_code, &beside.test_lines.lost).into_iter().enumerate() {
        let is_done = found.is_enough() && side.tests.is_told(&found);
        if is_done || at.spent.took - began + 2 * took > limit {
            break;
        }
        let was = old_code.iter().find(|(path, _)| *path == place.path).map_or("", |(_, text)| text);
        let becomes = if on_new {
            Some((place.path.clone(), place.text.clone()))
        } else {
            carried(&place, was, &new_code)
        };
        let Some((path, text)) = becomes else { continue };
        let (Some(old_file), Some(new_file)) = (stored(&old, &place.path), stored(&new, &path)) else {
            continue;
        };
        let broken = vec![(path, Become::Text(new_file, text))];
        let earlier = if on_new {
            let mut files = beside.files(at.workspace, &broken)?;
            files.extend(beside.data.iter().cloned());
            files
        } else {
            vec![(place.path.clone(), Become::Text(old_file, place.text))]
        };
        let phase = |side: &str| format!("loosened-{number}-{side}");
        at.head = side.base;
        let Some(before) = at.once_or_kept(whole, &earlier, &phase("before"))? else { continue };
        let noticing = side.tests.noticing(&before.merged);
        found.tried += 1;
        if noticing.is_empty() && !side.tests.may_gain(&found) {
            continue;
        }
        at.head = side.head;
        let Some(after) = at.once_or_kept(whole, &broken, &phase("after"))? else { continue };
        if !side.tests.notices(&before.merged, &after.merged) {
            return Ok(Some(Strength::Weaker(place.path, place.line)));
        }
        let gaining = side.tests.gaining(&before.merged, &after.merged);
        if !noticing.is_empty() || !gaining.is_empty() {
            found.places.insert(number);
        }
        found.by.extend(noticing);
        found.gained.extend(gaining);
    }
    Ok(side.tests.is_told(&found).then_some(Strength::Equal(found.places.len())))
}

/// Returns whether all failing findings are suspicions by these rules.
pub(super) fn is_suspicion(evidence: &Evidence, rules: &[&str]) -> bool {
    let mut failing = evidence.failing().peekable();
    failing.peek().is_some() && failing.all(|finding| rules.contains(&finding.rule.as_str()))
}

/// Describes why a suspicion was unfounded.
pub(super) fn words(places: usize) -> String {
    format!(
        "the tests as they are notice whatever those before noticed, in {places} places of the code that were broken on purpose"
    )
}

/// Turns unfounded suspicions into notes.
pub(super) fn clear(evidence: &mut Evidence, places: usize) {
    for finding in evidence.findings.iter_mut().filter(|finding| finding.weight == Weight::Fails) {
        finding.weight = Weight::Noted;
        finding.message = format!("{}\n{}", finding.message, words(places));
    }
}
