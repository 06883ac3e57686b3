//! The page of one task: its state, current progress, verdicts, cost, and possible actions.

mod buttons;
mod evidence;
mod ledger;
mod now;
mod view;

use acquit_app::Error;
use acquit_app::history::history;
use acquit_core::agent::Usage;
use acquit_core::failure::kind;
use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::sandbox::Mode;
use acquit_core::store::Store;
use acquit_core::task::State;
use maud::{Markup, html};

use self::view::View;
use crate::access::Role;
use crate::page::{Content, Sign, since};
use crate::shared::Shared;
use crate::{board, request, route, words};

/// Number of newest transcript lines on the page.
const NEWEST: usize = 100;

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, id: TaskId, role: Role) -> Result<Content, Error> {
    let sent = if role.may_act() { request::Sent::From("task") } else { request::Sent::Nowhere };
    let app = &*shared.app;
    let now = store.now()?;
    let (task, legs, definition) = (store.task(id)?, store.legs(id)?, store.definition(id)?);
    let history = history(store, id)?;
    let sign = board::sign_of(&task.state, legs.last().map(|leg| (leg.state, leg.not_before)), now);
    let usage = legs.iter().fold(Usage::default(), |mut sum, leg| {
        sum.add(&leg.usage);
        sum
    });
    // The newest leg with an agent.
    let spoken = legs.iter().rev().find(|leg| {
        leg.state == leg::State::Running
            || history.legs.get(&leg.id.number).is_some_and(|known| known.agent.is_some())
    });
    let said = match spoken {
        Some(leg) => acquit_app::transcript::newest(app, store, leg.id, NEWEST)?,
        None => Vec::new(),
    };
    let subject = match &task.state {
        State::Waiting { request } => Some(request::Subject::read(shared, store, &task, request)?),
        _ => None,
    };
    let home = app.surroundings.user_home.as_deref();
    let dirty = app.dirty_checkout(store, &task);
    let view = View {
        dirty: dirty.as_deref(),
        task: &task,
        legs: &legs,
        definition: &definition,
        history: &history,
        sign,
        usage,
        now,
        role,
        home,
    };
    let seed = &task.seed;
    let body = html! {
        div.task-head {
            (view.head())
            div #actions .acts data-live { (buttons::buttons(&view)) }
        }
        (route::route(&task, &legs, &definition.workflow, sign, now))
        @if let (State::Waiting { request }, Some(subject)) = (&task.state, &subject) {
            article.panel.asks id={ "request-" (id) "-" (request.number) } data-live { (request::article(&task, request, subject, sent, now)) }
        }
        div.task {
            div.column {
                div #now data-live { (now::right_now(&view, &said)) }
                (view.sections())
                @if !seed.wish.description.trim().is_empty() {
                    section.panel { header.panel-head { h2 { "Description" } } pre.panel-body.prose { (words::text(&seed.wish.description)) } }
                }
                (now::transcript(&view, spoken, &said))
                div #gates data-live { (evidence::gates(&view)) }
                div #conversation data-live { (ledger::conversation(&view)) }
                div #artifacts data-live { (ledger::artifacts(&view)) }
                div #timeline data-live { @if view.has_started() { (ledger::timeline(&view)) } }
                div #cost data-live { @if view.has_started() { (ledger::cost(&view)) } }
            }
            aside #aside data-live aria-label="Facts" { (view.facts()) (view.budgets()) }
        }
    };
    Ok(Content { title: format!("{id} {}", words::line(&seed.wish.title, 60)), task: Some(id), body })
}

