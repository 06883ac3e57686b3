//! Current progress of a task, and the newest lines of the transcript.

use acquit_core::agent::{AgentEvent, Item};
use acquit_core::event::Step;
use acquit_core::leg::{Leg, Purpose};
use maud::{Markup, html};

use super::view::View;
use crate::page::{Sign, since};
use crate::{lines, route, transcript as leg_page, words};

/// Renders the panel of the running leg. `said` are its newest lines.
pub(super) fn right_now(view: &View<'_>, said: &[Item]) -> Markup {
    let Some(leg) = view.running() else { return html! {} };
    let known = view.history.legs.get(&leg.id.number).cloned().unwrap_or_default();
    let at = known.step.map_or(Some(Step::Claim), Step::next);
    let stage = view.definition.workflow.stage(leg.entry.stage.as_str());
    let gates: Vec<&str> = stage
        .map(|stage| stage.gates.iter().map(acquit_core::ids::Name::as_str).collect())
        .unwrap_or_default();
    html! {
        section.panel.runs aria-labelledby="now-h" {
            header.panel-head {
                h2 #now-h { (Sign::Runs.bare()) "Right now" }
                p.meta {
                    span { (words::heading(&leg.entry)) }
                    span { a href={ "/tasks/" (leg.id.task) "/legs/" (leg.id.number) } { "leg " (leg.id.number) } }
                    @if let Some(agent) = &known.agent { span { (words::line(agent, 60)) } }
                    @if let Some(model) = &leg.usage.model { span { (words::line(model, 60)) } }
                    @if let Some(started) = leg.started { span { b { (since(started, view.now)) } } }
                    span { (words::usage_cost(&leg.usage)) }
                }
            }
            div.panel-body.stack-s {
                @if let Some(text) = known.progress.as_deref().or_else(|| words_in(said)) { p.now-words { (words::line(text, 300)) } }
                @if let Some((name, input)) = call_in(said) { p.now-call { b { (words::line(name, 60)) } " " code { (words::line(lines::short(input).as_deref().unwrap_or(input), 200)) } } }
                ol.steps aria-label="Steps of the leg" {
                    @for (name, step) in Step::ALL {
                        li.done[at.is_none_or(|at| step < at)].at[at == Some(step)] aria-current=[(at == Some(step)).then_some("step")] {
                            (name.replace('_', " "))
                            @if let Some(took) = known.steps.get(&step) { " " small { (words::length(*took)) } }
                        }
                    }
                }
                @match &leg.entry.purpose {
                    Purpose::Fix { of, .. } => p.dim { "Next: the gates of " b { (of) } " run again." },
                    _ if !gates.is_empty() => p.dim { "Next: the " @if gates.len() == 1 { "gate " } @else { "gates " } (gates.join(", ")) "." },
                    _ => {},
                }
            }
        }
    }
}

/// Returns the newest words of the agent.
fn words_in(said: &[Item]) -> Option<&str> {
    said.iter().rev().find_map(|item| match &item.said {
        AgentEvent::Text { text } | AgentEvent::Raw { text } => Some(text.as_str()),
        _ => None,
    })
}

/// Returns the tool call that runs: the newest, if it has no result yet.
fn call_in(said: &[Item]) -> Option<(&str, &str)> {
    said.iter().rev().find_map(|item| match &item.said {
        AgentEvent::ToolUse { name, input } => Some(Some((name.as_str(), input.as_str()))),
        AgentEvent::ToolResult { .. } | AgentEvent::Text { .. } | AgentEvent::End { .. } => Some(None),
        _ => None,
    })?
}

/// Renders the newest lines, and a link to all others.
pub(super) fn transcript(view: &View<'_>, spoken: Option<&Leg>, said: &[Item]) -> Markup {
    let id = view.task.id();
    let runs = view.running().is_some();
    let words_of = |leg: &Leg| view.history.legs.get(&leg.id.number).and_then(|known| known.agent.as_deref());
    let entry = |leg: &Leg| {
        html! {
            li {
                (route::sign(view.task, leg).named())
                a href={ "/tasks/" (id) "/legs/" (leg.id.number) } { b { (words::heading(&leg.entry)) } }
                span.dim { (route::result(view.task, leg)) }
                span.dim.end { "leg " (leg.id.number) @if let Some(agent) = words_of(leg) { " · " (words::line(agent, 40)) } @if leg.started.is_some() { " · " (words::length(words::took(leg, view.now))) " · " (words::usage_cost(&leg.usage)) } }
            }
        }
    };
    // Legs are in order, around the open one.
    let open = spoken.map_or(u32::MAX, |leg| leg.id.number);
    html! {
        section #transcript .panel aria-labelledby="tr-h" {
            header.panel-head.row { h2 #tr-h { "Transcript" } (leg_page::search_form(id, "")) }
            ol #leg-list .leg-list data-live { @for leg in view.legs.iter().filter(|leg| leg.id.number < open) { (entry(leg)) } }
            // Elements of a leg have its number in their ids: when the next leg begins, it takes their place.
            div #leg-open .leg-open data-live data-list {
                @if let Some(leg) = spoken {
                    @let number = leg.id.number;
                    p id={ "leg-now-" (number) } .leg-name {
                        (route::sign(view.task, leg).named())
                        a href={ "/tasks/" (id) "/legs/" (number) } { b { (words::heading(&leg.entry)) } }
                        span.dim { "leg " (number) ", the newest lines" }
                    }
                    div id={ "scroll-" (number) } .scrolled tabindex="0" role="region" aria-label="Newest lines" data-list {
                        (lines::lines(said, leg.id, None, ""))
                    }
                    @if said.iter().all(|item| !lines::is_shown(&item.said) || matches!(item.said, AgentEvent::End { .. })) { p id={ "silent-" (number) } .panel-body.dim { "The agent has said nothing yet." } }
                    @if runs { (leg_page::follow()) }
                } @else { p #no-leg .panel-body.dim { "No agent has worked on this task yet." } }
            }
            ol #leg-list-after .leg-list data-live { @for leg in view.legs.iter().filter(|leg| leg.id.number > open) { (entry(leg)) } }
        }
    }
}
