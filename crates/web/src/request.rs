//! The form of a request to a person: the question, its background, every way to answer, and where each way leads.

use acquit_app::Error;
use acquit_app::answer::{Leads, leads};
use acquit_app::answer_link::choices as choices_of;
use acquit_app::diff::TaskDiff;
use acquit_core::artifact::Artifact;
use acquit_core::human_request::{Answer, Ask, HumanRequest, Kind, Question};
use acquit_core::ids::TaskId;
use acquit_core::leg::{Ending, Past};
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use acquit_core::time::Timestamp;
use maud::{Markup, html};
use std::sync::Arc;

use crate::actions::{Fields, Lacks};
use crate::background::Background;
use crate::page::{Content, Sign, since};
use crate::shared::Shared;
use crate::{diff, ways, words};

/// Maximum size of a plan in a request for a decision.
const PLAN: usize = 20_000;

/// The subject of a decision.
pub struct Subject {
    background: Arc<Background>,
    diff: Option<Arc<TaskDiff>>,
}

impl Subject {
    /// Reads what the form shows. For a decision about work, includes its diff and verdicts.
    pub fn read(
        shared: &Shared,
        store: &mut dyn Store,
        task: &Task,
        request: &HumanRequest,
    ) -> Result<Self, Error> {
        let decides = matches!(request.ask, Ask::Approval { .. } | Ask::Choice { .. } | Ask::Stage { .. });
        let background = shared.requests.get(store, task, request)?;
        // A diff that cannot be shown must not hide the question.
        let diff = if decides && task.tip != task.base() {
            shared.diffs.listed(&shared.app, store, task)
        } else {
            None
        };
        Ok(Self { background, diff })
    }

    /// Returns when the request was opened.
    pub fn asked(&self) -> Option<Timestamp> {
        self.background.asked
    }
}

/// The destination of a request's forms.
#[derive(Clone, Copy)]
pub enum Sent<'s> {
    /// To the task, from this page: `inbox` or `task`.
    From(&'s str),
    /// To a link that answers without a login.
    Link(&'s str),
    /// Nowhere: the person may look, and answer nothing.
    Nowhere,
}

/// Rejected input of a person. The form is shown with it again.
#[derive(Clone, Copy, Default)]
pub struct Draft<'d> {
    sent: Option<(&'d Fields, Option<&'d Lacks>)>,
}

impl<'d> Draft<'d> {
    /// Creates a draft of these fields, and what they lack.
    pub fn new(fields: &'d Fields, lacks: Option<&'d Lacks>) -> Self {
        Self { sent: Some((fields, lacks)) }
    }

    fn typed(&self, name: &str) -> &'d str {
        self.sent.and_then(|(fields, _)| fields.get(name)).unwrap_or_default()
    }

    /// Returns why it was not accepted.
    pub fn why(&self) -> Option<&'d str> {
        self.sent.and_then(|(_, lacks)| lacks).map(|lacks| lacks.why.as_str())
    }

    /// Returns the mistake in a field.
    fn lacks(&self, name: &str) -> Option<&'d str> {
        self.sent
            .and_then(|(_, lacks)| lacks)
            .filter(|lacks| lacks.field == name)
            .map(|lacks| lacks.why.as_str())
    }

    /// Returns the comments on lines of a diff, by the name of their field.
    fn comments(&self) -> Vec<(&'d str, &'d str, &'d str)> {
        self.sent.map(|(fields, _)| fields.comments().collect()).unwrap_or_default()
    }
}

/// Renders the panel of a request, without its frame.
pub fn article(
    task: &Task,
    request: &HumanRequest,
    subject: &Subject,
    sent: Sent<'_>,
    now: Timestamp,
) -> Markup {
    drafted(task, request, subject, sent, Draft::default(), now)
}

/// Renders the panel of a request with the person's earlier input.
pub fn drafted(
    task: &Task,
    request: &HumanRequest,
    subject: &Subject,
    sent: Sent<'_>,
    draft: Draft<'_>,
    now: Timestamp,
) -> Markup {
    let seed = &task.seed;
    html! {
        header.panel-head {
            h2 { (Sign::Needs.bare()) span { (headline(task, request)) } }
            p.meta {
                span { a href={ "/tasks/" (seed.id) } { (seed.id) } " " (words::line(&task.listed_title(), 120)) }
                span { (words::line(&seed.project.name, 60)) } span { (seed.workflow) } span { (request.stage) }
                @if let Some(at) = subject.asked() { span { (since(at, now)) " ago" } }
            }
        }
        div.panel-body {
            @match sent {
                Sent::Nowhere => (only_shown(task, request, subject)),
                Sent::From(_) | Sent::Link(_) => (form(task, request, subject, sent, draft)),
            }
        }
    }
}

