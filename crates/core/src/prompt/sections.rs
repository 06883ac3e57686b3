//! The sections of a prompt about one task: the request, its state, its history, and how to report.

use super::{Files, Parts, TITLE_LIMIT, Tools};
use crate::artifact::Artifact;
use crate::conflict;
use crate::failure::Failure;
use crate::ids::Name;
use crate::leg::{Ending, Past, Purpose};
use crate::outcome::{FAILED, NEEDS_INPUT, REJECTED};
use crate::task::Remark;
use crate::text;
use crate::workflow::{Begin, Stage, Target, Transition, Work};

/// Maximum size of a description: a long issue with its discussion. Anything longer is a pasted log.
const DESCRIPTION_LIMIT: usize = 32 * 1024;
/// Maximum size of the plan, which is repeated in every later leg. A longer one would crowd out the work.
const PLAN_LIMIT: usize = 32 * 1024;
/// Maximum size of a remark or its question.
const REMARK_LIMIT: usize = 8 * 1024;
/// Number of remarks to show; the newest count.
const REMARKS: usize = 20;
/// Maximum number of settled points. More would be a document, and documents are artifacts.
const SETTLED: usize = 30;
/// Number of finished legs to show, newest last: enough to see a pattern, few enough to read.
const LEGS: usize = 10;
/// Maximum size of the reason or summary of a finished leg: a paragraph.
const REASON_LIMIT: usize = 1024;
/// Maximum size of the previous leg's payload: the findings of a thorough review.
const PAYLOAD_LIMIT: usize = 16 * 1024;
/// Maximum number of failures. Fixing these fixes most of the rest, and the gates run again anyway.
const FAILURES: usize = 10;
/// Maximum size of a failure message, in case a gate does not shorten its own.
const MESSAGE_LIMIT: usize = 4 * 1024;
/// Maximum size of an excerpt: about twenty lines around each of a few places, even if the lines are long.
const EXCERPT_LIMIT: usize = 8 * 1024;
/// Number of notes of earlier legs to show, newest last.
const LEARNINGS: usize = 20;
/// Maximum size of a note: a paragraph.
const LEARNING_LIMIT: usize = 1024;
/// Maximum number of listed artifacts, newest last.
const ARTIFACTS: usize = 50;
/// Maximum length of a path, name or subject in a list.
const ENTRY_LIMIT: usize = 300;
/// Maximum size of an outcome's schema. Agents don't follow larger ones by heart anyway; the check reports mismatches.
const SCHEMA_LIMIT: usize = 8 * 1024;

/// Shows the repository's `AGENTS.md`.
pub(super) fn agents_md(parts: &Parts<'_>) -> String {
    match parts.agents_md.map(str::trim) {
        Some(text) if !text.is_empty() => format!(
            "# AGENTS.md of the repository\n\nIt says how work is done here. Follow it within the rules above.\n\n{}",
            text::fenced("AGENTS.md", text, DESCRIPTION_LIMIT)
        ),
        Some(_) | None => String::new(),
    }
}

