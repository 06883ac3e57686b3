//! The large drawing of a task's path: boxes with their legs, and fixes below with the gates that rejected the work. On
//! narrow screens, a list of legs.

use std::time::Duration;

use acquit_core::agent::Usage;
use acquit_core::leg::{Ending, Leg, Purpose, State};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;
use acquit_core::workflow::Workflow;
use maud::{Markup, html};

use crate::page::Sign;
use crate::path::{Node, nodes};
use crate::words;

/// Distance between two boxes.
const STEP: usize = 160;
/// Width of a box.
const BOX: usize = 136;
/// Start of the boxes of fixes.
const BELOW: usize = 128;
/// Number of legs that fit into a box.
const CHIPS: usize = 2;

/// Legs that belong together in the drawing.
#[derive(Default)]
struct Group<'t> {
    legs: Vec<(&'t Leg, Sign)>,
    took: Duration,
    usage: Usage,
    gates: Vec<&'t str>,
    stage: &'t str,
}

impl<'t> Group<'t> {
    fn add(&mut self, task: &Task, leg: &'t Leg, now: Timestamp) {
        self.legs.push((leg, sign(task, leg)));
        self.took += words::took(leg, now);
        self.usage.add(&leg.usage);
        self.stage = leg.entry.stage.as_str();
        if let Purpose::Fix { failures, .. } = &leg.entry.purpose {
            for failure in failures {
                if !self.gates.contains(&failure.gate.as_str()) {
                    self.gates.push(failure.gate.as_str());
                }
            }
        }
    }

    fn sum(&self) -> String {
        let cost = if self.usage.is_empty() {
            String::new()
        } else {
            format!(" · {}", words::usage_cost(&self.usage))
        };
        format!("{}{cost}", words::length(self.took))
    }
}

/// Returns the status of a leg.
pub fn sign(task: &Task, leg: &Leg) -> Sign {
    let past = task.past.iter().find(|past| past.number == leg.id.number);
    match (leg.state, past.map(|past| &past.ending)) {
        (State::Running, _) => Sign::Runs,
        (State::Ready, _) => Sign::Queued,
        (_, Some(Ending::Passed { .. })) | (State::Passed, None) => Sign::Proven,
        (_, Some(Ending::Held { .. })) | (State::Held, None) => Sign::Waits,
        (State::Cancelled, _) => Sign::Without,
        _ => Sign::Rejected,
    }
}

/// Returns the result of a leg in one line.
pub fn result(task: &Task, leg: &Leg) -> String {
    let past = task.past.iter().find(|past| past.number == leg.id.number);
    match past.map(|past| &past.ending) {
        Some(Ending::Passed { outcome }) => match outcome.summary() {
            Some(summary) => format!("{}: {}", outcome.name, words::line(&summary, 160)),
            None => outcome.name.to_string(),
        },
        Some(ending) => words::line(&ending.trouble().unwrap_or_default(), 200),
        None => match leg.state {
            State::Running => "running now".to_owned(),
            State::Ready => "waiting for a worker".to_owned(),
            other => other.name().replace('_', " "),
        },
    }
}

/// Returns the stage that a leg counts for, and whether it repairs that stage.
fn place(leg: &Leg) -> (&str, bool) {
    fn subject(entry: &acquit_core::leg::Entry) -> &str {
        match &entry.purpose {
            Purpose::Fix { of, .. } => of.as_str(),
            Purpose::Resolve { of, .. } => subject(of),
            Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => entry.stage.as_str(),
        }
    }
    let repairs = matches!(leg.entry.purpose, Purpose::Fix { .. } | Purpose::Resolve { .. });
    (subject(&leg.entry), repairs)
}

