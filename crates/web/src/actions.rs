//! Actions of forms. Each calls one use case and leads back to the page of the form.

use acquit_app::answer::{Reply, Seen};
use acquit_app::reload::Renewal;
use acquit_app::{App, Error};
use acquit_core::decide::Input;
use acquit_core::human_request::Answer;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store::Store;

/// Submitted fields of a form.
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// Returns the first non-empty field with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, value)| key == name && !value.trim().is_empty());
        values.next().map(|(_, value)| value.as_str())
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
    fn answers(&self) -> Option<Vec<String>> {
        let count = self.number("questions")?;
        (1..=count)
            .map(|number| {
                let words = self.get(&format!("words-{number}"));
                words.or_else(|| self.get(&format!("choice-{number}"))).map(|text| text.trim().to_owned())
            })
            .collect()
    }
}

/// An action of a person on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Cancel the task.
    Cancel,
    /// Retry the task.
    Retry {
        /// Stage to start at; `None` for the current one.
        stage: Option<Name>,
        /// Note for the agent.
        note: Option<String>,
    },
    /// Merge its work into the base branch.
    Merge,
    /// Fetch feedback on its pull request.
    Feedback,
    /// Answer a request.
    Reply {
        /// What the person saw.
        seen: Seen,
        /// The answer.
        reply: Reply,
    },
}

impl Action {
    /// Parses a form; `None` if something is missing.
    pub fn read(name: &str, form: &Fields) -> Option<Self> {
        let seen =
            || Some(Seen { request: form.number("request")?, commit: form.get("commit").map(str::to_owned) });
        let reply = |reply| Some(Self::Reply { seen: seen()?, reply });
        match name {
            "cancel" => Some(Self::Cancel),
            "merge" => Some(Self::Merge),
            "feedback" => Some(Self::Feedback),
            "retry" => {
                let stage = match form.get("stage") {
                    Some(stage) => Some(stage.parse().ok()?),
                    None => None,
                };
                Some(Self::Retry { stage, note: form.get("note").map(str::to_owned) })
            }
            "approve" => reply(Reply::Approve),
            "reject" => reply(Reply::Reject(form.get("reason")?.trim().to_owned())),
            "choose" => reply(Reply::Exactly(Answer::Choose { option: form.get("option")?.to_owned() })),
            "answer" => reply(Reply::Words(form.answers()?)),
            _ => None,
        }
    }

    /// Performs the action.
    pub fn perform(self, app: &App, store: &mut dyn Store, task: TaskId) -> Result<(), Error> {
        match self {
            Self::Cancel => app.cancel(store, task).map(|_| ()),
            Self::Merge => app.merge(store, task).map(|_| ()),
            Self::Retry { stage, note } => {
                let input = Input::Retry { by: app.person(), stage, note };
                app.decide_with(store, task, Some(&input), &Renewal::default()).map(|_| ())
            }
            Self::Feedback => app.feedback(store, task).map(|_| ()),
            Self::Reply { seen, reply } => app.reply_seen(store, task, &seen, reply).map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, fields: &[(&str, &str)]) -> Option<Action> {
        let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Action::read(name, &Fields(fields))
    }

    #[test]
    fn a_form_that_lacks_something_does_nothing() {
        assert_eq!(read("approve", &[]), None);
        assert_eq!(read("reject", &[("request", "1"), ("reason", " ")]), None);
        assert_eq!(read("answer", &[("request", "1"), ("questions", "2"), ("words-1", "a")]), None);
        assert_eq!(read("choose", &[("request", "1")]), None);
        assert_eq!(read("destroy", &[("request", "1")]), None);
        assert_eq!(read("retry", &[("stage", "no stage/at all")]), None);
    }

    #[test]
    fn words_count_before_what_was_chosen() {
        let all =
            [("request", "3"), ("questions", "2"), ("choice-1", "a"), ("words-1", " b "), ("choice-2", "c")];
        let reply = Reply::Words(vec!["b".to_owned(), "c".to_owned()]);
        let seen = Seen { request: 3, commit: None };
        assert_eq!(read("answer", &all), Some(Action::Reply { seen, reply }));
    }
}
