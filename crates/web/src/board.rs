//! The board: tasks that need a person first, then running, waiting and queued ones, and those finished today.

use acquit_app::board::{self, Lane};
use acquit_app::figures::midnight;
use acquit_app::index::{IndexedTask, Named, Standing, TaskIndex};
use acquit_app::{App, Error};
use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::human_request::Ask;
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg::{self, Ending};
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_core::time::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use crate::access::Role;
use crate::page::{Content, Sign, since};
use crate::shared::Shared;
use crate::{path, words};

/// Maximum number of cards in a lane. The rest is on its own page.
const MOST_CARDS: usize = 25;
/// Number of cards on a page of one lane.
const PAGE: usize = 50;
/// Number of newest transcript lines to search for an agent's last message.
const LAST_LINES: usize = 12;

/// The search, as it appears in the URL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    q: String,
    project: String,
    workflow: String,
    agent: String,
    tag: String,
    lane: String,
    page: Option<usize>,
}

/// The lanes in their order, with their ids and names.
const LANES: [(Lane, &str, &str, Sign); 5] = [
    (Lane::Needs, "needs", "Needs you", Sign::Needs),
    (Lane::Running, "running", "Running", Sign::Runs),
    (Lane::Waiting, "waiting", "Waiting", Sign::Waits),
    (Lane::Queued, "queued", "Queued", Sign::Queued),
    (Lane::Done, "done", "Done today", Sign::Proven),
];

/// A task with the content of its card.
struct Card<'i> {
    lane: Lane,
    /// Place in the queue, from 0.
    place: Option<i64>,
    known: &'i IndexedTask,
    task: Task,
    usage: Usage,
    words: Option<String>,
}

impl Wanted {
    /// Returns whether no filter is set.
    fn is_empty(&self) -> bool {
        [&self.q, &self.project, &self.workflow, &self.agent, &self.tag]
            .iter()
            .all(|text| text.trim().is_empty())
    }

    /// Returns whether a task fits.
    fn fits(&self, task: &IndexedTask, sought: &Sought) -> bool {
        let is = |wanted: &str, held: &str| wanted.is_empty() || wanted == held;
        is(&self.project, &task.project)
            && is(&self.workflow, &task.workflow)
            && is(&self.agent, task.agent.as_deref().unwrap_or_default())
            && (self.tag.is_empty() || task.tags.iter().any(|tag| **tag == self.tag))
            && sought.is_in(task)
    }

    /// Returns the URL of this search, with another lane and page.
    fn address(&self, lane: &str, page: usize) -> String {
        let fields = [
            ("q", &self.q),
            ("project", &self.project),
            ("workflow", &self.workflow),
            ("agent", &self.agent),
            ("tag", &self.tag),
        ];
        let mut address = format!("/?lane={lane}&page={page}");
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            address.push_str(&format!("&{name}={}", words::encoded(value)));
        }
        address
    }
}

/// A search: an id, or a part of a title.
struct Sought {
    /// In lower case.
    text: String,
    id: Option<TaskId>,
}

impl Sought {
    fn of(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        Self { id: text.parse().ok(), text }
    }

    /// Returns whether a task is found. Nearly all of ten thousand are not, so plain titles are compared where they are.
    fn is_in(&self, task: &IndexedTask) -> bool {
        let (title, text) = (&*task.title, self.text.as_str());
        let plain = || {
            let mut parts = title.as_bytes().windows(text.len());
            parts.any(|part| part.eq_ignore_ascii_case(text.as_bytes()))
        };
        text.is_empty()
            || self.id == Some(task.id)
            || if title.is_ascii() { plain() } else { title.to_lowercase().contains(text) }
    }
}

