//! The transcript of a leg, and a search through all legs of a task.

use acquit_app::transcript::{self, Part};
use acquit_app::{App, Error};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg;
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Content;
use crate::{lines, route, words};

/// Maximum number of items on a page.
const MOST: usize = 1_000;
/// Maximum number of search results to show.
const HITS: usize = 200;

/// Selects a part of a transcript.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    from: Option<u64>,
    line: Option<u64>,
    #[serde(default)]
    find: String,
}

/// Renders the page of a leg.
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
    let Part { items, next, omitted } = transcript::part(store, id, from, MOST)?;
    let first = if from == 0 { Some(1) } else { wanted.line };
    let shown = items.iter().filter(|item| lines::is_shown(&item.said)).count() as u64;
    let now = (app.runtime.now)();
    let runs = leg.state == leg::State::Running;
    let address = format!("/tasks/{task}/legs/{number}");
    let last = legs.last().map_or(number, |leg| leg.id.number);
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (task) } { (task) } " / leg " (number) }
        div #head .head data-live {
            h1 { (route::sign(&known, leg).named()) (words::heading(&leg.entry)) }
            p.lede { (words::line(&known.seed.wish.title, 200)) " · " (route::result(&known, leg)) " · " (words::length(words::took(leg, now))) " · " (words::usage_cost(&leg.usage)) }
        }
        div.acts {
            @if number > 1 { a.btn.s #before href={ "/tasks/" (task) "/legs/" (number - 1) } { "← leg " (number - 1) } }
            @if number < last { a.btn.s #after href={ "/tasks/" (task) "/legs/" (number + 1) } { "leg " (number + 1) " →" } }
            (search_form(task, &wanted.find))
            a.btn.s href={ (address) "/output" } { "As printed" }
        }
        section.panel {
            header.panel-head { h2 { "Transcript" } }
            @if from > 0 { p.panel-body { a href=(address) { "From the beginning" } } }
            (lines::lines(&items, id, first, &wanted.find))
            div #silent data-live { @if items.is_empty() { p.panel-body.dim { @if runs { "Nothing was printed yet." } @else { "Nothing was printed." } } } }
            @if omitted > 0 { p.panel-body.dim { (omitted) " more records are only in " a href={ (address) "/output" } { "the leg's output" } "." } }
            @if let Some(next) = next { p.panel-body { a.btn href={ (address) "?from=" (next) @if let Some(first) = first { "&line=" (first + shown) } } { "Later lines" } } }
        }
        div #follow-box data-live data-list { @if runs { (follow()) } }
    };
    Ok(Content { title: format!("{id}"), task: Some(task), body })
}

/// Renders the line below a transcript that still grows.
pub fn follow() -> Markup {
    html! { p #follow .follow { span.hint { "New lines appear here." } button.btn.s type="button" hidden aria-pressed="true" data-follow { "Stop following" } } }
}

/// Renders the form to search all legs.
pub fn search_form(task: TaskId, find: &str) -> Markup {
    html! {
        form.tools method="get" action={ "/tasks/" (task) "/transcript" } role="search" aria-label="Transcript" {
            label { span.sr { "Search all legs" } input type="search" name="find" value=(find) placeholder="Search all legs"; }
            button.btn.s { "Search" }
            button.btn.s type="button" hidden data-unfold { "Unfold all" }
        }
    }
}

/// Renders the results of a search.
pub fn search(store: &mut dyn Store, task: TaskId, wanted: &Wanted) -> Result<Content, Error> {
    let known = store.task(task)?;
    let find = wanted.find.trim();
    let (hits, more) =
        if find.is_empty() { (Vec::new(), false) } else { transcript::search(store, task, find, HITS)? };
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (task) } { (task) } " / search" }
        div.head {
            h1 { @if find.is_empty() { "Search the transcript" } @else { (words::count(hits.len(), "line")) @if more { ", and more" } " with “" (words::line(find, 80)) "”" } }
            p.lede { (words::line(&known.seed.wish.title, 200)) }
        }
        div.acts { (search_form(task, find)) }
        @for leg in known.past.iter().map(|past| past.number).chain(known.past.len().try_into().ok().map(|past: u32| past + 1)) {
            @let found: Vec<_> = hits.iter().filter(|hit| hit.leg.number == leg).collect();
            @if !found.is_empty() {
                section.panel {
                    header.panel-head { h2 { a href={ "/tasks/" (task) "/legs/" (leg) } { "Leg " (leg) } } p.meta { span { (words::count(found.len(), "line")) } } }
                    ol.lines { @for hit in found { (lines::line(&hit.item, hit.leg, None, find)) } }
                }
            }
        }
    };
    Ok(Content { title: format!("Search {task}"), task: Some(task), body })
}