/// Renders the page for a person whose form was not accepted: the reason, and the form with their input. If the request
/// is no longer open, only their input.
pub fn again(
    shared: &Shared,
    store: &mut dyn Store,
    id: TaskId,
    fields: &Fields,
    why: &Why,
) -> Result<Content, Error> {
    let (task, now) = (store.task(id)?, store.now()?);
    let open = match &task.state {
        State::Waiting { request } if fields.get("request") == Some(&request.number.to_string()) => {
            Some(request)
        }
        _ => None,
    };
    let (title, text, hint, lacks) = match why {
        Why::Lacks(lacks) => ("Nothing was sent", lacks.why.clone(), None, Some(lacks)),
        Why::Failed(error) => {
            let text = format!("Failed to {}.", acquit_run::harness::chain(error));
            let title = match error {
                Error::Answered { .. } => "Somebody else was first",
                _ => "That did not work",
            };
            (title, text, error.hint(), None)
        }
    };
    let from = if fields.get("from") == Some("inbox") { "inbox" } else { "task" };
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (id) } { (id) } }
        div.head role="alert" {
            h1 { (title) }
            p.lede { (words::text(&text)) }
            @if let Some(hint) = &hint { p.lede { (words::commands(hint)) } }
        }
        @if let Some(request) = open {
            @let subject = Subject::read(shared, store, &task, request)?;
            article.panel.asks { (drafted(&task, request, &subject, Sent::From(from), Draft::new(fields, lacks), now)) }
        } @else {
            @let written: Vec<&str> = fields.written().collect();
            @if !written.is_empty() {
                section.panel { header.panel-head { h2 { "What you wrote" } } @for text in written { pre.panel-body.prose { (words::text(text)) } } }
            }
            p { a.btn href=(fields.back(id)) { "Back" } }
        }
    };
    Ok(Content { title: title.to_owned(), task: None, body })
}

/// Why a form was not accepted.
pub enum Why {
    /// It lacks something.
    Lacks(Lacks),
    /// The use case failed.
    Failed(Error),
}

/// Renders a request for a person who cannot answer it.
fn only_shown(task: &Task, request: &HumanRequest, subject: &Subject) -> Markup {
    let options = choices_of(&request.ask);
    html! {
        @match &request.ask {
            Ask::Question { questions } if !questions.is_empty() => @for question in questions {
                p.asked { (words::text(&question.question)) }
                @if !question.context.is_empty() { p.context { (words::text(&question.context)) } }
                @for option in &question.options { p { b { (words::text(&option.name)) } @if !option.trade_offs.is_empty() { span.trade { (words::text(&option.trade_offs)) } } } }
            },
            Ask::Question { .. } => p.asked { (words::text(&request.question)) },
            Ask::Choice { .. } | Ask::Stage { .. } | Ask::Approval { .. } => {
                p.asked { (words::text(&request.question)) }
                (about(task, subject))
                @if options.len() > 1 { p.dim { "It can be: " (words::line(&options.join(", "), 400)) } }
            },
            Ask::Budget { .. } | Ask::Stuck => { p.asked { (words::text(&request.question)) } (ways::sides(task)) (ways::comments(task)) (tries(task)) },
        }
        p.hint { "Answering needs the role operator." }
    }
}

/// Renders the question in one line.
pub fn headline(task: &Task, request: &HumanRequest) -> Markup {
    html! {
        @match &request.ask {
            Ask::Question { questions } if questions.len() > 1 => { (questions.len()) " questions before " b { (request.resume.stage) } " goes on" },
            Ask::Question { .. } => (words::line(&request.question, 160)),
            Ask::Choice { .. } => "Which way?",
            Ask::Stage { .. } => (words::line(&request.question, 160)),
            Ask::Approval { to } => { "Approve " code { (words::short(&task.tip)) } " for " (to) "?" },
            Ask::Budget { budget } => { (words::spent(budget.as_str())) " One more try?" },
            Ask::Stuck => "Stuck. How should it go on?",
        }
    }
}

