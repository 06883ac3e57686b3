//! The description of a pull request: the request, the changes and their reasons, and the evidence for accepting them.
//!
//! Figures come from executed checks, never from an agent's claims. Text of agents and authors is marked as theirs. It
//! is quoted line by line, so that nothing in it (an open code block, a heading that looks like a verdict) reaches
//! beyond its quote, and made [`inert`], so that a forge does not act on it.

use serde_json::Value;

use super::candidates::candidates;
use super::inert::{inert, inert_line};
use super::marker::Marker;
use crate::agent::{Usage, shorten};
use crate::artifact::Artifact;
use crate::gate::{Severity, Verdict};
use crate::leg::Ending;
use crate::price::dollars;
use crate::task::Task;

/// Maximum size of a description on GitHub, in characters. GitLab allows more.
pub const LIMIT: usize = 65_536;

/// Maximum size of acquit's part. People write in the description too, and their text stays.
const OURS: usize = 48 * 1024;
/// Maximum length of a title; both forges allow 255 characters.
const TITLE: usize = 200;
/// Maximum size of the author's text.
const ASKED: usize = 6 * 1024;
/// Number of notes to show, the newest: the result, not the way to it.
const LEARNINGS: usize = 12;
/// Maximum size of a note or an alternative.
const WORDS: usize = 600;
/// Maximum number of alternatives.
const WAYS: usize = 8;
/// Maximum number of gates and commands: more than any workflow has.
const GATES: usize = 40;
/// Maximum number of figures per gate.
const FIGURES: usize = 8;
/// Maximum number of named tests that failed before: enough to see what was tested.
const TESTS: usize = 20;
/// Maximum length of a test name.
const TEST: usize = 120;
/// Maximum number of findings that were not severe enough to reject.
const NOTED: usize = 5;
/// Maximum length of a command.
const COMMAND: usize = 400;

/// The inputs of the description.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The task.
    pub task: &'a Task,
    /// Last verdict of each gate, in the order in which they were given.
    pub verdicts: &'a [Verdict],
    /// Published commit.
    pub commit: &'a str,
    /// Branch of the remote from which to fetch it.
    pub branch: &'a str,
    /// Base-branch commit on which the gates ran.
    pub base: &'a str,
    /// Commit of the base branch at the forge, if the work does not contain it.
    pub moved: Option<&'a str>,
    /// Whether to show the cost of the work.
    pub cost: bool,
    /// Marker of the task.
    pub marker: &'a Marker,
}

/// Formats the title: one line that a forge does not act on.
pub fn title(text: &str) -> String {
    let line = inert_line(text);
    match line.char_indices().nth(TITLE) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Formats acquit's part of the description, between its markers. Never exceeds the limits of forges.
pub fn body(account: &Account<'_>) -> String {
    let sections = [
        ("What was asked", asked(account)),
        ("What changed and why", changed(account)),
        ("Reasoning", described(account.task, "reasoning")),
        ("Changes", described(account.task, "changes")),
        ("Proof", stale(account) + &proof(account.verdicts)),
        ("How to reproduce", reproduce(account)),
        ("Cost", if account.cost { cost(&account.task.usage()) } else { String::new() }),
        ("Candidates considered", considered(account.task)),
        ("Alternatives considered", alternatives(account.task)),
    ];
    let mut text = String::new();
    let mut left_out = Vec::new();
    for (heading, section) in sections {
        let section = section.trim_end();
        if section.is_empty() {
            continue;
        }
        if text.len() + section.len() > OURS {
            left_out.push(heading);
            continue;
        }
        text.push_str(&format!("## {heading}\n\n{section}\n\n"));
    }
    if !left_out.is_empty() {
        text.push_str(&format!("Too long for this place, and left out: {}.\n\n", left_out.join(", ")));
    }
    let id = account.task.id();
    text.push_str(&format!("Made by acquit, task {id}: `acquit task show {id}` has the whole story.\n"));
    account.marker.around(&text)
}

fn asked(account: &Account<'_>) -> String {
    let wish = &account.task.seed.wish;
    let mut text = inert_line(&shorten(&wish.title, TITLE * 2));
    if let Some(fallback) = account.task.fallback() {
        text.push_str(&format!("\n\nCategory: {}", inert_line(&shorten(&fallback, TITLE))));
    }
    if !wish.description.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(&inert(&shorten(wish.description.trim(), ASKED)));
    }
    quote(&text)
}