/// Renders the page.
pub fn content(
    shared: &Shared,
    store: &mut dyn Store,
    wanted: &Wanted,
    role: Role,
) -> Result<Content, Error> {
    let now = store.now()?;
    let today = midnight(now);
    let running = board::running(store)?;
    let index = shared.index(store)?;
    let mut lanes: Vec<(Lane, Vec<&IndexedTask>)> = LANES.iter().map(|lane| (lane.0, Vec::new())).collect();
    let spent = board::spent_today(&index, today);
    let ended = ends(index.ended_since(today));
    let sought = Sought::of(&wanted.q);
    // A search also finds older tasks.
    let older = if wanted.is_empty() && wanted.lane.is_empty() { today } else { Timestamp(i64::MIN) };
    let shown = index.open().chain(index.ended_since(older)).filter(|task| wanted.fits(task, &sought));
    for task in shown {
        let lane = Lane::of(task, running.contains_key(&task.id), now);
        lanes[LANES.iter().position(|known| known.0 == lane).unwrap_or(0)].1.push(task);
    }
    // The longest-waiting task comes first; queued tasks come in the order in which they are claimed. Ended tasks are in
    // order.
    let queue = board::queue(store)?;
    for (lane, tasks) in &mut lanes {
        match lane {
            Lane::Needs => tasks.sort_by_key(|task| task.updated),
            Lane::Queued => {
                tasks.sort_by_key(|task| (queue.get(&task.id).copied().unwrap_or(i64::MAX), task.id));
            }
            Lane::Done | Lane::Running | Lane::Waiting => {}
        }
    }
    let counts: Vec<usize> = lanes.iter().map(|(_, tasks)| tasks.len()).collect();
    let shown = match LANES.iter().position(|(_, id, ..)| *id == wanted.lane) {
        Some(at) => vec![(lanes[at].0, wanted.page.unwrap_or(1).max(1), PAGE, lanes[at].1.clone())],
        None => lanes.iter().map(|(lane, tasks)| (*lane, 1, MOST_CARDS, tasks.clone())).collect(),
    };
    let mut drawn = Vec::new();
    for (lane, page, size, tasks) in &shown {
        let mut cards = Vec::new();
        for task in tasks.iter().skip((page - 1) * size).take(*size) {
            cards.push(card(
                &shared.app,
                store,
                (*lane, queue.get(&task.id).copied()),
                task,
                running.get(&task.id),
            )?);
        }
        drawn.push((*lane, *page, *size, cards, tasks.len(), hint(*lane, tasks, now)));
    }
    let body = html! {
        (head(&counts, &ended, spent, wanted, role))
        (unreadable(&index))
        (filter(wanted, &index))
        div #board .lanes.single[drawn.len() == 1] data-live {
            @if drawn.iter().all(|(.., count, _)| *count == 0) {
                p.panel.panel-body {
                    @if wanted.is_empty() && wanted.lane.is_empty() { "No tasks. " @if role.may_act() { a href="/new" { "Add one" } ", or run " } @else { "Run " } code { "acquit run \"…\"" } " in a repository." } @else { "No task fits. " a href="/" { "Show all" } }
                }
            }
            @for (lane, page, size, cards, count, hint) in &drawn { (section(*lane, cards, (*page, *size, *count), hint, wanted, now)) }
        }
    };
    Ok(Content { title: "Board".to_owned(), task: None, body })
}

/// Describes a lane in a few words.
fn hint(lane: Lane, tasks: &[&IndexedTask], now: Timestamp) -> String {
    let clock = |at: Timestamp| {
        words::moment(at, if midnight(at) == midnight(now) { "%H:%M" } else { "%d %b %H:%M" })
    };
    match lane {
        Lane::Needs => tasks.first().map(|task| format!("oldest since {}", clock(task.updated))),
        Lane::Waiting => {
            let later = tasks.iter().filter_map(|task| task.legs().last()).map(|leg| leg.not_before);
            later.filter(|at| *at > now).min().map(|at| format!("next goes on at {}", clock(at)))
        }
        Lane::Queued => Some("in this order".to_owned()),
        Lane::Done => Some(ends(tasks.iter().copied())),
        Lane::Running => None,
    }
    .unwrap_or_default()
}

