//! Everything that waits for a person, each with its form.

use acquit_app::{App, Error};
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use maud::html;

use crate::page::Content;
use crate::page::Sign;
use crate::{request, words};

/// So many requests are on the page. Who has more answers some first.
const MOST: u32 = 100;

/// The page.
pub fn content(app: &App, store: &mut dyn Store) -> Result<Content, Error> {
    let (tasks, more) = app.inbox(store, None, MOST)?;
    let heading = match tasks.len() {
        0 => "Nothing waits for you".to_owned(),
        1 => "1 request waits for you".to_owned(),
        number => format!("{number} requests wait for you"),
    };
    let body = html! {
        div #head .head data-live {
            h1 { (heading) @if more { ", and more" } }
            p.lede { "Tasks continue as soon as you answer. The first answer counts." }
        }
        div #requests data-live data-list {
            @for task in &tasks { (article(task)) }
        }
    };
    Ok(Content { title: "Inbox".to_owned(), task: None, body })
}

fn article(task: &Task) -> maud::Markup {
    let seed = &task.seed;
    html! {
        @if let State::Waiting { request } = &task.state {
            article.panel.asks id={ "request-" (seed.id) "-" (request.number) } data-live {
                header.panel-head {
                    h2 { (Sign::Needs.bare()) a href={ "/tasks/" (seed.id) } { (words::line(&seed.wish.title, 200)) } }
                    p.meta { span.id { (seed.id) } span { (words::line(&seed.project.name, 60)) } span { (seed.workflow) } span { (request.stage) } }
                }
                div.panel-body { (request::form(task, request, "inbox")) }
            }
        }
    }
}
