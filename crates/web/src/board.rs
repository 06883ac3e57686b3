//! The board: what needs a person first, then what runs, waits, is queued, and what was finished today.

use std::collections::BTreeSet;

use acquit_app::{App, Error};
use acquit_core::agent::AgentEvent;
use acquit_core::human_request::Ask;
use acquit_core::ids::LegId;
use acquit_core::leg::{self, Ending, Leg};
use acquit_core::store::{Filter, Store};
use acquit_core::task::{End, State, Summary, Task};
use acquit_core::time::Timestamp;
use acquit_core::workflow::{Work, Workflow};
use maud::{Markup, html};
use serde::Deserialize;

use crate::page::Sign;
use crate::page::{Content, since};
use crate::{path, transcript, words};

/// So many tasks that are not over are looked at, and so many that are.
const MOST_OPEN: u32 = 2_000;
const MOST_ENDED: u32 = 500;
/// So many cards a lane has; the rest is counted.
const MOST_CARDS: usize = 40;

/// What the person searches for, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    q: String,
    project: String,
    workflow: String,
    tag: String,
}

/// The lanes, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Needs,
    Running,
    Waiting,
    Queued,
    Done,
}

impl Lane {
    const ALL: [(Self, &str, &str, Sign); 5] = [
        (Self::Needs, "needs", "Needs you", Sign::Needs),
        (Self::Running, "running", "Running", Sign::Runs),
        (Self::Waiting, "waiting", "Waiting", Sign::Waits),
        (Self::Queued, "queued", "Queued", Sign::Queued),
        (Self::Done, "done", "Done today", Sign::Proven),
    ];
}

/// A task with what its card shows.
struct Card {
    lane: Lane,
    task: Task,
    legs: Vec<Leg>,
    workflow: Workflow,
    agent: Option<String>,
    words: Option<String>,
}

impl Wanted {
    fn is_empty(&self) -> bool {
        [&self.q, &self.project, &self.workflow, &self.tag].iter().all(|text| text.trim().is_empty())
    }

    fn fits(&self, task: &Summary) -> bool {
        let q = self.q.trim().to_lowercase();
        let found = task.title.to_lowercase().contains(&q) || task.id.to_string().to_lowercase() == q;
        (q.is_empty() || found)
            && (self.project.is_empty() || self.project == task.project)
            && (self.workflow.is_empty() || self.workflow == task.workflow.as_str())
    }
}

/// The page.
pub fn content(app: &App, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let now = store.now()?;
    let midnight = words::midnight(now);
    let open = store.list(&Filter { ended: false, limit: MOST_OPEN, ..Filter::default() })?;
    let ended = store.list(&Filter { ended: true, limit: MOST_ENDED, ..Filter::default() })?;
    let is_open = |task: &Summary| open.iter().any(|other| other.id == task.id);
    // Who searches wants to find what is older, too.
    let old = |task: &Summary| wanted.is_empty() && task.updated < midnight;
    let ended: Vec<Summary> = ended.into_iter().filter(|task| !is_open(task) && !old(task)).collect();
    let all: Vec<&Summary> = open.iter().chain(&ended).collect();
    let projects: BTreeSet<&str> = all.iter().map(|task| task.project.as_str()).collect();
    let workflows: BTreeSet<&str> = all.iter().map(|task| task.workflow.as_str()).collect();

    let running: BTreeSet<_> = store.running()?.into_iter().map(|(leg, _)| leg.id.task).collect();
    let mut lanes: Vec<(Lane, Vec<&Summary>)> = Lane::ALL.iter().map(|lane| (lane.0, Vec::new())).collect();
    for task in all.iter().copied().filter(|task| wanted.fits(task)) {
        if !wanted.tag.is_empty() && !store.task(task.id)?.seed.wish.tags.contains(&wanted.tag) {
            continue;
        }
        let lane = match task.state.as_str() {
            "waiting" => Lane::Needs,
            "working" | "cancelling" if running.contains(&task.id) => Lane::Running,
            "working" | "cancelling" | "new" => {
                let due = store.legs(task.id)?.last().is_none_or(|leg| leg.not_before <= now);
                if due { Lane::Queued } else { Lane::Waiting }
            }
            "blocked" => Lane::Waiting,
            _ => Lane::Done,
        };
        if let Some((_, tasks)) = lanes.iter_mut().find(|(known, _)| *known == lane) {
            tasks.push(task);
        }
    }
    let count =
        |lane: Lane| lanes.iter().find(|(known, _)| *known == lane).map_or(0, |(_, tasks)| tasks.len());
    let needs = count(Lane::Needs);
    let heading = match (needs, count(Lane::Running)) {
        (0, 0) if open.is_empty() => "Nothing to do".to_owned(),
        (0, running) => format!("{} running, nothing needs you", words::count(running, "task")),
        (1, _) => "1 task needs you".to_owned(),
        (needs, _) => format!("{needs} tasks need you"),
    };
    let spent = ended.iter().chain(&open).filter(|task| task.updated >= midnight);
    let spent = spent.filter_map(|task| task.cost_micros).fold(0, u64::saturating_add);
    let mut drawn = Vec::new();
    for (lane, tasks) in &lanes {
        let mut cards = Vec::new();
        for task in tasks.iter().take(MOST_CARDS) {
            cards.push(card(app, store, *lane, task)?);
        }
        drawn.push((*lane, cards, tasks.len()));
    }
    let body = html! {
        div #head .head data-live {
            h1 { (heading) }
            p.lede { (count(Lane::Running)) " running, " (count(Lane::Waiting)) " waiting, " (count(Lane::Queued)) " queued. Tasks that changed today cost " (words::cost(Some(spent))) " so far." }
        }
        nav #tiles .tiles data-live aria-label="Lanes" {
            @for (lane, id, name, sign) in Lane::ALL {
                a href={ "#" (id) } class=[(lane == Lane::Needs && needs > 0).then_some("hot")] { (sign.bare()) b { (count(lane)) } span { (name) } }
            }
        }
        (filter(wanted, &projects, &workflows))
        div #board .lanes data-live {
            @if drawn.iter().all(|(_, _, count)| *count == 0) {
                p.panel.panel-body {
                    @if wanted.is_empty() { "No tasks. " code { "acquit run \"…\"" } " in a repository adds one and runs it." } @else { "No task fits. " a href="/" { "Show all" } }
                }
            }
            @for (lane, cards, count) in &drawn { (section(*lane, cards, *count, now)) }
        }
    };
    Ok(Content { title: "Board".to_owned(), task: None, body })
}

