//! Checks who made the commits and what their messages say.

use super::Finding;
use crate::agent::shorten;
use crate::gate::check::{Commits, Naming, Style};
use crate::ids::TaskId;

/// Maximum length of a shown subject.
const SHOWN: usize = 100;

/// The parts of a commit that this check reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Short id, to show.
    pub id: String,
    /// `Name <address>`.
    pub author: String,
    /// Full message.
    pub message: String,
}

/// Returns what does not follow the project's rules.
pub fn commits(commits: &[Commit], settings: &Commits, task: TaskId) -> Vec<Finding> {
    commits.iter().flat_map(|commit| one(commit, settings, task)).collect()
}

fn one(commit: &Commit, settings: &Commits, task: TaskId) -> Vec<Finding> {
    let subject = commit.message.lines().next().unwrap_or_default();
    let about = |rule, what: String| {
        Finding::general(rule, format!("commit {} ({:?}): {what}", commit.id, shorten(subject, SHOWN)))
    };
    let mut findings = Vec::new();
    if settings.task == Naming::Require && !names_task(&commit.message, task) {
        findings.push(about("task-id", format!("its message needs a line `Task: {task}`")));
    }
    let address = commit.author.rsplit_once('<').map_or("", |(_, rest)| rest.trim_end_matches('>'));
    if !settings.authors.is_empty() && !settings.authors.iter().any(|pattern| fits(pattern, address)) {
        let allowed = settings.authors.join("`, `");
        findings.push(about("author", format!("its author is `{address}`, and may be `{allowed}`")));
    }
    let length = subject.chars().count();
    if subject.trim().is_empty() {
        findings.push(about("subject", "it has no subject".to_owned()));
        return findings;
    }
    if length > settings.max_subject as usize {
        let what = format!("its subject has {length} characters, and {} may be", settings.max_subject);
        findings.push(about("subject-length", what));
    }
    if commit.message.lines().nth(1).is_some_and(|line| !line.trim().is_empty()) {
        findings.push(about("blank-line", "there is no empty line after its subject".to_owned()));
    }
    if let Some(what) = badly_written(subject, settings) {
        findings.push(about("style", what));
    }
    findings
}

fn names_task(message: &str, task: TaskId) -> bool {
    let named = |line: &str| {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        key.trim().eq_ignore_ascii_case("task") && value.trim().parse() == Ok(task)
    };
    message.lines().any(named)
}

/// Returns whether a text matches a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn badly_written(subject: &str, settings: &Commits) -> Option<String> {
    match settings.style {
        Style::Any => None,
        Style::Conventional => {
            let (head, words) = subject.split_once(": ").unwrap_or((subject, ""));
            let head = head.strip_suffix('!').unwrap_or(head);
            let (kind, scope) = head.split_once('(').unwrap_or((head, "x)"));
            let scope = scope.strip_suffix(')').is_some_and(|scope| !scope.trim().is_empty());
            let known = settings.types.iter().any(|known| known == kind);
            let types = settings.types.join(", ");
            (!known || !scope || words.trim().is_empty()).then(|| {
                format!("its subject is not written as `type(scope): words`, with a type of {types}")
            })
        }
        Style::Sentence => {
            let small = subject.chars().next().is_some_and(char::is_lowercase);
            (small || subject.trim_end().ends_with('.'))
                .then(|| "its subject begins with a capital letter and ends without a full stop".to_owned())
        }
    }
}