/// Renders the drawing and the list.
pub fn route(task: &Task, legs: &[Leg], workflow: &Workflow, here: Sign, now: Timestamp) -> Markup {
    let stops = nodes(task, workflow, here);
    let group = |name: &str, repairs: bool| {
        let mut group = Group::default();
        for leg in legs.iter().filter(|leg| place(leg) == (name, repairs)) {
            group.add(task, leg, now);
        }
        group
    };
    let groups: Vec<(Node, Group<'_>, Group<'_>)> = stops
        .into_iter()
        .map(|node| {
            let (own, fixes) = (group(&node.name, false), group(&node.name, true));
            (node, own, fixes)
        })
        .collect();
    let width = groups.len() * STEP - (STEP - BOX) + 2;
    let height = if groups.iter().any(|(_, _, fixes)| !fixes.legs.is_empty()) { 190 } else { 80 };
    let ahead: Vec<&str> = groups
        .iter()
        .filter(|(node, own, fixes)| {
            node.sign == Sign::ToCome && own.legs.is_empty() && fixes.legs.is_empty()
        })
        .map(|(node, ..)| node.name.as_str())
        .collect();
    html! {
        section #route .panel.route data-live aria-label="Stages" {
            div.route-box tabindex="0" role="region" aria-label="Stages, drawn" {
                svg.drawn width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label="Stages and legs" {
                    (crate::page::arrow_heads("r"))
                    @for (index, (node, own, fixes)) in groups.iter().enumerate() {
                        @let x = index * STEP + 1;
                        @if index > 0 {
                            path class={ "edge" @if node.sign == Sign::ToCome { " ahead" } } d={ "M" (x - (STEP - BOX)) " 39H" (x - 7) } marker-end={ "url(#r" @if node.sign == Sign::ToCome { "-ahead" } ")" } {}
                        }
                        (stop(task, x, node, own))
                        @if !fixes.legs.is_empty() { (below(task, x, fixes)) }
                    }
                }
            }
            ol.legs aria-label="Legs" {
                @for leg in legs {
                    li class=[place(leg).1.then_some("in")] {
                        (sign(task, leg).named())
                        span { b { (words::heading(&leg.entry)) } " " a href={ "/tasks/" (task.id()) "/legs/" (leg.id.number) } { "leg " (leg.id.number) } }
                        span.dim { @if leg.started.is_some() { (words::length(words::took(leg, now))) " · " (words::usage_cost(&leg.usage)) } }
                        small { (result(task, leg)) }
                    }
                }
                @if !ahead.is_empty() { li.ahead { (Sign::ToCome.bare()) span { (ahead.join(", ")) } span {} small { "to come" } } }
            }
        }
    }
}

fn stop(task: &Task, x: usize, node: &Node, own: &Group<'_>) -> Markup {
    let ahead = node.sign == Sign::ToCome;
    let more = own.legs.len().saturating_sub(CHIPS);
    html! {
        rect class={ "box" @if ahead { " ahead" } @if node.current { " now " (node.sign.class()) } } x=(x) y="1" width=(BOX) height="76" rx="6" {}
        use class=(node.sign.class()) href={ "#i-" (node.sign.class()) } x=(x + 12) y="13" width="14" height="14" {}
        text.name x=(x + 32) y="25" { (words::line(&node.name, 14)) }
        @if own.legs.is_empty() {
            text.dim x=(x + 12) y="64" { @match node.sign { Sign::ToCome => "to come", Sign::Proven => "by a person", Sign::Without => "left out", other => (other.word()) } }
        } @else {
            @if more > 0 { text.dim x=(x + BOX - 8) y="25" text-anchor="end" { "+" (more) } }
            @for (place, (leg, sign)) in own.legs.iter().skip(more).enumerate() { (chip(task, x + 12 + place * 58, leg, *sign)) }
            @if own.legs.iter().any(|(leg, _)| leg.started.is_some()) { text.dim x=(x + 12) y="69" { (own.sum()) } }
        }
    }
}

fn chip(task: &Task, x: usize, leg: &Leg, sign: Sign) -> Markup {
    html! {
        a href={ "/tasks/" (task.id()) "/legs/" (leg.id.number) } aria-label={ "leg " (leg.id.number) ", " (sign.word()) } {
            rect.chip x=(x) y="34" width="54" height="19" rx="4" {}
            use class=(sign.class()) href={ "#i-" (sign.class()) } x=(x + 4) y="38" width="12" height="12" {}
            text.dim x=(x + 20) y="48" { "leg " (leg.id.number) }
        }
    }
}

fn below(task: &Task, x: usize, fixes: &Group<'_>) -> Markup {
    let Some((last, sign)) = fixes.legs.last() else { return html! {} };
    let gates = words::line(&fixes.gates.join(", "), 16);
    let back = *sign == Sign::Proven;
    html! {
        path.edge.bad d={ "M" (x + 34) " 77V121" } marker-end="url(#r-bad)" {}
        text.bad-t x=(x + 40) y="95" { (gates) }
        path class={ "edge " @if back { "good" } @else { "ahead" } } d={ "M" (x + 102) " 128V84" } marker-end={ "url(#r-" @if back { "good" } @else { "ahead" } ")" } {}
        text class={ @if back { "good-t" } @else { "dim" } } x=(x + 96) y="116" text-anchor="end" { @if back { "fixed" } @else { "then gates again" } }
        rect class={ "box" @if *sign == Sign::Runs { " now run" } } x=(x) y=(BELOW) width=(BOX) height="60" rx="6" {}
        use class=(sign.class()) href={ "#i-" (sign.class()) } x=(x + 12) y=(BELOW + 12) width="14" height="14" {}
        text.name x=(x + 32) y=(BELOW + 24) { (words::line(fixes.stage, 9)) @if fixes.legs.len() > 1 { " ×" (fixes.legs.len()) } }
        a href={ "/tasks/" (task.id()) "/legs/" (last.id.number) } aria-label={ "leg " (last.id.number) ", " (sign.word()) } { text.dim.link x=(x + BOX - 12) y=(BELOW + 24) text-anchor="end" { "leg " (last.id.number) } }
        text.dim x=(x + 12) y=(BELOW + 46) { (fixes.sum()) }
    }
}
