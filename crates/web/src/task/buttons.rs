//! All actions that are possible now, as forms.

use acquit_app::merge::can_merge;
use acquit_app::suggest::can_be_merged;
use acquit_core::task::{End, State};
use maud::{Markup, html};

use super::view::View;
use crate::actions::can_retry;
use crate::page::Sign;
use crate::words;

/// Renders the buttons of a task's page.
pub(super) fn buttons(view: &View<'_>) -> Markup {
    let task = view.task;
    let id = task.id();
    let form = |verb: &str, label: &str, main: bool| {
        html! { form method="post" action={ "/tasks/" (id) "/" (verb) } { button.btn.main[main] { (label) } } }
    };
    let branch = words::line(task.seed.base.branch.as_deref().unwrap_or_default(), 60);
    let requested = task.request().is_some()
        && matches!(task.state, State::Ended { end: End::Done } | State::Waiting { .. });
    if !view.role.may_act() {
        return html! { @if view.has_diff() { a.btn href={ "/tasks/" (id) "/diff" } { "Diff" } } };
    }
    html! {
        @if view.sign == Sign::Queued { (form("run", "Run now", false)) }
        @match &task.state {
            State::New | State::Working { cancel: None, .. } => (form("cancel", "Stop", false)),
            State::Waiting { .. } | State::Blocked { .. } => (form("cancel", "End the task", false)),
            State::Working { cancel: Some(by), .. } => span.hint { (words::line(&by.to_string(), 60)) " asked it to stop." },
            State::Ended { end: End::Done } => @if can_be_merged(task, view.dirty) {
                (form("merge", &format!("Merge into {branch}"), true))
            } @else if let (true, Some(at)) = (can_merge(task), view.dirty) {
                span.hint { "To merge it, first commit or stash your changes in " (words::line(&at.display().to_string(), 200)) "." }
            },
            State::Ended { .. } => {},
        }
        @if requested { (form("feedback", "Fetch review comments", false)) }
        @if can_retry(&task.state) { (retry(view)) }
        @if view.has_diff() { a.btn href={ "/tasks/" (id) "/diff" } { "Diff" } }
    }
}

fn retry(view: &View<'_>) -> Markup {
    let stages = view
        .definition
        .workflow
        .stages
        .iter()
        .filter(|stage| !acquit_app::index::repairs(&view.definition.workflow, stage));
    html! {
        details.menu {
            summary.btn { "Retry from…" }
            form.menu-box.stack method="post" action={ "/tasks/" (view.task.id()) "/retry" } {
                label.field { span { "Stage" } select name="stage" {
                    option value="" { "where it stopped" }
                    @for stage in stages { option value=(stage.name) { (stage.name) } }
                } }
                label.field { span { "A note for the agent " span.hint { "(optional)" } } textarea name="note" rows="3" {} }
                p.hint { "All budgets are renewed. Earlier work is kept." }
                button.btn.main { "Retry" }
            }
        }
    }
}