fn filter(wanted: &Wanted, projects: &BTreeSet<&str>, workflows: &BTreeSet<&str>) -> Markup {
    let select = |name: &str, label: &str, all: &BTreeSet<&str>, chosen: &str| {
        html! {
            label { span.sr { (label) } select name=(name) {
                option value="" { "All " (label) }
                @for one in all { option value=(one) selected[*one == chosen] { (words::line(one, 60)) } }
            } }
        }
    };
    html! {
        form.filter method="get" action="/" role="search" aria-label="Tasks" {
            label.find { span.sr { "Search titles and ids" } input #search type="search" name="q" value=(wanted.q) placeholder="Search titles and ids"; }
            (select("project", "projects", projects, &wanted.project))
            (select("workflow", "workflows", workflows, &wanted.workflow))
            label { span.sr { "Tag" } input name="tag" value=(wanted.tag) placeholder="Tag"; }
            button.btn { "Filter" }
            @if !wanted.is_empty() { a.btn href="/" { "Show all" } }
        }
    }
}

/// Reads what a card shows.
fn card(app: &App, store: &mut dyn Store, lane: Lane, summary: &Summary) -> Result<Card, Error> {
    let (task, legs) = (store.task(summary.id)?, store.legs(summary.id)?);
    let definition = store.definition(summary.id)?;
    let stage = task.state.stage().or_else(|| task.past.last().map(|past| &past.entry.stage));
    let named = stage.and_then(|stage| definition.workflow.stage(stage.as_str())).and_then(|stage| {
        match &stage.work {
            Work::Agent(work) => work.agent.clone(),
            Work::Check | Work::Action { .. } | Work::Human { .. } => None,
        }
    });
    let agent = definition.chosen.agent.clone().or(named).map(|name| name.to_string());
    let running = legs.last().filter(|leg| leg.state == leg::State::Running).map(|leg| leg.id);
    let words = match running {
        Some(leg) => last_words(app, store, leg)?,
        None => None,
    };
    Ok(Card { lane, task, legs, workflow: definition.workflow, agent, words })
}

/// The last thing that a running agent said or did.
fn last_words(app: &App, store: &mut dyn Store, leg: LegId) -> Result<Option<String>, Error> {
    let items = transcript::newest(app, store, leg)?;
    Ok(items.iter().rev().find_map(|item| match &item.said {
        AgentEvent::Text { text } | AgentEvent::Raw { text } => Some(words::line(text, 160)),
        AgentEvent::ToolUse { name, input } => Some(words::line(&format!("→ {name} {input}"), 160)),
        _ => None,
    }))
}

fn section(lane: Lane, cards: &[Card], count: usize, now: Timestamp) -> Markup {
    let Some((_, id, name, sign)) = Lane::ALL.into_iter().find(|(known, ..)| *known == lane) else {
        return html! {};
    };
    html! {
        @if count > 0 {
            section id=(id) class={ "lane lane-" (id) } aria-labelledby={ (id) "-h" } {
                div.lane-head { (sign.bare()) h2 id={ (id) "-h" } { (name) } span.count { (count) } }
                ol.cards { @for card in cards { (draw(card, now)) } }
                @if count > cards.len() { p.hint { (count - cards.len()) " more; search or filter to find them." } }
            }
        }
    }
}

/// How a card's task stands.
pub fn sign_of(task: &Task, legs: &[Leg], now: Timestamp) -> Sign {
    let last = legs.last();
    match &task.state {
        State::Waiting { .. } => Sign::Needs,
        State::Blocked { .. } => Sign::Waits,
        State::New | State::Working { .. } => match last {
            Some(leg) if leg.state == leg::State::Running => Sign::Runs,
            Some(leg) if leg.not_before > now => Sign::Waits,
            Some(_) | None => Sign::Queued,
        },
        State::Ended { end: End::Done } => Sign::Proven,
        State::Ended { end: End::Failed { .. } } => Sign::Rejected,
        State::Ended { end: End::NoImprovement | End::Cancelled { .. } } => Sign::Without,
    }
}

/// What a task does or waits for, in a line.
pub fn what(task: &Task, legs: &[Leg], now: Timestamp) -> Markup {
    let last = legs.last();
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
                        Ask::Budget { budget } => { "Budget " (budget) ": " },
                        Ask::Stuck => { "Stuck: " },
                    }
                }
                (words::line(&request.question, 200))
            },
            State::Blocked { root, .. } => { "for " a href={ "/tasks/" (root.task) } { (root.task) } ", which fixes the same failure" },
            State::Working { entry, cancel, .. } => {
                @if cancel.is_some() { b { "Stopping. " } }
                @if let Some(leg) = last.filter(|leg| leg.state != leg::State::Running && leg.not_before > now) {
                    "until " b { (words::moment(leg.not_before, "%H:%M")) } ": "
                    @if let Some(Ending::Held { reason, .. }) = task.past.last().map(|past| &past.ending) { (words::line(reason, 160)) } @else { "retry after a delay" }
                } @else { (words::heading(entry)) }
            },
            State::Ended { end } => {
                @match end {
                    End::Done => (words::line(task.headline(), 160)),
                    End::Failed { reason } => (words::line(reason, 160)),
                    End::NoImprovement => "no improvement found",
                    End::Cancelled { by } => { "cancelled by " (words::line(&by.to_string(), 60)) },
                }
            },
        }
    }
}

