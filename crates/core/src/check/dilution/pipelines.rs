//! Pipelines that run less often, in fewer places, or only under a condition.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::settings::loose;
use super::texts;
use crate::check::Finding;
use crate::check::diff::{FileChange, Line, Side};
use crate::pattern::pattern;

/// Events whose absence means that a change is not checked.
const EVENTS: [&str; 7] = [
    "push",
    "pull_request",
    "pull_request_target",
    "merge_group",
    "schedule",
    "merge_request_event",
    "workflow_call",
];

/// What a pipeline does not do any more.
pub(super) fn loosened(file: &FileChange) -> Vec<Finding> {
    if file.old.is_none() {
        return Vec::new();
    }
    let mut findings = conditions(file);
    findings.extend(triggers(file));
    findings.extend(matrix(file));
    findings.extend(actions(file));
    findings
}

/// Conditions on jobs and steps that had none.
fn conditions(file: &FileChange) -> Vec<Finding> {
    static CONDITION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*-?\s*(?:if|rules|only|except|when):\s*(.*)$"));
    static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^\$?\{?\{?\s*(always\(\)|!cancelled\(\)|success\(\) \|\| failure\(\)|true)")
    });
    let lines: Vec<&Line> = file.lines.iter().filter(|line| !line.text.trim().is_empty()).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.side == Side::Added) {
        let Some(found) = CONDITION.captures(&line.text) else { continue };
        if HARMLESS.is_match(&found[1]) {
            continue;
        }
        let never = found[1].contains("false") && !found[1].contains("==");
        // Between lines that were there before, it is about something that ran without it.
        // A step whose first key it became has its hyphen on another line now.
        let bare = |line: &Line| line.text.trim().trim_start_matches("- ").trim().to_owned();
        let stood = |line: &Line| file.removed().any(|old| bare(old) == bare(line));
        let known = |line: Option<&&Line>| line.is_some_and(|line| line.side != Side::Added || stood(line));
        let around = known(index.checked_sub(1).and_then(|at| lines.get(at))) && known(lines.get(index + 1));
        let replaces = index
            .checked_sub(1)
            .and_then(|at| lines.get(at))
            .is_some_and(|line| line.side == Side::Removed && CONDITION.is_match(&line.text));
        if never || (around && !replaces) {
            findings.push(loose(
                file,
                line,
                '+',
                "a part of the pipeline runs only under a condition: take the condition away",
            ));
        }
    }
    findings
}

/// The events that a workflow runs on.
fn events(text: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let is_on = ["on:", "\"on\":", "'on':", "true:"].iter().any(|key| line.starts_with(key));
        inside = is_on
            || (inside && (line.starts_with([' ', '\t']) || trimmed.is_empty() || trimmed.starts_with('#')));
        if inside && !trimmed.starts_with('#') {
            let words = trimmed.split(|char: char| !char.is_alphanumeric() && char != '_');
            found.extend(words.filter_map(|word| EVENTS.into_iter().find(|event| *event == word)));
        }
    }
    found
}

fn triggers(file: &FileChange) -> Vec<Finding> {
    let Some((before, after)) = texts(file) else { return Vec::new() };
    let now = events(&after);
    let lost: Vec<&str> = events(&before).into_iter().filter(|event| !now.contains(event)).collect();
    let line = file.removed().find(|line| lost.iter().any(|event| line.text.contains(event)));
    line.map(|line| {
        let what =
            format!("the pipeline does not run on `{}` any more: restore the trigger", lost.join("`, `"));
        loose(file, line, '-', &what)
    })
    .into_iter()
    .collect()
}

/// Lists of systems and versions that became shorter.
fn matrix(file: &FileChange) -> Vec<Finding> {
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^\s*((?:os|node|python|go|rust|java|ruby|php|toolchain|target|features?|platform|version)s?(?:-version)?s?):\s*\[(.*)\]",
        )
    });
    let read = |line: &Line| {
        LIST.captures(&line.text).map(|found| {
            (found[1].to_owned(), found[2].split(',').filter(|item| !item.trim().is_empty()).count())
        })
    };
    let mut findings = Vec::new();
    for line in file.removed() {
        let Some((key, count)) = read(line) else { continue };
        let now = file.added().filter_map(read).find(|(other, _)| *other == key);
        if let Some((_, less)) = now.filter(|(_, now)| *now < count) {
            let what = format!(
                "the pipeline runs with {less} values of `{key}`, and ran with {count}: restore them"
            );
            findings.push(loose(file, line, '-', &what));
        }
    }
    findings
}

/// Steps that check something and are gone.
fn actions(file: &FileChange) -> Vec<Finding> {
    static USES: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*-?\s*uses:\s*['\x22]?([\w./-]+)"));
    static CHECKS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)lint|test|check|scan|codeql|codecov|coverage|audit|security|sonar|gitleaks|trivy|semgrep|pre-commit|dependency-review",
        )
    });
    let Some((_, after)) = texts(file) else { return Vec::new() };
    let gone = file.removed().filter_map(|line| Some((line, USES.captures(&line.text)?[1].to_owned())));
    gone.filter(|(_, action)| {
        CHECKS.is_match(action) && !after.contains(action.as_str()) && !action.starts_with("actions/checkout")
    })
    .map(|(line, action)| {
        loose(file, line, '-', &format!("the step `{action}` does not run any more: restore it"))
    })
    .collect()
}
