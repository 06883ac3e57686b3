//! What an agent said and did in a leg: tool calls folded, thinking dimmed, and an address for each line.

use acquit_app::{App, Error};
use acquit_core::agent::{AgentEvent, Item};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg;
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Content;
use crate::page::Sign;
use crate::words;

/// How many chunks of a transcript are read at once.
const CHUNKS: u32 = 200;
/// How many things a page shows.
const MOST: usize = 1_000;
/// How many of them the task's page shows.
const NEWEST: usize = 30;
/// So far before the end of the output its newest part begins.
const TAIL: u64 = 32 * 1024;

/// Which part of a transcript is wanted.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    from: Option<u64>,
}

/// The page of a leg.
pub fn content(
    app: &App,
    store: &mut dyn Store,
    task: TaskId,
    number: u32,
    wanted: &Wanted,
) -> Result<Content, Error> {
    let id = LegId { task, number };
    let known = store.task(task)?;
    let legs = store.legs(task)?;
    let leg = legs.iter().find(|leg| leg.id == id).ok_or(Error::NoLeg { task, leg: number })?;
    let from = wanted.from.unwrap_or(0);
    let (items, next, omitted) = part(store, id, from)?;
    let now = (app.runtime.now)();
    let runs = leg.state == leg::State::Running;
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (task) } { (task) } " / leg " (number) }
        div #head .head data-live {
            h1 { (words::heading(&leg.entry)) }
            p.lede { (words::line(&known.seed.wish.title, 200)) " · " (leg.state.name().replace('_', " ")) " · " (words::length(words::took(leg, now))) " · " (words::usage_cost(&leg.usage)) }
        }
        section.panel {
            header.panel-head { h2 { "Transcript" } }
            @if from > 0 { p.panel-body { a href={ "/tasks/" (task) "/legs/" (number) } { "From the beginning" } } }
            (lines(&items, id))
            @if items.is_empty() { p.panel-body.dim { "Nothing was printed." } }
            @if omitted > 0 { p.panel-body.dim { (omitted) " more records are only in the leg's output file." } }
            @if let Some(next) = next { p.panel-body { a.btn href={ "/tasks/" (task) "/legs/" (number) "?from=" (next) } { "Later lines" } } }
        }
        @if runs { p #follow .hint { "New lines appear here." } }
    };
    Ok(Content { title: format!("{id}"), task: Some(task), body })
}

/// The items from a byte on, the byte at which the next part begins, and how many the store does not have.
fn part(store: &mut dyn Store, leg: LegId, from: u64) -> Result<(Vec<Item>, Option<u64>, u64), Error> {
    let (mut items, mut at, mut omitted) = (Vec::new(), from, 0);
    loop {
        let chunks = store.transcript(leg, at, CHUNKS)?;
        let Some(last) = chunks.last() else { return Ok((items, None, omitted)) };
        at = last.to;
        for chunk in chunks {
            omitted += chunk.omitted;
            items.extend(chunk.items);
        }
        if items.len() >= MOST {
            return Ok((items, Some(at), omitted));
        }
    }
}

/// The newest things of a leg. Where they begin is found by the size of the output, so it costs the same for every length.
pub fn newest(app: &App, store: &mut dyn Store, leg: LegId) -> Result<Vec<Item>, Error> {
    let size = std::fs::metadata(app.runtime.leg_folder(leg).output()).map_or(0, |about| about.len());
    let (mut items, ..) = part(store, leg, size.saturating_sub(TAIL))?;
    items.drain(..items.len().saturating_sub(NEWEST));
    Ok(items)
}

/// Things that were said, one after another.
pub fn lines(items: &[Item], leg: LegId) -> Markup {
    html! {
        ol.lines id={ "lines-" (leg.number) } data-live data-list {
            @for item in items { @if let Some(shown) = one(&item.said) {
                li id={ "l" (leg.number) "-" (item.offset) } {
                    a.ln href={ "/tasks/" (leg.task) "/legs/" (leg.number) "?from=" (item.offset) "#l" (leg.number) "-" (item.offset) } { (item.offset) }
                    div { (shown) }
                }
            } }
        }
    }
}

fn one(said: &AgentEvent) -> Option<Markup> {
    let shown = match said {
        AgentEvent::Text { text } => html! { p.says { (words::text(text)) } },
        AgentEvent::Raw { text } => html! { p.raw { (words::text(text)) } },
        AgentEvent::Thinking { text } => html! { p.thinks { (words::text(text)) } },
        AgentEvent::ToolUse { name, input } => html! {
            details.tool { summary { b { (words::line(name, 60)) } " " code { (words::line(input, 120)) } } pre { (words::text(input)) } }
        },
        AgentEvent::ToolResult { ok, text } => html! {
            details.tool {
                summary { @if *ok { (Sign::Proven.named()) } @else { (Sign::Rejected.named()) } " " code { (words::line(text, 120)) } }
                pre { (words::text(text)) }
            }
        },
        AgentEvent::Denied { tool, text } => {
            html! { p { (Sign::Rejected.bare()) b { (words::line(tool, 60)) } " was denied: " (words::text(text)) } }
        }
        AgentEvent::Limit { text, .. } => {
            html! { p { (Sign::Waits.bare()) "usage limit: " (words::text(text)) } }
        }
        AgentEvent::Fault { text, .. } => html! { p { (Sign::Noted.bare()) (words::text(text)) } },
        AgentEvent::End { ok, text } => {
            html! { p.dim { @if *ok { "The agent ended its turn. " } @else { "The agent ended with an error. " } (words::text(text)) } }
        }
        AgentEvent::Report { value } => {
            html! { details.tool { summary { b { "report" } } pre { (words::text(&serde_json::to_string_pretty(value).unwrap_or_default())) } } }
        }
        AgentEvent::Usage(_) | AgentEvent::Session { .. } | AgentEvent::Unknown { .. } => return None,
    };
    Some(shown)
}
