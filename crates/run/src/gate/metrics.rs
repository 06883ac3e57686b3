//! Checks that run a tool and apply its report to the changed lines: coverage and mutation.
//!
//! The tools measure whole files or more, and a project's total says little about a change. So only added lines count.
//! A missing report is a failure, because it proves nothing.

use acquit_core::check::coverage::{Covered, code_lines};
use acquit_core::check::mutation::{self, score};
use acquit_core::gate::check::{Coverage, Mutation};
use acquit_core::gate::{Command, Evidence, Gate, Report, Verdict, Weight, rule};

use super::sides::Doings;
use super::static_checks::add;
use super::suite::Spent;
use super::too_large::is_too_large;
use super::{Case, Judge, conclude, distill, killed, reports};
use crate::leg::{Job, LegAbort, LegContext, Ran, Wanted, WorkingTree};
use crate::workspace::{Around, LockedWorkspace};

impl Judge for Coverage {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        coverage(case.ctx, case.job, case.gate, self, case.workspace)
    }
}

/// Runs the tests and checks which changed lines they reach.
fn coverage(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    settings: &Coverage,
    workspace: &LockedWorkspace,
) -> Result<Verdict, LegAbort> {
    let mut measure = Measure::new(ctx, job, gate, workspace)?;
    let ran = measure.run(ctx, job, &settings.run, &settings.report)?;
    let mut covered = Covered::default();
    for text in measure.reports(ctx, &settings.report, &ran) {
        covered.add(settings.report.format, &text);
    }
    if covered.is_empty() {
        measure.nothing(&ran, "the report of the coverage is empty or missing");
        return Ok(measure.end());
    }
    let Some(diff) = measure.diff(job)? else { return Ok(measure.end()) };
    let share = covered.of(&diff, &measure.root(), &settings.exempt.compile());
    let evidence = &mut measure.evidence;
    evidence.figure("changed lines that can be executed", share.lines);
    evidence.figure("executed", share.covered);
    let (percent, min) = (share.percent(), settings.min as usize);
    evidence.figure("share", percent.map_or("none".to_owned(), |percent| format!("{percent} %")));
    match percent {
        Some(percent) if percent < min => {
            let what = format!("{percent} % of the changed lines are executed by tests, and {min} % must be");
            evidence.find(Weight::Fails, "coverage", &what, None);
            add(evidence, Weight::Fails, &share.findings);
        }
        None if code_lines(&diff, &settings.exempt.compile()) > 0 => {
            let what = "the change adds code, and the report measures none of its lines: they are left out of the measurement, or the \
                        report is of something else. The coverage of the change could not be judged";
            evidence.find(Weight::Person, "unjudged", what, None);
        }
        Some(_) | None => add(evidence, Weight::Noted, &share.findings),
    }
    measure.failed_run(&ran);
    Ok(measure.end())
}

impl Judge for Mutation {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        mutants(case.ctx, case.job, case.gate, self, case.workspace)
    }
}

/// Runs a mutation tool, and checks which mutants of the changed lines the tests notice.
fn mutants(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    settings: &Mutation,
    workspace: &LockedWorkspace,
) -> Result<Verdict, LegAbort> {
    let mut measure = Measure::new(ctx, job, gate, workspace)?;
    let ran = measure.run(ctx, job, &settings.run, &settings.report)?;
    let texts = measure.reports(ctx, &settings.report, &ran);
    if texts.is_empty() {
        measure.nothing(&ran, "the report of the mutants is missing");
        return Ok(measure.end());
    }
    let mut all = Vec::new();
    for text in &texts {
        match mutation::read(text) {
            Ok(mutants) => all.extend(mutants),
            Err(error) => {
                measure.nothing(&ran, &format!("failed to {error}"));
                return Ok(measure.end());
            }
        }
    }
    // Tools exit with an error when a mutant survives, so that alone means nothing. Without any mutant it means that
    // none was tried.
    if ran.cut_short.is_some() || (all.is_empty() && !ran.passed) {
        measure.nothing(&ran, "the mutants were not tried to the end");
        return Ok(measure.end());
    }
    let Some(diff) = measure.diff(job)? else { return Ok(measure.end()) };
    let score = score(&all, &diff, &measure.root(), settings.equivalents, &settings.exempt.compile());
    // Tests are not mutated; the gate lists other exempt files.
    let mut paths = Coverage::usual_exempt();
    settings.exempt.as_slice().iter().for_each(|pattern| drop(paths.push(pattern)));
    let exempt = paths.compile();
    let evidence = &mut measure.evidence;
    evidence.figure("mutants of changed lines", score.mutants);
    evidence.figure("caught", score.caught);
    let (percent, min) = (score.percent(), settings.min as usize);
    evidence.figure("score", percent.map_or("none".to_owned(), |percent| format!("{percent} %")));
    match percent {
        Some(percent) if percent < min => {
            let what = format!(
                "{percent} % of the mutants are caught, and {min} % must be. Write tests that notice the others; where one \
                 changes nothing that can be observed, say why in a comment at its line: `{} <why>`",
                mutation::MARKER
            );
            evidence.find(Weight::Fails, "score", &what, None);
            add(evidence, Weight::Fails, &score.survivors);
        }
        None if code_lines(&diff, &exempt) > 0 => {
            let what = if score.mutants == 0 {
                "the change adds code, and no mutant of its lines was tried and scored. Whether tests notice a mistake in them could \
                 not be judged"
            } else {
                "every mutant of the change that survives is called equivalent, and none was caught. A person must say whether that \
                 is so"
            };
            evidence.find(Weight::Person, "unjudged", what, None);
        }
        Some(_) | None => add(evidence, Weight::Noted, &score.survivors),
    }
    add(evidence, Weight::Noted, &score.equivalent);
    Ok(measure.end())
}

