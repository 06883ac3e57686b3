//! Runs all gates of a stage: first those that only read, then those with commands, the cheapest first. Parallel gates
//! run together.

use acquit_core::artifact::Artifact;
use acquit_core::event::{Body, Level};
use acquit_core::failure::{Failure, kind};
use acquit_core::gate::{Gate, Manner, Severity, Verdict};
use acquit_core::ids::Name;
use acquit_core::leg::Purpose;
use acquit_core::outcome::Outcome;
use acquit_core::time::Span;
use acquit_core::workflow::{Stop, Warnings};

use super::verdicts::Verdicts;
use super::{parallel, related, run, verdict};
use crate::leg::{Job, LegAbort, LegContext, Ran};
use crate::workspace::LockedWorkspace;

/// The result of the gates.
#[derive(Default)]
pub(crate) struct Judged {
    /// What to fix.
    pub(crate) failures: Vec<Failure>,
    /// Outcome that replaces the stage's, because of what its agent found.
    pub(crate) instead: Option<Name>,
}

impl Judged {
    fn add(&mut self, gate: &Gate, verdict: &Verdict) {
        if !verdict.rejects() {
            return;
        }
        match gate.check.sets_outcome() {
            Some(outcome) => self.instead = Some(outcome.clone()),
            None => self.failures.extend(verdict.failure.clone()),
        }
    }

    fn rejects(&self) -> bool {
        !self.failures.is_empty() || self.instead.is_some()
    }
}

/// Gates that run in parallel, or a single one.
type Round<'g> = Vec<&'g Gate>;

/// Runs gates on the work of a leg's stage, for which its agent reported this outcome. Runs all of them, so that one
/// fix leg sees every failure, unless the stage says otherwise.
pub(crate) fn run_all(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    names: &[Name],
    workspace: &LockedWorkspace,
    outcome: &Outcome,
) -> Result<Judged, LegAbort> {
    let mut judged = Judged::default();
    if names.is_empty() {
        return Ok(judged);
    }
    let verdicts = Verdicts::of(ctx, job, workspace)?;
    let gates = related::resolve(job, workspace, named(job, names)?)?;
    let gates = concerned(ctx, job, workspace, gates.iter().map(AsRef::as_ref).collect())?;
    let mut rounds = rounds(gates, |gate| verdicts.duration(gate)).into_iter();
    while let Some(round) = rounds.next() {
        let mut left = Vec::new();
        for gate in round {
            match verdicts.find(gate).filter(|verdict| verdict.passed || !waited(job)) {
                Some(verdict) => tell(ctx, job, &mut judged, gate, verdict),
                None => left.push(gate),
            }
        }
        if stops(job, &judged) {
            left.extend(rounds.flatten());
            skipped(ctx, &left);
            break;
        }
        // Viewers should see the earlier results while a long check runs.
        ctx.flush_patiently()?;
        let given = match left[..] {
            [] => Vec::new(),
            [gate] if gate.manner == Manner::Alone => vec![(gate, run(ctx, job, gate, workspace, outcome)?)],
            _ => parallel::run(ctx, job, &left, workspace)?,
        };
        for (gate, verdict) in given {
            if verdict.stopped.is_none() {
                verdicts.keep(ctx, gate, &verdict)?;
            }
            if gate.check.command().is_some() {
                verdicts.took(gate, verdict.took)?;
            }
            tell(ctx, job, &mut judged, gate, verdict);
        }
        if stops(job, &judged) {
            skipped(ctx, &rounds.flatten().collect::<Vec<_>>());
            break;
        }
    }
    Ok(judged)
}

fn tell(ctx: &mut LegContext<'_>, job: &Job<'_>, judged: &mut Judged, gate: &Gate, mut verdict: Verdict) {
    if job.stage.warnings == Warnings::Reject {
        verdict.severity = Severity::Error;
    }
    judged.add(gate, &verdict);
    if !verdict.output.is_empty() {
        ctx.reports.push(Artifact::Report {
            stage: job.stage.name.clone(),
            gate: gate.name.clone(),
            passed: verdict.passed,
            path: verdict.output.clone(),
        });
    }
    ctx.note(Body::Gate { verdict: Box::new(verdict) });
}

/// Returns whether the gates run again although nothing was fixed: something else has changed since, or a person says
/// so, and a failed gate may pass now.
pub(super) fn waited(job: &Job<'_>) -> bool {
    let again = matches!(job.entry.purpose, Purpose::Recheck { .. });
    again && job.task.past.last().is_some_and(|past| past.entry.stage == job.stage.name)
}

/// Returns whether no further verdict is needed.
fn stops(job: &Job<'_>, judged: &Judged) -> bool {
    match job.stage.stop {
        Stop::AtFirst => judged.rejects(),
        Stop::AtEnd => false,
    }
}

fn skipped(ctx: &mut LegContext<'_>, gates: &[&Gate]) {
    if !gates.is_empty() {
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        ctx.notice(
            Level::Info,
            format!("not run, because the work is rejected already: {}", names.join(", ")),
        );
    }
}

/// Returns the gates with these names, in this order.
fn named<'j>(job: &Job<'j>, names: &[Name]) -> Result<Vec<&'j Gate>, LegAbort> {
    let gate = |name: &Name| {
        let missing = || LegAbort::failed(kind::HARNESS, format!("the workflow has no gate `{name}`"));
        job.definition.workflow.gate(name.as_str()).ok_or_else(missing)
    };
    names.iter().map(gate).collect()
}

/// Returns the gates that the change concerns. The others get a verdict at once that says why they did not run.
fn concerned<'g>(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    gates: Vec<&'g Gate>,
) -> Result<Vec<&'g Gate>, LegAbort> {
    if gates.iter().all(|gate| gate.paths.is_empty()) {
        return Ok(gates);
    }
    let Some(changed) = workspace.changed_paths(&job.base(), &workspace.work_head()?)? else {
        return Ok(gates);
    };
    let (concerned, others): (Vec<&Gate>, Vec<&Gate>) = gates.into_iter().partition(|gate| {
        let paths = gate.paths.compile();
        gate.paths.is_empty() || changed.iter().any(|path| paths.is_match(path))
    });
    for gate in others {
        let ended = format!("not run: the change touches none of its paths ({})", gate.paths);
        let ran = Ran { passed: true, ended, ..Ran::default() };
        ctx.note(Body::Gate { verdict: Box::new(verdict(gate, &ran, None)) });
    }
    Ok(concerned)
}

/// Returns the order of gates: first those that only read, in file order; then parallel ones together; then the others
/// one by one, the cheapest first, and those with unknown duration last in file order.
fn rounds(gates: Vec<&Gate>, duration: impl Fn(&Gate) -> Option<Span>) -> Vec<Round<'_>> {
    let (looking, running): (Vec<&Gate>, Vec<&Gate>) =
        gates.into_iter().partition(|gate| gate.check.command().is_none());
    let (at_once, mut alone): (Vec<&Gate>, Vec<&Gate>) =
        running.into_iter().partition(|gate| gate.manner == Manner::AtOnce);
    alone.sort_by_cached_key(|gate| duration(gate).map_or(u64::MAX, u64::from));
    let single = |gate| vec![gate];
    let together = Some(at_once).filter(|round| !round.is_empty());
    looking.into_iter().map(single).chain(together).chain(alone.into_iter().map(single)).collect()
}