fn changed(account: &Account<'_>) -> String {
    let mut text = String::new();
    for artifact in &account.task.artifacts {
        if let Artifact::Diff(stats) = artifact {
            let (files, plus, minus) = (stats.files, stats.insertions, stats.deletions);
            let short = &account.commit[..account.commit.len().min(12)];
            let noun = if files == 1 { "file" } else { "files" };
            text.push_str(&format!("{files} {noun}, +{plus} −{minus}, as commit {short}.\n\n"));
        }
    }
    let summary = description(account.task).and_then(|payload| payload.get("summary")?.as_str());
    if let Some(summary) = summary {
        text.push_str(&quote(&inert(&shorten(summary.trim(), WORDS * 4))));
        return text;
    }
    let learnings = account.task.account();
    let shown = &learnings[learnings.len().saturating_sub(LEARNINGS)..];
    if !shown.is_empty() {
        text.push_str("In the words of the agents, stage by stage:\n\n");
        text.push_str(&quote(&list(shown.iter().map(String::as_str))));
        let more = learnings.len() - shown.len();
        if more > 0 {
            text.push_str(&format!("\n{more} earlier ones are left out.\n"));
        }
    }
    text
}

/// Returns the description that a stage wrote for this purpose, if there is one.
fn description(task: &Task) -> Option<&Value> {
    let is_one = |payload: &&Value| ["reasoning", "changes"].iter().any(|key| payload.get(*key).is_some());
    task.legs_of_work()
        .rev()
        .find_map(|past| past.ending.passed().map(|outcome| &outcome.payload).filter(is_one))
}

/// Returns a part of that description: a text or a list.
fn described(task: &Task, key: &str) -> String {
    match description(task).and_then(|payload| payload.get(key)) {
        Some(Value::String(text)) => quote(&inert(&shorten(text.trim(), WORDS * 4))),
        Some(list @ Value::Array(_)) => quote(&list_of(list)),
        Some(_) | None => String::new(),
    }
}

fn list_of(told: &Value) -> String {
    let told = ways(told);
    list(told.iter().map(String::as_str))
}

/// Notes that the proof is about another commit of the base branch, if so.
fn stale(account: &Account<'_>) -> String {
    let short = |commit: &str| inert_line(&commit[..commit.len().min(12)]);
    match account.moved {
        None => String::new(),
        Some(moved) => format!(
            "**The base has moved:** what follows was seen on {}, and the branch to merge into was at {} when this was \
             published. It says nothing about both together.\n\n",
            short(account.base),
            short(moved)
        ),
    }
}

/// Formats the evidence for accepting the work.
fn proof(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return "No gate ran on this work: nothing of it is proven.".to_owned();
    }
    let mut text = "| gate | verdict | figures | took |\n|---|---|---|---|\n".to_owned();
    for verdict in verdicts.iter().take(GATES) {
        let word = match (verdict.passed, verdict.severity) {
            (true, _) => "passed",
            (false, Severity::Warning | Severity::Off) => "warned",
            (false, Severity::Error) => "**failed**",
        };
        let figures = verdict.evidence.figures.iter().take(FIGURES);
        // Join first: parts that are harmless alone may not be together.
        let figures: Vec<String> =
            figures.map(|figure| cell(&format!("{}: {}", figure.what, figure.value))).collect();
        let (gate, took) = (cell(verdict.gate.as_str()), verdict.took);
        text.push_str(&format!("| {gate} | {word} | {} | {took} |\n", figures.join(", ")));
    }
    for verdict in verdicts.iter().take(GATES) {
        text.push_str(&red(verdict).unwrap_or_default());
    }
    let noted: Vec<String> = verdicts
        .iter()
        .flat_map(|verdict| verdict.evidence.findings.iter())
        .take(NOTED)
        .map(|finding| shorten(&finding.to_string(), WORDS))
        .collect();
    if !noted.is_empty() {
        text.push_str("\nNoted on the way:\n\n");
        text.push_str(&quote(&list(noted.iter().map(String::as_str))));
    }
    text
}

/// Lists the tests that failed by an assertion without the change and pass with it. `None` if the gate saw none.
fn red(verdict: &Verdict) -> Option<String> {
    let figure = |what: &str| {
        let found = verdict.evidence.figures.iter().find(|figure| figure.what == what);
        found.and_then(|figure| figure.value.parse::<usize>().ok())
    };
    if !verdict.passed {
        return None;
    }
    let (red, all) = (figure(crate::proof::How::AssertRed.rule())?, figure("of the change")?);
    // Shorten after hidden characters are made visible, because that makes it longer.
    let names = verdict.evidence.red.iter().take(TESTS).map(|test| shorten(&inert_line(test), TEST));
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "\n**Red before, green now:** of {all} tests of this change, {red} failed by an assertion on the old code and pass \
         on the new"
    );
    if names.is_empty() {
        return Some(text + ".\n");
    }
    let more = red.saturating_sub(names.len());
    text.push_str(":\n\n");
    text.push_str(&quote(&list(names.iter().map(String::as_str))));
    if more > 0 {
        text.push_str(&format!("\nand {more} more.\n"));
    }
    Some(text)
}