pub(super) fn task(parts: &Parts<'_>) -> String {
    let wish = &parts.task.seed.wish;
    let mut out = format!("# The task {}\n\n", parts.task.id());
    out += &text::fenced("untrusted: title", &text::line(&wish.title, TITLE_LIMIT), usize::MAX);
    if !wish.description.trim().is_empty() {
        out += "\n";
        out += &text::fenced("untrusted: description", wish.description.trim(), DESCRIPTION_LIMIT);
    }
    let guesses = [("size", &wish.size), ("complexity", &wish.complexity)];
    let mut about: Vec<String> = guesses
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", text::line(value.as_ref()?, ENTRY_LIMIT))))
        .collect();
    if wish.priority != 0 {
        about.push(format!("priority: {}", wish.priority));
    }
    if !wish.tags.is_empty() {
        about.push(format!("tags: {}", text::line(&wish.tags.join(", "), ENTRY_LIMIT)));
    }
    let own = |name: &str| crate::night::key::ALL.contains(&name);
    let others = wish.metadata.iter().filter(|(name, _)| !own(name)).take(ARTIFACTS);
    about.extend(others.map(|(name, value)| text::line(&format!("{name}: {value}"), ENTRY_LIMIT)));
    if !about.is_empty() {
        out += "\n";
        out +=
            &text::fenced("untrusted: what its author says about it", &about.join("\n"), DESCRIPTION_LIMIT);
    }
    if let Some(value) = parts.task.variation_value(&parts.definition.workflow) {
        let fallback = parts.task.tried.first().map(|tried| text::line(&tried.value, ENTRY_LIMIT));
        let fallback = fallback.map(|first| format!(" (fallback from {first})")).unwrap_or_default();
        out += &format!("\nThis turn is about: {}{fallback}\n", text::line(&value, ENTRY_LIMIT));
    }
    out
}

pub(super) fn plan(parts: &Parts<'_>) -> String {
    match parts.task.plan().map(str::trim) {
        Some(plan) if !plan.is_empty() && !mends(parts) => {
            format!("# The plan\n\n{}", text::fenced("untrusted: plan of an earlier leg", plan, PLAN_LIMIT))
        }
        Some(_) | None => String::new(),
    }
}

/// Lists paths instead of contents: the agent reads what it needs. A stage that names its inputs sees only those files.
pub(super) fn artifacts(parts: &Parts<'_>, inputs: &[String]) -> String {
    if mends(parts) {
        return String::new();
    }
    let other =
        |artifact: &Artifact| matches!(artifact, Artifact::File { name, .. } if !inputs.contains(name));
    let wanted = |artifact: &&Artifact| inputs.is_empty() || !other(artifact);
    let shown: Vec<&Artifact> = parts.task.artifacts.iter().filter(wanted).collect();
    list("What is there", &shown, ARTIFACTS, |one| artifact(one))
}

fn artifact(artifact: &Artifact) -> Option<String> {
    let quoted = |text: &str| text::quoted(text, ENTRY_LIMIT);
    Some(match artifact {
        // The plan and gate results have their own sections, and pushes are of no use to an agent.
        Artifact::Plan { .. } | Artifact::Pushed { .. } | Artifact::Report { .. } => return None,
        Artifact::PullRequest(request) => format!("request {} at {}", request.number, quoted(&request.url)),
        Artifact::Branch { name, commit, .. } => format!("branch {} at {}", quoted(name), quoted(commit)),
        Artifact::Merged { branch, commit } => {
            format!("merged into {} as {}", quoted(branch), quoted(commit))
        }
        Artifact::Commits { leg, commits } => {
            let subjects: Vec<String> =
                commits.iter().rev().take(LEGS).map(|one| quoted(&one.subject)).collect();
            format!("commits of leg {leg} ({}), newest first: {}", commits.len(), subjects.join(", "))
        }
        Artifact::Diff(stats) => format!(
            "so far {} files changed, {} lines added, {} removed",
            stats.files, stats.insertions, stats.deletions
        ),
        Artifact::File { stage, name, path, bytes } => {
            format!("{} of stage {stage}: {} ({bytes} bytes)", quoted(name), quoted(path))
        }
    })
}

/// Lists what was settled with people before the work started: the newest `context` that a leg reported, by key.
pub(super) fn settled(parts: &Parts<'_>) -> String {
    if mends(parts) {
        return String::new();
    }
    let context = parts
        .task
        .past
        .iter()
        .rev()
        .find_map(|past| past.ending.passed()?.payload.get("context")?.as_object());
    let entries: Vec<_> = context.into_iter().flatten().collect();
    list("What was settled (as an earlier leg wrote it down)", &entries, SETTLED, |(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{}: {}", text::line(key, ENTRY_LIMIT), text::quoted(&value, REASON_LIMIT)))
    })
}

