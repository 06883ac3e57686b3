//! The diff of a task by file, with the findings of gates at their lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use acquit_app::Error;
use acquit_app::diff::{FileChange, TaskDiff};
use acquit_app::history::{History, changed_since, history};
use acquit_core::gate::Weight;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use acquit_run::git::Form;
use maud::{Markup, html};

use crate::access::Role;
use crate::actions::{COMMENT, can_retry};
use crate::page::{Content, Sign};
use crate::shared::Shared;
use crate::words;

/// Maximum number of diff lines on the page.
const MOST_LINES: usize = 5_000;
/// A file with more changed lines than this is collapsed.
const LARGE: usize = 400;

/// Maximum number of diff lines in a request for a decision. The rest is on its own page.
const SHORT_LINES: usize = 400;

/// One file of a diff, as git prints it.
struct File<'t> {
    name: String,
    lines: Vec<&'t str>,
}

/// A finding of a gate about a line.
struct Remark {
    gate: String,
    leg: u32,
    /// The leg that changed the work after the gate had judged it.
    changed: Option<u32>,
    sign: Sign,
    text: String,
}

/// Remarks by file and line.
type Remarks = BTreeMap<String, BTreeMap<u64, Vec<Remark>>>;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, id: TaskId, role: Role) -> Result<Content, Error> {
    let task = store.task(id)?;
    let runs = store.legs(id)?.last().is_some_and(|leg| leg.state == acquit_core::leg::State::Running);
    let read = if runs {
        shared.app.diff(store, id, Form::Patch).map(Arc::new)
    } else {
        shared.diffs.get(&shared.app, store, &task)
    };
    let diff = match read {
        // That nothing was changed is no failure, and a task that works on it will have something to show.
        Err(Error::NotDelivered { .. }) if task.tip == task.base() => return Ok(none(&task)),
        read => read?,
    };
    let remarks = remarks(&task, &history(store, id)?);
    let sending = if runs || !role.may_act() { None } else { sending(shared, store, &task)? };
    let sum = |count: fn(&FileChange) -> Option<u64>| diff.files.iter().filter_map(count).sum::<u64>();
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (id) } { (id) } " / diff" }
        div.head {
            h1 { (words::count(diff.files.len(), "file")) " changed, " span.ok { "+" (sum(|file| file.added)) } " " span.no { "−" (sum(|file| file.removed)) } }
            p.lede {
                (words::line(&task.seed.wish.title, 200)) " · against " code { (words::short(&diff.base.to_string())) } " · "
                @match &diff.tip { Some(tip) => { "commit " code { (words::short(&tip.to_string())) } }, None => "the working tree as it is now" }
            }
        }
        (files_of(&diff, MOST_LINES, &remarks, sending.is_some()))
        @if let Some(sending) = &sending { (sending) }
    };
    Ok(Content { title: format!("Diff of {id}"), task: Some(id), body })
}

/// Renders the page of a task that has changed nothing.
fn none(task: &Task) -> Content {
    let id = task.id();
    let over = matches!(task.state, State::Ended { .. });
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (id) } { (id) } " / diff" }
        div #head .head data-live {
            h1 { @if over { "Nothing was changed" } @else { "Nothing is changed yet" } }
            p.lede { (words::line(&task.seed.wish.title, 200)) @if !over { " · Reload to look again." } }
        }
    };
    Content { title: format!("Diff of {id}"), task: Some(id), body }
}

/// Id of the form that sends comments.
const FORM: &str = "comments";

/// Renders the form that sends a person's comments to the agent: it rejects the open request if a rejection goes back
/// to a stage, or retries the task. `None` if the task can do neither.
fn sending(shared: &Shared, store: &mut dyn Store, task: &Task) -> Result<Option<Markup>, Error> {
    let id = task.id();
    let back = match &task.state {
        State::Waiting { request } => {
            let background = shared.requests.get(store, task, request)?;
            background.sends_back(task).map(|stage| (request.number, stage))
        }
        _ => None,
    };
    let (verb, label, button) = match &back {
        Some((_, stage)) => {
            ("reject", "What must change?", format!("Send back to {stage} with the comments"))
        }
        None if can_retry(&task.state) => {
            ("retry", "A note for the agent", "Retry with the comments".to_owned())
        }
        None => return Ok(None),
    };
    let field = if back.is_some() { "reason" } else { "note" };
    Ok(Some(html! {
        form.panel id=(FORM) method="post" action={ "/tasks/" (id) "/" (verb) } {
            div.panel-body {
                @if let Some((request, _)) = back { input type="hidden" name="request" value=(request); input type="hidden" name="commit" value=(task.tip); }
                label.field { span { (label) } textarea name=(field) rows="3" data-reject[back.is_some()] {} }
                div.acts { button.btn.main { (button) } span.hint { "The agent is told your words, with the file and lines of each comment." } }
            }
        }
    }))
}