/// Counts ended tasks by their end: `2 acquitted, 1 failed`. Empty without any.
fn ends<'i>(tasks: impl Iterator<Item = &'i IndexedTask>) -> String {
    let (mut done, mut failed, mut others) = (0, 0, 0);
    for task in tasks {
        *match task.standing {
            Standing::Done => &mut done,
            Standing::Failed => &mut failed,
            _ => &mut others,
        } += 1;
    }
    let part = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let parts = [part(done, "acquitted"), part(failed, "failed"), part(others, "without a change")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the name of a lane. Only the board without a search or lane is about today.
fn name_of(lane: Lane, name: &'static str, wanted: &Wanted) -> &'static str {
    if lane == Lane::Done && (!wanted.is_empty() || !wanted.lane.is_empty()) { "Done" } else { name }
}

fn head(counts: &[usize], ended: &str, spent: u64, wanted: &Wanted, role: Role) -> Markup {
    let heading = match (counts[0], counts[1]) {
        // A search says nothing about the tasks that it leaves out.
        _ if !wanted.is_empty() => match counts.iter().sum() {
            0 => "No task fits".to_owned(),
            found => format!("{} found", words::count(found, "task")),
        },
        (0, 0) => "Nothing needs you".to_owned(),
        (0, running) => format!("Nothing needs you; {} running", words::count(running, "task")),
        (1, _) => "1 task needs you".to_owned(),
        (needs, _) => format!("{needs} tasks need you"),
    };
    html! {
        div #head .head.row data-live {
            div {
                h1 { (heading) }
                p.lede { "Since midnight: " @if ended.is_empty() { "nothing ended" } @else { (ended) } ", " (words::cost(Some(spent))) " spent." }
            }
            @if role.may_act() { a.btn.main href="/new" { "New task" } }
        }
        nav #tiles .tiles data-live aria-label="Lanes" {
            @for (index, (lane, id, name, sign)) in LANES.into_iter().enumerate() {
                a href=(wanted.address(id, 1)) class=[(lane == Lane::Needs && counts[0] > 0).then_some("hot")] aria-current=[(wanted.lane == id).then_some("true")] { (sign.bare()) b { (counts[index]) } span { (name_of(lane, name, wanted)) } }
            }
        }
    }
}

/// Renders the tasks that cannot be read, and so are in no lane.
fn unreadable(index: &TaskIndex) -> Markup {
    let all = index.unreadable();
    html! {
        section #unreadable data-live { @if !all.is_empty() { div.panel role="alert" {
            header.panel-head { h2 { (words::count(all.len(), "task")) " cannot be read" } p.hint { "Run " code { "acquit store check" } " to see what is damaged." } }
            ul.rows { @for (id, why) in all.iter().take(MOST_CARDS) { li { (Sign::Rejected.bare()) b { (id) } " " (words::line(why, 200)) } } }
        } } }
    }
}

fn filter(wanted: &Wanted, index: &TaskIndex) -> Markup {
    let select = |name: &str, label: &str, named: Named, chosen: &str| {
        html! {
            label { span.sr { (label) } select name=(name) {
                option value="" { "All " (label) }
                @for (one, _) in index.names(named).take(500) { option value=(one) selected[one == chosen] { (words::line(one, 60)) } }
            } }
        }
    };
    html! {
        form.filter method="get" action="/" role="search" aria-label="Tasks" {
            label.find { span.sr { "Search titles and ids" } input #search type="search" name="q" value=(wanted.q) placeholder="Search titles and ids"; }
            (select("project", "projects", Named::Project, &wanted.project))
            (select("workflow", "workflows", Named::Workflow, &wanted.workflow))
            (select("agent", "agents", Named::Agent, &wanted.agent))
            (select("tag", "tags", Named::Tag, &wanted.tag))
            button.btn { "Filter" }
            @if !wanted.is_empty() || !wanted.lane.is_empty() { a.btn href="/" { "Show all" } }
        }
    }
}

/// Reads the content of a card that the index does not have.
fn card<'i>(
    app: &App,
    store: &mut dyn Store,
    (lane, place): (Lane, Option<i64>),
    known: &'i IndexedTask,
    runs: Option<&(LegId, Usage)>,
) -> Result<Card<'i>, Error> {
    let task = store.task(known.id)?;
    let words = match runs {
        Some((leg, _)) => last_words(app, store, *leg)?,
        None => None,
    };
    let usage = board::usage(&task, runs);
    Ok(Card { lane, place, known, task, usage, words })
}

