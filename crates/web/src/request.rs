//! The form of a request: what is asked, what one must know, and every way to answer it.

use acquit_core::artifact::Artifact;
use acquit_core::human_request::{Ask, HumanRequest, Kind, Question};
use acquit_core::task::Task;
use maud::{Markup, html};

use crate::words;

/// The most of a plan that is shown where a person decides about it.
const PLAN: usize = 20_000;

/// The form, on a page.
pub fn form(task: &Task, request: &HumanRequest, from: &str) -> Markup {
    let id = task.id();
    let action = |verb: &str| format!("/tasks/{id}/{verb}");
    let hidden = html! {
        input type="hidden" name="request" value=(request.number);
        input type="hidden" name="from" value=(from);
    };
    let questions = match &request.ask {
        Ask::Question { questions } => questions.as_slice(),
        _ => &[],
    };
    html! {
        @if questions.is_empty() { p.asked { (words::text(&request.question)) } }
        @match &request.ask {
            Ask::Question { .. } => form.ask method="post" action=(action("answer")) {
                (hidden)
                input type="hidden" name="questions" value=(questions.len().max(1));
                @if questions.is_empty() {
                    label.field { span { "Your answer" } textarea name="words-1" rows="3" {} }
                }
                @for (index, question) in questions.iter().enumerate() { (one(index + 1, questions.len(), question)) }
                div.acts {
                    button.btn.main { @if questions.len() > 1 { "Send " (questions.len()) " answers" } @else { "Send the answer" } }
                    span.hint { "The task continues at " b { (request.resume.stage) } "." }
                }
            },
            Ask::Choice { options } => {
                (subject(task))
                (choices(&action("choose"), &hidden, &options.iter().map(ToString::to_string).collect::<Vec<_>>()))
            },
            Ask::Stage { outcomes } => {
                (subject(task))
                (choices(&action("choose"), &hidden, &outcomes.iter().map(ToString::to_string).collect::<Vec<_>>()))
            },
            Ask::Approval { to } => {
                (subject(task))
                div.decide {
                    form method="post" action=(action("approve")) {
                        (hidden)
                        button.btn.main { "Approve " code { (words::short(&task.tip)) } }
                        p.hint { "Approves this commit and no other. The task goes on to " b { (to) } "." }
                    }
                    (rejection(&action("reject"), &hidden, "Reject", "Rejecting ends the task unless its workflow has a way back."))
                }
            },
            Ask::Budget { .. } | Ask::Stuck => {
                (last_failure(task))
                div.decide {
                    form method="post" action=(action("answer")) {
                        (hidden)
                        input type="hidden" name="questions" value="1";
                        label.field { span { "Words for the agent" } textarea name="words-1" rows="2" {} }
                        button.btn.main { "Try again with these words" }
                    }
                    form method="post" action=(action("approve")) {
                        (hidden)
                        button.btn { "Try again" }
                        p.hint { "All budgets are renewed; the task continues at " b { (request.resume.stage) } "." }
                    }
                    (rejection(&action("reject"), &hidden, "End the task", "Its attempts stay in private refs."))
                }
            },
        }
    }
}

fn rejection(action: &str, hidden: &Markup, button: &str, hint: &str) -> Markup {
    html! {
        form method="post" action=(action) {
            (hidden)
            label.field { span { "Why not?" } input name="reason" required; }
            button.btn { (button) }
            p.hint { (hint) }
        }
    }
}

fn choices(action: &str, hidden: &Markup, options: &[String]) -> Markup {
    html! {
        form.ask method="post" action=(action) {
            (hidden)
            div.acts { @for option in options { button.btn name="option" value=(option) { (words::line(option, 200)) } } }
        }
    }
}

/// One question with its options, its context and room for words.
fn one(number: usize, of: usize, question: &Question) -> Markup {
    let choice = format!("choice-{number}");
    html! {
        fieldset.question {
            legend { @if of > 1 { span.num { (number) } " " } (words::text(&question.question)) }
            @if !question.context.is_empty() { p.context { (words::text(&question.context)) } }
            @if question.kind == Kind::YesNo {
                div.acts { @for word in ["yes", "no"] { label.pick { input type="radio" name=(choice) value=(word); " " (word) } } }
            }
            @for option in &question.options {
                label.option {
                    input type="radio" name=(choice) value=(option.name);
                    span {
                        b { (words::text(&option.name)) }
                        @if question.recommended.as_ref() == Some(&option.name) { span.tag { "the agent would take this" } }
                        @if !option.trade_offs.is_empty() { span.trade { (words::text(&option.trade_offs)) } }
                    }
                }
            }
            @let label = if question.options.is_empty() && question.kind != Kind::YesNo { "Your answer" } else { "Or in your own words" };
            label.field { span { (label) } textarea name={ "words-" (number) } rows="2" {} }
        }
    }
}

/// What a person decides about: the last words of the stage, the size of the change, the plan.
fn subject(task: &Task) -> Markup {
    let diff = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Diff(stats) => Some(stats),
        _ => None,
    });
    html! {
        dl.facts {
            dt { "commit" } dd { code { (words::short(&task.tip)) } " " (words::line(task.headline(), 200)) }
            dt { "onto" } dd { (words::line(task.seed.base.branch.as_deref().unwrap_or("a commit"), 200)) " at " code { (words::short(task.base())) } }
            @if let Some(diff) = diff {
                dt { "change" }
                dd { (words::count(usize::try_from(diff.files).unwrap_or(usize::MAX), "file")) ", " span.ok { "+" (diff.insertions) } " " span.no { "−" (diff.deletions) } " " a href={ "/tasks/" (task.id()) "/diff" } { "show the diff" } }
            }
            @for account in task.account() { dt { "said" } dd.said { (words::line(&account, 600)) } }
        }
        @if let Some(plan) = task.plan() {
            details.fold { summary { "Plan" } pre { (words::text(&acquit_core::agent::shorten(plan, PLAN))) } }
        }
    }
}

/// Why the last leg did not pass.
fn last_failure(task: &Task) -> Markup {
    let trouble = task.past.last().and_then(|past| Some((past.number, past.ending.trouble()?)));
    html! {
        @if let Some((leg, trouble)) = trouble {
            p { a href={ "/tasks/" (task.id()) "/legs/" (leg) } { "leg " (leg) } ": " span.no { (words::line(&trouble, 600)) } }
        }
    }
}
