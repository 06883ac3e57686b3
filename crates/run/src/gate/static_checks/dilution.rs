//! `check = "dilution"`: compares the tests and settings of the change with those of the base.

use acquit_core::check::diff::Diff;
use acquit_core::check::dilution::{
    Outlines, Permits, Promise, Sides, dilution, is_wanted, silent, unasserted,
};
use acquit_core::check::source::Language;
use acquit_core::check::{Doubt, Finding};
use acquit_core::gate::check::Dilution;
use acquit_core::gate::{Evidence, Weight};

use super::super::loosened::{self, Strength, Told};
use super::super::suite::Spent;
use super::{Change, Look, Stopped, add};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext};
use crate::syntax::{self, Question};
use crate::workspace::{Around, Error, LockedWorkspace};

/// Maximum total size of source text to parse with grammars. JSON makes it half as large again, and that has a
/// limit.
const MOST_ASKED: usize = 32 << 20;

impl Look for Dilution {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let diff = change.workspace.change(&change.base, &change.head, Around::Files)?;
        let outlines = outlines(change.ctx, change.job, &diff)?;
        let wish = &change.job.task.seed.wish;
        // Invalid permits were rejected when the workflow was read.
        let permits = Permits::read(&self.allow).unwrap_or_default().of_task(&wish.tags, &wish.metadata);
        let task = format!("{}\n{}", wish.title, wish.description);
        let promise = Promise::of(&task);
        evidence.figure("files", diff.files.len());
        let settled = settled(change.workspace, &change.base, &diff)?;
        let mut examined = dilution(&diff, &outlines, &settled, promise, &permits);
        examined.findings.extend(silent(&diff, &task, &permits));
        // A guess from the words of the task must not reject a change.
        examined.notes.extend(unasserted(&diff, &task, &permits));
        let told = confirm(change, &examined.findings)?;
        for finding in &examined.findings {
            let cleared = told.as_ref().zip(finding.doubt).and_then(|(told, doubt)| cleared(told, doubt));
            match cleared {
                Some(why) => {
                    let what = format!("{}\n{why}", finding.what);
                    add(evidence, Weight::Noted, &[Finding { what, ..finding.clone() }]);
                }
                None => add(evidence, Weight::Fails, std::slice::from_ref(finding)),
            }
        }
        if let Some(Told { strength: Some(Strength::Weaker(path, line)), .. }) = told {
            loosened::weaker(&path, line, evidence);
        }
        add(evidence, Weight::Noted, &examined.notes);
        Ok(())
    }
}

/// Tests suspicions by running code, if nothing else fails the change.
fn confirm(change: &mut Change<'_, '_>, findings: &[Finding]) -> Result<Option<Told>, Stopped> {
    if findings.is_empty() || findings.iter().any(|finding| finding.doubt.is_none()) {
        return Ok(None);
    }
    let ends = (&change.base, &change.head);
    Ok(loosened::compare(change.ctx, change.job, change.workspace, ends, &mut Spent::default())?)
}

/// Describes why a suspicion was unfounded.
fn cleared(told: &Told, doubt: Doubt) -> Option<String> {
    let equal = match told.strength {
        Some(Strength::Equal(places)) => Some(loosened::words(places)),
        Some(Strength::Weaker(..)) | None => None,
    };
    match doubt {
        Doubt::Strength => equal,
        Doubt::StrengthAndValues => equal.filter(|_| told.keeps_values),
        Doubt::StrengthAndResults => equal.filter(|_| told.as_before),
        Doubt::Results => {
            let holds = told.as_before && !matches!(told.strength, Some(Strength::Weaker(..)));
            holds.then(|| "the tests as they were pass on the new code, too".to_owned())
        }
    }
}

/// Returns the settings of the base that new files of the change may replace.
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

/// Returns the test outlines of the changed files, before and after, from a separate process. Falls back to the
/// text of a file that the process does not understand or answers incorrectly.
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
    let mut answer = crate::leg::ask(ctx, job, &question)?;
    let mut take = |index: Option<usize>| {
        let outline = answer.tests.get_mut(index?)?.take()?;
        let lines = question.tests.get(index?).map_or(0, |(_, text)| text.lines().count());
        Some(outline).filter(|outline| outline.is_sound(u32::try_from(lines).unwrap_or(u32::MAX)))
    };
    let sides = asked.into_iter().map(|[old, new]| Sides { before: take(old), after: take(new) });
    Ok(Outlines(sides.collect()))
}