/// Returns the last message or action of a running agent.
fn last_words(app: &App, store: &mut dyn Store, leg: LegId) -> Result<Option<String>, Error> {
    let items = acquit_app::transcript::newest(app, store, leg, LAST_LINES)?;
    Ok(items.iter().rev().find_map(|item| match &item.said {
        AgentEvent::Text { text } | AgentEvent::Raw { text } => Some(words::line(text, 160)),
        AgentEvent::ToolUse { name, input } => Some(words::line(&format!("→ {name} {input}"), 160)),
        _ => None,
    }))
}

fn section(
    lane: Lane,
    cards: &[Card<'_>],
    (page, size, count): (usize, usize, usize),
    hint: &str,
    wanted: &Wanted,
    now: Timestamp,
) -> Markup {
    let Some((_, id, name, sign)) = LANES.into_iter().find(|(known, ..)| *known == lane) else {
        return html! {};
    };
    let name = name_of(lane, name, wanted);
    let last = count.div_ceil(size.max(1));
    html! {
        @if count > 0 {
            section id=(id) class={ "lane lane-" (id) } aria-labelledby={ (id) "-h" } {
                div.lane-head { (sign.bare()) h2 id={ (id) "-h" } { (name) } span.count { (count) } span.hint { (hint) } }
                ol.cards { @for card in cards { (draw(card, now)) } }
                @if size == PAGE && last > 1 {
                    nav.acts aria-label="Pages of this lane" {
                        @if page > 1 { a.btn.s href=(wanted.address(id, page - 1)) { "Earlier" } }
                        span.hint { "page " (page) " of " (last) }
                        @if page < last { a.btn.s href=(wanted.address(id, page + 1)) { "Later" } }
                    }
                } @else if count > cards.len() { p.more { a href=(wanted.address(id, 1)) { "Show all " (count) } } }
            }
        }
    }
}

/// Returns the status of a task, given the state of its last leg and the earliest time at which that can be claimed.
pub fn sign_of(state: &State, last: Option<(leg::State, Timestamp)>, now: Timestamp) -> Sign {
    match state {
        State::Waiting { .. } => Sign::Needs,
        State::Blocked { .. } => Sign::Waits,
        State::New | State::Working { .. } => match last {
            Some((leg::State::Running, _)) => Sign::Runs,
            Some((_, not_before)) if not_before > now => Sign::Waits,
            Some(_) | None => Sign::Queued,
        },
        State::Ended { end: End::Done } => Sign::Proven,
        State::Ended { end: End::Failed { .. } } => Sign::Rejected,
        State::Ended { end: End::NoImprovement | End::Cancelled { .. } } => Sign::Without,
    }
}

/// Returns the word for the status of a task.
pub fn state_word(state: &State, sign: Sign) -> &'static str {
    match state {
        State::Ended { end: End::Done } => "acquitted",
        State::Ended { end: End::Failed { .. } } => "failed",
        State::Ended { end: End::NoImprovement } => "no improvement",
        State::Ended { end: End::Cancelled { .. } } => "cancelled",
        _ => sign.word(),
    }
}

