//! The subject of a review: the change as its agent sees it, and the lines that its findings may name.

use std::collections::BTreeMap;

use acquit_core::check::diff::{Diff, FileChange, Side};
use acquit_core::check::dilution::{Permits, unasserted};
use acquit_core::check::review::{Found, Lines, pointed};
use acquit_core::failure::kind;
use acquit_core::outcome::Outcome;
use acquit_core::prompt::{Around as Piece, Change};
use acquit_core::workflow::Stage;

use crate::gate;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, outline};
use crate::syntax::{self, File, Question, Span};
use crate::workspace::{Around, Error, LockedWorkspace};

/// Number of unchanged lines around each changed one in the diff. Findings may name these too.
const CONTEXT: usize = 3;

/// Number of lines to show around a changed one that is in no known function.
const NEARBY: u32 = 15;

/// Maximum number of changed files to search for functions. With more, the reviewer reads the files on its own anyway.
const MOST_FILES: usize = 200;

pub(super) struct Subject {
    /// The change as shown in the prompt.
    pub(super) change: Change,
    /// Lines that findings may name. `None` if the stage has no gate that checks them.
    pub(super) lines: Option<Lines>,
}

impl Subject {
    /// Rejects a report whose findings point nowhere. The reviewer must fix that, not the author of the change.
    pub(super) fn check(&self, outcome: &Outcome) -> Result<Vec<Found>, LegAbort> {
        let Some(lines) = &self.lines else { return Ok(Vec::new()) };
        pointed(&outcome.payload, lines).map_err(|wrong| {
            let words = format!("the findings of the review cannot be used:\n- {}", wrong.join("\n- "));
            LegAbort::failed(kind::OUTCOME, words)
        })
    }
}

/// Returns whether a gate checks the findings of a stage.
fn is_checked(job: &Job<'_>, stage: &Stage) -> bool {
    let gates = stage.gates.iter().filter_map(|name| job.definition.workflow.gate(name.as_str()));
    gates.map(|gate| &gate.check).any(|check| check.sets_outcome().is_some())
}

/// Reads the change.
pub(super) fn subject(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
) -> Result<Subject, LegAbort> {
    let (base, head) = (job.base(), workspace.work_head()?);
    let whole = fitting(workspace, &base, &head, Around::Files)?;
    let around = match &whole {
        Some(diff) => pieces(ctx, job, diff)?,
        None => Vec::new(),
    };
    let wish = &job.task.seed.wish;
    let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
    let task = format!("{}\n{}", wish.title, wish.description);
    // They must not reject the work, so the reviewer decides.
    let found = whole.as_ref().map(|diff| unasserted(diff, &task, &permits)).unwrap_or_default();
    let doubts = found.iter().map(ToString::to_string).collect();
    let diff = match whole {
        Some(diff) => Some(diff.narrowed(CONTEXT)),
        None => fitting(workspace, &base, &head, Around::Few)?,
    };
    // A change that is too large to show has no lines to point to. Then findings are not rejected either.
    let lines = diff.as_ref().filter(|_| is_checked(job, job.stage)).map(Lines::of);
    let change =
        Change { base: base.short().to_owned(), head: head.short().to_owned(), diff, around, doubts };
    Ok(Subject { change, lines })
}

/// Returns the change, unless it is too large.
fn fitting(
    workspace: &LockedWorkspace,
    base: &CommitId,
    head: &CommitId,
    around: Around,
) -> Result<Option<Diff>, Error> {
    match workspace.change(base, head, around) {
        Ok(diff) => Ok(Some(diff)),
        Err(error) if gate::is_too_large(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the code around the changed lines of every file.
fn pieces(ctx: &mut LegContext<'_>, job: &Job<'_>, diff: &Diff) -> Result<Vec<Piece>, LegAbort> {
    let files: Vec<(&FileChange, File)> = diff.files.iter().filter_map(asked).take(MOST_FILES).collect();
    let (changes, asked): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    let question = Question { files: asked, ..Question::default() };
    let answer = outline::ask(ctx, job, &question)?;
    let mut answers = answer.files.into_iter();
    let mut all = Vec::new();
    for (change, file) in changes.iter().zip(&question.files) {
        all.extend(around(change, &file.lines, answers.next().unwrap_or_default()));
    }
    Ok(all)
}

/// Returns a file to search for functions: one that still exists and has changed lines.
fn asked(file: &FileChange) -> Option<(&FileChange, File)> {
    let path = file.new.clone()?;
    let lines = changed(file);
    let text = file.after();
    let text = if text.len() > syntax::LARGEST { String::new() } else { text };
    (!lines.is_empty()).then_some((file, File { path, text, lines }))
}

/// Returns the changed line numbers of the new version of a file.
fn changed(file: &FileChange) -> Vec<u32> {
    let (mut lines, mut next) = (Vec::new(), 1);
    for line in &file.lines {
        match line.side {
            Side::Both => next = line.number.saturating_add(1),
            Side::Added => {
                lines.push(line.number);
                next = line.number.saturating_add(1);
            }
            // A removed line counts at the line that follows it.
            Side::Removed => lines.push(next),
        }
    }
    let last = file.lines.iter().filter(|line| line.side != Side::Removed).map(|line| line.number).max();
    lines.retain(|line| last.is_some_and(|last| *line <= last));
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Returns the pieces of one file: functions, and the lines around changes outside of them.
fn around(file: &FileChange, changed: &[u32], found: Vec<Span>) -> Vec<Piece> {
    let lines: BTreeMap<u32, &str> = file
        .lines
        .iter()
        .filter(|line| line.side != Side::Removed)
        .map(|line| (line.number, line.text.as_str()))
        .collect();
    let mut spans = found;
    for line in changed {
        if !spans.iter().any(|span| span.first <= *line && *line <= span.last) {
            let (first, last) = (line.saturating_sub(NEARBY).max(1), line.saturating_add(NEARBY));
            spans.push(Span { first, last, name: None });
        }
    }
    spans.sort();
    let mut pieces: Vec<Piece> = Vec::new();
    for span in spans {
        // The answer comes from a process that read untrusted files, so show only lines that exist.
        if span.first > span.last {
            continue;
        }
        let text: Vec<String> =
            lines.range(span.first..=span.last).map(|(_, text)| (*text).to_owned()).collect();
        let inside = |line: &&u32| span.first <= **line && **line <= span.last;
        pieces.push(Piece {
            path: file.path().to_owned(),
            name: span.name,
            first: span.first,
            lines: text,
            changed: changed.iter().filter(inside).copied().collect(),
        });
    }
    pieces
}
