//! Expected outputs that were written anew: a tool does that with one option, and then everything is as expected.

use std::collections::BTreeSet;

use super::{ASSERTION_WEAKENED, EXPECTATION_CHANGED, Promise, SNAPSHOT_REWRITTEN};
use crate::check::diff::{Diff, FileChange, Line, Side};
use crate::check::outline::literals;
use crate::check::source::Language;
use crate::check::{Doubt, Finding};

/// Fewer lines are edited by hand.
const FEW_LINES: usize = 10;
/// More files than this are not edited by hand.
const MANY_FILES: usize = 20;

pub(super) fn rewritten(diff: &Diff, promise: Promise) -> Vec<Finding> {
    let snapshots: Vec<&FileChange> = diff
        .files
        .iter()
        .filter(|file| file.old.as_deref().is_some_and(is_snapshot))
        .filter(|file| file.binary || file.removed().next().is_some())
        .collect();
    let written = written(diff);
    let kept = |file: &&&FileChange| file.new.is_none() && !file.binary && is_written(file, &written);
    let mut findings: Vec<Finding> =
        snapshots.iter().filter(|file| !kept(file)).filter_map(|file| look(file)).collect();
    findings.extend(snapshots.iter().flat_map(|file| any_value(file)));
    if promise == Promise::Same && findings.is_empty() {
        findings.extend(snapshots.iter().filter_map(|file| other_value(file, &snapshots)));
    }
    if findings.is_empty() && snapshots.len() > MANY_FILES {
        let what = format!("{} expected outputs were changed at once", snapshots.len());
        findings.push(Finding::new(SNAPSHOT_REWRITTEN, snapshots[0].path(), None, what));
    }
    let doubted = |finding: Finding| match finding.rule {
        SNAPSHOT_REWRITTEN => finding.unless(Doubt::StrengthAndResults),
        EXPECTATION_CHANGED => finding.unless(Doubt::Results),
        _ => finding,
    };
    findings.into_iter().map(doubted).collect()
}

/// The values that a change writes into source files.
fn written(diff: &Diff) -> BTreeSet<String> {
    let sources = diff.files.iter().filter(|file| Language::of(file.path()).is_some());
    sources.flat_map(FileChange::added).flat_map(|line| literals(&line.text)).collect()
}

/// Whether all values of a snapshot that is gone stand in the tests now.
fn is_written(file: &FileChange, written: &BTreeSet<String>) -> bool {
    let lines =
        file.removed().filter(|line| !line.text.starts_with("exports[") && !line.text.starts_with("//"));
    let mut values = lines.flat_map(|line| literals(&line.text)).peekable();
    values.peek().is_some() && values.all(|value| written.contains(&value))
}

fn look(file: &FileChange) -> Option<Finding> {
    if file.binary {
        let what = "the expected output was replaced";
        return Some(Finding::new(SNAPSHOT_REWRITTEN, file.path(), None, what));
    }
    let gone: Vec<&Line> = file.removed().collect();
    let kept = file.lines.iter().filter(|line| line.side == Side::Both).count();
    if file.new.is_some() && (gone.len() < FEW_LINES || gone.len() <= kept) {
        return None;
    }
    let what = match file.new {
        Some(_) => {
            format!("{} of {} lines of the expected output were replaced", gone.len(), gone.len() + kept)
        }
        None => "the expected output is gone".to_owned(),
    };
    let finding = Finding::new(SNAPSHOT_REWRITTEN, file.path(), Some(gone[0].number), what);
    Some(gone.iter().take(2).fold(finding, |finding, line| finding.with('-', &line.text)))
}

/// An expected output that changed although the task promises that nothing does. What only moved is there still.
fn other_value(file: &FileChange, all: &[&FileChange]) -> Option<Finding> {
    let added: Vec<&str> = all.iter().flat_map(|file| file.added()).map(|line| line.text.trim()).collect();
    let is_value = |line: &&Line| {
        let text = line.text.trim();
        text.chars().any(char::is_alphanumeric) && !text.starts_with("exports[") && !added.contains(&text)
    };
    let gone = file.removed().find(is_value)?;
    let what = "the expected output is another one, and the task promises the same results: restore it, and make the code give it";
    Some(Finding::new(EXPECTATION_CHANGED, file.path(), Some(gone.number), what).with('-', &gone.text))
}

/// Values of a stored snapshot of which only the type is left: `"total": 30` → `"total": Any<Number>`.
fn any_value(file: &FileChange) -> Vec<Finding> {
    let key = |line: &Line| line.text.split_once(':').map(|(key, _)| key.trim().to_owned());
    let is_any = |line: &Line| line.text.contains("Any<") || line.text.contains("Anything");
    let known: Vec<String> = file.removed().filter(|line| !is_any(line)).filter_map(key).collect();
    let new = file.added().filter(|line| is_any(line) && key(line).is_some_and(|key| known.contains(&key)));
    new.map(|line| {
        let what = "the snapshot demands only a type where it had a value: restore the value";
        Finding::new(ASSERTION_WEAKENED, file.path(), Some(line.number), what).with('+', &line.text)
    })
    .collect()
}

fn is_snapshot(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [".snap", ".ambr", ".golden", ".approved.txt", ".approved.json", ".snapshot", ".storyshot"];
    ends.iter().any(|end| name.ends_with(end))
        || path
            .split('/')
            .any(|part| matches!(part, "__snapshots__" | "__image_snapshots__" | "goldens" | "golden"))
}