/// Describes in one line what a task does or waits for.
pub fn what(task: &Task, last: Option<(leg::State, Timestamp)>, now: Timestamp) -> Markup {
    let later = last.filter(|(state, not_before)| *state != leg::State::Running && *not_before > now);
    html! {
        @match &task.state {
            State::New => { "Not started" },
            State::Waiting { request } => {
                b {
                    @match &request.ask {
                        Ask::Question { questions } if questions.len() > 1 => { (questions.len()) " questions: " },
                        Ask::Question { .. } => { "Question: " },
                        Ask::Choice { .. } | Ask::Stage { .. } => { "Decision: " },
                        Ask::Approval { .. } => { "Approval: " },
                        Ask::Budget { .. } => { "Out of tries: " },
                        Ask::Stuck => { "Stuck: " },
                    }
                }
                (words::line(&request.question, 200))
            },
            State::Blocked { root, .. } => { "for " a href={ "/tasks/" (root.task) } { (root.task) } ", which fixes the same failure" },
            State::Working { entry, cancel, .. } => {
                @if cancel.is_some() { b { "Stopping. " } }
                @if let Some((_, until)) = later {
                    "until " b { (words::moment(until, "%H:%M")) } ": "
                    @if let Some(Ending::Held { reason, .. }) = task.past.last().map(|past| &past.ending) { (words::line(reason, 160)) } @else { "retry after a delay" }
                } @else { (words::heading(entry)) }
            },
            State::Ended { end } => {
                @match end {
                    End::Done => (words::line(&came_to(task), 160)),
                    End::Failed { reason } => (words::line(reason, 160)),
                    End::NoImprovement => "nothing found to improve",
                    End::Cancelled { by } => { "cancelled by " (words::line(&by.to_string(), 60)) },
                }
            },
        }
    }
}

/// Returns the title of finished work; the last message of its agents, if it has the title of the task.
fn came_to(task: &Task) -> String {
    let headline = task.headline();
    let said = || task.account().into_iter().last();
    if headline == task.seed.wish.title { said().unwrap_or_default() } else { headline.to_owned() }
}

fn draw(card: &Card<'_>, now: Timestamp) -> Markup {
    let Card { task, known, .. } = card;
    let seed = &task.seed;
    let last = match card.lane {
        Lane::Running => Some((leg::State::Running, now)),
        _ => known.legs().last().map(|leg| (leg.state, leg.not_before)),
    };
    let sign = sign_of(&task.state, last, now);
    let delivered = board::delivered(task);
    let (label, href) = match (&task.state, card.lane) {
        (State::Waiting { request }, Lane::Needs) => {
            let label = match request.ask {
                Ask::Question { .. } => "Answer",
                Ask::Approval { .. } => "Review",
                Ask::Choice { .. } | Ask::Stage { .. } | Ask::Budget { .. } | Ask::Stuck => "Decide",
            };
            (label, format!("/inbox#request-{}-{}", seed.id, request.number))
        }
        (_, Lane::Running) => ("Watch", format!("/tasks/{}#now", seed.id)),
        _ => ("Open", format!("/tasks/{}", seed.id)),
    };
    html! {
        li.card id={ "task-" (seed.id) } {
            div.card-title { (sign.named()) a href={ "/tasks/" (seed.id) } { (words::line(&task.listed_title(), 160)) } }
            div.meta { span.id { (seed.id) } span { (words::line(&seed.project.name, 40)) } span { (seed.workflow) } @if let Some(agent) = &known.agent { span { (words::line(agent, 40)) } } }
            div.card-what { (what(task, last, now)) @if let Some(said) = &card.words { div.said { (said) } } @if !delivered.is_empty() { div.dim { (words::line(&delivered.join(" · "), 300)) } } }
            div.card-path { (path::small(&path::known(task, &known.stages, sign))) }
            div.card-sum {
                @if let (Lane::Queued, Some(place)) = (card.lane, card.place) { b { (words::place(usize::try_from(place).unwrap_or(0) + 1)) } " · " }
                b { @if known.standing.is_over() { (words::length(known.took(now))) } @else { (since(board::since(card.lane, known), now)) } }
                @if card.lane != Lane::Queued || !card.usage.is_empty() { " " (words::usage_cost(&card.usage)) }
            }
            div.card-act { a.btn href=(href) aria-label={ (label) " " (seed.id) } { (label) } }
        }
    }
}