/// Returns the address of a form.
fn address(task: &Task, sent: Sent<'_>, verb: &str) -> String {
    match sent {
        Sent::From(_) | Sent::Nowhere => format!("/tasks/{}/{verb}", task.id()),
        Sent::Link(ticket) => format!("/answer/{ticket}/{verb}"),
    }
}

/// Renders the fields that every form sends: the state of the request that the person saw.
fn seen(task: &Task, request: &HumanRequest, sent: Sent<'_>) -> Markup {
    html! {
        input type="hidden" name="request" value=(request.number);
        input type="hidden" name="commit" value=(task.tip);
        @if let Sent::From(page) = sent { input type="hidden" name="from" value=(page); }
    }
}

/// Renders a form with one button that gives the answer with this number; see `acquit_app::answer_link::choices`.
pub fn confirmation(task: &Task, request: &HumanRequest, number: usize, sent: Sent<'_>) -> Option<Markup> {
    let choice = choices_of(&request.ask).into_iter().nth(number.checked_sub(1)?)?;
    let (verb, field) = match &request.ask {
        Ask::Approval { .. } => ("approve", None),
        Ask::Question { .. } => ("answer", Some("choice-1")),
        Ask::Choice { .. } | Ask::Stage { .. } => ("choose", Some("option")),
        Ask::Budget { .. } | Ask::Stuck => return None,
    };
    let label = match &request.ask {
        Ask::Approval { .. } => format!("Approve {}", words::short(&task.tip)),
        _ => words::line(&choice, 120),
    };
    Some(html! {
        form method="post" action=(address(task, sent, verb)) {
            (seen(task, request, sent))
            @if verb == "answer" { input type="hidden" name="questions" value="1"; }
            @if let Some(field) = field { input type="hidden" name=(field) value=(choice); }
            button.btn.main { "Confirm: " (label) }
        }
    })
}

fn form(task: &Task, request: &HumanRequest, subject: &Subject, sent: Sent<'_>, draft: Draft<'_>) -> Markup {
    let action = |verb: &str| address(task, sent, verb);
    let hidden = seen(task, request, sent);
    let to = |answer: Answer| leads(task, &subject.background.workflow, answer);
    let chosen = |name: String| {
        let leads = to(Answer::Choose { option: name.clone() });
        (name, leads)
    };
    let (approved, rejected) = (to(Answer::Approve), to(Answer::Reject { reason: String::new() }));
    let questions = match &request.ask {
        Ask::Question { questions } => questions.as_slice(),
        _ => &[],
    };
    html! {
        @if questions.is_empty() && !matches!(request.ask, Ask::Stage { .. }) { p.asked { (words::text(&request.question)) } }
        @match &request.ask {
            Ask::Question { .. } => form.ask method="post" action=(action("answer")) {
                (hidden)
                input type="hidden" name="questions" value=(questions.len().max(1));
                @if questions.is_empty() { (field("words-1", "Your answer", 3, draft)) }
                @for (index, question) in questions.iter().enumerate() { (one(index + 1, questions.len(), question, draft)) }
                div.acts {
                    button.btn.main { @if questions.len() > 1 { "Send " (questions.len()) " answers" } @else { "Send the answer" } }
                    span.hint { "The same conversation continues at " b { (request.resume.stage) } "." }
                }
            },
            Ask::Choice { options } => {
                (about(task, subject))
                (choices(&action("choose"), &hidden, options.iter().map(ToString::to_string).map(chosen).collect(), draft))
            },
            // The outcomes `approved` and `rejected` are decisions about the work: one names the commit, the other has words.
            Ask::Stage { outcomes } => {
                @let (yes, no) = (approved.is_some(), rejected.is_some());
                @let other = |name: &String| !(yes && name == "approved" || no && name == "rejected");
                @let others: Vec<String> = outcomes.iter().map(ToString::to_string).filter(other).collect();
                (about(task, subject))
                @if yes || no {
                    div.decide {
                        @if yes { (approval(&action("approve"), &hidden, task, approved)) }
                        @if no { (rejection(&action("reject"), &hidden, "What must change?", rejected, draft)) }
                    }
                }
                @if !others.is_empty() { (choices(&action("choose"), &hidden, others.into_iter().map(chosen).collect(), draft)) }
            },
            Ask::Approval { .. } => {
                (about(task, subject))
                div.decide {
                    (approval(&action("approve"), &hidden, task, approved))
                    (rejection(&action("reject"), &hidden, "What must change?", rejected, draft))
                }
            },
            Ask::Budget { .. } | Ask::Stuck => {
                (ways::sides(task))
                (ways::comments(task))
                (tries(task))
                div.decide {
                    form method="post" action=(action("answer")) {
                        (hidden)
                        @if subject.background.has_agent(approved.as_ref()) {
                            input type="hidden" name="questions" value="1";
                            (field("words-1", "A note for the agent", 2, draft))
                            div.acts {
                                button.btn.main { "Try again with this note" }
                                button.btn data-approve data-choice formaction=(action("approve")) { "Try again" }
                            }
                        } @else {
                            div.acts { button.btn.main data-approve data-choice formaction=(action("approve")) { "Try again" } }
                        }
                        p.hint {
                            (lead(approved)) " One more try; what is spent stays spent."
                        }
                    }
                    (rejection(&action("reject"), &hidden, "Why does it end?", rejected, draft))
                }
            },
        }
        @if let Sent::From(page) = sent { (ways::others(task, &subject.background, page)) }
    }
}