/// State shared by both checks.
struct Measure<'a> {
    gate: &'a Gate,
    workspace: &'a LockedWorkspace,
    working_tree: WorkingTree,
    spent: Spent,
    evidence: Evidence,
}

impl<'a> Measure<'a> {
    fn new(
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        gate: &'a Gate,
        workspace: &'a LockedWorkspace,
    ) -> Result<Self, LegAbort> {
        let working_tree = WorkingTree::of_work(ctx, job, workspace, gate.name.as_str())?;
        Ok(Self { gate, workspace, working_tree, spent: Spent::default(), evidence: Evidence::default() })
    }

    /// Reports changes to the settings that control the measurement.
    fn name_judges(&mut self, job: &Job<'_>) -> Result<(), LegAbort> {
        let doings = Doings::of(job, self.gate, self.workspace, &job.base(), &self.workspace.work_head()?)?;
        if !doings.judges.is_empty() {
            let what = format!(
                "the change touches how it is measured: {}. Whoever reviews should look at it",
                doings.judges().join(", ")
            );
            self.evidence.find(Weight::Noted, "judge-changed", &what, None);
        }
        Ok(())
    }

    fn run(
        &mut self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        line: &Command,
        report: &Report,
    ) -> Result<Ran, LegAbort> {
        self.name_judges(job)?;
        let wanted = Wanted::of(job, self.gate, self.gate.name.as_str(), line);
        let ran = killed::run(ctx, job, &self.working_tree, &wanted, Some(report))?;
        self.spent.add(&ran);
        Ok(ran)
    }

    /// Returns the reports, redacted.
    fn reports(&self, ctx: &LegContext<'_>, report: &Report, ran: &Ran) -> Vec<String> {
        let texts = reports::read(&self.working_tree, report, ran).unwrap_or_default();
        texts.iter().map(|text| ctx.redactor.text(text)).collect()
    }

    /// Returns the change. If it is too large, reports that.
    fn diff(&mut self, job: &Job<'_>) -> Result<Option<acquit_core::check::diff::Diff>, LegAbort> {
        match self.workspace.change(&job.base(), &self.workspace.work_head()?, Around::Files) {
            Ok(mut diff) => {
                let paths = self.gate.paths.compile();
                let own = |path: &Option<String>| path.as_deref().is_some_and(|path| paths.is_match(path));
                diff.files.retain(|file| own(&file.old) || own(&file.new));
                Ok(Some(diff))
            }
            Err(error) if is_too_large(&error) => {
                let what = "the change is too large to be looked at as a whole: do less at once";
                self.evidence.find(Weight::Fails, rule::TOO_LARGE, what, None);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn root(&self) -> String {
        self.working_tree.tree.to_string_lossy().into_owned()
    }

    /// Handles a missing report, which is not a pass. If the tool itself failed, an agent can fix that. If it succeeded
    /// without a readable report, nothing was judged, and a person is asked.
    fn nothing(&mut self, ran: &Ran, what: &str) {
        let weight = if ran.passed { Weight::Person } else { Weight::Fails };
        self.evidence.find(weight, rule::REPORT, &format!("{what}; {}", told(ran)), None);
    }

    /// Handles an incomplete run, which measured only a part.
    fn failed_run(&mut self, ran: &Ran) {
        if !ran.passed {
            self.evidence.find(Weight::Fails, rule::EXIT, &told(ran), None);
        }
    }

    fn end(self) -> Verdict {
        conclude(self.gate, &self.spent, self.evidence, &self.working_tree)
    }
}

/// Describes how a command ended, with its own message.
fn told(ran: &Ran) -> String {
    format!("the command ended with: {}\n{}", ran.why(), distill::errors(&ran.log))
}
