//! Checks that look at the change and run nothing: dilution, secrets, scope, commits, and what a review found in it.
//!
//! What is looked at comes from git alone, through the harness's own repository. A change that is too large to be looked at
//! as a whole fails: a part of it would be a way around the check.

use std::time::Instant;

use acquit_core::check::commits::{Commit, commits};
use acquit_core::check::diff::Diff;
use acquit_core::check::dilution::{Outlines, Permits, Promise, Sides, dilution, is_wanted};
use acquit_core::check::review::{Severity, When, findings};
use acquit_core::check::scope::{is_sectioned, scope};
use acquit_core::check::secrets::{Leak, MARKER, Marked, in_message, secrets};
use acquit_core::check::source::Language;
use acquit_core::check::{self, Finding};
use acquit_core::failure::{Location, kind};
use acquit_core::gate::check::{Commits, Dependencies, Dilution, Review, Scope, Secrets};
use acquit_core::gate::{Evidence, Gate, Verdict, Weight};
use acquit_core::ids::Name;
use acquit_core::outcome::Outcome;

use super::conclude;
use super::suite::Spent;
use crate::git::{self, CommitId};
use crate::harness::{Job, LegAbort, LegContext, WorkingTree};
use crate::syntax::{self, Question};
use crate::workspace::{Around, Error, LockedWorkspace};

/// How much source text is read with grammars, in all: JSON makes it half as large again, and that has a limit.
const MOST_ASKED: usize = 32 << 20;

