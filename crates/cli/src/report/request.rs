//! Formats human requests: the question, options with context, and the commands that answer.

use acquit_core::human_request::{Ask, HumanRequest, Question};
use acquit_core::task::{State, Task};

use super::{Look, Printer, text};

/// Maximum width of a title.
const TITLE: usize = 60;
/// Maximum number of lines of a plan to show for approval: a few pages.
const PLAN_LINES: usize = 200;

impl Printer {
    /// Prints all tasks that need input.
    pub fn inbox(self, tasks: &[Task]) {
        if self.json {
            let entries: Vec<_> = tasks.iter().filter_map(entry).collect();
            return self.json(&entries);
        }
        if tasks.is_empty() {
            return self.say("nothing waits for you");
        }
        for (index, task) in tasks.iter().enumerate() {
            let State::Waiting { request } = &task.state else { continue };
            if index > 0 {
                self.data("");
            }
            let title = text::line(&task.listed_title(), TITLE);
            let place = format!("{} · stage {}", text::visible(&task.seed.project.name), request.stage);
            let id = self.paint(Look::Strong, &task.id().to_string());
            self.data(&format!("{id} {title} {}", self.paint(Look::Faint, &place)));
            let question = asked(request).replace('\n', "\n  ");
            let question = self.wrapped(&format!("  {question}"), 2);
            self.data(&self.paint(Look::Notable, &question));
            self.request(task, request);
        }
    }

    /// Prints the details of a request, and how to answer it.
    pub fn request(self, task: &Task, request: &HumanRequest) {
        if let Ask::Question { questions } = &request.ask {
            let several = questions.len() > 1;
            for (index, question) in questions.iter().enumerate() {
                if several {
                    let words = text::visible(&question.question).replace('\n', "\n     ");
                    let words = self.wrapped(&format!("  {}. {words}", index + 1), 5);
                    self.data(&self.paint(Look::Notable, &words));
                }
                self.question(question, if several { "     " } else { "  " });
            }
        }
        if matches!(request.ask, Ask::Approval { .. } | Ask::Stage { .. } | Ask::Choice { .. }) {
            self.subject(task);
        }
        self.suggest(task);
    }

    /// Prints the subject of the decision: the last stage's summary of its work, and the plan.
    fn subject(self, task: &Task) {
        if let Some(summary) = summary(task) {
            self.data(&self.paint(Look::Faint, "  summary"));
            self.data(&indented(&indented(&summary)));
        }
        if let Some(plan) = task.plan() {
            let lines: Vec<&str> = plan.lines().collect();
            self.data(&self.paint(Look::Faint, "  plan"));
            self.data(&indented(&indented(&lines[..lines.len().min(PLAN_LINES)].join("\n"))));
            if lines.len() > PLAN_LINES {
                self.data(
                    &self.paint(Look::Faint, &format!("    … {} more lines", lines.len() - PLAN_LINES)),
                );
            }
        }
    }

    /// Prints one question on the terminal. The next line of input is the answer.
    pub fn ask(self, words: &str, question: Option<&Question>) {
        self.data(&self.paint(Look::Notable, &text::visible(words)));
        if let Some(question) = question {
            self.question(question, "  ");
        }
    }

    /// Prints context and options of a question, each line after `margin`.
    fn question(self, question: &Question, margin: &str) {
        if !question.context.is_empty() {
            self.data(&self.paint(Look::Faint, &behind(margin, &question.context)));
        }
        for (index, option) in question.options.iter().enumerate() {
            let name = text::visible(&option.name);
            let mark = match &question.recommended {
                Some(recommended) if *recommended == option.name => self.paint(Look::Good, " (recommended)"),
                Some(_) | None => String::new(),
            };
            self.data(&format!("{margin}{}) {name}{mark}", index + 1));
            if !option.trade_offs.is_empty() {
                self.data(&behind(&format!("{margin}  "), &option.trade_offs));
            }
        }
    }
}

/// Returns the summary of the last leg that passed.
fn summary(task: &Task) -> Option<String> {
    task.past.iter().rev().find_map(|past| past.ending.passed())?.summary()
}

/// Returns a request as JSON.
fn entry(task: &Task) -> Option<serde_json::Value> {
    let State::Waiting { request } = &task.state else { return None };
    Some(serde_json::json!({
        "task": task.id(),
        "title": task.listed_title(),
        "project": task.seed.project,
        "request": request,
        "summary": summary(task),
        "plan": task.plan(),
    }))
}

/// Returns the text of a request. For several questions, returns only their number: [`Printer::request`] prints each
/// above its options, which are numbered from 1 again.
pub fn asked(request: &HumanRequest) -> String {
    match &request.ask {
        Ask::Question { questions } if questions.len() > 1 => format!("{} questions:", questions.len()),
        _ => text::visible(&request.question),
    }
}

/// Indents an untrusted text.
fn indented(text: &str) -> String {
    behind("  ", text)
}

fn behind(margin: &str, text: &str) -> String {
    text::visible(text).lines().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}
