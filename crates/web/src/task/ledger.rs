//! The records of a task: conversation, artifacts, timeline of its legs, events, and cost.

use std::time::Duration;

use acquit_core::artifact::Artifact;
use acquit_core::event::{Level, Step};
use acquit_core::leg::Leg;
use acquit_core::task::Task;
use maud::{Markup, html};

use super::view::View;
use crate::page::Sign;
use crate::{route, words};

/// Renders the remarks of people.
pub(super) fn conversation(view: &View<'_>) -> Markup {
    html! {
        @if !view.task.conversation.is_empty() {
            section.panel {
                header.panel-head { h2 { "Conversation" } }
                ul.rows.talk { @for (index, remark) in view.task.conversation.iter().enumerate() { li {
                    @let at = view.history.remarks.get(index);
                    div {
                        b { (words::line(&remark.by.to_string(), 60)) }
                        @if let Some(at) = at { " " time.dim datetime=(words::datetime(*at)) { (words::moment(*at, "%d %b %H:%M")) } }
                    }
                    div {
                        @if let Some(question) = &remark.question { blockquote.dim { (words::text(question)) } }
                        p.prose { (words::text(&remark.text)) }
                        @if let Some(leg) = at.and_then(|at| reached(view, *at)) { p.hint { "reached leg " (leg) } }
                        @if remark.origin.is_some() { p.hint { "written at the forge; agents are told that it is untrusted" } }
                    }
                } } }
            }
        }
    }
}

/// Returns the first leg that began after a remark.
fn reached(view: &View<'_>, at: acquit_core::time::Timestamp) -> Option<u32> {
    let later = |leg: &&Leg| leg.started.is_some_and(|started| started >= at);
    view.legs.iter().find(later).map(|leg| leg.id.number)
}

/// Renders the artifacts of the legs.
pub(super) fn artifacts(view: &View<'_>) -> Markup {
    html! {
        @if !view.task.artifacts.is_empty() {
            section.panel {
                header.panel-head { h2 { "Artifacts" } }
                dl.facts.panel-body {
                    @for (index, artifact) in view.task.artifacts.iter().enumerate() { (artifact_row(view.task, index, artifact)) }
                    @for (number, leg) in &view.history.legs { @if let Some(saved) = &leg.saved { dt { "attempt" } dd { code { (words::line(saved, 200)) } " · leg " (number) } } }
                }
            }
        }
    }
}

fn artifact_row(task: &Task, index: usize, artifact: &Artifact) -> Markup {
    let page = format!("/tasks/{}/artifacts/{index}", task.id());
    html! {
        @match artifact {
            Artifact::Plan { text } => { dt { "plan" } dd { details.fold { summary { (words::count(text.lines().count(), "line")) } pre { (words::text(text)) } } " " a href=(page) { "open" } } },
            Artifact::Branch { commit, published, .. } => { dt { "work" } dd { code { (words::short(commit)) } @if *published { " in your repository" } @else { " in the workspace" } } },
            Artifact::Merged { branch, commit } => { dt { "merged" } dd { "into " (words::line(branch, 200)) " as " code { (words::short(commit)) } } },
            Artifact::Commits { leg, commits } => { dt { "commits" } dd { @for commit in commits { div { code { (words::short(&commit.id)) } " " (words::line(&commit.subject, 200)) " · leg " (leg) } } } },
            Artifact::Diff(stats) => { dt { "change" } dd { (words::count(usize::try_from(stats.files).unwrap_or(usize::MAX), "file")) ", " span.ok { "+" (stats.insertions) } " " span.no { "−" (stats.deletions) } " " a href={ "/tasks/" (task.id()) "/diff" } { "show the diff" } } },
            Artifact::File { stage, name, bytes, .. } => { dt { "file" } dd { a href=(page) { code { (words::line(name, 200)) } } " · " (words::size(*bytes)) " · " (stage) } },
            Artifact::Report { stage, gate, passed, .. } => { dt { "report" } dd { a href=(page) { (gate) } " · " @if *passed { "passed" } @else { "failed" } " · " (stage) } },
            Artifact::Pushed { branch, .. } => { dt { "pushed" } dd { (words::line(branch, 200)) } },
            Artifact::PullRequest(request) => { dt { "pull request" } dd { (words::forge_link(task, &request.url)) } },
        }
    }
}