fn draw(card: &Card, now: Timestamp) -> Markup {
    let Card { task, legs, workflow, .. } = card;
    let seed = &task.seed;
    let sign = sign_of(task, legs, now);
    let usage = legs.iter().fold(acquit_core::agent::Usage::default(), |mut sum, leg| {
        sum.add(&leg.usage);
        sum
    });
    let (label, href) = match card.lane {
        Lane::Needs => ("Answer", "/inbox".to_owned()),
        Lane::Running => ("Watch", format!("/tasks/{}#now", seed.id)),
        Lane::Waiting | Lane::Queued | Lane::Done => ("Open", format!("/tasks/{}", seed.id)),
    };
    let href = match (&task.state, card.lane) {
        (State::Waiting { request }, Lane::Needs) => format!("{href}#request-{}-{}", seed.id, request.number),
        _ => href,
    };
    html! {
        li.card id={ "task-" (seed.id) } {
            div.card-title { (sign.named()) a href={ "/tasks/" (seed.id) } { (words::line(&seed.wish.title, 160)) } }
            div.meta { span.id { (seed.id) } span { (words::line(&seed.project.name, 40)) } span { (seed.workflow) } @if let Some(agent) = &card.agent { span { (words::line(agent, 40)) } } }
            div.card-what { (what(task, legs, now)) @if let Some(said) = &card.words { div.said { (said) } } }
            div.card-path { (path::small(&path::nodes(task, workflow, sign))) }
            div.card-sum {
                b { @if matches!(task.state, State::Ended { .. }) {
                    (words::length(legs.iter().map(|leg| words::took(leg, now)).sum()))
                } @else { (since(seed.created, now)) } }
                " " (words::usage_cost(&usage))
            }
            div.card-act { a.btn href=(href) aria-label={ (label) " " (seed.id) } { (label) } }
        }
    }
}