/// A check that looks, with its settings.
pub(super) enum Looking<'a> {
    Dilution(&'a Dilution),
    Secrets(&'a Secrets),
    Scope(&'a Scope),
    Commits(&'a Commits),
    Review(&'a Review, &'a Outcome),
}

/// Runs it.
pub(super) fn run(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    gate: &Gate,
    check: &Looking<'_>,
    workspace: &LockedWorkspace,
) -> Result<Verdict, LegAbort> {
    let began = Instant::now();
    let range = (job.base(), workspace.work_head()?);
    let mut evidence = Evidence::default();
    let looked = match check {
        Looking::Dilution(settings) => {
            match look_for_dilution(ctx, job, settings, workspace, &range, &mut evidence) {
                Ok(()) => Ok(()),
                Err(Stopped::Change(error)) => Err(error),
                Err(Stopped::Leg(trouble)) => return Err(trouble),
            }
        }
        Looking::Secrets(settings) => look_for_secrets(settings, workspace, &range, &mut evidence),
        Looking::Scope(settings) => look_at_scope(settings, workspace, &range, &mut evidence),
        Looking::Commits(settings) => look_at_commits(job, settings, workspace, &range, &mut evidence),
        Looking::Review(settings, outcome) => {
            look_at_review(settings, outcome, &mut evidence);
            Ok(())
        }
    };
    match looked {
        Ok(()) => {}
        Err(error) if is_too_large(&error) => {
            let what = "the change is too large to be looked at as a whole: do less at once";
            evidence.find(Weight::Fails, "too-large", what, None);
        }
        Err(error) => return Err(error.into()),
    }
    // A line of the change is shown as evidence, and could be the place where a secret leaves.
    for finding in &mut evidence.findings {
        finding.message = ctx.redactor.text(&finding.message);
    }
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let spent = Spent { took, ..Spent::default() };
    let mut verdict = conclude(gate, &spent, evidence, &WorkingTree::of(workspace));
    if let (Looking::Secrets(_), Some(failure)) = (check, &mut verdict.failure) {
        // The code around a secret is the secret.
        failure.excerpt = None;
        // It stays in the history whatever an agent does about it, so a person is asked.
        failure.kind = Name::literal(kind::UNJUDGED);
    }
    if verdict.passed {
        "nothing was found".clone_into(&mut verdict.ended);
    }
    Ok(verdict)
}

/// From where to where.
type Range = (CommitId, CommitId);

/// Whether git had more to show than anybody looks at.
pub(crate) fn is_too_large(error: &Error) -> bool {
    match error {
        Error::Change(unreadable) => matches!(unreadable, check::diff::Unreadable::TooLarge { .. }),
        Error::Git { source, .. } => matches!(source, git::Error::TooMuchOutput { .. }),
        _ => false,
    }
}

/// Puts what a check of the core found among the evidence.
pub(super) fn add(evidence: &mut Evidence, weight: Weight, findings: &[Finding]) {
    for finding in findings {
        let mut words = finding.what.clone();
        for line in &finding.evidence {
            words.push_str("\n    ");
            words.push_str(line);
        }
        let place = finding
            .file
            .as_ref()
            .map(|file| Location { path: file.clone(), line: finding.line.unwrap_or(1) });
        evidence.find(weight, finding.rule, &words, place);
    }
}

/// Why nothing was looked at.
enum Stopped {
    Change(Error),
    Leg(LegAbort),
}

fn look_for_dilution(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    settings: &Dilution,
    workspace: &LockedWorkspace,
    (base, head): &Range,
    evidence: &mut Evidence,
) -> Result<(), Stopped> {
    let diff = workspace.change(base, head, Around::Files).map_err(Stopped::Change)?;
    let outlines = outlines(ctx, job, &diff).map_err(Stopped::Leg)?;
    let wish = &job.task.seed.wish;
    // What is not a permit was refused when the workflow was read.
    let permits = Permits::read(&settings.allow).unwrap_or_default().of_task(&wish.tags, &wish.metadata);
    let promise = Promise::of(&format!("{}\n{}", wish.title, wish.description));
    evidence.figure("files", diff.files.len());
    let settled = settled(workspace, base, &diff).map_err(Stopped::Change)?;
    let examined = dilution(&diff, &outlines, &settled, promise, &permits);
    add(evidence, Weight::Fails, &examined.findings);
    add(evidence, Weight::Noted, &examined.notes);
    Ok(())
}

/// The settings of the base that new files of the change may take the place of.
fn settled(
    workspace: &LockedWorkspace,
    base: &CommitId,
    diff: &Diff,
) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    if diff.files.iter().all(|file| file.old.is_some()) {
        return Ok(found);
    }
    for (path, file) in workspace.files_of(base, &|path| is_wanted(diff, path))? {
        found.extend(workspace.text(&file)?.map(|text| (path, text)));
    }
    Ok(found)
}

/// What the tests of the changed files say, before and after, read by a process of its own. A file that it does not
/// understand, or says nonsense about, is looked at by its text.
fn outlines(ctx: &mut LegContext<'_>, job: &Job<'_>, diff: &Diff) -> Result<Outlines, LegAbort> {
    let mut question = Question::default();
    let mut asked: Vec<[Option<usize>; 2]> = Vec::new();
    let mut size = 0;
    for file in &diff.files {
        let mut ask = |path: Option<&str>, text: &dyn Fn() -> String| -> Option<usize> {
            let path = path.filter(|path| Language::of(path).is_some())?;
            let text = text();
            size += text.len();
            if text.len() > syntax::LARGEST || size > MOST_ASKED {
                return None;
            }
            question.tests.push((path.to_owned(), text));
            Some(question.tests.len() - 1)
        };
        let old = ask(file.old.as_deref(), &|| file.before());
        let new = ask(file.new.as_deref(), &|| file.after());
        asked.push([old, new]);
    }
    let mut answer = crate::harness::ask(ctx, job, &question)?;
    let mut take = |index: Option<usize>| {
        let outline = answer.tests.get_mut(index?)?.take()?;
        let lines = question.tests.get(index?).map_or(0, |(_, text)| text.lines().count());
        Some(outline).filter(|outline| outline.is_sound(u32::try_from(lines).unwrap_or(u32::MAX)))
    };
    let sides = asked.into_iter().map(|[old, new]| Sides { before: take(old), after: take(new) });
    Ok(Outlines(sides.collect()))
}

fn look_for_secrets(
    settings: &Secrets,
    workspace: &LockedWorkspace,
    (base, head): &Range,
    evidence: &mut Evidence,
) -> Result<(), Error> {
    let changes = workspace.changes(base, head)?;
    evidence.figure("commits", changes.len());
    let mut leaks = secrets(&changes, &settings.allow.compile());
    for commit in workspace.commits(base, head)? {
        leaks.extend(in_message(commit.id.as_str(), &commit.message));
    }
    for leak in &leaks {
        let weight = match leak.marked {
            Marked::No => Weight::Fails,
            Marked::Yes => Weight::Noted,
        };
        let place = leak.file.as_ref().map(|file| Location { path: file.clone(), line: leak.line });
        evidence.find(weight, "secret", &words(leak), place);
    }
    Ok(())
}

fn words(leak: &Leak) -> String {
    let commit = leak.commit.get(..12).unwrap_or(&leak.commit);
    let place = if leak.file.is_some() { "added by" } else { "in the message of" };
    let what = format!("{} ({}), {place} commit {commit}", leak.kind, leak.shown);
    match leak.marked {
        Marked::No => format!(
            "{what}. Taking it out again leaves it in the history: a person must revoke it and begin the task anew"
        ),
        Marked::Yes => format!("{what}; the line says `{MARKER}`"),
    }
}

fn look_at_scope(
    settings: &Scope,
    workspace: &LockedWorkspace,
    (base, head): &Range,
    evidence: &mut Evidence,
) -> Result<(), Error> {
    let mut diff = workspace.change(base, head, Around::Nothing)?;
    if settings.dependencies == Dependencies::Reject && diff.files.iter().any(is_sectioned) {
        // In which section of a manifest a line stands is told by the lines around it.
        match workspace.change(base, head, Around::Files) {
            Ok(whole) => {
                for file in whole.files.into_iter().filter(is_sectioned) {
                    if let Some(short) = diff.files.iter_mut().find(|short| short.path() == file.path()) {
                        *short = file;
                    }
                }
            }
            // Then every change of a manifest counts.
            Err(error) if is_too_large(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let recent = match settings.recent {
        Some(count) => workspace.touched_lately(base, count)?,
        None => Vec::new(),
    };
    evidence.figure("files", diff.files.len());
    evidence.figure("changed lines", diff.changed_lines());
    add(evidence, Weight::Fails, &scope(&diff, settings, &recent));
    Ok(())
}

fn look_at_commits(
    job: &Job<'_>,
    settings: &Commits,
    workspace: &LockedWorkspace,
    (base, head): &Range,
    evidence: &mut Evidence,
) -> Result<(), Error> {
    let texts = workspace.commits(base, head)?;
    evidence.figure("commits", texts.len());
    // What an agent left uncommitted was committed by acquit, which writes the message of what is delivered anew.
    let own = workspace.own_commits(&texts)?;
    let list: Vec<Commit> = texts
        .into_iter()
        .filter(|text| !own.contains(&text.id))
        .map(|text| Commit { id: text.id.short().to_owned(), author: text.author, message: text.message })
        .collect();
    add(evidence, Weight::Fails, &commits(&list, settings, job.task.id()));
    Ok(())
}

/// What the reviewer found. Each finding points into the change: its report would have been refused otherwise.
fn look_at_review(settings: &Review, outcome: &Outcome, evidence: &mut Evidence) {
    let found = match findings(&outcome.payload) {
        Ok(found) => found,
        Err(wrong) => {
            return evidence.find(Weight::Fails, "form", &wrong.join("\n"), None);
        }
    };
    for severity in [Severity::Critical, Severity::Suggestion, Severity::Nit] {
        evidence.figure(severity.word(), found.iter().filter(|one| one.severity == severity).count());
    }
    for one in &found {
        let weight = match one.severity {
            Severity::Critical => Weight::Fails,
            Severity::Suggestion | Severity::Nit => Weight::Noted,
        };
        let gone = match one.side {
            When::After => "",
            When::Before => " (a line that is gone)",
        };
        let mut words = format!("{}{gone}", one.problem);
        if let Some(suggestion) = &one.suggestion {
            words.push_str(&format!("\n    suggested: {suggestion}"));
        }
        let place = Location { path: one.file.clone(), line: one.line };
        evidence.find(weight, one.severity.word(), &words, Some(place));
    }
    let critical = found.iter().any(|one| one.severity == Severity::Critical);
    if critical && outcome.name != settings.outcome {
        let words = format!(
            "the review ended `{}` all the same; with a critical finding it is taken as `{}`",
            outcome.name, settings.outcome
        );
        evidence.find(Weight::Fails, "overruled", &words, None);
    }
}
