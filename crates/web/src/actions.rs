//! Actions of forms. Each calls one use case and redirects to the page of the form.

use acquit_app::Means;
use acquit_app::answer::{Reply, Seen};
use acquit_app::reload::Renewal;
use acquit_app::{App, Error};
use acquit_core::decide::Input;
use acquit_core::human_request::Answer;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store::Store;
use acquit_core::task::{End, State};

/// Submitted fields of a form.
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// Returns the first non-empty field with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, value)| key == name && !value.trim().is_empty());
        values.next().map(|(_, value)| value.as_str())
    }

    /// Returns all non-empty fields with this name.
    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let fields = self.0.iter().filter(move |(key, value)| key == name && !value.trim().is_empty());
        fields.map(|(_, value)| value.trim())
    }

    /// Returns the comments on lines of a diff: the name of the field, the place, and the text.
    pub fn comments(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let written = self.0.iter().filter(|(_, value)| !value.trim().is_empty());
        written.filter_map(|(key, value)| Some((key.as_str(), key.strip_prefix(COMMENT)?, value.as_str())))
    }

    /// Returns the texts that a person wrote into the form.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let by_hand = |key: &str| {
            ["reason", "note"].contains(&key) || key.starts_with("words-") || key.starts_with(COMMENT)
        };
        let fields = self.0.iter().filter(move |(key, value)| by_hand(key) && !value.trim().is_empty());
        fields.map(|(_, value)| value.as_str())
    }

    /// Returns a text with the comments on lines of a diff below it, each with its place.
    fn with_comments(&self, name: &str) -> Option<String> {
        let comments = self.comments().map(|(_, place, text)| format!("{place}: {}", text.trim()));
        let parts: Vec<String> =
            self.get(name).map(|text| text.trim().to_owned()).into_iter().chain(comments).collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Returns the page of the form.
    pub fn back(&self, task: TaskId) -> String {
        match self.get("from") {
            Some("inbox") => "/inbox".to_owned(),
            _ => format!("/tasks/{task}"),
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    /// Returns the answers to all questions: for each the entered text, or else the selected option.
    fn answers(&self) -> Result<Vec<String>, Lacks> {
        let count = self.number("questions").unwrap_or(1);
        let one = |number: u32| {
            let words = self.get(&format!("words-{number}"));
            let given = words.or_else(|| self.get(&format!("choice-{number}")));
            let lacks = || {
                let why = match count {
                    1 => "Nothing was written or chosen.".to_owned(),
                    _ => format!("Question {number} has no answer: choose an option or write one."),
                };
                Lacks::new(&format!("words-{number}"), why)
            };
            given.map(|text| text.trim().to_owned()).ok_or_else(lacks)
        };
        (1..=count).map(one).collect()
    }
}

/// A field of a form with a missing or wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacks {
    /// Name of the field; empty for the form as a whole.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

impl Lacks {
    /// Creates it.
    pub fn new(field: &str, why: impl Into<String>) -> Self {
        Self { field: field.to_owned(), why: why.into() }
    }
}

/// Prefix of fields with comments on lines of a diff. The rest of the name is the file and its lines.
pub const COMMENT: &str = "comment:";

/// Returns whether a task can be retried.
pub fn can_retry(state: &State) -> bool {
    match state {
        State::Waiting { .. } | State::Blocked { .. } => true,
        State::Ended { end } => !matches!(end, End::Done),
        State::New | State::Working { .. } => false,
    }
}

/// An action of a person on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Cancel the task.
    Cancel,
    /// Start a queued task without waiting for a worker.
    Run,
    /// Retry the task.
    Retry {
        /// Stage to start at; `None` for the current one.
        stage: Option<Name>,
        /// Note for the agent.
        note: Option<String>,
        /// Agent from now on; `None` for the one of before.
        agent: Option<Name>,
    },
    /// Merge its work into the base branch.
    Merge,
    /// Fetch feedback on its pull request.
    Feedback,
    /// Answer a request.
    Reply {
        /// State of the request that the person saw.
        seen: Seen,
        /// The answer.
        reply: Reply,
    },
}

impl Action {
    /// Parses a form.
    pub fn read(name: &str, form: &Fields) -> Result<Self, Lacks> {
        let reply = |reply| match form.number("request") {
            Some(request) => {
                let seen = Seen { request, commit: form.get("commit").map(str::to_owned) };
                Ok(Self::Reply { seen, reply })
            }
            None => {
                Err(Lacks::new("", "The form does not say which request it answers. Open the request again."))
            }
        };
        match name {
            "cancel" => Ok(Self::Cancel),
            "run" => Ok(Self::Run),
            "merge" => Ok(Self::Merge),
            "feedback" => Ok(Self::Feedback),
            "retry" => {
                let stage = form.get("stage").map(str::parse).transpose();
                let stage = stage.map_err(|_| Lacks::new("stage", "There is no such stage."))?;
                let agent = form.get("agent").map(str::parse).transpose();
                let agent = agent.map_err(|_| Lacks::new("agent", "There is no such agent."))?;
                Ok(Self::Retry { stage, note: form.with_comments("note"), agent })
            }
            "approve" => reply(Reply::Approve),
            "reject" => match form.with_comments("reason") {
                Some(reason) => reply(Reply::Reject(reason)),
                None => {
                    Err(Lacks::new("reason", "There are no words: write what is wrong, and send it again."))
                }
            },
            "choose" => match form.get("option") {
                Some(option) => reply(Reply::Exactly(Answer::Choose { option: option.to_owned() })),
                None => Err(Lacks::new("option", "Nothing was chosen: press one of the buttons.")),
            },
            "answer" => reply(Reply::Words(form.answers()?)),
            _ => Err(Lacks::new("", "There is no such action.")),
        }
    }

    /// Performs the action.
    pub fn perform(self, app: &App, store: &mut dyn Store, task: TaskId) -> Result<(), Error> {
        match self {
            Self::Cancel => app.cancel(store, task).map(|_| ()),
            Self::Run => acquit_app::drive::run_now(app, store, task),
            Self::Merge => app.merge(store, task).map(|_| ()),
            Self::Retry { stage, note, agent } => {
                let input = Input::Retry { by: app.person(), stage, note };
                let means = Means { agent, ..Means::default() };
                app.decide_with(store, task, Some(&input), &Renewal { means, ..Renewal::default() })
                    .map(|_| ())
            }
            Self::Feedback => app.feedback(store, task).map(|_| ()),
            Self::Reply { seen, reply } => app.reply_seen(store, task, &seen, reply).map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, fields: &[(&str, &str)]) -> Result<Action, Lacks> {
        let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Action::read(name, &Fields(fields))
    }

    #[test]
    fn a_form_that_lacks_something_does_nothing_and_says_where() {
        let lacks = |name, fields: &[(&str, &str)]| read(name, fields).expect_err("nothing is done").field;
        assert_eq!(lacks("approve", &[]), "");
        assert_eq!(lacks("reject", &[("request", "1"), ("reason", " ")]), "reason");
        assert_eq!(lacks("answer", &[("request", "1"), ("questions", "2"), ("words-1", "a")]), "words-2");
        assert_eq!(lacks("choose", &[("request", "1")]), "option");
        assert_eq!(lacks("destroy", &[("request", "1")]), "");
        assert_eq!(lacks("retry", &[("stage", "no stage/at all")]), "stage");
    }

    #[test]
    fn comments_on_lines_are_sent_with_their_place() {
        let all = [("comment:src/a:b.rs:3-5", " Why? "), ("request", "1"), ("comment:x:1", " ")];
        let seen = Seen { request: 1, commit: None };
        let reply = Reply::Reject("src/a:b.rs:3-5: Why?".to_owned());
        assert_eq!(read("reject", &all), Ok(Action::Reply { seen: seen.clone(), reply }));
        let all = [("comment:x:1", "One."), ("request", "1"), ("reason", "All in all, no.")];
        let reply = Reply::Reject("All in all, no.\nx:1: One.".to_owned());
        assert_eq!(read("reject", &all), Ok(Action::Reply { seen, reply }));
    }

    #[test]
    fn words_count_before_what_was_chosen() {
        let all =
            [("request", "3"), ("questions", "2"), ("choice-1", "a"), ("words-1", " b "), ("choice-2", "c")];
        let reply = Reply::Words(vec!["b".to_owned(), "c".to_owned()]);
        let seen = Seen { request: 3, commit: None };
        assert_eq!(read("answer", &all), Ok(Action::Reply { seen, reply }));
    }
}
