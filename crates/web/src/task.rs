//! One task: where it stands, what happens now, what the gates showed, and what can be done.

use acquit_app::diff::is_published;
use acquit_app::tasks::{self, Details};
use acquit_app::{App, Error};
use acquit_core::agent::{Item, Usage};
use acquit_core::artifact::Artifact;
use acquit_core::event::{Body, Event, Level};
use acquit_core::gate::{Verdict, Weight};
use acquit_core::ids::TaskId;
use acquit_core::leg::{self, Ending, Leg};
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;
use maud::{Markup, html};

use crate::page::Sign;
use crate::page::{Content, since};
use crate::{board, path, request, transcript, words};

/// So many of the newest events are on the page.
const EVENTS: usize = 200;
/// How many events are read at once.
const READ: u32 = 500;

/// The page.
pub fn content(app: &App, store: &mut dyn Store, id: TaskId) -> Result<Content, Error> {
    let now = store.now()?;
    let details = tasks::show(store, id)?;
    let workflow = store.definition(id)?.workflow;
    let Details { task, legs, gates, .. } = &details;
    let sign = board::sign_of(task, legs, now);
    let last = legs.last();
    let running = last.filter(|leg| leg.state == leg::State::Running);
    let words_now = match running {
        Some(leg) => transcript::newest(app, store, leg.id)?,
        None => Vec::new(),
    };
    let events = events(store, id)?;
    let usage = legs.iter().fold(Usage::default(), |mut sum, leg| {
        sum.add(&leg.usage);
        sum
    });
    let seed = &task.seed;
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/?project=" (encoded(&seed.project.name)) } { (words::line(&seed.project.name, 60)) } " / " (id) }
        div #head .head data-live {
            h1 { (words::line(&seed.wish.title, 300)) }
            p.state { (sign.bare()) b class=(sign.class()) { (sign.word()) } " · " (board::what(task, legs, now)) }
            p.lede { (words::count(legs.len(), "leg")) " · " (words::length(legs.iter().map(|leg| words::took(leg, now)).sum())) " · " (words::usage_cost(&usage)) " · added " (words::moment(seed.created, "%Y-%m-%d %H:%M")) }
        }
        div #actions .acts data-live { (actions(task)) }
        (path::large(&path::nodes(task, &workflow, sign)))
        @if let State::Waiting { request } = &task.state {
            article.panel.asks id={ "request-" (id) "-" (request.number) } data-live {
                header.panel-head { h2 { (Sign::Needs.bare()) "Needs you" } }
                div.panel-body { (request::form(task, request, "task")) }
            }
        }
        div #now data-live { (happening(running, &words_now, &events, now)) }
        @if !seed.wish.description.trim().is_empty() {
            section.panel { header.panel-head { h2 { "Description" } } pre.panel-body.prose { (words::text(&seed.wish.description)) } }
        }
        div #gates data-live { (shown_by_gates(task, gates)) }
        (facts(&details))
        div #legs data-live { (bill(task, legs, now)) }
        div #conversation data-live { (conversation(task)) }
        div #events data-live { (timeline(&events)) }
    };
    Ok(Content { title: format!("{id} {}", words::line(&seed.wish.title, 60)), task: Some(id), body })
}

/// A value in an address.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

/// What makes sense now.
fn actions(task: &Task) -> Markup {
    let id = task.id();
    let form = |verb: &str, label: &str, main: bool| {
        html! { form method="post" action={ "/tasks/" (id) "/" (verb) } { button.btn.main[main] { (label) } } }
    };
    let merged = task.artifacts.iter().any(|artifact| matches!(artifact, Artifact::Merged { .. }));
    let can_merge =
        !merged && is_published(task) && task.tip != task.base() && task.seed.base.branch.is_some();
    html! {
        @match &task.state {
            State::New | State::Working { cancel: None, .. } | State::Waiting { .. } | State::Blocked { .. } => (form("cancel", "Cancel the task", false)),
            State::Working { cancel: Some(_), .. } => span.hint { "It has been asked to stop." },
            State::Ended { end: End::Done } => @if can_merge { (form("merge", &format!("Merge into {}", words::line(task.seed.base.branch.as_deref().unwrap_or_default(), 60)), true)) },
            State::Ended { .. } => {},
        }
        @if matches!(&task.state, State::Blocked { .. } | State::Ended { end: End::Failed { .. } | End::NoImprovement | End::Cancelled { .. } }) {
            details.again {
                summary.btn { "Retry…" }
                form.stack method="post" action={ "/tasks/" (id) "/retry" } {
                    label.field { span { "A note for the agent (optional)" } input name="note"; }
                    button.btn.main { "Retry" }
                }
            }
        }
        @if task.tip != task.base() || matches!(task.state, State::Working { .. }) { a.btn href={ "/tasks/" (id) "/diff" } { "Diff" } }
    }
}