fn reproduce(account: &Account<'_>) -> String {
    let mut lines = vec![
        format!("git fetch origin {}", inert_line(account.branch)),
        format!("git checkout {}", inert_line(account.commit)),
    ];
    let commands = account.verdicts.iter().filter(|verdict| verdict.exit_code().is_some());
    lines.extend(commands.take(GATES).map(|verdict| inert_line(&shorten(&verdict.command, COMMAND))));
    lines.dedup();
    let longest = lines.iter().map(|line| ticks(line)).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{}\n{fence}\n", lines.join("\n"))
}

/// Returns the length of the longest run of backticks.
fn ticks(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn cost(usage: &Usage) -> String {
    if usage.is_empty() {
        return String::new();
    }
    let mut text = match usage.paid() {
        Some(micros) if usage.estimated() == 0 => format!("{} by the agents' own figures", dollars(micros)),
        Some(micros) if usage.cost_micros.is_none() => format!("about {} by the price list", dollars(micros)),
        Some(micros) => {
            format!("about {} by the agents' own figures and the price list", dollars(micros))
        }
        None => "Nobody told a price".to_owned(),
    };
    text.push_str(&format!(
        "; {} tokens read ({} from caches), {} written",
        usage.input.saturating_add(usage.cache_read),
        usage.cache_read,
        usage.output
    ));
    if usage.by_login {
        text.push_str("; a login pays, and this is what a key would have paid");
    }
    text + ".\n"
}

/// Lists alternatives that agents reported: `alternatives` of an outcome's payload, or that part of the plan.
fn alternatives(task: &Task) -> String {
    let told = task.legs_of_work().rev().find_map(|past| match &past.ending {
        Ending::Passed { outcome } | Ending::Rejected { outcome, .. } => {
            outcome.payload.get("alternatives").map(ways).filter(|ways| !ways.is_empty())
        }
        Ending::Failed { .. }
        | Ending::TimedOut { .. }
        | Ending::Cancelled
        | Ending::Lost { .. }
        | Ending::Conflict { .. }
        | Ending::Held { .. } => None,
    });
    match told {
        Some(ways) => quote(&list(ways.iter().map(String::as_str))),
        None => task.plan().and_then(about_alternatives).map(|part| quote(&inert(&part))).unwrap_or_default(),
    }
}

/// Lists the candidates that an analyst ranked before the work started.
fn considered(task: &Task) -> String {
    quote(&list(candidates(task).iter().map(String::as_str)))
}

fn ways(told: &Value) -> Vec<String> {
    let words = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(way) => {
            let text = |key: &str| way.get(key).and_then(Value::as_str);
            let name = text("name").or_else(|| text("option")).or_else(|| text("title"))?;
            let why = text("why").or_else(|| text("reason")).or_else(|| text("trade_offs"));
            Some(why.map_or_else(|| name.to_owned(), |why| format!("{name}: {why}")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    match told {
        Value::Array(list) => list.iter().filter_map(words).take(WAYS).collect(),
        one => words(one).into_iter().collect(),
    }
}

/// Returns the part of a plan under a heading about alternatives.
fn about_alternatives(plan: &str) -> Option<String> {
    let is_heading = |line: &&str| line.trim_start().starts_with('#');
    let mut lines =
        plan.lines().skip_while(|line| !(is_heading(line) && line.to_lowercase().contains("alternative")));
    lines.next()?;
    let part: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    let part = part.join("\n");
    (!part.trim().is_empty()).then(|| shorten(part.trim(), WORDS * 4))
}

/// Formats a list in which each item stays on one line.
fn list<'t>(items: impl Iterator<Item = &'t str>) -> String {
    let mut lines = String::new();
    for item in items {
        lines.push_str(&format!("- {}\n", inert_line(&shorten(item, WORDS))));
    }
    lines
}

/// Quotes foreign text so that it cannot leave the quote.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        quoted.push_str("> ");
        quoted.push_str(line);
        quoted.push('\n');
    }
    quoted
}

/// Formats foreign text as a table cell.
fn cell(text: &str) -> String {
    inert_line(&shorten(text, 120)).replace('\\', "\\\\").replace('|', "\\|")
}