/// Formats a share in percent with two digits, for SVG attributes.
fn percent(part: Duration, whole: Duration) -> String {
    let share = if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() * 100.0 };
    format!("{:.2}%", share.clamp(0.0, 100.0))
}

/// Returns the start of the task's first leg, and the time until the end of the last.
fn extent(view: &View<'_>) -> Option<(acquit_core::time::Timestamp, Duration)> {
    let first = view.legs.iter().filter_map(|leg| leg.started).min()?;
    let last = view.legs.iter().filter_map(|leg| leg.started.map(|_| leg.ended.unwrap_or(view.now))).max()?;
    Some((first, last.since(first).max(Duration::from_millis(1))))
}

/// Renders when each leg ran, with the time of agents and gates, and the newest events.
pub(super) fn timeline(view: &View<'_>) -> Markup {
    let shown: Vec<_> =
        view.history.events.iter().filter(|event| event.body.level() > Level::Debug).collect();
    html! {
        section.panel {
            header.panel-head.row { h2 { "Timeline" } p.hint { span.key.agent {} " agent " span.key.g-ok {} " gates passed " span.key.g-no {} " gates rejected" } }
            @if let Some((first, whole)) = extent(view) {
                div.panel-body {
                    ol.gantt { @for leg in view.legs.iter().filter(|leg| leg.started.is_some()) { (bar(view, leg, first, whole)) } }
                    p.axis { span { (words::moment(first, "%H:%M:%S")) } span { (words::moment(acquit_core::time::Timestamp(first.0 + i64::try_from(whole.as_millis()).unwrap_or(0)), "%H:%M:%S")) } }
                }
            }
            (steps(view))
            details #events-fold .fold.panel-body {
                summary { (words::count(view.history.count, "event")) @if view.history.count > view.history.events.len() { ", the newest " (view.history.events.len()) " here" } }
                ol.events { @for event in shown.iter().rev() { li id={ "e" (event.seq) } {
                    time datetime=(words::datetime(event.at)) { (words::moment(event.at, "%m-%d %H:%M:%S")) }
                    span.dim { @if let Some(leg) = event.leg { "leg " (leg) } }
                    span class=[(event.body.level() >= Level::Error).then_some("no")] { (words::line(&event.body.summary(), 300)) }
                } } }
            }
        }
    }
}

/// Renders how long each step of each leg took.
fn steps(view: &View<'_>) -> Markup {
    let known: Vec<_> = view.history.legs.iter().filter(|(_, leg)| !leg.steps.is_empty()).collect();
    html! {
        @if !known.is_empty() {
            details #steps-fold .fold.panel-body {
                summary { "Steps of each leg" }
                div.scroll tabindex="0" role="region" aria-label="Steps of each leg" { table.took {
                    thead { tr { th scope="col" { "leg" } @for (name, _) in Step::ALL { th scope="col" { (name.replace('_', " ")) } } } }
                    tbody { @for (number, leg) in &known { tr {
                        th scope="row" { (number) }
                        @for (_, step) in Step::ALL { td { @match leg.steps.get(&step) { Some(took) => (words::length(*took)), None => "–" } } }
                    } } }
                } }
            }
        }
    }
}