fn happening(running: Option<&Leg>, said: &[Item], events: &[Event], now: Timestamp) -> Markup {
    let Some(leg) = running else { return html! {} };
    let of_leg = |event: &&Event| event.leg == Some(leg.id.number);
    let step = events.iter().rev().filter(of_leg).find_map(|event| match &event.body {
        Body::Step { step, .. } => step.next(),
        _ => None,
    });
    let progress = events.iter().rev().filter(of_leg).find_map(|event| match &event.body {
        Body::Progress { text, .. } => Some(text),
        _ => None,
    });
    html! {
        section.panel.runs {
            header.panel-head {
                h2 { (Sign::Runs.bare()) "Right now" }
                p.meta {
                    span { (words::heading(&leg.entry)) }
                    @if let Some(step) = step { span { "step " (step.name().replace('_', " ")) } }
                    @if let Some(started) = leg.started { span { (since(started, now)) } }
                    span { (words::usage_cost(&leg.usage)) }
                    span { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { "whole transcript" } }
                }
            }
            @if let Some(text) = progress { p.panel-body.said { (words::line(text, 300)) } }
            (transcript::lines(said, leg.id))
        }
    }
}

fn shown_by_gates(task: &Task, gates: &[Verdict]) -> Markup {
    html! {
        @if !gates.is_empty() {
            section.panel {
                header.panel-head { h2 { "Gates" } p.meta { span { "each gate as it was last run" } } }
                ul.rows { @for verdict in gates { (gate(task, verdict)) } }
            }
        }
    }
}

fn gate(task: &Task, verdict: &Verdict) -> Markup {
    let sign = match (verdict.passed, verdict.rejects()) {
        (true, _) => Sign::Proven,
        (false, true) => Sign::Rejected,
        (false, false) => Sign::Noted,
    };
    let evidence = &verdict.evidence;
    html! {
        li {
            details open[verdict.rejects() && !matches!(task.state, State::Ended { end: End::Done })] {
                summary {
                    (sign.named()) b { (verdict.gate) } " "
                    span.dim { (words::line(&verdict.ended, 100)) " · " (verdict.took) @if let Some(leg) = verdict.reused { " · verdict of leg " (leg) } }
                    @for figure in &evidence.figures { span.tag { (words::line(&figure.what, 60)) " " (words::line(&figure.value, 60)) } }
                }
                p { code { (words::line(&verdict.command, 300)) } }
                @if !evidence.red.is_empty() {
                    table.evidence {
                        thead { tr { th { "test" } th { "without the change" } th { "with it" } } }
                        tbody { @for test in &evidence.red { tr { th scope="row" { code { (words::line(test, 200)) } } td { (Sign::Rejected.bare()) "fails" } td { (Sign::Proven.bare()) "passes" } } } }
                    }
                }
                @for finding in &evidence.findings {
                    p.finding { @if finding.weight == Weight::Noted { (Sign::Noted.named()) } @else { (Sign::Rejected.named()) } " " (words::text(&finding.to_string())) }
                }
                @if evidence.more > 0 { p.dim { (evidence.more) " more findings" } }
                @if let Some(failure) = &verdict.failure { pre { (words::text(&failure.message)) } }
                @else if !verdict.tail.trim().is_empty() { pre { (words::text(&verdict.tail)) } }
            }
        }
    }
}

fn facts(details: &Details) -> Markup {
    let Details { task, sandbox, .. } = details;
    let seed = &task.seed;
    html! {
        section.panel {
            header.panel-head { h2 { "Facts" } }
            dl.facts.panel-body {
                dt { "project" } dd { (words::line(&seed.project.path, 300)) }
                dt { "workflow" } dd { (seed.workflow) }
                dt { "base" } dd { (words::line(seed.base.branch.as_deref().unwrap_or("a commit"), 200)) " at " code { (words::short(task.base())) } }
                dt { "branch" } dd { code { (words::line(&seed.branch, 200)) } }
                dt { "sandbox" } dd { @match sandbox { acquit_core::sandbox::Mode::On => "on", acquit_core::sandbox::Mode::Reduced => "reduced", acquit_core::sandbox::Mode::Off => b.no { "off: agents and gates may do all that you may" } } }
                @if !seed.wish.tags.is_empty() { dt { "tags" } dd { @for tag in &seed.wish.tags { span.tag { (words::line(tag, 60)) } } } }
                @for artifact in &task.artifacts { (left(task, artifact)) }
                @for (budget, spent) in &task.spent { dt { "budget " (budget) } dd { (spent) " spent" } }
            }
        }
    }
}

