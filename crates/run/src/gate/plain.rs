//! Judges a command that must exit with code 0.

use acquit_core::failure::{Failure, Location, kind};
use acquit_core::gate::check::Plain;
use acquit_core::gate::{Command, Evidence, Format, Gate, Place, Report, Verdict, Weight, rule};
use acquit_core::ids::Name;
use acquit_core::results::{Results, sarif};

use super::{Case, Judge, distill, killed, reports, verdict};
use crate::leg::{Job, LegAbort, LegContext, Ran, Started, Wanted, WorkingTree, start as start_command};

impl Judge for Plain {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        let Case { ctx, job, gate, workspace, .. } = case;
        let working_tree = WorkingTree::of_work(ctx, job, workspace, gate.name.as_str())?;
        let ran = killed::run(ctx, job, &working_tree, &wanted(job, gate, self), self.report.as_ref())?;
        Ok(judge(job, gate, self, &ran, &working_tree))
    }
}

/// Starts it in a new tree.
pub(super) fn start(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    plain: &Plain,
    working_tree: &WorkingTree,
) -> Result<Started, LegAbort> {
    if let Some(report) = &plain.report {
        reports::clear(working_tree, report);
    }
    start_command(ctx, job, working_tree, &wanted(job, gate, plain))
}

/// Runs it again in its tree, because it was killed.
pub(super) fn again(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    plain: &Plain,
    (working_tree, killed): (&WorkingTree, &Ran),
) -> Result<Ran, LegAbort> {
    if let Some(report) = &plain.report {
        reports::clear(working_tree, report);
    }
    killed::again(ctx, job, working_tree, &wanted(job, gate, plain), killed)
}

/// Judges how it ended.
pub(super) fn judge(
    job: &Job<'_>,
    gate: &Gate,
    plain: &Plain,
    ran: &Ran,
    working_tree: &WorkingTree,
) -> Verdict {
    let mut evidence =
        plain.report.as_ref().map(|report| shown(report, ran, working_tree)).unwrap_or_default();
    // The exit code decides, and the report is only shown. But an unreadable report does not confirm success.
    let unjudged = evidence.failing().find(|finding| ran.passed && finding.weight == Weight::Person);
    let failure = match unjudged {
        Some(finding) => Some(Failure {
            gate: gate.name.clone(),
            kind: Name::literal(kind::UNJUDGED),
            message: finding.to_string(),
            location: None,
            excerpt: None,
        }),
        None => (!ran.passed).then(|| failed(gate, &plain.run, ran, working_tree)),
    };
    if !ran.passed && job.source.is_judged_only() {
        evidence.complaints = distill::complaints(&ran.log, &working_tree.committed);
    }
    Verdict { evidence, ..verdict(gate, ran, failure) }
}

/// Adds a finding that the report of a successful command could not be read.
fn unread(report: &Report, what: &str, evidence: &mut Evidence) {
    let place = match &report.place {
        Place::Output => "what it printed".to_owned(),
        Place::Files(paths) => format!("the report at {}", paths.as_slice().join(", ")),
    };
    let format = report.format.name();
    let what = format!(
        "the command ended well, but {place} {what} in the form of `{format}`, so it could not be judged. Mend the gate's `report`, or \
         remove it if the exit code is enough"
    );
    evidence.find(Weight::Person, rule::REPORT, &what, None);
}

fn wanted<'g>(job: &Job<'_>, gate: &'g Gate, plain: &'g Plain) -> Wanted<'g> {
    Wanted::of(job, gate, gate.name.as_str(), &plain.run)
}

/// Returns the findings of the report.
fn shown(report: &Report, ran: &Ran, working_tree: &WorkingTree) -> Evidence {
    let mut evidence = Evidence::default();
    let weight = if ran.passed { Weight::Noted } else { Weight::Fails };
    let texts = reports::read(working_tree, report, ran).unwrap_or_default();
    let prefix = format!("{}/", working_tree.tree.display());
    let here = |location: Option<Location>| distill::located(&location?, &working_tree.committed);
    if report.format == Format::Sarif {
        let read: Vec<_> = texts.iter().filter_map(|text| sarif::read(text)).collect();
        if ran.passed && read.len() < texts.len().max(1) {
            unread(report, "cannot be read", &mut evidence);
        }
        for finding in read.into_iter().flatten() {
            evidence.find(weight, &finding.rule, &finding.message, here(finding.location));
        }
        return evidence;
    }
    let mut results = Results::default();
    for text in texts {
        results.read(report.format, &text.replace(&prefix, ""));
    }
    evidence.figure("tests", results.executed());
    if ran.passed && results.executed() == 0 && results.broken.is_empty() {
        unread(report, "has no test that was executed", &mut evidence);
    }
    for (id, case) in results.red() {
        let what = format!("{id}: {}", case.message);
        evidence.find(weight, "fails", &what, here(case.location.clone()));
    }
    for broken in &results.broken {
        let what = format!("{} could not be loaded: {}", broken.what, broken.message);
        evidence.find(weight, rule::BROKEN, &what, None);
    }
    evidence
}

/// Describes the failure of a command.
fn failed(gate: &Gate, command: &Command, ran: &Ran, working_tree: &WorkingTree) -> Failure {
    let found = distill::distill(&ran.log, &working_tree.committed);
    let message = match (&ran.cut_short, found.message.is_empty()) {
        (_, true) => format!("`{command}`: {}; it printed nothing", ran.ended),
        (Some(why), false) => format!("`{command}`: {why}\n{}", found.message),
        (None, false) => found.message,
    };
    let missing = ran.missing.clone().or_else(|| missing_program(&command.to_string(), ran));
    let (kind, message) = match missing {
        Some(program) => {
            let words = format!(
                "the program `{program}` is not on this machine, so the gate cannot run. Install it, or change the gate's command\n\
                 {message}"
            );
            (Name::literal(kind::CONFIG), words)
        }
        None => (gate.kind.clone(), message),
    };
    Failure { gate: gate.name.clone(), kind, message, location: found.location, excerpt: found.excerpt }
}

/// Returns the program of the gate's own command that the shell did not find. If a script of the repository starts the
/// missing program, the work is at fault.
fn missing_program(command: &str, ran: &Ran) -> Option<String> {
    const SAID: u64 = 2_000;
    if ran.code != Some(127) {
        return None;
    }
    let tail = distill::tail(&ran.log, SAID);
    let named = |line: &str| {
        let (before, _) =
            line.split_once(": not found").or_else(|| line.split_once(": command not found"))?;
        Some(before.rsplit(": ").next()?.trim().to_owned())
    };
    let program = tail.lines().filter_map(named).next_back()?;
    let is_word = command.split_whitespace().any(|word| word == program);
    (is_word && !program.contains('/')).then_some(program)
}