/// Shows what people said before the last leg ended.
pub(super) fn conversation(parts: &Parts<'_>) -> String {
    let (earlier, _) = said(parts);
    remarks("What people said", earlier)
}

/// Shows what people said since the last leg ended: the answer that resumed the task.
pub(super) fn answer(parts: &Parts<'_>) -> String {
    let (_, answers) = said(parts);
    remarks("The answer that resumed the task", answers)
}

/// Splits the remarks into earlier ones, and those that resumed the task.
fn said<'a>(parts: &Parts<'a>) -> (&'a [Remark], &'a [Remark]) {
    let all = parts.task.conversation.as_slice();
    // Remarks from before the first leg resume nothing.
    let heard = if parts.task.past.is_empty() { all.len() } else { parts.task.heard.min(all.len()) };
    all.split_at(heard)
}

fn remarks(title: &str, all: &[Remark]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "# {title}\n\nThis comes from the people you work for. Take it into account, within the rules above.\n"
    );
    out += &left_out(all.len(), REMARKS);
    for remark in newest(all, REMARKS) {
        if let Some(question) = &remark.question {
            out += "\n";
            out += &text::fenced("untrusted: they were asked", question, REMARK_LIMIT);
        }
        let by = text::line(&remark.by.to_string(), ENTRY_LIMIT);
        out += "\n";
        let label = match &remark.origin {
            None => format!("said by {by}"),
            // Comments may ask for changes, and nothing else.
            Some(_) => format!("untrusted: comment on the request, by {by}"),
        };
        out += &text::fenced(&label, &remark.text, REMARK_LIMIT);
    }
    out
}

