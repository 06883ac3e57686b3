//! What forms do: each is one call of a use case, and leads back to the page that it was on.

use acquit_app::answer::{Reply, Seen};
use acquit_app::reload::Renewal;
use acquit_app::{App, Error};
use acquit_core::decide::Input;
use acquit_core::human_request::Answer;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store::Store;

/// The fields of a form, as they were sent.
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// The first field of that name that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, value)| key == name && !value.trim().is_empty());
        values.next().map(|(_, value)| value.as_str())
    }

    /// The page that the form was on.
    pub fn back(&self, task: TaskId) -> String {
        match self.get("from") {
            Some("inbox") => "/inbox".to_owned(),
            _ => format!("/tasks/{task}"),
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    /// The answers to so many questions: of each the words if there are any, else what was chosen.
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

/// Something that a person wants done with a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// End it.
    Cancel,
    /// Try again.
    Retry {
        /// At which stage; `None` where it stands.
        stage: Option<Name>,
        /// Words for the agent.
        note: Option<String>,
    },
    /// Bring its work into the base branch.
    Merge,
    /// Fetch what was said about its pull request.
    Feedback,
    /// Answer a request.
    Reply {
        /// What the person saw.
        seen: Seen,
        /// What they say.
        reply: Reply,
    },
}

impl Action {
    /// What a form asks for; `None` if it lacks something.
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

    /// Does it.
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