/// Renders the diff in a request for a decision: the first lines, and a link to the rest.
pub fn short(diff: &TaskDiff, task: TaskId) -> Markup {
    let lines = String::from_utf8_lossy(&diff.text).lines().count();
    html! {
        div.short-diff { (files_of(diff, SHORT_LINES, &Remarks::new(), false)) }
        p { a href={ "/tasks/" (task) "/diff" } { @if lines > SHORT_LINES { "Show the whole diff" } @else { "Show the diff with what gates say at its lines" } } }
    }
}

fn files_of(diff: &TaskDiff, most: usize, remarks: &Remarks, commented: bool) -> Markup {
    let text = String::from_utf8_lossy(&diff.text);
    let files = files(&text);
    let room = files.iter().scan(most, |left, file| {
        let room = *left;
        *left = left.saturating_sub(file.lines.len());
        Some(room)
    });
    let changed = |file: &File<'_>| diff.files.iter().find(|known| known.path == file.name);
    html! { @for (file, room) in files.iter().zip(room) { (draw(file, room, changed(file), remarks.get(&file.name), commented)) } }
}

/// Returns the line findings of the newest verdicts.
fn remarks(task: &Task, history: &History) -> Remarks {
    let mut all = Remarks::new();
    for verdict in history.newest_verdicts() {
        let leg =
            history.verdicts.iter().rev().find(|(_, known)| known == verdict).map_or(0, |(leg, _)| *leg);
        let changed = changed_since(task, leg);
        let mut add = |path: &str, line: u32, sign: Sign, text: &str| {
            let remark = Remark { gate: verdict.gate.to_string(), leg, changed, sign, text: text.to_owned() };
            all.entry(path.to_owned()).or_default().entry(u64::from(line)).or_default().push(remark);
        };
        for finding in &verdict.evidence.findings {
            if let Some(place) = &finding.location {
                let sign = if finding.weight == Weight::Noted || !verdict.rejects() {
                    Sign::Noted
                } else {
                    Sign::Rejected
                };
                add(&place.path, place.line, sign, &format!("{} [{}]", finding.message, finding.rule));
            }
        }
        if let Some(failure) = &verdict.failure
            && let Some(place) = &failure.location
            && verdict.evidence.findings.iter().all(|finding| finding.location.as_ref() != Some(place))
        {
            let sign = if verdict.rejects() { Sign::Rejected } else { Sign::Noted };
            add(&place.path, place.line, sign, &failure.message);
        }
    }
    all
}

fn remark(remark: &Remark) -> Markup {
    html! { p.remark { (remark.sign.named()) span { b { (words::line(&remark.gate, 60)) } " · leg " (remark.leg) @if let Some(leg) = remark.changed { " · changed since by leg " (leg) ", not judged yet" } " · " (words::line(&remark.text, 600)) } } }
}

fn files(text: &str) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.split_once(" b/").map_or(names, |(_, name)| name);
            files.push(File { name: name.to_owned(), lines: Vec::new() });
        } else if let Some(file) = files.last_mut() {
            file.lines.push(line);
        }
    }
    files
}

/// Returns the lines of a file's diff that people read.
fn readable<'t>(file: &File<'t>) -> impl Iterator<Item = &'t str> {
    let mut inside = false;
    let known = ["Binary", "rename", "new file", "deleted", "old mode", "new mode"];
    file.lines.iter().copied().filter(move |line| {
        inside |= line.starts_with("@@");
        inside || known.iter().any(|word| line.starts_with(word))
    })
}