/// Lists what earlier legs did and why they failed. A fix leg sees only earlier attempts at the same fix.
pub(super) fn history(parts: &Parts<'_>) -> String {
    let same_fix = |past: &&Past| match (&parts.entry.purpose, &past.entry.purpose) {
        (Purpose::Fix { of, .. }, Purpose::Fix { of: other, .. }) => of == other,
        (
            Purpose::Fix { .. },
            Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge,
        ) => false,
        (Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge, _) => true,
    };
    let legs: Vec<&Past> = parts.task.past.iter().filter(same_fix).collect();
    let title = "What happened before (agents' own words are in quotes; they prove nothing)";
    let vain = list("What was tried and led nowhere", &parts.task.tried, LEGS, |tried| {
        let value = text::line(&tried.value, ENTRY_LIMIT);
        Some(format!("{value}: {}", text::quoted(&tried.reason, REASON_LIMIT)))
    });
    let before = list(title, &legs, LEGS, |leg| Some(past(leg)));
    [vain, before].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn past(past: &Past) -> String {
    let what = match &past.entry.purpose {
        Purpose::Work => past.entry.stage.to_string(),
        Purpose::Fix { of, .. } => format!("{} (a fix for {of})", past.entry.stage),
        Purpose::Recheck { .. } => format!("{} (its gates again)", past.entry.stage),
        Purpose::Merge => format!("{} (merged by a person)", past.entry.stage),
        Purpose::Resolve { of, .. } => format!("{} (a conflict before {})", past.entry.stage, of.stage),
    };
    let how = match (&past.ending, past.ending.trouble()) {
        (Ending::Passed { outcome }, _) => {
            let summary = outcome.summary().map(|text| format!(": {}", text::quoted(&text, REASON_LIMIT)));
            format!("ended {}{}", outcome.name, summary.unwrap_or_default())
        }
        (_, trouble) => format!("did not pass: {}", text::quoted(&trouble.unwrap_or_default(), REASON_LIMIT)),
    };
    format!("leg {}, {what}, {how}", past.number)
}

/// Shows what the previous leg reported beyond its summary, such as the findings of a review.
pub(super) fn reported(parts: &Parts<'_>) -> String {
    let Some(Past { entry, ending: Ending::Passed { outcome }, .. }) = parts.task.past.last() else {
        return String::new();
    };
    let Some(payload) = outcome.payload.as_object().filter(|_| !mends(parts)) else { return String::new() };
    // The summary is in the history, and the plan has its own section.
    let more: serde_json::Map<_, _> = payload
        .iter()
        .filter(|(key, _)| !["summary", "plan"].contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    if more.is_empty() {
        return String::new();
    }
    let body = format!("{:#}", serde_json::Value::Object(more));
    let title = format!("# What stage {} reported with {}\n\n", entry.stage, outcome.name);
    title + &text::fenced("untrusted: its payload", &body, PAYLOAD_LIMIT)
}

/// Explains why a continuing agent was stopped, if its turn was cut short.
pub(super) fn interruption(parts: &Parts<'_>) -> String {
    let Some(Past { ending, .. }) = parts.task.past.last() else { return String::new() };
    match ending {
        Ending::Held { .. } | Ending::Lost { .. } => {
            format!(
                "# You were interrupted\n\nIt was nobody's fault. Go on where you stopped. {}\n",
                files(parts)
            )
        }
        Ending::Failed { .. } | Ending::TimedOut { .. } => {
            let why = text::quoted(&ending.trouble().unwrap_or_default(), REASON_LIMIT);
            format!("# Your last turn did not count\n\nThe reason: {why}\n\n{}\n", files(parts))
        }
        Ending::Passed { .. } | Ending::Rejected { .. } | Ending::Conflict { .. } | Ending::Cancelled => {
            String::new()
        }
    }
}

/// Says where the files of the last attempt are now. An agent that remembers writing them would assume they exist.
fn files(parts: &Parts<'_>) -> String {
    match parts.files {
        Files::Gone => "The files of the workspace are as they were when that turn began.".to_owned(),
        Files::There => "The files of the workspace are as you left them, and none of it is committed: commits of that turn \
                         are changes now. Look at `git status` first, because what you last did may not have been finished."
            .to_owned(),
        Files::Saved(commit) => {
            let commit = text::line(commit, ENTRY_LIMIT);
            format!(
                "The files of the workspace are as they were when that turn began. What you had changed is kept as commit \
                 {commit}: `git diff HEAD {commit}` shows it, and `git restore --source={commit} .` brings it back."
            )
        }
    }
}

/// Shows the failures that gates found: at the stage to fix, or in this stage's own last attempt.
pub(super) fn failures(parts: &Parts<'_>) -> String {
    let failures: &[Failure] = match (&parts.entry.purpose, parts.task.past.last()) {
        (Purpose::Fix { failures, .. }, _) => failures,
        (
            Purpose::Work | Purpose::Resolve { .. },
            Some(Past { entry, ending: Ending::Rejected { failures, .. }, .. }),
        ) if entry.stage == parts.entry.stage || sent_here(parts, &entry.stage) => failures,
        (Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge, _) => &[],
    };
    if failures.is_empty() {
        return String::new();
    }
    let what = match (&parts.entry.purpose, begin(parts)) {
        (Purpose::Work, Begin::Base) => {
            "An earlier try was rejected and taken away: the tree is as it was before it. Do it again, and so that this does not \
             happen:"
        }
        (_, Begin::Work | Begin::Base) => "The work was rejected. Mend this:",
    };
    let mut out = format!("# What the checks found\n\n{what}\n");
    for failure in failures.iter().take(FAILURES) {
        out += &format!("\n## Gate {} ({})\n\n", failure.gate, failure.kind);
        if let Some(place) = &failure.location {
            out += &format!("At {} line {}.\n\n", text::quoted(&place.path, ENTRY_LIMIT), place.line);
        }
        out += &text::fenced("untrusted: output of the gate", &failure.message, MESSAGE_LIMIT);
        if let Some(excerpt) = &failure.excerpt {
            out += "\n";
            out += &text::fenced("untrusted: the code around it", excerpt, EXCERPT_LIMIT);
        }
    }
    if failures.len() > FAILURES {
        out += &format!("\nAnd {} more failures.\n", failures.len() - FAILURES);
    }
    out
}

/// Shows both sides of the conflicting places.
pub(super) fn conflict(parts: &Parts<'_>) -> String {
    let Purpose::Resolve { onto, hunks, .. } = &parts.entry.purpose else { return String::new() };
    let branch = parts.task.seed.base.branch.as_deref().unwrap_or("the base branch");
    let branch = text::quoted(branch, ENTRY_LIMIT);
    let marks = |sign: &str| sign.repeat(conflict::MARKER);
    let mut out = format!(
        "# The conflict

Since this task began, {branch} has moved to {}. The workspace holds the task's work on top of that, and where both changed the
same lines the files have marks: after `{}` what {branch} has, after `{}` what it was, after `{}` what the task has, up to
`{}`. Take away every mark, and keep what both sides wanted. Whatever a side added must still be there, and what it removed must
be gone, also in files without marks. If one side makes a change of the other pointless, give that change up by name in the
payload of your outcome, with the reason; changes are named by side, file and line in that side's version:

    {{\"{}\": [{{\"change\": \"task:src/x.rs:12\", \"reason\": \"…\"}}]}}
",
        text::quoted(onto.get(..12).unwrap_or(onto), ENTRY_LIMIT),
        marks("<"),
        marks("|"),
        marks("="),
        marks(">"),
        conflict::SUPERSEDED,
    );
    for hunk in hunks {
        out += &format!("\n## {} line {}\n", text::quoted(&hunk.path, ENTRY_LIMIT), hunk.line);
        let sides =
            [("before both", &hunk.base), ("of the branch", &hunk.branch), ("of the task", &hunk.task)];
        for (label, side) in sides {
            out += "\n";
            out += &text::fenced(&format!("untrusted: {label}"), side, conflict::SIDE_LIMIT + 100);
        }
    }
    out
}

pub(super) fn learnings(parts: &Parts<'_>) -> String {
    if mends(parts) {
        return String::new();
    }
    let title = "What earlier legs learned (in their own words)";
    list(title, &parts.task.learnings, LEARNINGS, |text| Some(text::quoted(text, LEARNING_LIMIT)))
}

pub(super) fn outcomes(parts: &Parts<'_>, stage: &Stage) -> String {
    let mut out = "# Outcomes\n\nYour turn ends with exactly one of these:\n".to_owned();
    for (name, transition) in &stage.on {
        out += &format!("\n- `{name}`");
        if let Some(description) = &transition.description {
            out += &format!(": {}", text::line(description, REASON_LIMIT));
        }
        out += &schema(transition);
    }
    let everywhere = [
        (NEEDS_INPUT, "only a person can say how to go on. The payload needs `question`."),
        (FAILED, "it cannot be done. The payload's `summary` says why."),
    ];
    for (name, meaning) in everywhere {
        if !stage.on.contains_key(name) {
            out += &format!("\n- `{name}`: {meaning}");
        }
    }
    out + "\n" + &checks(parts, stage)
}

/// Lists the gates that will judge the work, so that the agent can run them first.
fn checks(parts: &Parts<'_>, stage: &Stage) -> String {
    let workflow = &parts.definition.workflow;
    let judged = match &parts.entry.purpose {
        Purpose::Fix { of, .. } => workflow.stage(of.as_str()).unwrap_or(stage),
        Purpose::Work | Purpose::Recheck { .. } | Purpose::Resolve { .. } | Purpose::Merge => stage,
    };
    let gates = judged.gates.iter().filter_map(|name| workflow.gate(name.as_str()));
    // Review findings are not something an agent can fix in advance.
    let gates = gates.filter(|gate| gate.check.sets_outcome().is_none());
    let lines: Vec<String> = gates
        .map(|gate| {
            let what = gate.check.demand();
            let run = gate
                .check
                .command()
                .map(|command| format!(", {}", text::quoted(&command.to_string(), ENTRY_LIMIT)));
            format!("- {}{}: {what}", gate.name, run.unwrap_or_default())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\nThe harness then runs these checks on what you left. Run them yourself before you report:\n\n{}\n",
        lines.join("\n")
    )
}

fn schema(transition: &Transition) -> String {
    let Some(schema) = &transition.schema else { return String::new() };
    let json = text::shown(&format!("{schema:#}"), SCHEMA_LIMIT);
    let indented: Vec<String> = json.lines().map(|line| format!("  {line}")).collect();
    format!("\n  Its payload must fit this JSON Schema:\n\n{}\n", indented.join("\n"))
}

pub(super) fn report(parts: &Parts<'_>) -> String {
    let Parts { handoff_file, output_dir, tools, .. } = parts;
    let by_tool = match tools {
        Tools::Offered => {
            "As the last thing you do, call the tool `report_outcome` of the server `acquit` with the name of the outcome and its
payload. It checks both at once: if it finds a mistake, mend it and call again. To ask a person, call `ask` or
`propose_options` instead, and then stop: nobody answers while you wait, and you will be called again with the answer. With
`report_progress` you say how far you are; `task_context` tells all of this once more.

Only if these tools are missing or fail, report in one of these ways.

"
        }
        Tools::Form => {
            "Your last message is your report: a JSON object with `outcome`, one of the names above, and its `payload`. Only if you
cannot give it that form, report in one of these ways.

"
        }
        Tools::Absent => "",
    };
    format!(
        "# How to report

{by_tool}As the last thing you do, write a JSON object to `{handoff_file}`. The file is there already, with `outcome` set to null:

    {{\"outcome\": \"<name>\", \"payload\": {{\"summary\": \"<what you did and why, in one or two sentences>\"}}}}

If you cannot write files, end your last message with the same between markers, as JSON and nothing else:

    <<<OUTCOME:name>>>
    {{\"summary\": \"…\"}}
    <<<END_PAYLOAD>>>

Files that are not part of the repository (plans, reports, notes) go to the output folder `{output_dir}`."
    )
}

/// Returns the commit that the leg's stage starts from.
fn begin(parts: &Parts<'_>) -> Begin {
    let stage = parts.definition.workflow.stage(parts.entry.stage.as_str());
    stage.map(|stage| stage.from).unwrap_or_default()
}

/// Returns whether a check sends rejected work to this leg's stage.
fn sent_here(parts: &Parts<'_>, stage: &Name) -> bool {
    let stage = parts.definition.workflow.stage(stage.as_str()).filter(|stage| stage.work == Work::Check);
    let rejected = stage.and_then(|stage| stage.on.get(&Name::literal(REJECTED)));
    rejected.is_some_and(|transition| transition.to.contains(&Target::Stage(parts.entry.stage.clone())))
}

/// Returns whether the leg only fixes. It then gets the task and the failures, and nothing that would distract it.
fn mends(parts: &Parts<'_>) -> bool {
    matches!(parts.entry.purpose, Purpose::Fix { .. })
}

/// Formats a section with one line for each of the newest items that has one.
fn list<T>(title: &str, items: &[T], most: usize, line: impl Fn(&T) -> Option<String>) -> String {
    let lines: Vec<String> = newest(items, most).iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("# {title}\n{}\n- {}\n", left_out(items.len(), most), lines.join("\n- "))
}

fn newest<T>(all: &[T], most: usize) -> &[T] {
    &all[all.len().saturating_sub(most)..]
}

fn left_out(all: usize, most: usize) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        older => format!("\n({older} older ones are left out.)\n"),
    }
}