fn left(task: &Task, artifact: &Artifact) -> Markup {
    html! {
        @match artifact {
            Artifact::Plan { text } => { dt { "plan" } dd { details.fold { summary { (words::count(text.lines().count(), "line")) } pre { (words::text(text)) } } } },
            Artifact::Branch { commit, published, .. } => { dt { "work" } dd { code { (words::short(commit)) } @if *published { " in your repository" } @else { " in the workspace" } } },
            Artifact::Merged { branch, commit } => { dt { "merged" } dd { "into " (words::line(branch, 200)) " as " code { (words::short(commit)) } } },
            Artifact::Commits { leg, commits } => { dt { "commits" } dd { @for commit in commits { div { code { (words::short(&commit.id)) } " " (words::line(&commit.subject, 200)) " · leg " (leg) } } } },
            Artifact::Diff(stats) => { dt { "change" } dd { (stats.files) " files, " span.ok { "+" (stats.insertions) } " " span.no { "−" (stats.deletions) } " " a href={ "/tasks/" (task.id()) "/diff" } { "show the diff" } } },
            Artifact::File { stage, name, bytes, .. } => { dt { "file" } dd { code { (words::line(name, 200)) } " · " (bytes) " bytes · " (stage) } },
            Artifact::Report { stage, gate, passed, .. } => { dt { "report" } dd { (gate) " · " @if *passed { "passed" } @else { "failed" } " · " (stage) } },
            Artifact::Pushed { branch, .. } => { dt { "pushed" } dd { (words::line(branch, 200)) } },
            Artifact::PullRequest(request) => { dt { "pull request" } dd { (words::line(&request.url, 300)) } },
        }
    }
}

/// The legs, and what they cost.
fn bill(task: &Task, legs: &[Leg], now: Timestamp) -> Markup {
    html! {
        section.panel {
            header.panel-head { h2 { "Legs and cost" } }
            div.scroll tabindex="0" role="region" aria-label="Legs and cost" { table {
                thead { tr { th.n { "leg" } th { "stage" } th { "result" } th.n { "time" } th.n { "tokens" } th.n { "cost" } } }
                tbody { @for leg in legs {
                    @let past = task.past.iter().find(|past| past.number == leg.id.number);
                    tr {
                        td.n { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { (leg.id.number) } }
                        th scope="row" { (words::heading(&leg.entry)) }
                        td { @match past.map(|past| &past.ending) {
                            Some(Ending::Passed { outcome }) => { (Sign::Proven.named()) (outcome.name) },
                            Some(Ending::Held { .. }) => { (Sign::Waits.named()) "held" },
                            Some(ending) => { (Sign::Rejected.named()) (words::line(&ending.trouble().unwrap_or_default(), 200)) },
                            None => (leg.state.name().replace('_', " ")),
                        } }
                        td.n { (words::length(words::took(leg, now))) }
                        td.n { (words::tokens(leg.usage.tokens())) }
                        td.n { (words::usage_cost(&leg.usage)) }
                    }
                } }
            } }
        }
    }
}

fn conversation(task: &Task) -> Markup {
    html! {
        @if !task.conversation.is_empty() {
            section.panel {
                header.panel-head { h2 { "Conversation" } }
                ul.rows { @for remark in &task.conversation { li {
                    b { (words::line(&remark.by.to_string(), 60)) }
                    @if let Some(question) = &remark.question { blockquote.dim { (words::text(question)) } }
                    p.prose { (words::text(&remark.text)) }
                    @if remark.origin.is_some() { p.hint { "said at the forge" } }
                } } }
            }
        }
    }
}

fn timeline(events: &[Event]) -> Markup {
    let shown: Vec<&Event> = events.iter().filter(|event| event.body.level() > Level::Debug).collect();
    html! {
        section.panel {
            header.panel-head { h2 { "Events" } p.meta { span { "the newest " (shown.len()) } } }
            ol.events { @for event in shown.iter().rev() { li id={ "e" (event.seq) } {
                time datetime=(words::datetime(event.at)) { (words::moment(event.at, "%m-%d %H:%M:%S")) }
                span.dim { @if let Some(leg) = event.leg { "leg " (leg) } }
                span class=[(event.body.level() >= Level::Error).then_some("no")] { (words::line(&event.body.summary(), 300)) }
            } } }
        }
    }
}

/// The newest events of a task.
fn events(store: &mut dyn Store, id: TaskId) -> Result<Vec<Event>, Error> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = store.events(Some(id), after, READ)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.seq;
        all.extend(page);
        let surplus = all.len().saturating_sub(EVENTS);
        all.drain(..surplus);
    }
}
