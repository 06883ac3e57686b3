//! All open requests to people with their forms, and recent answers of others.

use acquit_app::Error;
use acquit_app::index::Standing;
use acquit_core::ids::TaskId;
use acquit_core::store::{self, Store};
use acquit_core::task::{State, Task};
use acquit_core::time::Timestamp;
use maud::{Markup, html};

use crate::access::Role;
use crate::page::{Content, Sign, since};
use crate::request::{self, Sent, Subject};
use crate::shared::Shared;
use crate::words;

/// Maximum number of requests on the page. Further ones appear when some are answered.
const MOST: usize = 50;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, role: Role) -> Result<Content, Error> {
    let sent = if role.may_act() { Sent::From("inbox") } else { Sent::Nowhere };
    let now = store.now()?;
    // The longest-waiting task comes first.
    let mut waiting: Vec<(Timestamp, TaskId)> = {
        let index = shared.index(store)?;
        let needs = index.open().filter(|task| task.standing == Standing::Needs);
        needs.map(|task| (task.updated, task.id)).collect()
    };
    waiting.sort_unstable();
    let more = waiting.len() > MOST;
    let mut all = Vec::new();
    for (_, id) in waiting.into_iter().take(MOST) {
        let task = match store.task(id) {
            // Skip a task that cannot be read: the others can still be answered.
            Err(store::Error::Corrupt { .. }) => continue,
            task => task?,
        };
        // Someone may have answered since the index was updated.
        let State::Waiting { request } = &task.state else { continue };
        let subject = Subject::read(shared, store, &task, request)?;
        all.push((task, subject));
    }
    let seq = shared.live.newest(store)?;
    let answers = shared.answers.newest(store, seq)?;
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
            nav #waiting .panel data-live aria-label="Requests" { @if !all.is_empty() { ol { @for (task, subject) in &all { (entry(task, subject.asked(), now)) } } } @else { p.panel-body.dim { "No requests." } } }
            div #requests data-live data-list {
                @for (task, subject) in &all { @if let State::Waiting { request } = &task.state {
                    article.panel.asks id={ "request-" (task.id()) "-" (request.number) } data-live {
                        (request::article(task, request, subject, sent, now))
                    }
                } }
            }
        }
        div #answered data-live { @if !answers.is_empty() { section.panel aria-labelledby="answered-h" {
            header.panel-head { h2 #answered-h { "Recent answers" } }
            ul.rows { @for one in &answers { li {
                a href={ "/tasks/" (one.task) "#conversation" } { (one.task) } " "
                b { (words::line(&one.by, 60)) } ": " (words::line(&one.answer, 200)) " "
                time.dim datetime=(words::datetime(one.at)) { (words::moment(one.at, "%d %b %H:%M")) }
            } } }
        } } }
    };
    Ok(Content { title: "Inbox".to_owned(), task: None, body })
}

fn entry(task: &Task, asked: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let State::Waiting { request } = &task.state {
            li { a href={ "#request-" (task.id()) "-" (request.number) } {
                (Sign::Needs.bare()) b { (request::headline(task, request)) }
                @if let Some(asked) = asked { (since(asked, now)) }
                small { (task.id()) " · " (words::line(&task.seed.project.name, 40)) " · " (words::line(&task.listed_title(), 60)) }
            } }
        }
    }
}
