//! What a person needs for a request beyond its question: both sides of a conflict, what a review found, what people
//! wrote at the forge, and the other ways to go on.

use acquit_app::answer::{conflict, review};
use acquit_core::conflict::Hunk;
use acquit_core::task::{Remark, Task};
use maud::{Markup, html};

use crate::background::Background;
use crate::page::Sign;
use crate::words;

/// Maximum number of conflicting places, findings and comments to show.
const PLACES: usize = 10;
const FINDINGS: usize = 20;
const COMMENTS: usize = 10;

/// Renders the places where the work conflicts with the base branch, with both sides of each.
pub fn sides(task: &Task) -> Markup {
    let found = conflict(task).filter(|(_, hunks)| !hunks.is_empty());
    let branch = words::line(task.seed.base.branch.as_deref().unwrap_or("the base branch"), 60);
    html! {
        @if let Some((onto, hunks)) = found {
            section.conflict aria-label="Conflicting places" {
                p.dim { "Both changed the same lines: " (branch) " up to " code { (words::short(onto)) } ", and the task." }
                @for hunk in hunks.iter().take(PLACES) { (place(hunk, &branch)) }
                @if hunks.len() > PLACES { p.dim { (words::count(hunks.len() - PLACES, "more place")) } }
            }
        }
    }
}

fn place(hunk: &Hunk, branch: &str) -> Markup {
    let side = |name: &str, text: &str| {
        html! { div { p.label { (name) } @if text.trim().is_empty() { p.dim { "nothing" } } @else { pre { (words::text(text)) } } } }
    };
    html! {
        details.fold open {
            summary { code { (words::line(&hunk.path, 300)) ":" (hunk.line) } }
            div.sides { (side("before both", &hunk.base)) (side(&format!("on {branch}"), &hunk.branch)) (side("this task", &hunk.task)) }
        }
    }
}

/// Renders what the newest review found, and what people wrote at the forge.
pub fn comments(task: &Task) -> Markup {
    let found = review(task);
    let written: Vec<&Remark> =
        task.conversation.iter().rev().filter(|remark| remark.origin.is_some()).take(COMMENTS).collect();
    html! {
        @if !found.is_empty() {
            section aria-label="What the review found" {
                p.label { "The review found" }
                ol.found { @for one in found.iter().take(FINDINGS) { li {
                    (Sign::Noted.bare()) b { (one.severity.word()) } " " code { (words::line(&one.file, 200)) ":" (one.line) } " " (words::text(&one.problem))
                    @if let Some(suggestion) = &one.suggestion { p.dim { (words::text(suggestion)) } }
                } } }
                @if found.len() > FINDINGS { p.dim { (words::count(found.len() - FINDINGS, "more finding")) } }
            }
        }
        @if !written.is_empty() {
            section aria-label="Comments at the forge" {
                p.label { "Comments on the pull request" }
                ol.found { @for remark in written.iter().rev() { li { b { (words::line(&remark.by.to_string(), 60)) } " " (words::text(&remark.text)) } } }
            }
        }
    }
}

/// Renders the form to go on in another way: with fresh tries, from another stage, with another agent.
pub fn others(task: &Task, background: &Background, from: &str) -> Markup {
    let stages =
        background.workflow.stages.iter().filter(|it| !acquit_app::index::repairs(&background.workflow, it));
    html! {
        details.fold.others {
            summary { "Other ways: fresh tries, another stage, another agent" }
            form.stack method="post" action={ "/tasks/" (task.id()) "/retry" } {
                input type="hidden" name="from" value=(from);
                div.fields {
                    label.field { span { "Stage" } select name="stage" { option value="" { "where it stopped" } @for stage in stages { option value=(stage.name) { (stage.name) } } } }
                    label.field { span { "Agent" } select name="agent" { option value="" { "as before" } @for agent in &background.agents { option value=(agent) { (words::line(agent, 60)) } } } }
                }
                label.field { span { "A note for the next agent " span.hint { "(optional)" } } textarea name="note" rows="2" {} }
                div.acts { button.btn { "Retry with fresh tries" } span.hint { "All budgets begin again. Earlier work is kept." } }
            }
            form method="post" action={ "/tasks/" (task.id()) "/cancel" } { input type="hidden" name="from" value=(from); button.btn { "End the task" } }
        }
    }
}
