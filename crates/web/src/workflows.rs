//! Drawings of workflows with the position of tasks and how often each transition was taken, and figures of their
//! stages.

use std::collections::BTreeMap;

use acquit_app::figures::Selection;
use acquit_app::flow::{Arrow, Flow, Here, StageFigures};
use acquit_app::index::{Named, TaskIndex, day};
use acquit_app::project::Origin;
use acquit_app::{App, Error};
use acquit_core::store::Store;
use acquit_core::workflow::Workflow;
use maud::{Markup, html};

use crate::page::{Content, Sign};
use crate::shared::Shared;
use crate::{flow as drawing, words};

/// Number of days whose tasks are counted.
const DAYS: u64 = 30;

/// Renders the page of one workflow; without a name, of the one with the most tasks.
pub fn content(shared: &Shared, store: &mut dyn Store, name: Option<&str>) -> Result<Content, Error> {
    let now = store.now()?;
    let (own, mistakes) = own_workflows(&shared.app);
    let index = shared.index(store)?;
    let since = acquit_core::time::Timestamp(now.0 - 86_400_000 * i64::try_from(DAYS).unwrap_or(0));
    let mut names: BTreeMap<String, usize> = own.keys().map(|name| (name.clone(), 0)).collect();
    names.extend(index.names(Named::Workflow).map(|(name, _)| (name.to_owned(), 0)));
    for (key, group) in index.groups().iter().rev().take_while(|(key, _)| key.day >= day(since)) {
        *names.entry(key.workflow.to_string()).or_default() += group.tasks.len();
    }
    let most = names.iter().max_by_key(|(_, count)| **count).map(|(name, _)| name.clone());
    let Some(chosen) = name.map(str::to_owned).or(most) else {
        let body = html! { div.head { h1 { "No workflows" } p.lede { "Run " code { "acquit init" } " in a repository." } } (unusable(&mistakes)) };
        return Ok(Content { title: "Workflows".to_owned(), task: None, body });
    };
    let workflow = match own.get(&chosen) {
        Some(workflow) => workflow.clone(),
        None => pinned(store, &index, &chosen)?.ok_or_else(|| Error::NoSuch {
            doing: "show the workflow",
            name: words::line(&chosen, 60),
            known: names.keys().cloned().collect::<Vec<_>>().join(", "),
        })?,
    };
    // Tasks that have not ended count however old they are.
    let selected = Selection { since, project: "", workflow: &chosen, all_open: true };
    let flow = shared.sums().flows.sum(&index, selected, now).of(&workflow);
    drop(index);
    let body = html! {
        div #head .head data-live { (head(&workflow, &flow)) }
        nav.tabs aria-label="Workflows" { @for (name, count) in &names { a href={ "/workflows/" (words::encoded(name)) } aria-current=[(*name == chosen).then_some("page")] { (words::line(name, 60)) " " span.dim { (count) } } } }
        (unusable(&mistakes))
        section.panel aria-labelledby="flow-h" {
            header.panel-head.row { h2 #flow-h { @if workflow.description.is_empty() { (workflow.name) } @else { (words::line(&workflow.description, 200)) } } p.hint { "numbers: how often each way was taken · " span.no { "rejected or sent back" } " · " span.ok { "fixed" } } }
            div #flow .flow-box data-live tabindex="0" role="region" aria-label="Drawing of the workflow" { (drawing::draw(&workflow, &flow)) }
        }
        div.thirds {
            section.panel { header.panel-head { h2 { "Stages" } } div #stages data-live { (stages(&workflow, &flow)) } }
            section.panel { header.panel-head { h2 { "Ways" } } div #ways data-live { (ways(&workflow, &flow)) } }
        }
    };
    Ok(Content { title: format!("Workflow {}", words::line(&chosen, 60)), task: None, body })
}

/// Returns the workflows that the repository of this server can use, and why others cannot be used.
fn own_workflows(app: &App) -> (BTreeMap<String, Workflow>, Vec<String>) {
    // Without a repository there are only the workflows of tasks.
    let Ok(source) = app.source() else { return Default::default() };
    let project = match app.files(&source).and_then(|files| files.look()) {
        Ok(project) => project,
        Err(error) => return (BTreeMap::new(), vec![acquit_run::harness::chain(&error)]),
    };
    let (mut usable, mut mistakes) = (BTreeMap::new(), Vec::new());
    for known in project.workflows {
        match known.read {
            Ok(workflow) => drop(usable.insert(known.name.to_string(), workflow)),
            // A shipped workflow may need something that this project does not have.
            Err(_) if known.origin == Origin::Shipped => {}
            Err(why) => mistakes.push(why.to_string()),
        }
    }
    (usable, mistakes)
}

/// Renders why workflows of the repository cannot be used.
fn unusable(mistakes: &[String]) -> Markup {
    html! {
        @for why in mistakes {
            section.panel role="alert" {
                header.panel-head.row { h2 { (Sign::Rejected.named()) "Workflows of this repository have mistakes" } p.hint { "New tasks are not accepted until they are fixed. Running tasks keep their workflow." } }
                pre.panel-body { (words::text(why)) }
            }
        }
    }
}

/// Returns a workflow as pinned by its newest task.
fn pinned(store: &mut dyn Store, index: &TaskIndex, name: &str) -> Result<Option<Workflow>, Error> {
    let newest = index.all().find(|task| *task.workflow == *name).map(|task| task.id);
    Ok(match newest {
        Some(id) => Some(store.definition(id)?.workflow),
        None => None,
    })
}

fn head(workflow: &Workflow, flow: &Flow) -> Markup {
    let worst = flow.stages.iter().max_by_key(|(_, figures)| figures.rejected_by.values().sum::<u64>());
    let worst = worst.filter(|(_, figures)| !figures.rejected_by.is_empty());
    let all = || flow.stages.values().flat_map(|figures| &figures.here);
    let (here, needs) = (all().count(), all().filter(|(_, here)| *here == Here::Needs).count());
    html! {
        h1 { (workflow.name) ": " @if flow.over == 0 { "no finished tasks" } @else { (flow.done) " of " (flow.over) " finished tasks were proven" } }
        p.lede {
            @if let Some((stage, figures)) = worst { "Most work is rejected at " b { (stage) } @if let Some((gate, _)) = figures.rejected_by.iter().max_by_key(|(_, count)| **count) { ", by " (gate) } ". " }
            @if here == 0 { "No task is in it now. " } @else { (words::count(here, "task")) " in it now" @if needs > 0 { ", " (needs) " of them " @if needs == 1 { "needs" } @else { "need" } " you" } ". " }
            @if flow.asked > 0 { "A person was asked " (times(flow.asked)) ". " }
            "Last " (DAYS) " days."
        }
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn stages(workflow: &Workflow, flow: &Flow) -> Markup {
    let none = StageFigures::default();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Stages, listed" { table.slim {
            thead { tr { th scope="col" { "stage" } th.n scope="col" { "legs" } th.n scope="col" { "passed at first try" } th scope="col" { "mostly rejected by" } th.n.wordy scope="col" { "median" } th.n scope="col" { "cost" } } }
            tbody { @for stage in &workflow.stages {
                @let figures = flow.stages.get(stage.name.as_str()).unwrap_or(&none);
                tr {
                    th scope="row" { (stage.name) }
                    td.n { (figures.legs) }
                    td.n { @if figures.first_tries > 0 { (figures.first_passed * 100 / figures.first_tries) " % of " (figures.first_tries) " " (words::meter(figures.first_passed, figures.first_tries)) } @else { "–" } }
                    td { (rejecting(figures)) }
                    td.n.wordy { (figures.median().map_or_else(|| "–".to_owned(), words::length)) }
                    td.n { (words::cost(Some(figures.cost).filter(|cost| *cost > 0))) }
                }
            } }
        } }
    }
}

/// Returns the three gates that reject most often.
fn rejecting(figures: &StageFigures) -> String {
    let mut gates: Vec<(&String, &u64)> = figures.rejected_by.iter().collect();
    gates.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    gates.iter().take(3).map(|(gate, count)| format!("{gate} {count}")).collect::<Vec<_>>().join(", ")
}

/// Returns the budget that a transition spends. A rejection spends that of the gate.
fn spends(workflow: &Workflow, arrow: &Arrow) -> String {
    let stage = arrow.from.as_deref().and_then(|name| workflow.stage(name));
    let known = stage.and_then(|stage| stage.on.iter().find(|(name, _)| name.as_str() == arrow.outcome));
    match known {
        Some((_, transition)) => transition.budget.as_ref().map(ToString::to_string).unwrap_or_default(),
        None if arrow.outcome == "rejected" => "by gate".to_owned(),
        None => String::new(),
    }
}

fn ways(workflow: &Workflow, flow: &Flow) -> Markup {
    let mut all: Vec<(&Arrow, &u64)> = flow.arrows.iter().filter(|(arrow, _)| arrow.from.is_some()).collect();
    all.sort_by_key(|(arrow, count)| (std::cmp::Reverse(**count), (*arrow).clone()));
    let sign = |arrow: &Arrow| match arrow.outcome.as_str() {
        "rejected" | "conflict" | "timed out" => Sign::Rejected,
        "cancelled" => Sign::Without,
        outcome if outcome.starts_with("failed") || outcome.starts_with("changes") => Sign::Rejected,
        "needs_input" => Sign::Needs,
        "again" => Sign::Waits,
        _ => Sign::Proven,
    };
    html! {
        @if all.is_empty() { p.panel-body.dim { "No task has gone through it yet." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Ways, listed" { table.slim {
                thead { tr { th scope="col" { "from" } th scope="col" { "outcome" } th scope="col" { "to" } th.n scope="col" { "taken" } th.wordy scope="col" { "spends" } } }
                tbody { @for (arrow, count) in all { tr {
                    th scope="row" { (arrow.from.as_deref().unwrap_or_default()) }
                    td { (sign(arrow).named()) (words::line(&arrow.outcome, 60)) }
                    td { (arrow.to.as_deref().unwrap_or("the end")) }
                    td.n { (count) }
                    td.dim.wordy { (spends(workflow, arrow)) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_times_is_read_as_words() {
        assert_eq!([times(0), times(1), times(2)], ["0 times", "once", "2 times"]);
    }
}