/// Renders a text field with the earlier input, and its mistake.
fn field(name: &str, label: &str, rows: u8, draft: Draft<'_>) -> Markup {
    let lacks = draft.lacks(name);
    html! {
        label.field {
            span { (label) }
            textarea name=(name) rows=(rows) aria-invalid=[lacks.map(|_| "true")] autofocus[lacks.is_some()] { (words::kept(draft.typed(name))) }
            (lacking(lacks))
        }
    }
}

/// Renders the mistake below a field.
pub fn lacking(why: Option<&str>) -> Markup {
    html! { @if let Some(why) = why { span.lacks { (Sign::Rejected.bare()) (words::text(why)) } } }
}

/// Renders the form to approve, with the commit on the button.
fn approval(action: &str, hidden: &Markup, task: &Task, leads: Option<Leads>) -> Markup {
    let worked = task.tip != task.base();
    html! {
        form method="post" action=(action) {
            (hidden)
            button.btn.main data-approve data-choice { "Approve" @if worked { " " code { (words::short(&task.tip)) } } }
            p.hint { @if worked { "You approve this commit and no other. " } (lead(leads)) @if worked { " If the work changes meanwhile, you are asked again." } }
        }
    }
}

/// Describes in a sentence where an answer leads.
fn lead(leads: Option<Leads>) -> Markup {
    html! {
        @match leads {
            Some(Leads::Stage { stage, round }) => { "The task goes to " b { (stage) } @if let Some((round, of)) = round { ", round " (round) " of " (of) } "." },
            Some(Leads::Done) => "The task is done then.",
            Some(Leads::Ends) => "The task ends. Its attempts are kept.",
            Some(Leads::Asks) => "You are asked again.",
            None => {},
        }
    }
}

/// Renders the form to reject, with where that leads on the button.
fn rejection(action: &str, hidden: &Markup, label: &str, leads: Option<Leads>, draft: Draft<'_>) -> Markup {
    let (button, told) = match &leads {
        Some(Leads::Stage { stage, round: Some((round, of)) }) => {
            (format!("Send back to {stage}, round {round} of {of}"), true)
        }
        Some(Leads::Stage { stage, round: None }) => (format!("Send back to {stage}"), true),
        Some(Leads::Asks) => ("Reject".to_owned(), false),
        Some(Leads::Done | Leads::Ends) | None => ("Reject and end the task".to_owned(), false),
    };
    let lacks = draft.lacks("reason");
    html! {
        form method="post" action=(action) {
            (hidden)
            label.field {
                span { (label) }
                textarea name="reason" rows="2" required data-reject data-choice aria-invalid=[lacks.map(|_| "true")] autofocus[lacks.is_some()] { (words::kept(draft.typed("reason"))) }
                (lacking(lacks))
            }
            @for (name, place, text) in draft.comments() { label.field { span { "Comment on " (words::line(place, 300)) } textarea name=(name) rows="2" { (words::kept(text)) } } }
            button.btn { (button) }
            p.hint { (lead(leads)) @if told { " The agent is told your words." } }
        }
    }
}

fn choices(action: &str, hidden: &Markup, options: Vec<(String, Option<Leads>)>, draft: Draft<'_>) -> Markup {
    html! {
        form.ask method="post" action=(action) {
            (hidden)
            (lacking(draft.lacks("option")))
            div.ways { @for (option, leads) in options { div { button.btn data-choice name="option" value=(option) { (words::line(&option, 200)) } p.hint { (lead(leads)) } } } }
        }
    }
}