fn draw(
    file: &File<'_>,
    most: usize,
    changed: Option<&FileChange>,
    remarks: Option<&BTreeMap<u64, Vec<Remark>>>,
    commented: bool,
) -> Markup {
    let body: Vec<&str> = readable(file).take(most).collect();
    let count = remarks.map_or(0, |lines| lines.values().map(Vec::len).sum());
    let rows = numbered(&body);
    let at = |line: u64| remarks.and_then(|lines| lines.get(&line)).into_iter().flatten();
    let is_shown = |line: u64| rows.iter().any(|(_, (_, new))| *new == line.to_string());
    html! {
        details.panel.diff open[body.len() <= LARGE] {
            summary.panel-head {
                code { (words::line(&file.name, 300)) }
                @if let Some((added, removed)) = changed.and_then(|it| it.added.zip(it.removed)) { " " span.ok { "+" (added) } " " span.no { "−" (removed) } }
                @if count > 0 { " " span.tag { (words::count(count, "remark")) } }
            }
            // Findings about lines that did not change.
            @for (line, all) in remarks.into_iter().flatten().filter(|(line, _)| !is_shown(**line)) { @for one in all { div.panel-body { span.dim { "line " (line) } (remark(one)) } } }
            @if !body.is_empty() {
                div.scroll tabindex="0" role="region" aria-label={ "Changes of " (words::line(&file.name, 300)) } { table.code { tbody {
                    @for (line, (old, new)) in &rows {
                        tr class=(class(line)) { td.ln { (old) } td.ln { (new) } td { pre { (words::text(line)) } } }
                        @if let (true, Some(lines)) = (commented, hunk(line)) { tr.comment { td colspan="3" { details {
                            @let place = if lines.contains('-') { "lines" } else { "line" };
                            summary { "Comment on " (place) " " (lines) }
                            label.field { span.sr { "Comment on " (place) " " (lines) " of " (words::line(&file.name, 300)) } textarea form=(FORM) name={ (COMMENT) (file.name) ":" (lines) } rows="2" {} }
                        } } } }
                        @if let Ok(number) = new.parse::<u64>() { @for one in at(number) { tr.said-by { td colspan="3" { (remark(one)) } } } }
                    }
                } } }
            }
            @if body.len() >= most { p.panel-body.dim { "The rest is not shown. `acquit diff` prints all of it." } }
        }
    }
}

/// Returns the lines of a hunk after the change, such as `12-20`, if this is its first line.
fn hunk(line: &str) -> Option<String> {
    let at = line.strip_prefix("@@ ")?.split_whitespace().find_map(|word| word.strip_prefix('+'))?;
    let (first, count) = at.split_once(',').unwrap_or((at, "1"));
    let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
    Some(match count {
        0 | 1 => first.to_string(),
        count => format!("{first}-{}", first.saturating_add(count - 1)),
    })
}

fn class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    }
}

/// Returns each line with its numbers before and after the change; empty where it has none.
fn numbered<'t>(lines: &[&'t str]) -> Vec<(&'t str, (String, String))> {
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        let shown = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        let numbers = match line.as_bytes().first() {
            Some(b'@') => {
                let begins = |sign: char| {
                    let at = line.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
                    at.split(',').next()?.parse::<u64>().ok()
                };
                (old, new) = (begins('-').unwrap_or(0), begins('+').unwrap_or(0));
                (String::new(), String::new())
            }
            Some(b'+') => {
                new += 1;
                (String::new(), shown(new - 1))
            }
            Some(b'-') => {
                old += 1;
                (shown(old - 1), String::new())
            }
            Some(b' ') => {
                (old, new) = (old + 1, new + 1);
                (shown(old - 1), shown(new - 1))
            }
            _ => (String::new(), String::new()),
        };
        all.push((*line, numbers));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_is_named_by_its_lines_after_the_change() {
        let named = ["@@ -3,2 +3,3 @@ fn", "@@ -1 +1 @@", "@@ -1,4 +0,0 @@", "@@ odd", " same"].map(hunk);
        assert_eq!(named, [Some("3-5"), Some("1"), Some("0"), None, None].map(|it| it.map(str::to_owned)));
    }

    #[test]
    fn lines_have_the_numbers_of_both_sides() {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@ fn\n same\n-old\n+new\n+more\n";
        let files = files(text);
        assert_eq!((files.len(), files[0].name.as_str()), (1, "x"));
        let lines: Vec<&str> =
            files[0].lines.iter().copied().skip_while(|line| !line.starts_with("@@")).collect();
        let numbers: Vec<(String, String)> =
            numbered(&lines).into_iter().map(|(_, numbers)| numbers).collect();
        let wanted = [("", ""), ("3", "3"), ("4", ""), ("", "4"), ("", "5")];
        assert_eq!(numbers, wanted.map(|(old, new)| (old.to_owned(), new.to_owned())));
    }
}