fn bar(view: &View<'_>, leg: &Leg, first: acquit_core::time::Timestamp, whole: Duration) -> Markup {
    let sign = route::sign(view.task, leg);
    let started = leg.started.unwrap_or(first);
    let took = words::took(leg, view.now);
    let known = view.history.legs.get(&leg.id.number).cloned().unwrap_or_default();
    // Gates run at the end of a leg.
    let gates = known.gates_took.min(took);
    let (at, work) = (started.since(first), took.saturating_sub(gates));
    html! {
        li {
            span { (sign.named()) (words::line(leg.entry.stage.as_str(), 14)) " " (leg.id.number) }
            svg height="28" role="img" aria-label={ (words::heading(&leg.entry)) ": " (words::length(work)) " and " (words::length(gates)) " of gates" } {
                line.base x1="0" y1="14" x2="100%" y2="14" {}
                rect class={ "agent" @if sign == Sign::Runs { " live" } } x=(percent(at, whole)) y="8" width=(percent(work, whole)) height="12" {}
                rect class={ @if sign == Sign::Rejected { "g-no" } @else { "g-ok" } } x=(percent(at + work, whole)) y="8" width=(percent(gates, whole)) height="12" {}
            }
            span.dim { (words::length(took)) }
        }
    }
}

/// Renders the cost over time and by leg.
pub(super) fn cost(view: &View<'_>) -> Markup {
    let paid = view.usage.paid().unwrap_or(0);
    html! {
        section.panel {
            header.panel-head.row { h2 { "Cost" } p.hint { b { (words::usage_cost(&view.usage)) } @if let Some(most) = view.max_cost() { " of " (words::cost(Some(most))) } @if view.usage.estimated() > 0 { " · ≈ marks prices of our list, where the agent told none" } } }
            @if let (Some((first, whole)), true) = (extent(view), paid > 0) { (growth(view, first, whole, paid)) }
            div.scroll tabindex="0" role="region" aria-label="Cost by leg" { table.slim {
                thead { tr { th scope="col" { "leg" } th.n.wordy scope="col" { "tokens in" } th.n.wordy scope="col" { "from cache" } th.n.wordy scope="col" { "out" } th.n scope="col" { "time" } th.n scope="col" { "cost" } } }
                tbody {
                    @for leg in view.legs {
                        tr {
                            th scope="row" { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { (leg.id.number) " " (words::heading(&leg.entry)) } }
                            (figures(&leg.usage)) td.n { (words::length(words::took(leg, view.now))) } td.n { (words::usage_cost(&leg.usage)) }
                        }
                    }
                    tr.total { th scope="row" { "total" } (figures(&view.usage)) td.n { (words::length(view.legs.iter().map(|leg| words::took(leg, view.now)).sum())) } td.n { (words::usage_cost(&view.usage)) } }
                }
            } }
        }
    }
}

fn figures(usage: &acquit_core::agent::Usage) -> Markup {
    let input = usage.input + usage.cache_write_5m + usage.cache_write_1h;
    html! { td.n.wordy { (words::tokens(input)) } td.n.wordy { (words::tokens(usage.cache_read)) } td.n.wordy { (words::tokens(usage.output)) } }
}

/// Draws the total cost after each leg, over time.
fn growth(view: &View<'_>, first: acquit_core::time::Timestamp, whole: Duration, paid: u64) -> Markup {
    let mut sum = 0_u64;
    let steps: Vec<(Duration, Duration, u64, bool)> = view
        .legs
        .iter()
        .filter_map(|leg| {
            let started = leg.started?;
            sum = sum.saturating_add(leg.usage.paid().unwrap_or(0));
            let runs = leg.state == acquit_core::leg::State::Running;
            Some((started.since(first), leg.ended.unwrap_or(view.now).since(first), sum, runs))
        })
        .collect();
    html! {
        div.panel-body {
            svg.growth height="72" role="img" aria-label={ "The cost grew to " (words::cost(Some(paid))) } {
                @for (index, (from, to, sum, runs)) in steps.iter().enumerate() {
                    @let until = steps.get(index + 1).map_or(*to, |next| next.0);
                    @let height = 64 * *sum / paid.max(1);
                    rect class={ "area" @if *runs { " live" } } x=(percent(*from, whole)) y=(68 - height) width=(percent(until.saturating_sub(*from), whole)) height=(height) {}
                }
            }
            p.axis { span { (words::moment(first, "%H:%M:%S")) } span { (words::cost(Some(paid))) } }
        }
    }
}