impl View<'_> {
    fn head(&self) -> Markup {
        let Self { task, legs, now, .. } = self;
        let seed = &task.seed;
        let last = legs.last().map(|leg| (leg.state, leg.not_before));
        html! {
            div #head .head data-live {
                nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/?project=" (words::encoded(&seed.project.name)) } { (words::line(&seed.project.name, 60)) } " / " span.id { (task.id()) } }
                h1 { (words::line(&seed.wish.title, 300)) }
                p.state {
                    span.pill class=(self.sign.class()) { (self.sign.bare()) (board::state_word(&task.state, self.sign)) }
                    span { (board::what(task, last, *now)) }
                    @if !self.has_started() { span.dim { "added " (since(seed.created, *now)) " ago" } } @else { span.dim {
                        b { @if let Some(leg) = self.running() { (since(leg.started.unwrap_or(*now), *now)) } @else { (words::length(legs.iter().map(|leg| words::took(leg, *now)).sum())) } }
                        " · " b { (words::usage_cost(&self.usage)) }
                        @if let Some(most) = self.max_cost() { " of " (words::cost(Some(most))) }
                        " · " (words::count(legs.len(), "leg"))
                    } }
                }
            }
        }
    }

    fn sections(&self) -> Markup {
        let verdicts = self.history.newest_verdicts();
        let failed = verdicts.iter().filter(|verdict| verdict.rejects()).count();
        let changed = self.task.artifacts.iter().find_map(|artifact| match artifact {
            acquit_core::artifact::Artifact::Diff(stats) => Some(stats.files),
            _ => None,
        });
        html! {
            nav #sections .sections data-live aria-label="Sections of the task" {
                a href="#transcript" { "Transcript" }
                @if !verdicts.is_empty() { a href="#gates" { "Gates " @if failed > 0 { (Sign::Rejected.named()) (failed) " " } (Sign::Proven.named()) (verdicts.len() - failed) } }
                @if self.has_diff() { a href={ "/tasks/" (self.task.id()) "/diff" } { "Diff " @if let Some(files) = changed { span.count { (files) } } } }
                @if !self.task.conversation.is_empty() { a href="#conversation" { "Conversation " span.count { (self.task.conversation.len()) } } }
                @if !self.task.artifacts.is_empty() { a href="#artifacts" { "Artifacts " span.count { (self.task.artifacts.len()) } } }
                @if self.has_started() { a href="#timeline" { "Timeline" } a href="#cost" { "Cost" } }
            }
        }
    }

    fn facts(&self) -> Markup {
        let seed = &self.task.seed;
        let agents: std::collections::BTreeSet<&str> =
            self.history.legs.values().filter_map(|leg| leg.agent.as_deref()).collect();
        let models: std::collections::BTreeSet<&str> =
            self.legs.iter().filter_map(|leg| leg.usage.model.as_deref()).collect();
        let list = |names: std::collections::BTreeSet<&str>| {
            words::line(&names.into_iter().collect::<Vec<_>>().join(", "), 200)
        };
        html! {
            section.panel {
                header.panel-head { h2 { "Facts" } }
                dl.facts.panel-body {
                    dt { "project" } dd { (words::line(&seed.project.name, 60)) div.dim { code { (words::path(&seed.project.path, self.home)) } } }
                    dt { "workflow" } dd { a href={ "/workflows/" (seed.workflow) } { (seed.workflow) } }
                    @if let Some(fallback) = self.task.fallback() { dt { "category" } dd { (words::line(&fallback, 200)) } }
                    @if !agents.is_empty() { dt { "agent" } dd { (list(agents)) } }
                    @if !models.is_empty() { dt { "model" } dd { (list(models)) } }
                    dt { "base" } dd { (words::line(seed.base.branch.as_deref().unwrap_or("a commit"), 200)) " at " code { (words::short(self.task.base())) } }
                    dt { "branch" } dd { code { (words::line(&seed.branch, 200)) } }
                    dt { "sandbox" } dd { @match self.definition.config.sandbox { Mode::On => "on", Mode::Reduced => "reduced", Mode::Off => b.no { "off: agents and gates can do everything that you can" } } }
                    @if !seed.wish.tags.is_empty() { dt { "tags" } dd { @for tag in &seed.wish.tags { a.tag href={ "/?tag=" (words::encoded(tag)) } { (words::line(tag, 60)) } } } }
                    @if seed.wish.priority != 0 { dt { "priority" } dd { (seed.wish.priority) } }
                    dt { "added" } dd { (words::moment(seed.created, "%Y-%m-%d %H:%M")) }
                }
            }
        }
    }

    /// Renders how much of each budget and of the cost limit is spent.
    fn budgets(&self) -> Markup {
        let limit = |name: &str| {
            let default = kind::DEFAULTS.iter().find(|(known, _)| *known == name).map(|(_, limit)| *limit);
            let own = self.definition.workflow.budgets.iter().find(|(known, _)| known.as_str() == name);
            own.map(|(_, limit)| *limit).or(default).unwrap_or(0)
        };
        let paid = self.usage.paid().unwrap_or(0);
        html! {
            @if !self.task.spent.is_empty() || self.max_cost().is_some() {
                section.panel {
                    header.panel-head { h2 { "Budgets" } }
                    ul.meters.panel-body {
                        @for (name, spent) in &self.task.spent {
                            @let limit = limit(name.as_str());
                            li { span { (name) } span.dim { (spent) " of " (limit) " spent" } (words::meter(u64::from(*spent), u64::from(limit))) }
                        }
                        @if let Some(most) = self.max_cost() {
                            li { span { "money" } span.dim { (words::cost(Some(paid))) " of " (words::cost(Some(most))) } (words::meter(paid, most)) }
                        }
                    }
                }
            }
        }
    }
}