/// Renders one question with its options, its context and a text field.
fn one(number: usize, of: usize, question: &Question, draft: Draft<'_>) -> Markup {
    let choice = format!("choice-{number}");
    let chosen = |word: &str| draft.typed(&choice) == word;
    html! {
        fieldset.question {
            legend { @if of > 1 { span.num { (number) } " " } (words::text(&question.question)) }
            @if !question.context.is_empty() { p.context { (words::text(&question.context)) } }
            @if question.kind == Kind::YesNo {
                div.seg { @for (word, label) in [("yes", "Yes"), ("no", "No")] { label.option { input type="radio" data-choice name=(choice) value=(word) checked[chosen(word)]; " " b { (label) } } } }
            }
            @for option in &question.options {
                label.option {
                    input type="radio" data-choice name=(choice) value=(option.name) checked[chosen(&option.name)];
                    span {
                        b { (words::text(&option.name)) }
                        @if question.recommended.as_ref() == Some(&option.name) { " " span.tag { "recommended by the agent" } }
                        @if !option.trade_offs.is_empty() { span.trade { (words::text(&option.trade_offs)) } }
                    }
                }
            }
            @let label = if question.options.is_empty() && question.kind != Kind::YesNo { "Your answer" } else { "Or in your own words" };
            (field(&format!("words-{number}"), label, 2, draft))
        }
    }
}

/// Renders the subject of a decision: the commit, its target, verdicts, remarks and the diff itself.
fn about(task: &Task, subject: &Subject) -> Markup {
    let stats = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Diff(stats) => Some(stats),
        _ => None,
    });
    html! {
        dl.facts {
            dt { "commit" }
            dd {
                code { (words::short(&task.tip)) } " " (words::line(task.headline(), 200))
                @if let Some(stats) = stats { " · " span.ok { "+" (stats.insertions) } " " span.no { "−" (stats.deletions) } " in " (words::count(usize::try_from(stats.files).unwrap_or(usize::MAX), "file")) }
            }
            dt { "onto" } dd { (words::line(task.seed.base.branch.as_deref().unwrap_or("a commit"), 200)) " at " code { (words::short(task.base())) } }
            @if !subject.background.marks.is_empty() {
                dt { "gates" }
                dd.gate-marks { a href={ "/tasks/" (task.id()) "#gates" } { "evidence" } " " @for mark in &subject.background.marks { span { (mark.sign.named()) (words::line(&mark.gate, 60)) @if mark.red > 0 && mark.sign == Sign::Proven { ": " (words::count(mark.red, "test")) " red → green" } } " " } }
            }
            @for account in task.account() { dt { "said" } dd.said { (words::line(&account, 600)) } }
        }
        (ways::comments(task))
        @if let Some(plan) = task.plan() {
            details.fold { summary { "Plan" } pre { (words::text(&acquit_core::agent::shorten(plan, PLAN))) } }
        }
        @match &subject.diff {
            Some(found) => (diff::short(found, task.id())),
            None => @if task.tip != task.base() { p { a href={ "/tasks/" (task.id()) "/diff" } { "Show the diff" } } },
        }
    }
}

/// Renders the attempts that did not pass, and why.
fn tries(task: &Task) -> Markup {
    let failed = |past: &&Past| !matches!(past.ending, Ending::Passed { .. } | Ending::Held { .. });
    let all: Vec<&Past> = task.past.iter().filter(failed).collect();
    html! {
        @if !all.is_empty() {
            ol.tries { @for past in all.iter().skip(all.len().saturating_sub(6)) {
                li { a href={ "/tasks/" (task.id()) "/legs/" (past.number) } { "leg " (past.number) } (Sign::Rejected.named()) span { (words::line(&past.ending.trouble().unwrap_or_default(), 400)) (messages(past)) } }
            } }
        }
    }
}

/// Number of lines of a gate's message to show for a failed attempt.
const MESSAGE: usize = 3;

/// Renders the first lines of each gate's message.
fn messages(past: &Past) -> Markup {
    html! { @if let Ending::Rejected { failures, .. } = &past.ending { @for failure in failures { @for line in failure.message.lines().filter(|line| !line.trim().is_empty()).take(MESSAGE) { span.said { (words::line(line, 200)) } } } } }
}
