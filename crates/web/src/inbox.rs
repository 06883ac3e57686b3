//! All open requests to people with their forms, and recent answers of others.

use acquit_app::Error;
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use acquit_core::time::Timestamp;
use maud::{Markup, html};

use crate::page::{Content, Sign, since};
use crate::request::{self, Subject};
use crate::shared::Shared;
use crate::words;

/// Maximum number of requests on the page. Further ones appear when some are answered.
const MOST: u32 = 50;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store) -> Result<Content, Error> {
    let (mut tasks, more) = shared.app.inbox(store, None, MOST)?;
    // The longest-waiting task comes first.
    tasks.reverse();
    let now = store.now()?;
    let mut all = Vec::new();
    for task in tasks {
        let definition = store.definition(task.id())?;
        let State::Waiting { request } = &task.state else { continue };
        let subject = Subject::read(shared, store, &task, &definition, request)?;
        all.push((task, subject));
    }
    let heading = match all.len() {
        0 => "Nothing waits for you".to_owned(),
        1 => "1 request waits for you".to_owned(),
        number => format!("{number} requests wait for you"),
    };
    let body = html! {
        div #head .head data-live {
            h1 { (heading) @if more { ", and more" } }
            p.lede { "Tasks continue as soon as you answer. The first answer counts." }
        }
        div.inbox {
            nav #waiting .panel data-live aria-label="Requests" { @if !all.is_empty() { ol { @for (task, subject) in &all { (entry(task, subject.asked, now)) } } } @else { p.panel-body.dim { "No requests." } } }
            div #requests data-live data-list {
                @for (task, subject) in &all { @if let State::Waiting { request } = &task.state {
                    article.panel.asks id={ "request-" (task.id()) "-" (request.number) } data-live {
                        (request::article(task, request, subject, "inbox", now))
                    }
                } }
            }
        }
    };
    Ok(Content { title: "Inbox".to_owned(), task: None, body })
}

fn entry(task: &Task, asked: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let State::Waiting { request } = &task.state {
            li { a href={ "#request-" (task.id()) "-" (request.number) } {
                (Sign::Needs.bare()) b { (request::headline(task, request)) }
                @if let Some(asked) = asked { (since(asked, now)) }
                small { (task.id()) " · " (words::line(&task.seed.project.name, 40)) " · " (words::line(&task.seed.wish.title, 60)) }
            } }
        }
    }
}
