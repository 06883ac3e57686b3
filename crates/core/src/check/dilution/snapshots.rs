//! Expected outputs that were written anew: a tool does that with one option, and then everything is as expected.

use super::SNAPSHOT_REWRITTEN;
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Line, Side};

/// Fewer lines are edited by hand.
const FEW_LINES: usize = 10;
/// More files than this are not edited by hand.
const MANY_FILES: usize = 20;

pub(super) fn rewritten(diff: &Diff) -> Vec<Finding> {
    let snapshots: Vec<&FileChange> = diff
        .files
        .iter()
        .filter(|file| file.old.as_deref().is_some_and(is_snapshot))
        .filter(|file| file.binary || file.removed().next().is_some())
        .collect();
    let mut findings: Vec<Finding> = snapshots.iter().filter_map(|file| look(file)).collect();
    if findings.is_empty() && snapshots.len() > MANY_FILES {
        let what = format!("{} expected outputs were changed at once", snapshots.len());
        findings.push(Finding::new(SNAPSHOT_REWRITTEN, snapshots[0].path(), None, what));
    }
    findings
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

fn is_snapshot(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [".snap", ".ambr", ".golden", ".approved.txt", ".approved.json", ".snapshot", ".storyshot"];
    ends.iter().any(|end| name.ends_with(end))
        || path
            .split('/')
            .any(|part| matches!(part, "__snapshots__" | "__image_snapshots__" | "goldens" | "golden"))
}
